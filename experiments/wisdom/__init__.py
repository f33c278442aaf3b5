"""Wisdom: the best known plan for each (program, sizes, device), in one database of the user's.

(The word is FFTW's: Frigo and Johnson, "The Design and Implementation of FFTW3", Proceedings of the IEEE 93(2), 2005.)

Read in this order: `entry.py` (what is known, and which programs are the same or near), `place.py` (where the database
lies), `database.py` (SQLite), `exchange.py` (as JSON), `recall.py` (what is worth trying for a new problem). A run
writes its winner when it ends (`experiments.run`); `antune tune --wisdom` begins with what is known, and `antune.jit`
runs it.

May import `experiments.values`.
"""
