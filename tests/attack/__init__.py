"""A standing attack on evonorm: what it reads is damaged, forged and mutated, and what runs is killed.

`frame.py` counts; `languages.py` (formulas, encodings, recipes), `files.py` (journals, exports, archives, checkpoints),
`pages.py` (the dashboard), `kernel.py` (native against eager) and `kills.py` (a real search) attack. `python -m
tests.attack --minutes 30` (`make attack MINUTES=30`) goes on for that long and prints a table; `test_attack.py` does a
little of each in the slow tests.
"""
