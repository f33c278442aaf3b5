"""T1 files, the common format of the auto-tuning community for a tunable kernel: its parameters and restrictions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from generator.errors import InputError
from generator.json_text import parse_json
from graph.template import Parameter
from runners.replay.fields import RecordingEntry
from runners.replay.reading import read_text


@dataclass(frozen=True, slots=True)
class Description:
    """The parameters of a template and the restrictions between them, as Python expressions."""

    name: str
    parameters: tuple[Parameter, ...]
    restrictions: tuple[str, ...]


def read_t1(path: Path) -> Description:
    """The configuration space that a T1 file describes.

    Raises:
        InputError: the file cannot be read or is no T1 file.
    """
    place = RecordingEntry(path)
    try:
        data = parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); give a T1 file") from None
    if not isinstance(data, dict) or "ConfigurationSpace" not in data:
        raise InputError(f"{path} is no T1 file: it has no ConfigurationSpace; give one that has")
    space = place.table(data["ConfigurationSpace"], "ConfigurationSpace")
    parameters = tuple(_parameter(entry, place) for entry in place.items(space.get("TuningParameters"),
                                                                         "TuningParameters"))
    conditions = [place.table(entry, "Conditions") for entry in place.items(space.get("Conditions", []), "Conditions")]
    restrictions = tuple(place.text(condition.get("Expression"), "Expression") for condition in conditions)
    general = data.get("General")
    name = str(general.get("BenchmarkName", path.stem)) if isinstance(general, dict) else path.stem
    return Description(name, parameters, restrictions)


def _parameter(entry: object, place: RecordingEntry) -> Parameter:
    fields = place.table(entry, "TuningParameters")
    name = place.text(fields.get("Name"), "Name")
    values = fields.get("Values")
    if isinstance(values, str):
        try:
            values = ast.literal_eval(values)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            place.fault(f"the values of `{name}` are {values!r}", "write a list, e.g. [1, 2, 4]")
    listed = place.items(list(values) if isinstance(values, tuple) else values, f"Values of {name}")
    return Parameter(name, tuple(place.value(value, name) for value in listed))
