"""The configuration space of a T1 file: its parameters, and the restrictions between them as Python expressions."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generator.json_fields import RecordingEntry
from generator.templates.template import Parameter


@dataclass(frozen=True, slots=True)
class Description:
    """The parameters of a template and the restrictions between them, as Python expressions."""

    name: str
    parameters: tuple[Parameter, ...]
    restrictions: tuple[str, ...]


def description_of(data: Mapping[str, Any], place: RecordingEntry) -> Description:
    """Return the configuration space of a T1 file. Raises InputError."""
    space = place.table(data["ConfigurationSpace"], "ConfigurationSpace")
    parameters = tuple(_parameter(entry, place) for entry in place.items(space.get("TuningParameters"),
                                                                         "TuningParameters"))
    conditions = [place.table(entry, "Conditions") for entry in place.items(space.get("Conditions", []), "Conditions")]
    restrictions = tuple(place.text(condition.get("Expression"), "Expression") for condition in conditions)
    general = data.get("General")
    usual = place.path.name.removesuffix(".json").removesuffix(".t1").removesuffix(".T1")
    name = str(general.get("BenchmarkName", usual)) if isinstance(general, dict) else usual
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
