"""`tune_kernel`: its arguments become a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from antune.kernel_tuner.caching import MOST_THREADS, open_cache
from antune.kernel_tuner.call import Call, make_call, unused
from antune.kernel_tuner.checking import check_kinds, shown
from antune.kernel_tuner.making import within
from antune.kernel_tuner.measuring import Bench
from antune.kernel_tuner.objective import Entry, Objective, make_objective
from antune.kernel_tuner.searching import Nothing, Search
from antune.kernel_tuner.strategies import Strategy, find_strategy
from explorer.registry import make_explorer, overshadowed
from generator.errors import InputError
from graph.template import TemplateSpace
from runners.base import DeviceInfo
from runners.devices import choose, survey

UNSUPPORTED = ("texmem_args", "compiler", "compiler_options", "parallel", "objectives")


def tune_kernel(kernel_name: str, kernel_source: Any, problem_size: Any, arguments: Sequence[Any],
                tune_params: Mapping[str, Sequence[Any]], grid_div_x: Any = None, grid_div_y: Any = None,
                grid_div_z: Any = None, restrictions: Any = None, answer: Sequence[Any] | None = None,
                atol: float = 1e-6, verify: Callable[..., Any] | None = None, verbose: bool = False,
                lang: str | None = None, device: int | str = 0, platform: int | str = 0,
                smem_args: Mapping[str, Any] | None = None, cmem_args: Mapping[str, Any] | None = None,
                texmem_args: Any = None, compiler: Any = None, compiler_options: Any = None,
                defines: Mapping[str, Any] | None = None, log: Any = None, iterations: int = 7,
                block_size_names: Sequence[str] | None = None, quiet: bool = False, strategy: str | None = None,
                strategy_options: Mapping[str, Any] | None = None, cache: str | Path | None = None,
                metrics: Mapping[str, Any] | None = None, simulation_mode: bool | None = None, parallel: Any = None,
                observers: Any = None, objective: str | None = None, objective_higher_is_better: bool | None = None,
                objectives: Any = None, seed: int | None = None) -> tuple[list[Entry], dict[str, Any]]:
    """Find the best values of a kernel's parameters; the arguments are those of Kernel Tuner's function of this name.

    Returns the list of evaluated configurations, each with its parameters, `time` (mean, ms), `times`, metrics and the
    times of its evaluation, and a dictionary with `best_config`, `device_name` and totals. Differences from Kernel
    Tuner are in docs/kernel_tuner.md; above all, a failing or wrong configuration never ends a search.

    Raises:
        InputError: an argument is not supported, makes no sense, or does not fit the kernel.
    """
    given, begin = dict(locals()), time.perf_counter()
    _refuse(given)
    check_kinds(given)
    del verbose, log, platform  # errors are exceptions, and devices are antune's
    sought = make_objective(objective, objective_higher_is_better, metrics, tuple(tune_params), bool(observers))
    plan = find_strategy(strategy, strategy_options)
    call = make_call(kernel_name, kernel_source, problem_size, arguments, tune_params,
                     grid_div=(grid_div_x, grid_div_y, grid_div_z), restrictions=restrictions, answer=answer, atol=atol,
                     verify=verify, lang=lang, smem_args=smem_args, cmem_args=cmem_args,
                     block_size_names=block_size_names, defines=defines, observers=tuple(observers or ()))
    _tell(quiet, overshadowed(plan.explorer), *(f"neither the kernel nor its launch uses the parameter `{name}`: its "
                                                "values make no difference" for name in unused(call)))
    rest = (sought, plan, cache, quiet, seed or 0, begin)
    if simulation_mode:
        return _simulated(call, *rest)
    return _measured(call, _device(call, device), int(iterations), *rest)


def _measured(call: Call, device: DeviceInfo, iterations: int, sought: Objective, plan: Strategy,
              cache: str | Path | None, quiet: bool, seed: int, begin_s: float) -> tuple[list[Entry], dict[str, Any]]:
    """Search on a device."""
    space = TemplateSpace(call.template.parameters, (*call.restrictions, *within(call, device.target.max_threads)))
    header = {"device_name": device.name, MOST_THREADS: device.target.max_threads, **_header(call, sought)}
    with closing(open_cache(cache, header, False)) as kept:
        search = Search(tuple(one.name for one in call.template.parameters), sought, plan,
                        make_explorer(plan.explorer, space, seed), kept, quiet, begin_s)
        with closing(Bench(call, device, space, iterations)) as bench:
            search.run(bench)
    _tell(quiet, search.repeats_note())
    return search.entries, search.environment(device.name)


def _simulated(call: Call, sought: Objective, plan: Strategy, cache: str | Path | None, quiet: bool, seed: int,
               begin_s: float) -> tuple[list[Entry], dict[str, Any]]:
    """Search on the cache alone, within the limits of its device."""
    kept = open_cache(cache, _header(call, sought), True)
    limit = within(call, kept.most_threads(call.block_names))
    space = TemplateSpace(call.template.parameters, (*call.restrictions, *limit))
    search = Search(tuple(one.name for one in call.template.parameters), sought, plan,
                    make_explorer(plan.explorer, space, seed), kept, quiet, begin_s)
    search.run(Nothing())
    _tell(quiet, search.repeats_note())
    return search.entries, search.environment(str(kept.header.get("device_name", "")))


def _tell(quiet: bool, *notes: str | None) -> None:
    for note in notes:
        if note is not None and not quiet:
            print(f"note: {note}")


def _refuse(given: Mapping[str, Any]) -> None:
    if refused := [name for name in UNSUPPORTED if given[name]]:
        raise InputError(f"{refused[0]} is not supported by antune's tune_kernel (docs/kernel_tuner.md); leave it out")


def _device(call: Call, device: int | str) -> DeviceInfo:
    """Return the device of the call: a number among those that support the language, or a selector as for --device."""
    seen = survey()
    if isinstance(device, str):
        return choose(seen.devices, device, seen.broken)
    fitting = [one for one in seen.devices if one.target.dialect == call.template.dialect]
    if not 0 <= device < len(fitting):
        raise InputError(f"device is {shown(device)}, and {len(fitting)} devices take {call.template.dialect}; `antune "
                         "devices` lists them, and why others do not work")
    return fitting[device]


def _header(call: Call, sought: Objective) -> dict[str, Any]:
    values = {parameter.name: list(parameter.values) for parameter in call.template.parameters}
    return {"kernel_name": call.template.kernel,
            "problem_size": "callable" if callable(call.problem_size) else call.problem_size,
            "tune_params_keys": list(values), "tune_params": values, "objective": sought.text}
