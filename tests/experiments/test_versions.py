"""What a search depends on: the code of its rooms, guides of beams among them, and models that are files of numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.values.rooms import SEARCH, _digest, room_digests


def test_models_beside_the_code_are_part_of_a_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "a_room_with_a_model"
    (room / "shipped").mkdir(parents=True)
    (room / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    found = [_digest(room.name)]
    for text in ("[1]", "[2]"):
        (room / "shipped" / "model.json").write_text(text)
        found.append(_digest(room.name))
    assert len(set(found)) == 3


def test_guides_of_beams_are_among_what_a_search_depends_on() -> None:
    assert "experiments.search.guides" in SEARCH
    assert dict(room_digests()).keys() >= set(SEARCH)
