"""Clusters: the workers of a Dask cluster compile and measure, this process searches.

Read in this order: `versions.py` (which versions have to agree), `offers.py` (a machine's devices and compilers, as
Dask resources), `shop.py` (a run's worker processes on one machine), `preload.py` (how a Dask worker joins), `hub.py`
(the connection, all calls into Dask), `local.py` (a cluster on this machine), `roster.py` (the devices that are
currently available), `pool.py` (the cluster as a pool of workers), `runner.py` (the runners).

Plans are evaluated as on one machine (`runners.batch`), by the same worker processes with the same limits, which run
inside every Dask worker. Dask transfers tasks and answers, and reports lost workers. This room needs the extra
`cluster`; nothing outside of it imports Dask.
"""
