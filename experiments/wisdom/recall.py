"""Plans from wisdom for a new problem: its own best plan, then those of similar sizes and devices."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.wisdom.database import Wisdom
from experiments.wisdom.entry import Entry, Subjected, distance
from runners.base import DeviceInfo

MOST = 3
"""The most plans that a search starts from; more would use up too much of a small budget."""


def recalled(wisdom: Wisdom, subject: Subjected, device: DeviceInfo) -> tuple[Entry, ...]:
    """Return the entries with plans worth trying, most promising first, each plan once.

    Entries of this device come first, nearest sizes first, then those of similar devices. The order depends only on the
    database.

    Raises:
        InputError: as `Wisdom`.
    """
    ranked = []
    for entry in wisdom.family(subject):
        far = distance(entry.subject, subject)
        if far is not None and entry.is_sister_of(device):
            ranked.append((not entry.is_of(device), far, entry.subject.identity, entry.device, entry))
    ranked.sort(key=lambda one: one[:4])
    return tuple({entry.plan.digest: entry for *_, entry in reversed(ranked)}[digest]
                 for digest in dict.fromkeys(entry.plan.digest for *_, entry in ranked))


def origins(entries: Sequence[Entry], subject: Subjected) -> str:
    """Return where plans come from, in words: `n=500 on PoCL; ...`."""
    words = []
    for entry in entries:
        sizes = ", ".join(f"{name}={value}" for name, value in entry.subject.sizes)
        same = entry.subject.identity == subject.identity
        words.append(f"{'the same sizes' if same else sizes or 'other sizes'} on {entry.device}")
    return "; ".join(words)
