"""The folder of an autotuning: its job (`job.json`), the models of its rounds, and plans.

`model-N.json` is the model after round N. A folder belongs to one job, which has the arguments of `autotune` without
the number of rounds: models of other programs, or with other times, are not continued. The other modes take part in no
job, and their plans have names of their own (`plan_files`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.files import write_atomically
from experiments.learning.series import Series
from generator.errors import InputError
from metrics.costs.learned.file import Trained, model_text, read_model

JOB_FILE = "job.json"
FORMAT = 1
_SAID = {"series": "programs, sizes, driver or version of antune", "samples": "--samples", "epochs": "--epochs",
         "seed": "--seed", "start": "--model", "beam": "--beam"}  # fmt: skip
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TuningJob:
    """The parameters that determine the models of a folder, besides measurements. `start`: hash of the first model;
    `beam`: parameters of the beam search (None: the defaults).
    """

    series: tuple[Series, ...]
    samples: int
    epochs: int
    seed: int
    start: str
    beam: str | None = None


def claim(out: Path, job: TuningJob) -> None:
    """Claim the folder for `job` if it has no job. Raises InputError if it is another job's, or not writable."""
    wanted = json.loads(json.dumps({"format": FORMAT, **asdict(job)}))
    try:
        found = json.loads((out / JOB_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if numbers := _numbers(out):
            raise InputError(f"{out} has models ({model_file(out, numbers[0]).name}) without a {JOB_FILE}, of which "
                             "nobody knows what they learned from; choose another folder with --out") from None
        write(out / JOB_FILE, json.dumps(wanted, indent=1) + "\n")
        return
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{out / JOB_FILE} cannot be read: {error}; choose another folder with --out") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"{out / JOB_FILE} is of another version of antune; choose another folder with --out")
    if other := [said for name, said in _SAID.items() if found.get(name) != wanted[name]]:
        raise InputError(f"{out} is the folder of another job, with other {', other '.join(other)}; choose another "
                         "folder with --out, or give the arguments that it was begun with")


def rounds_done(out: Path, start: Trained, tell: Tell) -> tuple[int, Trained]:
    """Return the number of the last round with a readable model, and the model; `tell` gets messages about unreadable
    ones.
    """
    for number in _numbers(out):
        try:
            return number, read_model(model_file(out, number))
        except InputError as error:
            tell(f"round {number} is done again: {error}")
    return 0, start


def keep_model(out: Path, number: int, model: Trained) -> None:
    """Store the model of a round. Raises InputError if it cannot be written."""
    write_model(model_file(out, number), model)


def write_model(file: Path, model: Trained) -> None:
    """Write a model atomically. Raises InputError if the file cannot be written."""
    write(file, model_text(model))


def write(file: Path, text: str) -> None:
    """Write a file atomically. Raises InputError."""
    try:
        write_atomically(file, text)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}; choose another place") from None


def plan_files(out: Path, sources: Sequence[str], mode: str = "") -> dict[str, Path]:
    """Return the file for the plan of each source: different ones, and never a model's. `mode`: another one than
    autotuning, whose plans it must not replace.
    """
    tail = f".{mode}.plan.json" if mode else ".plan.json"
    found, taken = dict[str, Path](), set[str]()
    for source in sources:
        stem, count = Path(source).stem, 1
        name = stem + tail
        while name in taken:
            count += 1
            name = f"{stem}-{count}{tail}"
        taken.add(name)
        found[source] = out / name
    return found


def model_file(out: Path, number: int) -> Path:
    """Return the file of the model after round `number`."""
    return out / f"model-{number}.json"


def _numbers(out: Path) -> list[int]:
    """Return the rounds with a model, the last one first."""
    tails = (file.stem.removeprefix("model-") for file in out.glob("model-*.json"))
    return sorted((int(tail) for tail in tails if tail.isascii() and tail.isdecimal() and len(tail) < 10), reverse=True)
