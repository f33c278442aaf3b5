"""The only folder that uses isl: sets, dependences, schedules, legality, generated loops.

Read its rooms in this order; each imports only those before it:

- `kit/`: isl objects from a program's texts and back: affine expressions, schedule trees as values, loops from isl.
- `dependences/`: the original order, exact value-based dependences, reductions, and the removal of false dependences.
- `schedules/`: isl's scheduler, partitions, schedule matrices, where kernels start, and the exact check of a schedule.
- `pipelines/`: stages that are computed where they are read, and programs scheduled stage by stage.
- `memory/`: blocks, threads and their local data: footprints, boxes, registers, and the exact checks of these.
- `time/`: loops over time, and the data that a tile needs to run several steps on its own.

isl objects are not visible outside: Programs, Plans and Variants hold text and our own nodes.
"""
