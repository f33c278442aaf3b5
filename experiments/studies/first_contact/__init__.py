"""First contact with a machine that has a GPU and no network: what is worth knowing, in steps of some minutes each.

Read `steps.py` (which steps there are: a pure function), `visit.py` (their order, their time, going on later),
`told.py` (a JSON and a Markdown file for each), then what runs in processes of its own: `plans.py` (random plans,
checked) and `peers.py` (programs of others). `pack.py` collects what to carry to the machine.

Steps are commands of antune, each in a process of its own: one that crashes or hangs costs its own time only.
"""
