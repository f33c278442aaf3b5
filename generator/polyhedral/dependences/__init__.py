"""The exact execution constraints of a program.

Read `original.py` and `sequence.py` (the order of the source), `flow.py` (the write that a read sees), `model.py` (all
dependences of a program), `violation.py` (a broken one in words), `reductions.py` (updates in any order),
`live_ranges.py` and `expansion.py` (copies per iteration that remove false dependences), `delinearize.py` (`a[i*n + j]`
as `a[i][j]`), `inside.py` and `magnitudes.py` (proofs that a program stays in its arrays), `demand.py` (the minimum
that a program computes and moves).

May import `polyhedral.kit`.
"""
