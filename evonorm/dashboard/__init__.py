"""Serves runs live, to this machine only. Read `server.py` first (addresses and headers), then `pages.py`.

`live_runs.py` keeps the runs that somebody looks at up to date, `live_trainings.py` the trainings; `impatient.py` does
not wait for half a request. What a page is made of comes from `report`.
"""
