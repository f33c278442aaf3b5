"""Atomic store: store results by atomic exchange."""

from __future__ import annotations

from generator.decisions.base import Known, Offer, Row, flag, switch


def _offer(known: Known) -> Offer[bool]:
    return switch(not (known.wide and known.target.shares_host_cores))


EXCHANGE = flag("exchange", "atomic store", _offer, Row("no, yes", "stores by atomic exchange (wide: not on CPUs)"))
