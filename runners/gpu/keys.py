"""The keys of GPUs, for users and in stored runs."""

from __future__ import annotations

import re

from generator.target import Dialect
from runners.gpu.api import Api


def device_keys(api: Api, dialect: Dialect) -> list[str]:
    """Return a key per device, by ordinal; devices with the same name are numbered."""
    keys: list[str] = []
    for ordinal in range(api.device_count()):
        key = f"{dialect}/" + re.sub(r"[^a-z0-9]+", "-", api.device_name(ordinal).lower()).strip("-")
        same = sum(other.partition("#")[0] == key for other in keys)
        keys.append(f"{key}#{1 + same}" if same else key)
    return keys
