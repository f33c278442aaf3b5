"""The best plan's code next to the default plan's, highlighted without scripts."""

from __future__ import annotations

from html import escape

from experiments.report.facts import Facts
from experiments.report.html import Section, copied, nothing
from experiments.search.code import code_of
from experiments.values.records import Result
from experiments.words import describe_plan
from generator.target import LANGUAGES, Dialect

LONGEST = 200_000
"""Longer code, in characters, is not highlighted."""
OPENCL_WORDS = ("__kernel", "__global", "__local", "__constant", "__private", "__read_only", "__write_only")
"""Keywords of OpenCL C that C does not have."""


def section(facts: Facts) -> Section:
    """Return the section with two columns, or one if the best plan is the default plan."""
    title, same = "The default plan beside the best", facts.default is facts.best
    columns = [] if facts.default is None or same else [_column(facts, "default plan", facts.default)]
    if facts.best is not None:
        columns.append(_column(facts, "default plan, which is the best" if same else "best plan", facts.best))
    if not columns:
        return Section("code", "Code", title, nothing("No plan is evaluated yet."))
    missing = nothing("There is no best plan: nothing valid was found.") if facts.best is None else ""
    return Section("code", "Code", title, f'{missing}<div class="columns wide">{"".join(columns)}</div>')


def _column(facts: Facts, title: str, result: Result) -> str:
    plan, dialect = result.evaluation.plan, facts.info.device.target.dialect
    text = code_of(facts.info, plan)
    words = "".join(f"<li>{escape(line)}</li>" for line in describe_plan(plan))
    return (f'<div><h3>{escape(title)}</h3><ul class="plan">{words}</ul>'
            f"{copied(text, f'code of the {title}', highlighted(text, dialect))}</div>")


def highlighted(text: str, dialect: Dialect) -> str | None:
    """Return the code as HTML with a class per kind of token; None if it is longer than `LONGEST`."""
    if len(text) > LONGEST:
        return None
    from pygments import highlight
    from pygments.filters import NameHighlightFilter
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import CLexer, CudaLexer
    from pygments.token import Keyword

    lexer = CudaLexer() if LANGUAGES[dialect].cplusplus else CLexer()
    lexer.add_filter(NameHighlightFilter(names=OPENCL_WORDS, tokentype=Keyword))
    return str(highlight(text, lexer, HtmlFormatter(nowrap=True)))
