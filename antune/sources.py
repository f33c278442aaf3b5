"""The sources that `antune.tune` takes: files, C text, and pipelines and kernel templates that the calling program
built.

A resumed run must find its program again. The store has it: the polyhedral model or the kernel's text, with its data.
So programs built in Python need no file. C text is written to a file in the run's directory, since compilers and
exports read it.
"""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from antune.parsing import Scoped, parse_scoped, usual_space
from experiments.search.parts import PARTS, Parts
from experiments.store import is_run
from experiments.values.options import RunOptions, SpaceName
from generator.errors import InputError, Location
from generator.frontend_c.source import PROGRAM_LIMIT_S
from generator.frontend_py.func import Func
from generator.frontend_py.generators import Generator
from generator.frontend_py.load import BUILD, Built, built_by, outputs_of
from generator.frontend_py.named_sizes import SIZES
from generator.frontend_py.pipeline import Pipeline
from generator.frontend_py.problem import problem_of, sizes_of, whole
from generator.problem import Problem
from generator.reading import checked_pipeline
from generator.templates.building import Tunable

Source: TypeAlias = "str | Path | Func | Sequence[Func] | Pipeline | Tunable | Callable[..., Any] | type[Generator]"
"""A file (`blur.c`, `blur.py:build`, `kernel.json`), C text, an output Func or several, a kernel template, or a
function that returns one of the last three and takes `parameters`.
"""


MOST_NAME = 200
"""The maximum length of a name: the names of files add some characters."""


@dataclass(frozen=True, slots=True)
class CWords:
    """The arguments for C files; the fields are the options of `antune tune`."""

    defines: Sequence[str] = ()
    includes: Sequence[Path] = ()
    sources: Sequence[Path] = ()
    cflags: str = ""
    args: str = ""
    stdin: str | Path | None = None
    program_limit: float = PROGRAM_LIMIT_S
    random_inputs: bool = False
    function: str | None = None
    scop: int | None = None

    def scoped(self, file: Path, parameters: Mapping[str, float]) -> Scoped:
        """Return the loops to tune in `file`. Raises InputError as `parse_scoped`."""
        sizes = [f"{name}={value}" for name, value in parameters.items()]
        return parse_scoped(file, list(self.includes), list(self.defines), list(self.sources),
                            self.cflags, self.function, self.scop, sizes, None, self.args,
                            None if self.stdin is None else Path(self.stdin), self.program_limit, self.random_inputs)


@dataclass(frozen=True, slots=True)
class Given:
    """A run's source: options, parts, and the text if no file holds it."""

    options: RunOptions
    parts: Parts = PARTS
    text: str | None = None


@dataclass(frozen=True, slots=True)
class FromPython:
    """A pipeline or template built in Python: a function from a seed to its Problem, and where it is defined."""

    name: str
    file: str
    text: str
    space: SpaceName
    problem: Callable[[int], Problem]
    parameters: tuple[tuple[str, float], ...] = ()

    def given(self, options: RunOptions, words: CWords) -> Given:
        """Return the run that `options` describe, of this. Raises InputError if `words` has arguments for C files."""
        if words != CWords():
            raise InputError(f"{self.name} was built by a Python program: what is said of C files (defines, includes, "
                             "sources, cflags, args, stdin, function, scop) means nothing here; leave it out")
        own = replace(options, file=self.file, parameters=self.parameters, from_python=True)
        return Given(own, replace(PARTS, read_problem=lambda options, _: self.problem(options.seed)), self.text)


def is_text(source: object) -> bool:
    """Return whether `source` is C text rather than the name of a file."""
    return isinstance(source, str) and ("\n" in source or "{" in source)


def fit_name(name: str | None) -> str | None:
    """Return `name` with letters, digits and `_` only. Raises InputError if it is not a text."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(f"name is {name!r}; give a text, or leave it out")
    return re.sub(r"\W", "_", name, flags=re.ASCII)[:MOST_NAME] or "run"


def plain_parameters(parameters: object) -> dict[str, int | float]:
    """Return `parameters` as numbers of Python. Raises InputError for other names and values."""
    if not isinstance(parameters, Mapping):
        raise InputError(f"parameters is {parameters!r:.60}; give names and numbers, like {{'width': 640}}")
    found: dict[str, int | float] = {}
    for key, value in parameters.items():
        if not isinstance(key, str) or not isinstance(value, int | float | np.integer | np.floating):
            raise InputError(f"parameters has {key!r}: {value!r}; use names and numbers, like {{'width': 640}}")
        found[key] = int(value) if isinstance(value, int | np.integer) else float(value)
    return found


def name_of(source: Source, built: FromPython | None, name: str | None) -> str:
    """Return the name of a run, valid for a folder; `name` is valid."""
    if name is not None:
        return name
    if built is not None:
        return re.sub(r"\W", "_", built.name)
    return "text" if is_text(source) else re.sub(r":\w+$", "", str(source)).rpartition("/")[2].rpartition(".")[0]


def built_here(source: Source, parameters: Mapping[str, float], name: str | None) -> FromPython | None:
    """Return what the calling program built; None for files and C text.

    Raises:
        InputError: it cannot be tuned, or the pipeline is wrong.
    """
    if isinstance(source, str | Path):
        return None
    if callable(source) and not isinstance(source, Func):
        if not (inspect.isfunction(source) or inspect.ismethod(source)
                or (isinstance(source, type) and issubclass(source, Generator))):
            what = f"the class {source.__name__}" if isinstance(source, type) else f"a {type(source).__name__}"
            raise InputError(f"{what} cannot be tuned, although it can be called; give a function (def or lambda) that "
                             "calls it and returns the output Func")
        file = Path(inspect.getsourcefile(source) or "pipeline.py")
        made = built_by(source, file, parameters)
        title = file.stem if made.name == BUILD else made.name
        return _built(made, name or re.sub(r"\W", "", title) or "pipeline", parameters)
    first = next(iter(source), None) if isinstance(source, list | tuple) else source
    func = first.outputs()[0] if isinstance(first, Pipeline) else first
    if unknown := [key for key in parameters if key not in SIZES]:
        raise InputError(f"parameters has {unknown[0]!r}, but what was built takes sizes only ({', '.join(SIZES)}); "
                         "give the function that builds it")
    place = func.at if isinstance(func, Func) else Location("pipeline.py", 1)
    title = name or (str(func.name) if isinstance(func, Func) else "") or "pipeline"
    return _built(Built(source, title, place), title, parameters)


def _built(made: Built, name: str, parameters: Mapping[str, float]) -> FromPython:
    if isinstance(made.result, Tunable):
        return _of_template(made.result, name if name != "pipeline" else made.result.template.name)
    if not isinstance(made.result, Func | Pipeline | list | tuple):
        raise InputError(f"{type(made.result).__name__} cannot be tuned; give a file, C text, an output Func, a list "
                         "of them, a Pipeline, a kernel template, or a function that returns one")
    outputs = outputs_of(made)
    text = "".join(linecache.getlines(made.place.file))
    file = made.place.file if made.place.file.endswith(".py") else f"{name}.py"

    def problem(seed: int) -> Problem:
        return checked_pipeline(problem_of(outputs, sizes_of(parameters), name, file, whole(parameters), seed))

    return FromPython(name, file, text, "pipeline", problem, tuple(parameters.items()))


def _of_template(made: Tunable, name: str) -> FromPython:
    template = made.template
    return FromPython(name, template.file or f"{name}.{template.dialect}", template.text, "template",
                      lambda _: made.problem)


@contextmanager
def in_file(source: str, directory: Path, name: str) -> Iterator[Path]:
    """Yield the file of `source`; C text is written to the directory of its run, where it stays if there is a run."""
    if not is_text(source):
        yield Path(source)
        return
    made = not directory.exists()
    if is_run(directory):
        raise InputError(f"{directory} holds a run already; choose another `out`")
    file = directory / f"{name}.c"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as opened:  # the folder may be the user's, with other files
            opened.write(source)
    except FileExistsError:
        raise InputError(f"{file if file.exists() else directory} is there already, and the text that is tuned would "
                         "replace it; choose another `out` or `name`") from None
    except OSError as error:
        raise InputError(f"{directory} cannot be written: {error.strerror}; choose another `out`") from None
    try:
        yield file
    finally:
        if not is_run(directory):
            file.unlink(missing_ok=True)
            if made and not any(directory.iterdir()):
                directory.rmdir()


def of_file(file: Path, words: CWords, parameters: Mapping[str, float], space: SpaceName | None,
            options: RunOptions) -> Given:
    """Return the run that `options` describe, of a file. Raises InputError as `parse_scoped`."""
    scoped = words.scoped(file, parameters)
    return Given(replace(options, file=str(scoped.file), compilation=scoped.compilation, function=scoped.function,
                         scop=scoped.scop, parameters=scoped.parameters, space=space or usual_space(scoped.file)))
