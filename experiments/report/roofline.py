"""The roofline of the device with the default and the best plan (metrics/roofline.py contains the model).

Intensity is floating-point operations per byte. For the program, bytes are those that any plan must move. For a kernel,
they are those that its code requests from the memory system, most of which may come from caches: a kernel above the
line of a large working set runs from a cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import Still, plain
from experiments.report.facts import Facts, kernels_of
from experiments.report.html import Section, note, nothing, table
from experiments.report.plotly import LEGEND, Figure, Json, View, axis
from experiments.values.records import Result
from experiments.words import describe_ms, describe_percent
from generator.errors import IllegalPlan
from generator.templates.template import Template
from metrics.roofline import Ceilings, Roof, arithmetic, bandwidth_for, roof

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {"default": "base", "best": "best"}


@dataclass(frozen=True, slots=True)
class Spot:
    """A measured point: operations per byte, operations per second. `plan` is default or best."""

    plan: str
    name: str
    kernel: bool
    intensity: float
    rate: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """The data of the chart: `peak` in operations per second, `lines` as (working set, bytes per second)."""

    type: str
    peak: float
    lines: tuple[tuple[str, float], ...]
    own: float
    spots: tuple[Spot, ...]
    roof: Roof
    low: float
    high: float

    def at(self, bandwidth: float) -> float:
        """Return the intensity above which the peak is the limit, not `bandwidth`."""
        return self.peak / bandwidth


def roofline(facts: Facts) -> Roofline | str:
    """Return the data of the chart of a run, or the reason why there is none."""
    from generator.polyhedral.dependences.demand import program_demand  # here, because it loads isl

    device, ceilings = facts.info.device, facts.ceilings
    if device.key.startswith("deterministic"):
        return "The deterministic device has no speed, so there is no roofline."
    if ceilings is None:
        return (f"The ceilings of {device.name} were not measured on this machine: `antune suite roofline --device "
                f"{device.key}` measures them, and the next report has the roofline.")
    if facts.summary.best_ms is None:
        return "Nothing valid was timed, so there is nothing below the roofline."
    if isinstance(facts.info.subject, Template):
        return "What the kernel of a template computes is not known, so there is no roofline."
    demand = program_demand(facts.info.program)
    found, moved = roof(demand, ceilings), demand.read_bytes + demand.written_bytes
    fastest = arithmetic(demand.type, ceilings)
    if found is None or fastest is None or not demand.operations.floating or not moved:
        return "The program does no floating-point operations, or of a type whose ceiling was not measured."
    work, own = demand.operations.floating, bandwidth_for(moved, ceilings.bandwidths)
    whole = [Spot(plan, "program", False, work / moved, 1e3 * work / ms)
             for plan, ms in (("default", facts.summary.default_ms), ("best", facts.summary.best_ms)) if ms]
    spots = (*whole, *_kernel_spots(facts, "default", facts.default), *_kernel_spots(facts, "best", facts.best))
    places = [spot.intensity for spot in spots] + [fastest[1] / own]
    return Roofline(*fastest, tuple(_lines(ceilings)), own, spots, found,
                    min(places) / 4, max(places) * 8)


def _lines(ceilings: Ceilings) -> Iterator[tuple[str, float]]:
    for one in ceilings.bandwidths:
        size = one.working_set >> 10
        yield f"{size >> 10} MiB" if size >= 1024 else f"{size} KiB", one.bytes_per_s


def _kernel_spots(facts: Facts, plan: str, result: Result | None) -> Iterator[Spot]:
    """Yield a point for each kernel of a plan that the model covers."""
    from generator.lowering.analysis.facts import kernel_facts
    from metrics.device_model import device_model
    from metrics.static_model import global_bytes

    times = {kernel.statements: kernel.median_ms for kernel in kernels_of(facts, result)}
    if result is None or not times:
        return
    target = facts.info.device.target
    try:
        found = kernel_facts(facts.info.program, result.evaluation.plan, target)
    except IllegalPlan:
        return
    model = device_model(target)
    for statements, ms in times.items():
        same = [kernel for kernel in found if kernel.statements == statements]
        work = sum(k.launches * k.operations.floating * k.threads for k in same)
        moved = sum(k.launches * global_bytes(k, model) for k in same)
        if work and moved and ms:
            yield Spot(plan, " ".join(statements), True, work / moved, 1e3 * work / ms)


def section(facts: Facts) -> Section:
    """Return the section with the chart and its table, or with the reason why there is none."""
    title, found = "Roofline: how much faster could any plan be?", roofline(facts)
    if isinstance(found, str):
        return Section("roofline", "Roofline", title, nothing(found))
    limit = {"compute": "the device's operations per second", "memory": "the device's bandwidth"}[found.roof.limit]
    rows = [
        (f"{spot.plan} plan", describe_ms(ms), f"{1e-9 * spot.rate:.4g}", f"{describe_percent(found.roof.share(ms))}")
        for spot, ms in zip(
            (s for s in found.spots if not s.kernel),
            (ms for ms in (facts.summary.default_ms, facts.summary.best_ms) if ms),
            strict=True,
        )
    ]
    body = Figure("roofline", "roofline of the device", (View("", tuple(_traces(found)), _layout(found)),), 460).html()
    body += table(rows, ("", "time", "billion operations/s", "of the roof"), (1, 2, 3))
    body += note(
        f"No plan can take less than {describe_ms(found.roof.ms)}, as far as {limit} goes. Full dots: the whole "
        f"program, by "
        "the bytes that any plan must move. Rings: kernels, by the bytes their text asks for; what a cache serves lets "
        "them lie above the lines. A line is the bandwidth for a working set of its size, as measured."
    )
    return Section("roofline", "Roofline", title, body)


def _traces(found: Roofline) -> Iterator[Json]:
    for name, bandwidth in found.lines:
        corner = found.at(bandwidth)
        yield {"mode": "lines", "x": [found.low, min(corner, found.high)],
               "y": [found.low * bandwidth * 1e-9, min(corner, found.high) * bandwidth * 1e-9],
               "line": {"color": "@soft", "width": 1.2, "dash": "dot"}, "showlegend": False,
               "hovertemplate": f"{name}: {1e-9 * bandwidth:.4g} GB/s<extra></extra>"}
    yield {
        "mode": "lines",
        "x": [min(found.at(b) for _, b in found.lines), found.high],
        "y": [found.peak * 1e-9] * 2,
        "line": {"color": "@soft", "width": 2},
        "name": f"{found.type}: {found.peak * 1e-9:.4g} billion operations/s",
        "hovertemplate": "%{fullData.name}<extra></extra>",
        "showlegend": False,
    }
    for plan, color in _COLORS.items():
        for kernel in (False, True):
            spots = [spot for spot in found.spots if (spot.plan, spot.kernel) == (plan, kernel)]
            if spots:
                yield {
                    "mode": "markers",
                    "x": [s.intensity for s in spots],
                    "y": [s.rate * 1e-9 for s in spots],
                    "name": f"{plan} plan{', kernels' if kernel else ''}",
                    "text": [s.name for s in spots],
                    "marker": {
                        "size": 10 if kernel else 14,
                        "color": f"@{color}",
                        "symbol": "circle-open" if kernel else "circle",
                        "line": {"width": 2, "color": f"@{color}"},
                    },
                    "hovertemplate": f"{plan} plan, %{{text}}: %{{y:.4g}} billion operations/s, %{{x:.3g}} per "
                        f"byte<extra></extra>",
                }


def _layout(found: Roofline) -> Json:
    return {"xaxis": axis("floating-point operations per byte", type="log", tickformat="~g", dtick=1, zeroline=False),
            "yaxis": axis("billion operations per second", type="log", tickformat="~g", dtick=1, zeroline=False),
            "annotations": list(_labels(found)), **LEGEND}


def _labels(found: Roofline) -> Iterator[Json]:
    """Yield labels for the lowest and the highest bandwidth and for the peak."""
    style = {"showarrow": False, "bgcolor": "@paper", "borderpad": 1, "font": {"size": 11, "color": "@soft"}}
    for words, x, y, side in named(found):
        yield style | {
            "x": log10(x),
            "y": log10(y),
            "xanchor": "right" if x > 2 * found.low else "left",
            "yanchor": side,
            "text": words,
        }


def named(found: Roofline) -> Iterator[tuple[str, float, float, str]]:
    """Yield the text of each label, its position, and the side of the text at that position."""
    left, right = 1.1 * found.low, found.high / 1.05  # labels at the very edge are not drawn
    least, greatest = min(found.lines, key=lambda line: line[1]), max(found.lines, key=lambda line: line[1])
    for (size, bandwidth), side in ((least, "top"), (greatest, "bottom")):
        yield f"{1e-9 * bandwidth:.3g} GB/s ({size})", left, left * bandwidth * 1e-9, side
    yield f"{found.peak * 1e-9:.4g} billion operations/s ({found.type})", right, 1.05e-9 * found.peak, "bottom"


def still(facts: Facts) -> Still | None:
    """Return the chart as a picture; None if there is none."""
    found = roofline(facts)
    return None if isinstance(found, str) else Still("roofline", lambda axes: _draw(axes, found), (8, 5), legend=True)


def _draw(axes: Axes, found: Roofline) -> None:
    plain(axes, "floating-point operations per byte", "billion operations per second", "Roofline")
    for _, bandwidth in found.lines:
        xs = [found.low, min(found.at(bandwidth), found.high)]
        axes.plot(xs, [x * bandwidth * 1e-9 for x in xs], ":", color=LIGHT.base, linewidth=1)
    for words, x, y, side in named(found):
        axes.text(x, y, words, fontsize=7, color=LIGHT.soft, ha="right" if x > 2 * found.low else "left", va=side,
                  bbox={"facecolor": LIGHT.paper, "edgecolor": "none", "pad": 1})
    axes.plot([min(found.at(b) for _, b in found.lines), found.high], [found.peak * 1e-9] * 2, color=LIGHT.base)
    for plan, color in _COLORS.items():
        _draw_spots(axes, [s for s in found.spots if s.plan == plan], plan, getattr(LIGHT, color))
    axes.set_xscale("log")
    axes.set_yscale("log")


def _draw_spots(axes: Axes, spots: Sequence[Spot], plan: str, color: str) -> None:
    for kernel in (False, True):
        chosen = [spot for spot in spots if spot.kernel is kernel]
        if chosen:
            axes.plot([s.intensity for s in chosen], [s.rate * 1e-9 for s in chosen], "o", color=color, markersize=9,
                      fillstyle="none" if kernel else "full", label=f"{plan} plan{', kernels' if kernel else ''}")
