"""The cost models by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from metrics.costs.base import CostModel
from metrics.costs.polymage import PolyMage
from metrics.costs.sioutas import Sioutas
from metrics.costs.static import Static

MODELS: Mapping[str, CostModel] = MappingProxyType({one.name: one for one in (Static(), Sioutas(), PolyMage())})
