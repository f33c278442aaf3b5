"""`antune autotune`: plans for pipelines by a learned cost model that is trained on measurements."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.options import BeamText, Device, Parameters, Realtime
from generator.errors import InputError
from generator.plain_text import path_word

if TYPE_CHECKING:
    from experiments.learning.autotune import Given, Wanted
    from experiments.learning.database import Database
    from experiments.learning.series import Origin
    from generator.plan import Plan
    from metrics.costs.learned.file import Trained
    from runners.base import DeviceInfo

INTERRUPTED, DATABASE = 130, "plans.db"


class Mode(StrEnum):
    """The modes: which plans are measured."""

    one_shot = "one-shot"
    top_5 = "top-5"
    autotune = "autotune"


Pipelines = Annotated[list[Path], typer.Argument(metavar="PIPELINE.py...", show_default=False,
                                                 help="Files of image pipelines (docs/pipelines.md); PIPELINE.py:NAME "
                                                      "if their function is not called `build`.")]
ModeOption = Annotated[Mode, typer.Option("--mode", help="Plans to measure: none (`one-shot`), the five with the "
                                                         "lowest predicted times, or whole batches, round by round.")]
Size = Annotated[str | None, typer.Option("--size", metavar="WxH[xC]", show_default=False,
                                          help="The size of the outputs, by default their estimates.")]
Rounds = Annotated[int, typer.Option("--rounds", min=1, help="Number of batches to measure and train on.")]
Samples = Annotated[int, typer.Option("--samples", min=1, help="Plans per batch, at most: that of the beam search, "
                                                               "then greedy samples.")]
Epochs = Annotated[int, typer.Option("--epochs", min=1, help="Training epochs after each round.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for `plans.db`, the models of all rounds, and "
                                                                "the best plans: NAME.plan.json, or "
                                                                "NAME.MODE.plan.json of other modes. The same command "
                                                                "continues a stopped job.")]
Model = Annotated[Path | None, typer.Option("--model", metavar="FILE.json", show_default=False,
                                            help="Initial model. Default: the last one in DIR, or antune's own model.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random choices.")]


def autotune(pipelines: Pipelines, mode: ModeOption = Mode.autotune, size: Size = None, rounds: Rounds = 20,
             samples: Samples = 80, epochs: Epochs = 200, device: Device = None, out: Out = Path("antune-autotune"),
             model: Model = None, seed: Seed = 0, realtime: Realtime = False, param: Parameters = None,
             beam: BeamText = "") -> None:
    """Plan image pipelines with a learned cost model, and train it.

    \b
    Examples:
      antune autotune sharpen.py --size 1536x2560 --mode one-shot
      antune autotune sharpen.py corners.py --size 1024x768 --device intel --rounds 20
    """
    from contextlib import closing
    from dataclasses import replace

    from experiments.learning.autotune import Wanted, given
    from experiments.learning.database import Database
    from experiments.learning.folder import plan_files, write
    from experiments.learning.series import LIMITS
    from experiments.search.guides.settings import beam_settings
    from experiments.search.places import find_device
    from metrics.costs.learned.file import read_model
    from metrics.costs.learned.model import SHIPPED

    beam_settings(beam)  # a refusal comes first
    origins = tuple(dict.fromkeys(_origin(file, size, param) for file in pipelines))
    with _stopping(mode, out):
        found, start = find_device(device), read_model(model or SHIPPED)
        with _folder(out):
            programs = tuple(given(origin, found) for origin in origins)
            for one in () if mode is Mode.one_shot else programs:
                one.compute_results()
        with closing(Database(out / DATABASE, found.key, found.name)) as base:
            files = plan_files(out, [origin.source for origin in origins], "" if mode is Mode.autotune else mode.value)
            wanted = Wanted(origins, out, samples, rounds, epochs, seed, replace(LIMITS, realtime=realtime), beam)
            for source, plan, said in _plans(mode, base, programs, wanted, found, start, model is not None):
                write(files[source], plan.to_json() + "\n")
                sizes = [*(("--size", size) if size else ()), *(f"--param={one}" for one in param or ())]
                explain = shlex.join(["antune", "explain", source, *sizes, "--plan", path_word(files[source])])
                _say(f"{Path(source).name}: {said}; plan in {files[source]} (`{explain}`)")


@contextmanager
def _stopping(mode: Mode, out: Path) -> Iterator[None]:
    """Say after Ctrl-C what is kept and which command continues, and exit."""
    try:
        yield
    except KeyboardInterrupt:
        if mode is Mode.one_shot or not (out / DATABASE).is_file():
            print("antune: interrupted; nothing else was saved", file=sys.stderr)
        else:
            _say(f"interrupted, saved in {out}\nNext: {shlex.join(['antune', *sys.argv[1:]])}")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Make the folder; a new one is removed if what follows raises InputError or is interrupted. Raises InputError if
    it cannot be made.
    """
    from experiments.files import make_folder

    new = not out.exists()
    make_folder(out)
    try:
        yield
    except (InputError, KeyboardInterrupt):
        if new:
            with suppress(OSError):  # something else may be in it by now; the error is what counts
                out.rmdir()
        raise


def _origin(file: Path, size: str | None, param: list[str] | None) -> Origin:
    """Return the program of a file. Raises InputError for a file or sizes that make no sense."""
    from antune.parsing import parse_scoped
    from experiments.learning.series import Origin

    scoped = parse_scoped(file, None, None, None, "", None, None, param, size)
    named = f":{scoped.function}" if scoped.function else ""
    return Origin(f"{scoped.file.resolve()}{named}", tuple(sorted(scoped.parameters)))


def _plans(mode: Mode, base: Database, programs: Sequence[Given], wanted: Wanted, device: DeviceInfo, start: Trained,
           named: bool) -> Iterator[tuple[str, Plan, str]]:
    """Yield the source of each pipeline, its best plan, and its time in words.

    `named`: `start` is a model that the user named, and no other is used.
    """
    from experiments.learning.autotune import autotune, best_of, one_shot, top, tuned
    from experiments.learning.folder import rounds_done
    from metrics.costs.learned.model import Learned

    if mode is Mode.autotune:
        autotune(base, programs, wanted, device, start, _say)
        for one in programs:
            best = best_of(base, one)
            yield one.series.origin.source, best.plan, f"{best.ms:.3g} ms"
        return
    done, model = (0, start) if named else rounds_done(wanted.out, start, _say)
    if done:
        _say(f"by the model of round {done} in {wanted.out}")
    for one in programs:
        space, source = tuned(one, device, Learned(model), wanted.beam), one.series.origin.source
        if mode is Mode.one_shot:
            sample = one_shot(space, wanted, device, _say)
            yield source, sample.plan, f"{sample.predicted_ms:.3g} ms predicted"
        else:
            plan, ms = top(base, space, wanted, device, _say)
            yield source, plan, f"{ms:.3g} ms"


def _say(text: str) -> None:
    print(text, flush=True)
