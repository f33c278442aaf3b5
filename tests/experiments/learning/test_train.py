"""Training from recordings, of one device or several, and judging a model on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.learning import judge
from experiments.learning.collect import PROGRAMS
from experiments.learning.recording import read, write
from experiments.learning.train import main
from experiments.search.places import find_device
from generator.errors import InputError
from metrics.costs.learned.file import read_model
from tests.support.slow import in_turn

RECORDING = PROGRAMS.parent / "measured" / "pixels_intel.xz"


def recording(file: Path, device: str, pipelines: slice, plans: int = 15) -> Path:
    """Some of our recorded plans, as if they were measured on a device that is here."""
    found = find_device(device)
    return recording_of(file, found.key, found.name, pipelines, plans)


def recording_of(file: Path, key: str, name: str, pipelines: slice, plans: int = 15) -> Path:
    all_of_it = read(RECORDING)
    measured = tuple((origin, known[:plans]) for origin, known in all_of_it.measured[pipelines])
    write(replace(all_of_it, key=key, name=name, measured=measured), file)
    return file


@in_turn
def test_pipelines_that_are_held_out_are_so_on_all_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four pipelines on PoCL, three of them also on the other device; the third in order is held out."""
    files = [recording(tmp_path / "a.xz", "pocl", slice(0, 4)),
             recording(tmp_path / "b.xz", "deterministic", slice(1, 4))]
    main(files, tmp_path / "model.json", epochs=1, held_out=3, members=2)
    printed = capsys.readouterr().out
    assert printed.count(": 1 pipelines are held out") == 2
    model = read_model(tmp_path / "model.json")
    assert model.training.pipelines == 3 and 5 * 8 <= model.training.plans <= 5 * 15 and len(model.members) == 2
    assert model.training.device == ", ".join(find_device(device).key for device in ("pocl", "deterministic"))


def test_recordings_of_another_machine_can_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another CPU with the same driver stands for theirs; nothing stands for a GPU."""
    theirs = recording_of(tmp_path / "theirs.xz", "opencl/pocl/their-cpu", "Their CPU", slice(5, 7), 12)
    judge.main([theirs])
    here = find_device("pocl")
    note, title, *_ = capsys.readouterr().out.splitlines()
    assert note.startswith("Their CPU is not here: features of plans are those of") and note.endswith(here.name)
    assert title == "PoCL, Their CPU: 2 pipelines (24 plans)"
    gpu = recording_of(tmp_path / "gpu.xz", "cuda/h200", "NVIDIA H200", slice(5, 7), 12)
    with pytest.raises(InputError, match="CUDA device can be used"):
        judge.main([gpu])


def test_a_place_for_no_model_is_refused_before_the_training(tmp_path: Path) -> None:
    for out in (tmp_path, tmp_path / "nowhere" / "model.json"):
        with pytest.raises(InputError, match=r"--out .* cannot be written: name a file in a folder that exists"):
            main([tmp_path / "unread.xz"], out)


def test_too_few_pipelines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few pipelines have enough plans; 7 are the fewest"):
        main([recording(tmp_path / "a.xz", "pocl", slice(0, 2))], tmp_path / "model.json", members=2)


@pytest.mark.slow
def test_models_are_judged_on_each_device_and_kind_of_pipeline(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.json"
    main([recording(tmp_path / "a.xz", "pocl", slice(0, 5), 12)], model, epochs=3, held_out=3, members=2)
    capsys.readouterr()
    files = [recording(tmp_path / f"{device}.xz", device, slice(5, 7), 12) for device in ("pocl", "deterministic")]
    judge.main(files, model)
    trained = capsys.readouterr().out.splitlines()
    assert sum(line.endswith(": 2 pipelines (24 plans)") for line in trained) == 2
    assert [line.split()[:3] for line in trained if "learned" in line] == 2 * [
        ["2", "of", "random_pixels.py"], ["all", "learned", "rank"]]
    judge.main(files)
    shipped = capsys.readouterr().out.splitlines()
    assert rank(shipped) > rank(trained), "antune's model has learned from these plans, the other from others"


def rank(lines: Sequence[str]) -> float:
    """The rank correlation on all pipelines of the first device, PoCL."""
    line = next(line for line in lines if line.startswith("all ") and "learned" in line)
    return float(line.partition("correlation")[2].partition(",")[0])


def test_plans_that_cannot_be_judged_are_refused(tmp_path: Path) -> None:
    file = recording(tmp_path / "a.xz", "pocl", slice(0, 2), plans=3)
    with pytest.raises(InputError, match=r"a\.xz: no pipeline has enough plans that the model can judge"):
        judge.main([file])
