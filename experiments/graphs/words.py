"""The texts in a picture of an optimization graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.graphs.collapse import Box, Panel, Row
from experiments.graphs.history import Explored
from experiments.values.records import Result, RunInfo, best_of
from experiments.values.sought import sought_for
from experiments.words import describe_ms, describe_percent
from generator.decisions.deciding import title_of
from graph.knowledge import Statistics
from graph.space import Option
from metrics.outcome import cost_ms

BEST, TIMES, SOMETIMES = "\N{BLACK STAR}", "\N{MULTIPLICATION SIGN}", "\N{CIRCLED DIVISION SLASH}"
LETTER = 6.3
"""The mean width of a letter in pixels."""


def note_lines(info: RunInfo, results: Sequence[Result], found: Explored) -> Sequence[str]:
    """Return what the picture shows and how to read it; `results` are judged by the objective."""
    best, sought = best_of(results), sought_for(info.options.objective, info.subject)
    failed = sum(cost_ms(result.outcome) is None for result in results)
    fastest = f", the lowest {sought.noun} {sought.describe(cost_ms(best.outcome))}" if best else ""
    failures = f", {failed} of which failed" if failed else ""
    bar = ("share of the walks that took the option" if found.trails is None else
           "pheromone, as the share of ants that would take the option next")
    what = (f"{info.subject.name} on {info.device.name}: what {len(results)} walks of the explorer "
            f"{info.options.explorer} found{failures}{fastest}")
    reading = (f"A box is a decision, a row one of its options. Width of a bar: {bar}. Number and colour: mean "
               f"{sought.noun} of the walks that took it (of the kernel alone in a kernel's column); blue is "
               f"{'fast, orange slow' if sought.objective.is_time else 'little, orange much'}.")
    marks = (f"{BEST} taken by the best walk \N{MIDDLE DOT} {TIMES}n: n of its walks failed \N{MIDDLE DOT} dead end: "
             f"never offered again ({SOMETIMES}: after some earlier choices) \N{MIDDLE DOT} hollow bar: not taken yet "
             "\N{MIDDLE DOT} thickness of an arrow: how many walks got there")
    lines = [what, reading, marks]
    return [*lines, found.note] if found.note else lines


def box_title(box: Box, panel: Panel) -> str:
    """Return the title of a box: `memory placement of A`, or without the subject if the panel names it."""
    title = title_of(box.name)
    return title if box.subject == panel.subject else f"{title} of {' '.join(box.subject)}"


def option_words(option: Option) -> str:
    """Return an option in words: `yes`, `32`, `8x4`, `pluto`."""
    if isinstance(option, bool):
        return "yes" if option else "no"
    if isinstance(option, tuple):
        return "x".join(map(str, option))
    return f"{option:g}" if isinstance(option, float) else str(option)


def row_tip(title: str, row: Row, describe: Callable[[float], str] = describe_ms) -> str:
    """Return the details of an option, one per line."""
    lines = [f"{title}: {option_words(row.option)}", f"share {describe_percent(row.share)}",
             f"{row.visits} walks, {row.failures} of them failed"]
    if row.cost != row.program_cost and row.cost.count:
        lines.append(f"kernel: {_spread(row.cost, describe)}")
    if row.program_cost.count:
        lines.append(f"program: {_spread(row.program_cost, describe)}")
    if row.dead:
        lines.append(f"dead end in {row.dead} of {row.offered} contexts")
    lines += [
        f"{name}: mean {metric.mean:.3f}, deviation {metric.deviation:.3f}" for name, metric in row.metrics.items()
    ]
    return "\n".join(lines)


def _spread(cost: Statistics, describe: Callable[[float], str]) -> str:
    return f"mean {describe(cost.mean)}, deviation {describe(cost.deviation)} of {cost.count}"


def wrap(text: str, width: float, most: int) -> list[str]:
    """Return `text` in at most `most` lines of about `width` pixels; an ellipsis replaces what does not fit."""
    room = max(1, int(width / LETTER))
    lines: list[str] = []
    rest = text
    while len(rest) > room and len(lines) < most - 1:
        cut = rest.rfind(" ", 0, room + 1)
        cut = cut if cut > 0 else room
        lines.append(rest[:cut])
        rest = rest[cut:].lstrip()
    return [*lines, rest if len(rest) <= room else rest[:room - 1] + "…"]
