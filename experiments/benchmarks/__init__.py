"""Small programs that measure the project itself: the speed of the generator and of the explorers.

Each is run as `python -m experiments.benchmarks.NAME` and prints a few lines. `autotune_curve`, `awake_cores`,
`compared_models`, `default_plan`, `hyperplanes` and `retimed_walks` measure on a device, the others need none.
`record_walks` makes a recording of a run, `metric_signal` evaluates metrics on it. `inner_loops` disassembles device
code, `wavefronts` and `launches` count busy threads. `template_spaces` starts searches in spaces of millions,
`kernel_tuner_overhead` compares antune with Kernel Tuner. `call_overhead` calls functions of `antune.load`.
`halide_on_gpu` reads the kernel times of Halide's schedulers, `cublas_times` measures cuBLAS. `modelled_pipelines`
compares explorers by the static model, `fusion_times` times the grouping of stages by PolyMage-GPU. `start_plans` times
what a search on a GPU does before it measures, without one.
"""
