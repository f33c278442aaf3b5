"""Fixtures for tests of exported code."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.support.exports import need_compiler, pocl_environment


@pytest.fixture(scope="module")
def pocl(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """An environment for C programs; skips where none can be built."""
    need_compiler()
    return pocl_environment(tmp_path_factory.mktemp("pocl"))
