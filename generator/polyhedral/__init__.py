"""The only folder that knows isl: sets, dependences, schedules, legality, generated loops.

Read its rooms in this order; each imports only those before it:

- `kit/`: isl objects from a program's texts and back: affine expressions, schedule trees as values, loops out of isl.
- `dependences/`: the original order, exact value-based dependences, reductions, and what removes false dependences.
- `schedules/`: isl's scheduler, partitions, schedule matrices, where kernels start, and the exact check of a schedule.
- `pipelines/`: stages that are computed where they are read, and programs scheduled stage by stage.
- `memory/`: blocks, threads and what they hold: footprints, boxes, registers, and the exact checks of these.
- `time/`: loops over time, and what a tile needs to run several steps by itself.

isl objects never leave through a public value: Programs, Plans and Variants hold text and our own nodes.
"""
