"""The parameters of a beam search as users write them: `width=16,passes=3,freezing=off`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from experiments.search.guides.stage_guide import MANY
from explorer.beam_pass import BeamOptions
from generator.errors import InputError

WORDS = "width=N, passes=N, turns=N, dropout=P, sampling=off, memory=off, freezing=off, freezing=N"
_ON, _OFF = "on", "off"


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """`many`: pipelines of so many stages or more are frozen. `memory`: the costs of a kernel are computed once."""

    options: BeamOptions = field(default_factory=BeamOptions)
    many: int = MANY
    memory: bool = True


def beam_settings(text: str) -> BeamSettings:
    """Return the settings that `text` asks for; the others are the defaults. Raises InputError."""
    found = BeamSettings()
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (part.strip() for part in word.partition("="))
        changed = _changed(found, name, value)
        if changed is None:
            raise InputError(f"--beam: {word!r:.60} is none of {WORDS} (N from 1 on, turns and freezing from 0 on; "
                             "0 < P <= 1)")
        found = changed
    return found


def _changed(settings: BeamSettings, name: str, value: str) -> BeamSettings | None:
    options = settings.options
    match name:
        case "width" if number := _count(value):
            return replace(settings, options=replace(options, beam=number))
        case "passes" if number := _count(value):
            return replace(settings, options=replace(options, passes=number))
        case "turns" if (number := _count(value)) is not None:
            return replace(settings, options=replace(options, turns=number))
        case "dropout" if (share := _share(value)) is not None:
            return replace(settings, options=replace(options, dropout=share))
        case "sampling" if value in (_ON, _OFF):
            return replace(settings, options=replace(options, sampling=value == _ON))
        case "memory" if value in (_ON, _OFF):
            return replace(settings, memory=value == _ON)
        case "freezing" if value in (_ON, _OFF):
            return replace(settings, options=replace(options, freezing=value == _ON))
        case "freezing" if (number := _count(value)) is not None:
            return replace(settings, many=number, options=replace(options, freezing=True))
    return None


def settings_text(settings: BeamSettings) -> str | None:
    """Return the settings in one form, however they were written; None for the defaults."""
    plain, options = BeamSettings(), settings.options
    words = {"width": options.beam, "passes": options.passes, "turns": options.turns, "dropout": options.dropout,
             "sampling": _switch(options.sampling), "freezing": settings.many if options.freezing else _OFF,
             "memory": _switch(settings.memory)}  # fmt: skip
    if settings == plain:
        return None
    return ",".join(f"{name}={value}" for name, value in words.items())


def _switch(on: bool) -> str:
    return _ON if on else _OFF


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def _share(text: str) -> float | None:
    try:
        value = float(text) if "_" not in text else 0.0
    except ValueError:
        return None
    return value if 0 < value <= 1 else None
