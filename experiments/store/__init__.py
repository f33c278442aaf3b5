"""The durable store of one run: one SQLite file in the run's directory, one writer, a commit per result.

`run.sqlite` appears by a rename when it is complete, so a directory with that file is a run and any other is
not. Whoever writes holds a lock that the operating system drops when the process dies.

Read `base.py` (the store, open) with `schema.sql` and what `schema_2.sql` and `schema_3.sql` added, `making.py` (new,
opened, read only), `locks.py`, `seals.py` (who began a run), `errors.py` (what SQLite complains about, for people);
then the tables beside the results: `finals_table.py`, `profiles_table.py`, `reused_table.py`. Others import the names
below from this package.
"""

from experiments.store.base import REFERENCE_FILE, SCHEMA_VERSION, STORE_FILE, Store, utc_now
from experiments.store.locks import LOCK_FILE, is_busy
from experiments.store.making import (
    Reservation,
    abandon,
    create_store,
    is_run,
    open_store,
    read_store,
    reserve,
)
from experiments.store.seals import SEAL_FILE, is_own

__all__ = [
    "LOCK_FILE",
    "REFERENCE_FILE",
    "SCHEMA_VERSION",
    "SEAL_FILE",
    "STORE_FILE",
    "Reservation",
    "Store",
    "abandon",
    "create_store",
    "is_busy",
    "is_own",
    "is_run",
    "open_store",
    "read_store",
    "reserve",
    "utc_now",
]
