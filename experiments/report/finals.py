"""The final: the best plans measured again in turns, with the winner, ties and slower plans."""

from __future__ import annotations

from experiments.report.facts import Facts
from experiments.report.html import Section, note, nothing, paragraph, table
from experiments.search.summary import Finalist, describe_final
from experiments.words import describe_ms

_HOW = (
    "In a sitting, a process of its own, all are timed round by round in random order; ratios are taken within the "
    "rounds, and their 95 % interval is over the sittings; with fewer than six sittings it covers all that was seen. "
    "The "
    "fastest of this is the best plan of the run."
)


def section(facts: Facts) -> Section:
    """Return the section with the table of the latest final, or with a note that there was none."""
    title, final = "The best plans, measured again in turns", facts.summary.final
    if final is None:
        return Section("finalists", "Finalists", title, nothing(
            "No final was held: the run is not at its end, nothing valid was found, or --finalists 0 was asked for."))
    rows = [(f"evaluation {f.evaluation}" if f.evaluation else "default plan", describe_ms(f.median_ms),
             f"{describe_ms(f.low_ms)} to {describe_ms(f.high_ms)}", _ratio(f.ratio),
             _interval(f), f.verdict) for f in final.finalists]
    ratios = () if facts.sought.objective.is_time else (
        f"Ratios and verdicts are those of the objective, {facts.sought.axis}, at the times of the rounds.",)
    failed = [(f"evaluation {number}", message) for number, message in final.failed.items()]
    body = (
        paragraph(f"{describe_final(final, facts.summary.objective)}.")
        + table(rows, ("", "time", "95 % interval", "over the winner", "95 % interval", ""), (1, 2, 3, 4), strong=(0,))
        + (table(failed) if failed else "")
        + note(" ".join((_HOW, *ratios)))
    )
    return Section("finalists", "Finalists", title, body)


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"


def _interval(finalist: Finalist) -> str:
    return "-" if finalist.ratio is None else f"{_ratio(finalist.ratio_low)} to {_ratio(finalist.ratio_high)}"
