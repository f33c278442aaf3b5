"""T1 files, the common format of the auto-tuning community for a tunable kernel: its parameters and restrictions."""

from __future__ import annotations

from pathlib import Path

from generator.errors import InputError
from generator.json_fields import RecordingEntry
from generator.json_text import parse_json
from generator.templates.t1_space import Description, description_of
from runners.replay.reading import read_text


def read_t1(path: Path) -> Description:
    """Return the configuration space that a T1 file describes.

    Raises:
        InputError: the file cannot be read or is not a T1 file.
    """
    try:
        data = parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); give a T1 file") from None
    if not isinstance(data, dict) or "ConfigurationSpace" not in data:
        raise InputError(f"{path} is not a T1 file: it has no ConfigurationSpace; give one that has")
    return description_of(data, RecordingEntry(path))
