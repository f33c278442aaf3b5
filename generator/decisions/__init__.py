"""The decisions about a kernel, one file each.

A file contains the decision's name, its default, its JSON form, its options given the device, the kernel and the
earlier decisions, the answers that lead to a given plan, its words for people, and its row in docs/decisions.md. Its
field is one line of `generator.plan.KernelPlan`, its place in the order of questions one word in the table below that,
`KERNEL_DECISIONS`; its effect on the code is in a pass of `generator.lowering`. Everything else iterates over the
table: reading and refusing JSON, `antune explain`, words, starts, the space of a search, and docs/decisions.md.

This room lists options, and is independent of walks, graphs and statistics. `graph` asks the questions and stores the
answers. The options of a schedule depend on the program's dependences and are asked there (`graph.o1`, `o2`, `o3`,
`pipeline`, `time_steps`).

Read in this order: `shape` (the properties of a kernel) with `thread_loops`, `base` (the class of a decision),
`as_texts` (of decisions whose options are texts), `size_lists`, `candidate_sizes`, `room`, then the decisions in the
order of the questions:
`x_dimension`, `products` (with `fragments`), `walk`, `diagonals`, `sizes`, `whole` (with `array_sets`), `in_registers`
(with `fractions`), `run`, `unroll`, `points_inside`, `registers`, `jam`, `shared`, `uncopied`, `vector`, `inner_tile`,
`unrolls`, `ahead`, `padding`, `swizzled`, `asynchronous`, `cache`, `combine` (with `parts`), `exchange`, `columns`,
`levels` (with `team_room`), `level`, `streamed`;
and finally `deciding`, which iterates over all of them.
"""
