"""One JSON object: the plan and the facts about program, device, code and times."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from experiments.exports.chosen import Chosen
from experiments.search.code import variant_of_plan
from experiments.search.reproducing import reproduce_command
from experiments.values.outcome_rows import outcome_to_row
from generator.errors import IllegalPlan
from generator.templates.template import Template
from metrics.outcome import Timed

VERSION = 1


def json_files(chosen: Chosen) -> dict[str, str | bytes]:
    """Return the object as text, by its file name; `antune check FILE.c --plan` accepts its `plan`."""
    info, evaluation = chosen.info, chosen.result.evaluation
    data = {"antune_export": VERSION, "evaluation": evaluation.number, "plan": json.loads(evaluation.plan.to_json()),
            "plan_digest": evaluation.plan.digest, "outcome": _outcome(chosen), "program": _program(chosen),
            "device": asdict(info.device), "sequential_ms": info.sequential_ms, "compiler": info.compiler,
            "made": info.created_at, "command": reproduce_command(info), "kernels": _kernels(chosen)}
    return {f"{chosen.name}.json": json.dumps(data, indent=2) + "\n"}


def _outcome(chosen: Chosen) -> dict[str, Any]:
    row = outcome_to_row(chosen.result.outcome)
    decoded = {name: json.loads(row[name]) for name in ("samples_ms", "kernels") if name in row}
    return row | decoded


def _program(chosen: Chosen) -> dict[str, Any]:
    subject = chosen.info.subject
    arrays = [{"name": a.name, "type": a.type, "extents": a.extents, "role": a.role} for a in subject.contract.arrays]
    if isinstance(subject, Template):
        return {"name": subject.name, "file": subject.file, "digest": subject.digest, "arrays": arrays,
                "parameters": {one.name: one.values for one in subject.parameters},
                "restrictions": subject.restrictions}
    program = chosen.info.program
    statements = [{"name": s.name, "iterators": s.iterators, "domain": s.domain, "text": s.text, "line": s.line}
                  for s in program.statements]
    return {"name": program.name, "file": program.file, "digest": program.digest, "sizes": dict(program.parameters),
            "arrays": arrays, "statements": statements, "schedule": program.schedule}


def _kernels(chosen: Chosen) -> list[dict[str, Any]]:
    """Return how each kernel is launched; empty for a plan without code, which only the deterministic device times."""
    assert isinstance(chosen.result.outcome, Timed), "only timed plans are exported"
    try:
        variant = variant_of_plan(chosen.info.subject, chosen.result.evaluation.plan, chosen.info.device.target)
    except IllegalPlan:
        return []
    return [{"name": k.name, "statements": k.statements, "arrays": k.arrays, "scalars": k.scalars,
             "iterators": k.iterators, "block": k.block, "local_bytes": k.local_bytes, "language": variant.dialect,
             "preamble": variant.preamble, "source": k.source} for k in variant.kernels]
