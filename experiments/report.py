"""report.html: one self-contained page that explains a run to somebody who was not there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from experiments.code import code_of
from experiments.effects import decision_effects
from experiments.environment import Environment
from experiments.files import write_atomically
from experiments.graph_figure import graph_svg
from experiments.outcome_rows import kind_of
from experiments.parts import PARTS, Parts
from experiments.records import Result, RunInfo
from experiments.report_figures import MAX_EFFECTS, convergence, effect, failures, library
from experiments.store import Store
from experiments.summary import Summary, best_result, describe_final, reproduce_command, summarize
from experiments.words import describe_ms, describe_plan, describe_ratio, describe_seconds
from generator.errors import InputError
from metrics.outcome import Timed

REPORT_FILE = "report.html"
_MESSAGES = 5
_GRAPH_S = 3.0
_STYLE = """
html { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse }
td, th { padding: .2em 1em .2em 0; text-align: left; vertical-align: top }
td:last-child { overflow-wrap: anywhere }
pre { background: rgba(128, 128, 128, .12); padding: 1em; overflow: auto; font-size: 12px }
.columns { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(440px, 100%), 1fr)); gap: 1em }
.columns > * { min-width: 0 } /* wide code scrolls, and does not widen the page */
.note { color: #808080 }
.graph svg { width: 100%; height: auto }
"""


def write_report(store: Store, directory: Path, parts: Parts = PARTS) -> Path:
    """Write the page from what is in the store now; returns its path. Works for a run that found nothing, too."""
    info, results, summary = store.info(), store.results(), summarize(store)
    sections = [
        _overview(summary), _finalists(summary), _section("How the best time fell", convergence(summary, results)),
        _section("Outcomes", failures(results) + _messages(results)), _effects(results),
        _section("What the search knows", _graph(store, parts)), _code(info, results, best_result(results, summary)),
        _section("Environment", _environment(info, store.environment())),
        _section("Make this run again", f"<pre>{escape(reproduce_command(info))}</pre>")]
    title = escape(f"{summary.name} on {summary.device}")
    page = (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
            f"<style>{_STYLE}</style>{library()}</head><body><h1>{title}</h1>{''.join(sections)}</body></html>\n")
    path = directory / REPORT_FILE
    write_atomically(path, page)
    return path


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _table(rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def _overview(summary: Summary) -> str:
    rows = []
    for name, ms in (("sequential C", summary.sequential_ms), ("default plan", summary.default_ms),
                     ("best plan", summary.best_ms)):
        over = [describe_ratio(base / ms if base and ms else None)
                for base in (summary.sequential_ms, summary.default_ms)]
        rows.append((name, describe_ms(ms), *over))
    shares = summary.shares
    spent = (f"{summary.evaluations} evaluations in {summary.iterations} iterations by the explorer "
             f"{summary.explorer} (space {summary.space}, seed {summary.seed}) in "
             f"{describe_seconds(summary.elapsed_s)}. Work: generate {shares.generate:.0%}, compile "
             f"{shares.compile:.0%}, check {shares.check:.0%}, time {shares.time:.0%}.")
    interval = ("" if summary.best_low_ms is None else
                f" The best median lies between {describe_ms(summary.best_low_ms)} and "
                f"{describe_ms(summary.best_high_ms)} with 95 % confidence.")
    return _table(rows, ("", "time", "vs sequential", "vs default")) + f"<p>{escape(spent + interval)}</p>"


def _finalists(summary: Summary) -> str:
    final = summary.final
    if final is None:
        return ""
    rows = [(f"evaluation {f.evaluation}" if f.evaluation else "default plan", describe_ms(f.median_ms),
             f"{describe_ms(f.low_ms)} to {describe_ms(f.high_ms)}", f"{f.ratio:.3f}",
             f"{f.ratio_low:.3f} to {f.ratio_high:.3f}", f.verdict) for f in final.finalists]
    note = ("In a sitting, a process of its own, all are timed round by round in random order; ratios are taken within the "
            "rounds, and their 95 % interval is over the sittings. The fastest of this is the best plan of the run.")
    failed = [(f"evaluation {number}", message) for number, message in final.failed.items()]
    header = ("", "time", "95 % interval", "over the winner", "95 % interval", "")
    return _section("The best plans, measured again in turns", f"<p>{escape(describe_final(final))}.</p>"
                    + _table(rows, header) + (_table(failed) if failed else "") + f'<p class="note">{escape(note)}</p>')


def _messages(results: Sequence[Result]) -> str:
    """The most frequent messages of every kind of failure."""
    by_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        if not isinstance(result.outcome, Timed):
            by_kind[kind_of(result.outcome).replace("_", " ")][result.outcome.message[:400]] += 1
    rows = [(kind, str(count), message) for kind, counts in sorted(by_kind.items())
            for message, count in counts.most_common(_MESSAGES)]
    return _table(rows, ("failure", "times", "message")) if rows else "<p>Nothing failed.</p>"


def _effects(results: Sequence[Result]) -> str:
    effects = decision_effects(results)
    shown = [entry for entry in effects if len(entry.options) > 1][:MAX_EFFECTS]
    if not shown:
        return ""
    note = (f"The {len(shown)} decisions with the strongest effect of {len(effects)}; in brackets the slowest "
            "option's median over the fastest's. Good options are taken together more and more often, so a "
            "decision may only go along with another that matters.")
    figures = "".join(f"<div>{effect(entry)}</div>" for entry in shown)
    return _section("What each decision did", f'<p class="note">{note}</p><div class="columns">{figures}</div>')


def _graph(store: Store, parts: Parts) -> str:
    """The optimization graph; a run whose walks are slow to make again gets a plainer one."""
    try:
        return f'<div class="graph">{graph_svg(store, parts, tips=True, limit_s=_GRAPH_S)}</div>'
    except InputError as nothing:
        return f"<p>{escape(str(nothing))}</p>"


def _code(info: RunInfo, results: Sequence[Result], best: Result | None) -> str:
    default = next((r.evaluation.plan for r in results if r.evaluation.number == 0), None)
    columns = []
    for title, plan in (("default", default), ("best", best.evaluation.plan if best else None)):
        if plan is not None:
            words = "<br>".join(escape(line) for line in describe_plan(plan))
            columns.append(f"<div><h3>{title}</h3><p>{words}</p><pre>{escape(code_of(info, plan))}</pre></div>")
    return _section("The default plan beside the best", f'<div class="columns">{"".join(columns)}</div>')


def _environment(info: RunInfo, environment: Environment) -> str:
    target = info.device.target
    limits = (f"{target.compute_units} compute units, {target.max_threads} threads per block, "
              f"{target.local_bytes} bytes of shared memory")
    rows = [("device", f"{info.device.name}, {info.device.platform}, driver {info.device.driver}"),
            ("limits", limits),
            ("sequential compiler", info.compiler),
            ("machine", f"{environment.machine}, {environment.cpus} cores, {environment.system}"),
            ("python", environment.python),
            ("packages", ", ".join(f"{name} {version}" for name, version in environment.packages)),
            ("file", f"{info.options.file} (SHA-256 {info.source_hash[:16]})"),
            ("program", info.program.digest), ("started", info.created_at)]
    return _table(rows)
