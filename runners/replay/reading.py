"""Read any recorded file, plain or gzipped, as a Recording."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

from generator.errors import InputError
from generator.json_fields import RecordingEntry
from generator.json_text import parse_json
from runners.replay.kernel_tuner import recording_from_cache
from runners.replay.recording import Recording
from runners.replay.t4 import recording_from_t4
from runners.replay.walks_file import recording_from_walks

_GZIP = b"\x1f\x8b"
_OPEN = "the file is not closed, as after a tuning run that was killed; all its complete entries are used"


def read_recording(path: Path) -> Recording:
    """Return the recording in a Kernel Tuner cache file, a T4 file or a file of antune's walks; its name is the file's.

    Raises:
        InputError: the file cannot be read, is truncated, holds no recording, or no valid configuration.
    """
    data, notes = _contents(path)
    place = RecordingEntry(path)
    if not isinstance(data, dict):
        raise InputError(_no_recording(path))
    if "antune_recording" in data:
        return recording_from_walks(data, place)
    if "cache" in data:
        return recording_from_cache(data, place, _name(path), notes)
    if "results" in data:
        return recording_from_t4(data, place, _name(path))
    if "ConfigurationSpace" in data:
        raise InputError(f"{path} is a T1 file: it describes a space and holds no measurements; give it with --t1, "
                         "beside a recording")
    raise InputError(_no_recording(path))


def read_walks(path: Path) -> Recording:
    """Return the recording in a file of antune's walks. Raises InputError, as `read_recording`."""
    recording = read_recording(path)
    if recording.fixed:
        raise InputError(f"{path} is a recording of parameters, not of walks; give a file with `antune_recording`")
    return recording


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked if it is gzipped, whatever its name. Raises InputError."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if raw.startswith(_GZIP) else raw).decode()
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise InputError(f"{path} is damaged: {error}; get the file again") from None
        raise InputError(f"{path} cannot be read: {error.strerror}; give a recorded file") from None
    except EOFError:
        raise InputError(f"{path} is cut off: its gzip data end too early; get the file again") from None
    except zlib.error as error:
        raise InputError(f"{path} is damaged: {error}; get the file again") from None
    except UnicodeDecodeError:
        raise InputError(_no_recording(path)) from None


def _contents(path: Path) -> tuple[Any, tuple[str, ...]]:
    text = read_text(path)
    try:
        return parse_json(text), ()
    except ValueError as error:
        closed = _closed(text)
        if closed is not None:
            return closed, (f"{path}: {_OPEN}",)
        if text.lstrip().startswith("{"):
            raise InputError(f"{path} is cut off or damaged: it ends or breaks within an entry ({error}); get the file "
                             "again, or remove the incomplete entry") from None
        raise InputError(_no_recording(path)) from None


def _closed(text: str) -> Any:
    """Return the contents of a cache file that Kernel Tuner has not closed; None for any other text."""
    end = text.rstrip()
    if not end.endswith("},"):
        return None
    try:
        data = parse_json(end[:-1] + "}}")
    except ValueError:
        return None
    return data if isinstance(data, dict) and "cache" in data else None


def _name(path: Path) -> str:
    """Return `convolution_A100` for `convolution_A100.json.gz`."""
    return path.name.removesuffix(".gz").removesuffix(".json") or path.name


def _no_recording(path: Path) -> str:
    return (f"{path} is not a recording; give a Kernel Tuner cache file, a T4 file or a recording of antune, plain or "
            ".gz")
