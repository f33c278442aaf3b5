"""Recorded files of all formats become the same kind of recording; bad ones become one clear message."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.values.outcome_rows import kind_of
from generator.errors import InputError
from graph.recorded import Answer
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
from runners.replay.reading import read_recording, read_walks
from runners.replay.recording import Origin, Recording, Row
from runners.replay.t1 import read_t1
from runners.replay.walks_file import write_walks
from tests.support.recordings import cache, recorded_space, t1, t4, write

KINDS = [Illegal, CompileFailed, LaunchFailed, WrongResult]


def outcomes(recording: Recording) -> dict[tuple[Answer, ...], Outcome]:
    return {row.choices: row.outcome for row in recording.rows}


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_a_kernel_tuner_cache(tmp_path: Path, ending: str) -> None:
    recording = read_recording(write(tmp_path / f"toy.{ending}", cache()))
    assert (recording.name, recording.device, len(recording.rows)) == ("toy", "Pretended GPU", 16)
    assert recording.optimum_ms == 1.0
    best = min(recording.rows, key=lambda row: row.outcome.median_ms if isinstance(row.outcome, Timed) else math.inf)
    assert best.choices == (("block", (), 16), ("tile", (), 2), ("mode", (), "a"))
    assert isinstance(best.outcome, Timed)
    assert best.outcome.samples_ms == (1.2, 1.0, 0.9, 0.9)
    assert best.outcome.low_ms <= best.outcome.median_ms <= best.outcome.high_ms
    assert best.seconds == pytest.approx((1000 + 20 + 5 + 4.0) / 1000)
    failures = {row.choices: row for row in recording.rows if not isinstance(row.outcome, Timed)}
    assert len(failures) == 5
    failed = failures[("block", (), 32), ("tile", (), 4), ("mode", (), "a")]
    assert isinstance(failed.outcome, CompileFailed) and failed.outcome.message
    assert failed.seconds == pytest.approx(1.075)  # failures cost time, too
    assert isinstance(failures[("block", (), 16), ("tile", (), 1), ("mode", (), "b")].outcome, LaunchFailed)


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_a_t4_file_holds_the_same(tmp_path: Path, ending: str) -> None:
    recorded = outcomes(read_recording(write(tmp_path / f"toy_T4.{ending}", t4())))
    expected = outcomes(read_recording(write(tmp_path / "toy.json", cache())))
    assert recorded.keys() == expected.keys()
    for choices, outcome in recorded.items():
        if isinstance(outcome, Timed):
            assert outcome == expected[choices]
        else:
            assert kind_of(outcome) == kind_of(expected[choices])


@pytest.mark.parametrize("name", ["convolution_A100", "dedispersion_W6600"])
def test_files_of_the_public_hub(name: str) -> None:
    plain, other = (read_recording(recorded_space(f"{name}{end}.json.gz")) for end in ("", "_T4"))
    assert outcomes(plain).keys() == outcomes(other).keys()
    assert plain.optimum_ms == other.optimum_ms
    assert sorted(kind_of(row.outcome) for row in plain.rows) == sorted(kind_of(row.outcome) for row in other.rows)
    for one, same in zip(plain.rows, other.rows, strict=True):
        assert one.seconds == pytest.approx(same.seconds, abs=0.002)


@pytest.mark.parametrize(("marker", "kind"), [
    ({"time": "InvalidConfig"}, Illegal),
    ({"time": "RuntimeFailedConfig"}, LaunchFailed),
    ({"__error__": "CompilationFailedConfig"}, CompileFailed),
    ({"time": 3.0, "__error__": "InvalidConfig"}, Illegal),
    ({"__error__": "RuntimeFailedConfig", "time": "RuntimeFailedConfig"}, LaunchFailed),
])
def test_every_marker_of_a_failure(tmp_path: Path, marker: dict[str, Any], kind: type[Outcome]) -> None:
    data = cache()
    entry = data["cache"]["16,2,a"]
    del entry["time"]
    entry |= marker
    recording = read_recording(write(tmp_path / "toy.json", data))
    assert isinstance(outcomes(recording)[("block", (), 16), ("tile", (), 2), ("mode", (), "a")], kind)


def test_a_cache_that_was_never_closed_is_read_with_a_note(tmp_path: Path) -> None:
    path = write(tmp_path / "toy.json", cache(), lambda text: text.removesuffix("}}") + ",\n")
    recording = read_recording(path)
    assert len(recording.rows) == 16
    assert len(recording.notes) == 1 and "not closed" in recording.notes[0] and str(path) in recording.notes[0]


def change(**fields: Any) -> dict[str, Any]:
    return cache() | fields


def with_entry(**fields: Any) -> dict[str, Any]:
    data = cache()
    data["cache"]["16,2,a"] |= fields
    return data


def with_result(**fields: Any) -> dict[str, Any]:
    data = t4()
    data["results"][0] |= fields
    return data


def all_failed() -> dict[str, Any]:
    return change(cache={key: entry | {"time": "InvalidConfig"} for key, entry in cache()["cache"].items()})


@pytest.mark.parametrize(
    ("data", "essence"),
    [
        ([], "is not a recording; give a Kernel Tuner cache file"),
        ({}, "is not a recording"),
        ({"some": "JSON"}, "is not a recording"),
        (t1(), "is a T1 file: it describes a space and holds no measurements; give it with --t1"),
        (all_failed(), "holds no valid configuration (16 entries, all failed)"),
        (change(cache={}), "holds no valid configuration (0 entries"),
        (change(cache=[1]), "`cache` is [1], not an object"),
        (change(cache={"16,2,a": 3}), "entry 16,2,a: `the entry` is 3"),
        (change(tune_params_keys=None), "`tune_params_keys` is None, not a list"),
        (change(tune_params_keys=["block", "tile", "mode", "unroll"]), "lacks the parameter `unroll`"),
        (change(tune_params_keys=["tile", "block", "mode"]), "its key is not made of the values of tune_params_keys"),
        (with_entry(block=8), "its key is not made of the values"),
        (with_entry(time=float("nan")), "entry 16,2,a: `time` is nan, not a finite number"),
        (with_entry(time=-1.0), "`time` is -1, not above 0"),
        (with_entry(time=0), "`time` is 0, not above 0"),
        (with_entry(time=None), "`time` is None, not a finite number"),
        (with_entry(time="Oops"), "`time` is 'Oops', neither a number nor one of CompilationFailedConfig"),
        (with_entry(times=[1.0, -2.0]), "`times` is -2, not above 0"),
        (with_entry(times=[1.0, float("nan")]), "`times` is nan"),
        (with_entry(times=[1.0, "x"]), "`times` is 'x'"),
        (with_entry(times=3.0), "`times` is 3.0, not a list"),
        (with_entry(compile_time=-5), "`compile_time` is -5, below 0"),
        (with_entry(block=[1]), "parameter `block` is [1]"),
        ({"results": 3, "schema_version": "1.0.0"}, "`results` is 3, not a list"),
        ({"results": []}, "holds no valid configuration"),
        (with_result(invalidity="odd"), "results[0]: `invalidity` is 'odd'"),
        (with_result(measurements=[]), "none of its measurements is called `time`"),
        (with_result(configuration={"x": 1}), "results[1]: its parameters are"),
        (with_result(measurements=[{"name": "time", "value": 1.0, "unit": "seconds"}]), "its time is in 'seconds'"),
        (t4() | {"metadata": {"timeunit": "s"}}, "its times are in 's'; convert them"),
        ({"antune_recording": 2}, "has version 2 of the format"),
        ({"antune_recording": 1, "decisions": [["a"]]}, "not a name and a subject"),
        ({"antune_recording": 1, "decisions": [], "rows": [{"c": [[0, 1]]}]}, "rows[0]: the choice [0, 1]"),
        ({"antune_recording": 1, "decisions": [], "rows": [{"c": [], "s": 1, "status": "lost"}]}, "`status` is 'lost'"),
        (
            {"antune_recording": 1, "decisions": [], "rows": [{"c": [], "s": 1, "status": "timed", "ms": -1}]},
            "-1, not above",
        ),
        ({"antune_recording": 1, "decisions": [], "rows": []}, "`name` is None, not text"),
        (
            {"antune_recording": 1, "decisions": [], "rows": [], "name": "x", "device": "y"},
            "holds no valid configuration",
        ),
    ],
)
def test_bad_contents_are_refused(tmp_path: Path, data: object, essence: str) -> None:
    path = write(tmp_path / "bad.json.gz", data)
    with pytest.raises(InputError) as caught:
        read_recording(path)
    assert str(path) in str(caught.value)
    assert essence in str(caught.value)
    assert ";" in str(caught.value)  # a remedy follows


@pytest.mark.parametrize("data", [cache(), t4()])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.77, 0.999])
def test_truncated_files_are_refused(tmp_path: Path, data: object, share: float) -> None:
    text = json.dumps(data, indent=1)
    plain, packed = tmp_path / "cut.json", tmp_path / "cut.json.gz"
    plain.write_text(text[: int(share * len(text))].rstrip(",\n "))
    whole = gzip.compress(text.encode())
    packed.write_bytes(whole[: int(share * len(whole))])
    for path in (plain, packed):
        with pytest.raises(InputError, match=r"cut off|is not a recording|damaged") as caught:
            read_recording(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(("content", "essence"), [
    (b"", "is not a recording"),
    (b"{", "cut off"),
    (b"\x1f\x8b\x07rubbish that is not gzip at all", "damaged"),
    (b"\x1f\x8b", "cut off"),
    (b"\x89PNG\r\n\x1a\n\x00\x00", "is not a recording"),
    (b"block,tile,time\n1,2,3\n", "is not a recording"),
    (b"[" * 100000, "is not a recording"),
])
def test_other_files_are_refused(tmp_path: Path, content: bytes, essence: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=essence):
        read_recording(path)


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "toy.json.gz", cache())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_recording(path)


def test_missing_files_and_directories_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            read_recording(path)


# ---- our own walks

SPENT = st.integers(0, 10**6).map(lambda ms: Durations(time_s=ms / 1000))
TIMES = st.integers(1, 10**9).map(lambda us: us / 1000)
METRICS = st.dictionaries(st.sampled_from(["occupancy", "intensity"]), st.integers(0, 10**4).map(lambda n: n / 10**4))
NAMES = st.lists(st.sampled_from(["S0", "S1"]), max_size=2, unique=True).map(tuple)
KERNELS = st.builds(lambda names, ms, metrics: KernelTime(names, ms, tuple(metrics.items())), NAMES, TIMES, METRICS)
OPTIONS = st.one_of(st.integers(-3, 300), st.booleans(), st.text(max_size=4), st.floats(-2, 2),
                    st.lists(st.integers(0, 3), max_size=3).map(tuple))
OUTCOMES = st.one_of(
    st.builds(lambda ms, kernels, spent: Timed(ms, ms, ms, (ms,), ms, tuple(kernels), "", False, spent),
              TIMES, st.lists(KERNELS, max_size=2), SPENT),
    *(st.builds(kind, st.text(max_size=9), SPENT) for kind in KINDS),
    st.builds(TimedOut, st.sampled_from(["compile", "check"]), st.sampled_from([0.5, 60.0]), SPENT),
    st.builds(Crashed, st.just("time"), st.text(max_size=9), SPENT))
ROWS = st.builds(Row, st.lists(st.tuples(st.sampled_from(["tile", "block"]), NAMES, OPTIONS), max_size=5).map(tuple),
                 OUTCOMES)


def comparable(row: Row) -> tuple[object, Outcome]:
    """The row without `code_hash`, which a file of walks does not keep, and with the types of its options."""
    outcome = replace(row.outcome, code_hash="") if isinstance(row.outcome, Timed) else row.outcome
    return [(name, subject, type(option), option) for name, subject, option in row.choices], outcome


@given(rows=st.lists(ROWS, max_size=6, unique_by=lambda row: row.choices))
def test_walks_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    path = tmp_path_factory.mktemp("walks") / "walks.json.gz"
    timed = Row((("last", ("S9",), "x"),), Timed(1.0, 1.0, 1.0, (1.0,), 1.0, (), "", False, Durations()))
    recording = Recording("toy", "a device", (*rows, timed), False, Origin("p", "N=1", "driver 1", "2026-11-21"))
    write_walks(path, recording)
    content = path.read_bytes()
    again = read_walks(path)
    assert [comparable(row) for row in again.rows] == [comparable(row) for row in recording.rows]
    assert replace(again, rows=()) == replace(recording, rows=())
    write_walks(path, again)
    assert path.read_bytes() == content  # nothing in it but its contents
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_status_of_a_walk_is_the_word_for_its_outcome(tmp_path: Path) -> None:
    spent = Durations()
    results: list[Outcome] = [Timed(1.0, 1.0, 1.0, (1.0,), 1.0, (), "", False, spent), Illegal("m", spent),
                              CompileFailed("m", spent), LaunchFailed("m", spent), WrongResult("m", spent),
                              TimedOut("time", 1.0, spent), Crashed("time", "m", spent)]
    rows = tuple(Row((("a", (), number),), outcome) for number, outcome in enumerate(results))
    write_walks(tmp_path / "w.json.gz", Recording("toy", "a device", rows, False))
    data = json.loads(gzip.decompress((tmp_path / "w.json.gz").read_bytes()))
    assert [row["status"] for row in data["rows"]] == [kind_of(outcome) for outcome in results]


def test_a_cache_is_no_file_of_walks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of parameters, not of walks"):
        read_walks(write(tmp_path / "toy.json", cache()))


# ---- T1 files


def test_a_t1_file(tmp_path: Path) -> None:
    description = read_t1(write(tmp_path / "toy.json", t1()))
    assert description.name == "toy"
    assert [(p.name, p.values) for p in description.parameters] == [
        ("block", (8, 16, 32)), ("tile", (1, 2, 4)), ("mode", ("a", "b"))]
    assert description.restrictions == ("block > 8 or tile < 4",)


def spoilt(spoil: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    data = t1()
    spoil(data["ConfigurationSpace"])
    return data


@pytest.mark.parametrize(("data", "essence"), [
    ([], "not a T1 file"),
    (cache(), "not a T1 file"),
    (spoilt(lambda space: space.pop("TuningParameters")), "`TuningParameters` is None"),
    (spoilt(lambda space: space["TuningParameters"][0].update(Values="range(4)")), "values of `block` are 'range(4)'"),
    (spoilt(lambda space: space["TuningParameters"][0].update(Values=3)), "`Values of block` is 3, not a list"),
    (spoilt(lambda space: space["TuningParameters"][0].update(Values="[[1]]")), "parameter `block` is [1]"),
    (spoilt(lambda space: space["Conditions"][0].pop("Expression")), "`Expression` is None"),
])
def test_bad_t1_files_are_refused(tmp_path: Path, data: object, essence: str) -> None:
    path = write(tmp_path / "bad.json", data)
    with pytest.raises(InputError) as caught:
        read_t1(path)
    assert str(path) in str(caught.value) and essence in str(caught.value)
