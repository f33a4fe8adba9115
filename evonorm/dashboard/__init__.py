"""Serves runs live, to this machine only. Read `server.py` first (addresses and headers), then `pages.py`.

`live_front.py` keeps the list of everything up to date, `live_runs.py` the runs that somebody looks at,
`live_trainings.py` the trainings; `impatient.py` does not wait for half a request. What a page is made of comes from
`report`.
"""
