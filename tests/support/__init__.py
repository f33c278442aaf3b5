"""What tests share. Helpers import each other and the rooms, never a test.

Begin with `paths` (where things are), `suite` (programs of the suites, read), `programs` (Programs from C text) and
`targets`. Then by what is tested:

- random and hand-made programs: `nests`, `conditions`, `scalars`, `updates`, `sweeps`, `stages`, `cases`, `mixed`,
  `graphs` (expressions), `teams`, `lanes` and `hybrids` (with plans)
- their plans: `plans` (all decisions), `random_nests` (one schedule), `space_plans` (from the spaces),
  `gpu_plans` (with what GPUs have), `hyperplanes`, `shuffles`
- what is right, worked out independently: `interpreter` with `machine`, `memory`, `values`; `orders`, `trees`,
  `oracles`, `pipelines`, `camera`, `lens_blur`; `printed` (what C programs print)
- what is wrong on purpose: `faults` in lowered kernels, `edits` of their text, `hostile` variants
- the pipeline language beside Halide's own package: `halide_wheel`, `definitions` (small ones),
  `lessons` (of its tutorial)
- plans on devices: `devices` with `bench`
- runners: `runners`, `workers`, `children`, `cluster`, `recordings`, `cpu` with `cpu_hook`
- tuned functions in a process of their own: `calling` with `streams`; `written` (an array that is written, then read
  as a texture)
- CUDA and HIP without a GPU: `cuda_compiler`, `cuda`, `cuda_runtime`, `cuda_double`, `tensor_cores`
- kernels with parameters: `templates`; `kernel_tuner` (calls of `tune_kernel`)
- searches: `spaces` and `searches` (synthetic), `runs` (in miniature), `side_by_side`
- what users see: `cli`, `pages`, `browser`, `exports`
- cost models: `costs` (examples of the papers)
- `slow`: which cases of a test run by default
"""
