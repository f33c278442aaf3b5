"""Describe plans, options and numbers in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from generator.decisions.deciding import kernel_words
from generator.plain_text import shell_word
from generator.plan import KernelPlan, Placement, Plan
from generator.schedules.schedule import Schedule, schedule_words
from graph.placement import PLACEMENT

_NEXT_UNIT = 999.5
"""Numbers below this have at most three digits after rounding."""
_MANY = 4
"""From this number on, kernels with the same words share a line."""
_MOST_NAMED = 8
"""At most this number of kernels on a line are named."""


def describe_plan(plan: Plan) -> tuple[str, ...]:
    """Return a line for the schedule, one for arrays outside of global memory, if any, and one per kernel or group of
    equal kernels. For a template, return one line: `block_size_x = 64, tile_size = 2`.
    """
    if plan.schedule is None:
        return (", ".join(f"{name} = {value}" for name, value in plan.parameters) or "no parameters",)
    placement = (describe_placement(plan),) if plan.placement else ()
    return (describe_schedule(plan.scheduled), *placement, *_describe_kernels(plan.kernels))


def _describe_kernels(kernels: Sequence[KernelPlan]) -> Iterator[str]:
    """Yield the lines of kernels as `describe_kernel`. Four or more kernels with the same words share a line, such as
    `kernels S0 | S1 and 147 more, each: a single thread`.
    """
    alike: dict[tuple[str, ...], list[KernelPlan]] = {}
    for kernel in kernels:
        alike.setdefault(kernel_words(kernel), []).append(kernel)
    for words, several in alike.items():
        if len(several) < _MANY:
            yield from map(describe_kernel, several)
            continue
        named = [" ".join(kernel.statements) for kernel in several]
        shown = named if len(named) <= _MOST_NAMED else named[:_MANY - 1]
        more = f" and {len(named) - len(shown)} more" if len(named) > len(shown) else ""
        yield f"kernels {' | '.join(shown)}{more}, each: {', '.join(words)}"


def describe_placement(plan: Plan) -> str:
    """Return the memory of arrays: `memory placement: A B texture, x constant; all else global`."""
    parts = [" ".join(name for name, memory in plan.placement if memory == kind) + f" {kind}"
             for kind in get_args(Placement) if kind in dict(plan.placement).values()]
    return f"{PLACEMENT}: {', '.join(parts)}; all else global"


def describe_schedule(schedule: Schedule) -> str:
    """Return a schedule in words: `schedule: algorithm pluto, serialize SCCs no, ...` or `schedule: S0 S1 | S2`.

    The words are those of the kind of schedule (`generator.schedules`).
    """
    return f"schedule: {schedule_words(schedule)}"


def describe_kernel(kernel: KernelPlan) -> str:
    """Return a kernel in words.

    The words are those of the decisions (`generator.decisions`), for example `kernel S0 S1: outer tile size 32x64,
    thread block size 8x32 (4x2 points each), unroll factor 4, shared memory`.
    """
    return f"kernel {' '.join(kernel.statements)}: {', '.join(kernel_words(kernel))}"


def command(verb: str, directory: Path) -> str:
    """Return a command on a run, quoted for a shell: `antune resume 'my runs/gemm-1'`."""
    return f"antune {verb} {shell_word(directory)}"


def describe_ms(ms: float | None) -> str:
    """Return a time with three significant digits in a suitable unit: `850 ns`, `25.8 us`, `3.95 ms`, `1.21 s`.

    `ms` is in milliseconds; None gives `-`. From 1,000 s on, all digits before the point are shown.
    """
    if ms is None:
        return "-"
    for unit, factor in (("ns", 1e6), ("us", 1e3), ("ms", 1.0)):
        if abs(ms) * factor < _NEXT_UNIT:
            return f"{_three_digits(ms * factor)} {unit}"
    return f"{_three_digits(ms / 1000)} s"


def _three_digits(value: float) -> str:
    """Return three significant digits (`9.00`, `12.3`, `457`), or all digits before the point from 1,000 on."""
    if value == 0 or abs(value) >= _NEXT_UNIT:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def describe_ratio(ratio: float | None) -> str:
    """Return a ratio such as `12.3x`; `-` if unknown."""
    return "-" if ratio is None else f"{describe_number(ratio)}x"


def describe_percent(share: float | None) -> str:
    """Return a fraction in percent: `0.81 %`, `4.1 %`, `37 %`; two digits, or whole percents from 10 on; `-` if
    unknown.
    """
    if share is None:
        return "-"
    percent = round(100 * share, 2)
    return f"{percent:.0f} %" if abs(percent) >= 9.95 else f"{percent:.2g} %"


def describe_number(value: float) -> str:
    """Return three significant digits, or all digits before the point from 1,000 on: `0.0123`, `12.3`, `1234`.

    Numbers from 0.0001 on have no exponent.
    """
    return f"{value:.0f}" if abs(value) >= _NEXT_UNIT else f"{value:.3g}"


def describe_seconds(seconds: float) -> str:
    """Return a duration such as `45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def describe_bytes(count: int) -> str:
    """Return a size such as `812 B`, `64.0 KiB`, `1.91 MiB`, with three significant digits."""
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1000 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.3g} {unit}"


def describe_count(count: int, what: str) -> str:
    """Return a count with its noun: `1 evaluation`, `2,400 evaluations`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def describe_rate(per_s: float) -> str:
    """Return a rate such as `0.83/s`, `12/s`, `1200/s`; per minute if it is low (`3.2/min`)."""
    if per_s >= 100:
        return f"{per_s:.0f}/s"
    return f"{per_s:.2g}/s" if per_s >= 0.1 else f"{60 * per_s:.2g}/min"
