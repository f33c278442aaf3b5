"""Small programs that measure the project itself: how fast it generates code, how fast the explorers think.

Each is run as `python -m experiments.benchmarks.NAME` and prints a few lines. `awake_cores`, `default_plan`,
`hyperplanes` and `retimed_walks` measure on a device, the others need none. `record_walks` makes a recording of a run,
`metric_signal` says what metrics tell there. `inner_loops` takes device code apart, `wavefronts` counts busy threads.
`template_spaces` starts searches in spaces of millions, `kernel_tuner_overhead` runs Kernel Tuner beside ours.
`call_overhead` calls what `antune.load` makes. `modelled_pipelines` compares explorers by what the static model says.
"""
