"""Helpers of tests. They import each other and the rooms, never a test.

Begin with `paths` (folders and files), `suite` (programs of the suites, read), `programs` (Programs from C text) and
`targets`. Then by what is tested:

- `reading`: problems without times of the sequential program; `captures`; `undecided` (pipelines whose comparisons
  rounding decides)
- random and hand-made programs: `nests`, `conditions`, `scalars`, `updates`, `sweeps`, `stages`, `cases`,
  `mixed`, `graphs` (expressions), `teams`, `levels`, `lanes` and `hybrids` (with plans)
- their plans: `plans` (all decisions), `random_nests` (one schedule), `space_plans` (from the spaces),
  `gpu_plans` (with features of GPUs), `hyperplanes`, `shuffles`, `streamed` (streaming stores, with programs)
- expected results, computed independently: `interpreter` with `machine`, `device_memory`, `memory`, `values`; `orders`,
  `trees`, `oracles`, `pipelines`, `camera`, `lens_blur`; `printed` (output of C programs)
- deliberate faults: `faults` in lowered kernels, `edits` of their text, `hostile` variants, `spoiled` lowerings and
  models; `host_room`, device memory to damage
- the pipeline language compared with Halide's own package: `halide_wheel`, `definitions` (small ones),
  `lessons` (of its tutorial)
- plans on devices: `devices` with `bench`; `wavefronts` (blocks that run diagonals), `whole_tiles`
  (pipelines)
- runners: `runners`, `workers`, `children`, `batches`, `cluster`, `recordings`, `cpu` with `cpu_hook`
- tuned functions in a separate process: `calling` with `streams`; `written` (an array that is written, then read
  as a texture)
- CUDA and HIP without a GPU: `cuda_compiler`, `cuda`, `cuda_runtime`, `cuda_double`, `watched_gpu`, `tensor_cores`
- kernels with parameters: `templates`; `kernel_tuner` (calls of `tune_kernel`)
- searches: `spaces` and `searches` (synthetic), `guides` (of beams), `runs` (in miniature), `side_by_side`
- user interfaces: `cli`, `pages`, `browser`, `exports`
- cost models: `costs` (examples of the papers)
- `slow`: the cases of a test that run by default; `kept`: values that all processes of a test run share; `order`: files
  that take long come first
"""
