"""A hint for C programs with intermediate arrays: the space that also decides where these are computed."""

from __future__ import annotations

from experiments.values.options import RunOptions
from generator.problem import Subject, program_of
from generator.templates.template import Template

_NAMED = 3
"""The most arrays to name."""


def other_space(subject: Subject, options: RunOptions) -> str | None:
    """Return a message about the space `pipeline`, if the run searches another one for a program with stages."""
    if isinstance(subject, Template) or options.space != "wide":
        return None
    from generator.polyhedral.pipelines.stages import possible_stages

    found = [f"`{name}`" for name in possible_stages(program_of(subject))]
    if not found:
        return None
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return (f"{', '.join(found[:_NAMED])}{more} only pass{'es' if len(found) == 1 else ''} values from loops to later "
            "loops; `--space pipeline` also decides where such arrays are computed, which is often faster")
