"""What a search can do beyond the paper, each off unless a recipe asks for it.

`known_functions.py`: equal functions share their scores. `clones.py`: nearly equal ones are not trained again.
`families.py`: members that are alike share their mean in a tournament. `islands.py`: several populations side by side,
so that one good idea does not become the only one.
"""
