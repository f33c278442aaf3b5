"""One search from its first plan to its files, without its entry point (`experiments/run.py`).

Read `loop.py` (ask, evaluate, store, tell) and `parts.py` (the parts of a run) with `places.py` (its devices and
limits), `spaces.py` (the space of its plans), `first_walks.py` (where it begins) and `starts.py` (the usual first
plans), `ranked.py` (these in the order of a model), `usual_models.py` (models of which the user says nothing),
`other_space.py` (a hint at a space), `coming.py` (made while the device works), `modelled.py` (plans that cost models
choose), `templates.py` (kernels with parameters), `costs.py` (the costs of a plan by models), `constants.py` (whether
given constants of models fit a run), `foretold.py` (the costs of a walk) and `worded.py` (words about measured plans);
then `checkpoints.py` and `changes.py` (resuming), `reuse.py` (known results of other runs), `taken.py` and
`using_wisdom.py` (wisdom), `trust.py` (whose run it is), `interrupt.py` (Ctrl-C), `finals.py` and `sittings.py` (the
best plans are measured again), `profiles.py` (hardware counters); last the written files: `summary.py`,
`result_table.py`, `code.py`, and `reproducing.py` (the command that repeats a run). `run_dirs.py` finds and names run
directories.

May import `experiments.values`, `experiments.wisdom` and `experiments.store`.
"""
