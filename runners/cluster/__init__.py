"""Many machines: the workers of a Dask cluster compile and measure, this process searches.

Read in this order: `versions.py` (who fits whom), `offers.py` (what a machine offers, as Dask resources), `shop.py` (a
run's worker processes on one machine), `preload.py` (how a Dask worker joins), `hub.py` (the connection, all calls into
Dask), `local.py` (a cluster on this machine), `roster.py` (which devices are there now), `pool.py` (the cluster seen as
a pool of workers), `runner.py` (the runners).

A plan takes the same road as on one machine (`runners.batch`), and the same worker processes with the same limits do
the work: inside every Dask worker. Dask carries tasks and answers, and says who is alive. This room needs the extra
`cluster`; nothing outside of it imports Dask.
"""
