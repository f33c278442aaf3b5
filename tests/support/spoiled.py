"""Lowerings and cost models with a fault, for workers, which import this file and little else with it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

from generator.lowering import lower
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from generator.variant import Variant
from metrics.outcome import Ratings


def broken(program: Program, plan: Plan, target: Target) -> Variant:
    """As it should be, but for the last kernel's text."""
    variant = lower(program, plan, target)
    *others, last = variant.kernels
    text = replace(last.text, after=last.text.after.replace("{", "{ no_such_thing = 1;", 1))
    return replace(variant, kernels=(*others, replace(last, text=text)))


def rate_raising(_program: Program, _plan: Plan, _target: Target) -> Ratings:
    """A bug in the model."""
    raise ZeroDivisionError("a bug in the model")


def rate_dying(_program: Program, _plan: Plan, _target: Target) -> Ratings:
    """The model ends its process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ()


def rate_hanging(_program: Program, _plan: Plan, _target: Target) -> Ratings:
    """The model does not end. Like isl: a C function that holds the interpreter lock."""
    sum(range(10**13))
    return ()


def rate_others(_program: Program, _plan: Plan, _target: Target) -> Ratings:
    """The model rates statements that the plan does not have."""
    return ((("S9",), (("tail", 1.0),)),)
