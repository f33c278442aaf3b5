"""The decisions about a kernel, one file each: all that is said about a decision is said there.

A file holds the decision's name, its default, what JSON may say, which options are on offer given the device, the
kernel and the earlier decisions, the answers that lead to a given plan, its words for people, and its row in
docs/decisions.md. Its field is one line of `generator.plan.KernelPlan`, its place among the questions one word of the
table below that, `KERNEL_DECISIONS`; its effect on the code is in a pass of `generator.lowering`. All else goes over
the table: reading and refusing JSON, `antune explain`, words, starts, the space of a search, and docs/decisions.md.

The cut: this room answers what may be chosen, and knows nothing of walks, graphs and statistics. `graph` asks the
questions and remembers the answers. What a schedule may be follows from the program's dependences and is asked there
(`graph.o1`, `o2`, `o3`, `pipeline`, `time_steps`).

Read in this order: `shape` (what is known of a kernel), `base` (what a decision is), `size_lists`, `candidate_sizes`,
then the decisions as they are asked: `x_dimension`, `products` (with `fragments`), `walk`, `diagonals`, `sizes`,
`in_registers` (with `fractions`), `run`, `unroll`, `points_inside`, `registers`, `shared`, `uncopied`, `vector`,
`inner_tile`, `ahead`, `padding`, `asynchronous`, `cache`, `combine`, `exchange`, `columns`, `level`; at last
`deciding`, which goes through all of them.
"""
