"""`@antune.jit`: a pipeline as a function on arrays that is tuned when it is first called.

    @antune.jit(evaluations=20)
    def blur(image):                             # image is an hl.ImageParam here
        out, x, y = hl.Func("out"), hl.Var("x"), hl.Var("y")
        out[x, y] = (image[x, y] + image[x + 1, y]) / 2
        return out

    blur(picture, size=(1023, 768))              # picture and the result are arrays

For each set of shapes, types and numbers it runs the first of these that exists: the plan that wisdom has for the
device; the best plan of a search within the budget, which wisdom keeps; the default plan, if a size is not to be tuned
or the search found nothing.
"""

from __future__ import annotations

import inspect
import linecache
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, update_wrapper
from math import inf
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from antune.arguments import ExplorerLike, check_single, explorer_name, with_plain_numbers
from antune.jit_arguments import checked_signature, extents_of, image_of, is_array, kind_of, number_of, numbers_outside
from antune.jit_own import Order, values_of
from antune.recent import Recent
from antune.reporters import ReporterName, check_reporter, opened
from experiments.exports.function import made_function
from experiments.run import tune as tune_run
from experiments.search.code import variant_of_plan
from experiments.search.parts import PARTS
from experiments.search.places import find_device
from experiments.search.run_dirs import claimed_directory
from experiments.values.options import USUAL_MODELS, Budget, RunOptions
from experiments.wisdom.database import Wisdom
from experiments.wisdom.entry import known_by
from experiments.wisdom.place import wisdom_file
from experiments.words import describe_ms
from generator.errors import AntuneError, IllegalPlan, InputError, Location
from generator.frontend_c.source import Compilation
from generator.frontend_py.collect import collect
from generator.frontend_py.func import Func
from generator.frontend_py.images import ImageParam
from generator.frontend_py.load import Built, guarded, outputs_of
from generator.frontend_py.named_sizes import SIZES
from generator.frontend_py.problem import problem_of, program_of
from generator.problem import Problem
from generator.reading import checked_pipeline
from runners.base import DeviceInfo
from runners.own_data import OwnData
from runners.registry import is_deterministic

if TYPE_CHECKING:
    from experiments.run import Reporter
    from generator.plan import Plan
    from generator.program import Program
    from runners.function import TunedFunction

Sizes: TypeAlias = tuple[int, ...]
Ready: TypeAlias = "tuple[TunedFunction, Order]"
"""A function, and its arguments."""
EVALUATIONS = 20
MOST = 128
"""The number of sets of shapes, types and numbers whose code is kept; the least recently used is dropped first."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The limits of a search, and its device. See `jit`."""

    evaluations: int | None = None
    seconds: float | None = None
    hints: tuple[Sizes, ...] | None = None
    explorer: str = "colony"
    seed: int = 0
    runs: Path | None = None
    reporter: ReporterName | Reporter = "silent"

    def covers(self, sizes: Sizes) -> bool:
        """Return whether an output of these extents is worth a search."""
        return self.evaluations != 0 and (self.hints is None or sizes in self.hints)

    def options(self, file: str, device: DeviceInfo) -> RunOptions:
        """Return the options of a search."""
        minutes = None if self.seconds is None else self.seconds / 60
        count = EVALUATIONS if self.evaluations is None and self.seconds is None else self.evaluations
        budget = Budget(count or None, None, minutes or (None if count else 1.0))  # without tuning, any limit
        return RunOptions(file, Compilation(), budget, explorer=self.explorer, seed=self.seed,
                          device=device.key, space="pipeline", from_python=True, models=(USUAL_MODELS,))


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of a call besides those of the function."""

    out: Any = None
    queue: Any = None
    stream: Any = None

    def values(self, function: TunedFunction, order: Order, arguments: Mapping[str, Any]) -> tuple[
            list[Any], dict[str, Any]]:
        """Return the arguments for `function`, by position and by name. Raises InputError."""
        results = {} if self.out is None else _named_results(function, self.out)
        return values_of(order, arguments, self.queue), results

    def check(self, ready: Ready, arguments: Mapping[str, Any]) -> None:
        """Raise InputError if `ready` would refuse the call, before a search that would be useless."""
        function, order = ready
        values, results = self.values(function, order, arguments)
        function.check(*values, queue=self.queue, **results)


@dataclass(frozen=True, slots=True)
class _Pipeline:
    """A pipeline built for some arguments: its model, and the argument for each of its inputs."""

    name: str
    file: str
    outputs: tuple[Func, ...]
    sizes: Sizes
    images: Mapping[str, ImageParam]

    def inputs(self) -> dict[str, str | OwnData]:
        """Return, for each array that the program reads, the name of its argument, or data that the function itself
        has.

        Raises InputError for an input of the function's own without data.
        """
        collected, found = collect(self.outputs), dict[str, str | OwnData]()
        arguments = {id(image): name for name, image in self.images.items()}
        for image in collected.declared():
            if (name := arguments.get(id(image))) is not None:
                found[collected.name(image)] = name
            elif image.data is not None:
                found[collected.name(image)] = OwnData(image.title, image.data)
            else:
                raise InputError(f"image `{image.title}` of {self.name} has no data and is not an argument: make it "
                                 "one", image.at)
        return found

    def program(self) -> Program:
        """Return its model, which depends on shapes and types, not on data. Raises InputError."""
        return program_of(self.outputs, self.sizes, self.name, self.file)

    def problem(self, arguments: Mapping[str, Any], seed: int) -> Problem:
        """Return the same with data: numpy arrays as they are, else random data. Raises InputError."""
        for name, image in self.images.items():
            if isinstance(arguments[name], np.ndarray):
                image.set(arguments[name])
        sizes = tuple(zip(SIZES, self.sizes, strict=False))
        return checked_pipeline(problem_of(self.outputs, self.sizes, self.name, self.file, sizes, seed))


class Jitted:
    """The result of `antune.jit`: see there."""

    def __init__(self, build: Callable[..., Any], device: str | None, size: Callable[..., Sequence[int]] | None,
                 effort: Effort) -> None:
        """Check the signature; all other work waits for the first call."""
        self._signature = checked_signature(build)
        update_wrapper(self, build)
        self.name: str = build.__name__
        self._build, self._selector, self._size, self._effort = build, device, size, effort
        parameters = self._signature.parameters
        self._names = tuple(parameters)
        self._ordered = all(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters.values())
        self._numbers = numbers_outside(build)
        self._made = Recent[Ready](MOST)
        self._lock = RLock()

    def __get__(self, instance: object, owner: type | None = None) -> Jitted:
        """Return itself, as an attribute of a class. Raises InputError as an attribute of an object: it would be a
        method.
        """
        if instance is None:
            return self
        raise InputError(f"{self.name} is a method, and antune.jit takes none, since `self` is not an array: use a "
                         "function outside of the class, or write @staticmethod above @antune.jit")

    @cached_property
    def _device(self) -> DeviceInfo:
        return find_device(self._selector)

    def __call__(self, *given: Any, size: Sequence[int] | None = None, out: Any = None, queue: Any = None,
                 stream: Any = None, **named: Any) -> Any:
        """Compute the pipeline.

        Arguments are those of the function: arrays, as `antune.load` takes them, and numbers. `size`: the extents of
        the output (width, height, ...; default: those of the first array). `out`: the array, or a list of them, for the
        result. `queue`, `stream`: as for `antune.load`.

        Raises:
            InputError: pipelines cannot take an argument, or the pipeline is wrong.
        """
        arguments, call = self._bound(given, named), _Call(out, queue, stream)
        function, order = self._specialized(arguments, size, call)
        values, results = call.values(function, order, arguments)
        return function(*values, queue=queue, stream=stream, **results)

    def specialized(self, *given: Any, size: Sequence[int] | None = None, **named: Any) -> TunedFunction:
        """Return the function that a call with these arguments would run, tuned now if necessary; `print` describes it.
        """
        return self._specialized(self._bound(given, named), size, None)[0]

    def _bound(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        if self._ordered and len(given) == len(self._names) and not named:  # as calls usually are
            return dict(zip(self._names, given, strict=True))
        try:
            bound = self._signature.bind(*given, **named)
        except TypeError as error:
            raise InputError(f"{self.name}{self._signature}: {error}") from None
        bound.apply_defaults()
        return dict(bound.arguments)

    def _specialized(self, arguments: Mapping[str, Any], size: Sequence[int] | None, call: _Call | None) -> Ready:
        key = (tuple(kind_of(name, value) for name, value in arguments.items()), self._numbers(),
               None if size is None else extents_of(size, "size"))
        found = self._made.get(key)
        if found is None:
            with self._lock:  # two threads do not tune the same
                found = self._made.get(key) or self._make(arguments, size, call)
                self._made.put(key, found)
        return found

    def _make(self, arguments: Mapping[str, Any], size: Sequence[int] | None, call: _Call | None) -> Ready:
        pipeline = self._pipeline(arguments, size)
        program = pipeline.program()
        known = self._known(program)
        if known is not None:
            return self._ready(pipeline, program, *known)
        options = self._effort.options(pipeline.file, self._device)
        default = self._ready(pipeline, program, PARTS.default_plan(program, self._device.target, options),
                              "the default plan, which was not tuned")
        if not self._searches(pipeline):
            return default
        if call is not None:
            call.check(default, arguments)
        tuned = self._tuned(pipeline, arguments)
        return default if tuned is None else self._ready(pipeline, program, *tuned)

    def _ready(self, pipeline: _Pipeline, program: Program, plan: Plan, origin: str) -> Ready:
        """Return `plan` as a function."""
        inputs = pipeline.inputs()
        variant = variant_of_plan(program, plan, self._device.target)
        function = made_function(program, variant, self._device, pipeline.name, tuple(inputs), (), origin)
        return function, tuple(inputs[parameter.name] for parameter in function.contract.parameters
                               if parameter.kind != "made")

    def _searches(self, pipeline: _Pipeline) -> bool:
        return self._effort.covers(pipeline.sizes) and not is_deterministic(self._device.key)

    def _pipeline(self, arguments: Mapping[str, Any], size: Sequence[int] | None) -> _Pipeline:
        images = {name: image_of(name, value) for name, value in arguments.items() if is_array(value)}
        values = {name: images[name] if name in images else number_of(name, value)
                  for name, value in arguments.items()}
        file = inspect.getsourcefile(self._build) or "pipeline.py"
        place = Location(file, self._build.__code__.co_firstlineno)
        made = guarded(Path(file), lambda: self._build(**values))
        outputs = tuple(outputs_of(Built(made, self.name, place)))
        wanted = self._extents(arguments, size)
        if wanted is None:
            shapes = [value.shape for name, value in arguments.items() if name in images]
            if not shapes:
                raise InputError(f"{self.name} takes no array, so it is unknown how large its output is: "
                                 f"give size=(width, ...)", place)
            wanted = tuple(reversed(shapes[0]))[:outputs[0].dimensions()]
        name = self.name if self.name.isidentifier() else "pipeline"  # `<lambda>` is not an identifier
        return _Pipeline(name, file if file.endswith(".py") else f"{name}.py", outputs,
                         tuple(int(extent) for extent in wanted), images)

    def _extents(self, arguments: Mapping[str, Any], size: Sequence[int] | None) -> Sizes | None:
        """Return the output's extents as given by the call or the decorator, if they are. Raises InputError."""
        if size is not None:
            return extents_of(size, "size")
        chosen = self._size
        if chosen is None:
            return None
        file = inspect.getsourcefile(chosen) if inspect.isroutine(chosen) else None
        return extents_of(guarded(Path(file or "pipeline.py"), lambda: chosen(**arguments), "size="),
                          f"what size= of {self.name} returns")

    def _known(self, program: Program) -> tuple[Plan, str] | None:
        """Return wisdom's plan if it is legal and multiplies in the program's own precision, since lower ones need
        permission.
        """
        path = wisdom_file()
        if path is None:
            return None
        wisdom = Wisdom(path)
        try:
            entry = wisdom.of(known_by(program), self._device)
            if entry is None or entry.plan.rounded_products:
                return None
            try:
                variant_of_plan(program, entry.plan, self._device.target)
            except (IllegalPlan, KeyError, InputError) as error:  # of another version of antune, or imported
                wisdom.forget([entry])
                _warn(f"the plan that wisdom had of {program.name} is not allowed here, so it is forgotten: {error}")
                return None
        except InputError as error:
            _warn(str(error))
            return None
        return entry.plan, f"known from {entry.made_at[:10]}, {describe_ms(entry.ms)} of device time then"

    def _tuned(self, pipeline: _Pipeline, arguments: Mapping[str, Any]) -> tuple[Plan, str] | None:
        """Return the best plan of a search; None if there is none."""
        try:
            return self._searched(pipeline, pipeline.problem(arguments, self._effort.seed))
        except AntuneError as error:
            _warn(f"{pipeline.name} could not be tuned, so the default plan runs: {error}")
            return None

    def _searched(self, pipeline: _Pipeline, problem: Problem) -> tuple[Plan, str] | None:
        effort = self._effort
        parts = replace(PARTS, read_problem=lambda _options, _tell: problem, picture=False)
        with _run_folder(effort.runs, pipeline.name) as directory, opened(effort.reporter) as told:
            finish = tune_run(effort.options(pipeline.file, self._device), directory, told, parts,
                              text="".join(linecache.getlines(pipeline.file)), wisdom=True)
        if finish.ending == "interrupted":
            raise KeyboardInterrupt
        if finish.best is None:
            _warn(f"no plan of {pipeline.name} was right and fast enough to be timed, so the default plan runs")
            return None
        return finish.best.evaluation.plan, (f"the best of {finish.summary.evaluations} plans, "
                                             f"{describe_ms(finish.summary.best_ms)} of device time")


@with_plain_numbers
def jit(function: Callable[..., Any] | None = None, *, evaluations: int | None = None, seconds: float | None = None,
        device: str | None = None, size_hints: Sequence[Sequence[int]] | None = None,
        size: Callable[..., Sequence[int]] | None = None, explorer: ExplorerLike = "colony", seed: int = 0,
        runs: str | Path | None = None, reporter: ReporterName | Reporter = "silent") -> Any:
    """Make `function`, which returns the output Func of a pipeline (or several), a function on arrays.

    It is called with an `hl.ImageParam` for each array of a call, and with the numbers as they are. The search of the
    first call with new shapes, types or numbers takes `evaluations` plans (0: never tune) or `seconds`, whichever ends
    first (default: 20 plans; `seconds` alone has no limit of plans; docs/python.md says what comes in addition), on
    `device` (as for --device). `size_hints`: the extents of outputs (width, height, ...) that are worth a search;
    others run the plan from wisdom, or the default plan (None: all are). `size`: a function of the arguments that
    returns the extents of the output, by default those of the first array. `runs`: a folder for the runs. `reporter`:
    as for `antune.tune`, but silent by default.

    Raises:
        InputError: a budget or hint makes no sense; at a call: as `Jitted`.
    """
    if evaluations is not None and not (isinstance(evaluations, int) and evaluations >= 0):
        raise InputError(f"evaluations is {evaluations!r}; use 0 (never tune) or a whole number above it")
    if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds < inf):
        raise InputError(f"seconds is {seconds!r}; use a number above 0")
    if size is not None and not callable(size):
        raise InputError(f"size is {size!r}; give a function of the arguments here, and extents at each call")
    check_reporter(reporter)
    check_single(device=device, seed=seed)
    hints = None if size_hints is None else tuple(extents_of(hint, "a size in size_hints") for hint in size_hints)
    effort = Effort(evaluations, seconds, hints, explorer_name(explorer), seed, None if runs is None else Path(runs),
                    reporter)

    def made(build: Callable[..., Any]) -> Jitted:
        return Jitted(build, device, size, effort)

    return made if function is None else made(function)


@contextmanager
def _run_folder(runs: Path | None, name: str) -> Iterator[Path]:
    """Yield a new folder for a run, in `runs`, or a temporary one."""
    if runs is not None:
        with claimed_directory(runs, name) as directory:
            yield directory
        return
    with tempfile.TemporaryDirectory(prefix="antune-jit-") as folder:
        yield Path(folder) / name


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def _named_results(function: TunedFunction, out: Any) -> dict[str, Any]:
    """Return `out` by the names of results. Raises InputError if their numbers differ."""
    results = function.contract.results
    given = list(out) if isinstance(out, list | tuple) else [out]
    if len(given) != len(results):
        raise InputError(f"out has {len(given)} array{'s' * (len(given) != 1)}, but {function} has {len(results)} "
                         f"result{'s' * (len(results) != 1)}: {', '.join(results)}")
    return dict(zip(results, given, strict=True))
