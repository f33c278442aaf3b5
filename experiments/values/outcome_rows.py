"""Convert outcomes to rows of the store and back. The match is exhaustive, so no kind of outcome can be forgotten."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias, assert_never

from generator.plain_text import printable
from metrics.outcome import (
    CompileFailed,
    Crashed,
    Durations,
    Illegal,
    KernelTime,
    LaunchFailed,
    Outcome,
    Timed,
    TimedOut,
    WrongResult,
)

Kind: TypeAlias = Literal["timed", "illegal", "compile_failed", "launch_failed", "timed_out", "crashed",
                          "wrong_result"]
Row: TypeAlias = Mapping[str, Any]


def kind_of(outcome: Outcome) -> Kind:
    """Return the name of an outcome's kind in tables, files and the store."""
    match outcome:
        case Timed():
            return "timed"
        case Illegal():
            return "illegal"
        case CompileFailed():
            return "compile_failed"
        case LaunchFailed():
            return "launch_failed"
        case TimedOut():
            return "timed_out"
        case Crashed():
            return "crashed"
        case WrongResult():
            return "wrong_result"
        case _:
            assert_never(outcome)


def outcome_to_row(outcome: Outcome) -> dict[str, Any]:
    """Return the columns of table `outcome` for `outcome`; absent columns are NULL."""
    spent = outcome.durations
    row = {"kind": kind_of(outcome), "generate_s": spent.generate_s, "compile_s": spent.compile_s,
           "check_s": spent.check_s, "time_s": spent.time_s, "device": outcome.device or None}
    match outcome:
        case Timed():
            return row | _timed_columns(outcome)
        case TimedOut(phase, limit_s, _):
            return row | {"message": outcome.message, "phase": phase, "limit_s": limit_s}
        case Crashed(phase, message, _):
            return row | {"message": message, "phase": phase}
        case Illegal() | CompileFailed() | LaunchFailed() | WrongResult():
            return row | {"message": outcome.message}
        case _:
            assert_never(outcome)


def _timed_columns(timed: Timed) -> dict[str, Any]:
    kernels = [[list(k.statements), k.median_ms, dict(k.metrics), *([dict(k.amounts)] if k.amounts else [])]
               for k in timed.kernels]
    return {"median_ms": timed.median_ms, "low_ms": timed.low_ms, "high_ms": timed.high_ms,
            "host_ms": timed.host_ms, "samples_ms": json.dumps(timed.samples_ms), "kernels": json.dumps(kernels),
            "code_hash": timed.code_hash, "stopped_early": int(timed.stopped_early)}


def row_to_outcome(row: Row) -> Outcome:
    """Return the outcome that `outcome_to_row` converted. Raises ValueError for an unknown kind.

    Rows of a store of version 1 have no device.
    """
    told = {**row, "message": printable(row["message"])} if row["message"] else row
    return replace(_outcome(told), device=printable(row.get("device") or ""))


def _outcome(row: Row) -> Outcome:
    spent = Durations(row["generate_s"], row["compile_s"], row["check_s"], row["time_s"])
    match row["kind"]:
        case "timed":
            return _timed(row, spent)
        case "illegal":
            return Illegal(row["message"], spent)
        case "compile_failed":
            return CompileFailed(row["message"], spent)
        case "launch_failed":
            return LaunchFailed(row["message"], spent)
        case "timed_out":
            return TimedOut(row["phase"], row["limit_s"], spent)
        case "crashed":
            return Crashed(row["phase"], row["message"], spent)
        case "wrong_result":
            return WrongResult(row["message"], spent)
        case kind:
            raise ValueError(f"unknown kind of outcome: {kind!r}")


def _timed(row: Row, spent: Durations) -> Timed:
    kernels = tuple(_kernel_time(*entry) for entry in json.loads(row["kernels"]))
    return Timed(row["median_ms"], row["low_ms"], row["high_ms"], tuple(json.loads(row["samples_ms"])),
                 row["host_ms"], kernels, row["code_hash"], bool(row["stopped_early"]), spent)


def _kernel_time(statements: list[str], median_ms: float, metrics: Mapping[str, float] | None = None,
                 amounts: Mapping[str, float] | None = None) -> KernelTime:
    """Return the time of a kernel; stores of older versions have no `metrics` or `amounts`."""
    return KernelTime(tuple(statements), median_ms, tuple((metrics or {}).items()), tuple((amounts or {}).items()))
