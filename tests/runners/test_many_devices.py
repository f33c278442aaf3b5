"""Several devices for one run: which ones are allowed, how they share the work, what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.run import tune
from experiments.search.parts import PARTS
from experiments.search.places import place_of
from experiments.search.reproducing import reproduce_command
from experiments.store import read_store
from experiments.values.options import RunOptions
from experiments.values.program_json import from_json, to_json
from generator.errors import InputError
from generator.problem import Problem
from generator.target import Target
from metrics.outcome import Crashed, Durations, Outcome, Timed, WrongResult
from runners.base import DeviceInfo, Job, Limits, Runner, Sitting
from runners.devices import choose
from runners.many import ALL, Place, check_one_model, pick_devices, same_model
from runners.messages import Answer, Handler, Report, Startup
from runners.pool_runner import DeviceRunner
from runners.pools import LocalDevices, wait_for
from runners.processes import Finished, Task, WorkerPool
from runners.registry import check_place, find_devices, open_place
from tests.support.runners import ALSO_GOOD, CRASH_CHECK, GOOD, LOOP, QUICK, WRONG, lower_by_hand, plan, scale_problem
from tests.support.runs import Log, ToyRunner, toy_info, toy_options, toy_parts, toy_source


def device(key: str, platform: str = "NVIDIA CUDA", name: str = "H200", driver: str = "1") -> DeviceInfo:
    target = Target(name, "cuda" if key.startswith("cuda") else "opencl", 1, (1, 1, 1), 1, 1, True, False)
    return DeviceInfo(key, name, platform, driver, target)


GPUS = (device("cuda/h200"), device("cuda/h200#2"), device("cuda/h200#3"))
SOME = (*GPUS, device("opencl/intel/xeon", "Intel OpenCL", "Xeon"), device("opencl/pocl/xeon", "PoCL", "Xeon"),
        device("opencl/pocl/basic", "PoCL", "basic"))


@pytest.mark.parametrize(
    ("selectors", "numbers"),
    [
        ((), [0]),
        (("all",), [0, 1, 2]),
        (("cuda:all",), [0, 1, 2]),
        (("h200:all",), [0, 1, 2]),
        (("intel:all",), [3]),
        (("1", "2"), [1, 2]),
        (("cuda/h200#3", "0"), [2, 0]),
        (("pocl",), [4]),
        (("opencl/pocl/xeon:all",), [4]),
    ],
)
def test_devices_are_picked(selectors: Sequence[str], numbers: list[int]) -> None:
    assert pick_devices(selectors, SOME, choose) == tuple(SOME[number] for number in numbers)


@pytest.mark.parametrize(("selectors", "words"), [
    (("0", "3"), r"several models: cuda/h200 .*; opencl/intel/xeon .*; start one run per model"),
    (("pocl:all",), "several models"), (("0", "cuda/h200"), "named before"), (("all", "1"), "named before"),
    (("nothing:all",), "no device is called 'nothing'"), ((":all",), "no device is called ':all'")])
def test_devices_that_cannot_be_compared_are_refused(selectors: Sequence[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        pick_devices(selectors, SOME, choose)


def test_another_driver_or_other_limits_make_another_model() -> None:
    assert same_model(GPUS[0], GPUS[1])
    assert not same_model(GPUS[0], replace(GPUS[1], driver="2"))
    assert not same_model(GPUS[0], replace(GPUS[1], target=replace(GPUS[1].target, local_bytes=2)))
    with pytest.raises(InputError, match=r"driver 2.* on b"):
        check_one_model([GPUS[0], replace(GPUS[1], driver="2")], ["a", "b"])


def test_the_deterministic_device_stands_alone() -> None:
    with pytest.raises(InputError, match="stands alone"):
        find_devices(("deterministic", "deterministic"))


@pytest.mark.parametrize(("stored", "elsewhere", "found"), [
    (Place(), Place(), Place(("toy",))), (Place(("toy:0.1",)), Place(), Place(("toy:0.1",))),
    (Place(("all",)), Place(), Place((f"toy:{ALL}",))), (Place(("0", "1")), Place(), Place(("0", "1"))),
    (Place(("0",), "tcp://a:1"), Place(), Place(("toy",), "tcp://a:1")),
    (Place(("0",), "tcp://a:1"), Place(cluster="tcp://b:2"), Place(("toy",), "tcp://b:2")),
    (Place(("0",), "tcp://a:1"), Place(cluster="none"), Place(("toy",))),
    (Place(("all",)), Place(cluster="local:2"), Place((f"toy:{ALL}",), "local:2")),
    (Place(("0", "1")), Place(("2",)), Place(("2",)))])
def test_where_a_stored_run_goes_on(stored: Place, elsewhere: Place, found: Place) -> None:
    info = toy_info()
    first, *more = stored.devices or (None,)
    options = replace(info.options, device=first, more_devices=tuple(more), cluster=stored.cluster)
    assert place_of(replace(info, options=options), elsewhere) == found


def test_the_command_that_makes_a_run_again_names_devices_and_cluster() -> None:
    info = toy_info()
    options = replace(info.options, device="0", more_devices=("1",), cluster="tcp://a:1")
    assert "--device 0 --device 1 --cluster tcp://a:1" in reproduce_command(replace(info, options=options))


def test_options_of_older_stores_have_no_cluster() -> None:
    options = toy_options(Path("toy.c"), device="pocl")
    text = to_json(options).replace('"cluster":null,', "").replace('"more_devices":[],', "")
    assert "cluster" not in text and "more_devices" not in text
    assert from_json(text, RunOptions) == options


def sleeper(seconds: float) -> Handler:
    """Handles numbers: sleeps, and answers how many others were at it at the same time (files in the folder)."""
    import time

    def handler(task: float, report: Report) -> Answer:
        report("time", None)
        time.sleep(seconds)
        return Answer(task)

    return handler


def test_every_device_has_one_task_at_a_time(tmp_path: Path) -> None:
    pools = {name: WorkerPool(name, 1, Startup(sleeper, (0.05,)), {}, tmp_path) for name in ("a", "b", "c")}
    devices = LocalDevices(pools)
    try:
        answers: dict[int, object] = {}
        where: dict[int, str] = {}
        key = 0
        while len(answers) < 12:
            while devices.free and key < 12:
                devices.submit(Task(key, key, "time", None))
                where[key] = devices.where(key)
                key += 1
                assert all(pool.unfinished <= 1 for pool in pools.values())
            wait_for([devices])
            for event in devices.poll():
                assert isinstance(event, Finished)
                answers[event.key] = event.value
    finally:
        devices.close()
    assert answers == {number: number for number in range(12)}
    assert set(where.values()) == {"a", "b", "c"}


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[DeviceInfo, ...]]:
    """PoCL twice: two devices of one model."""
    monkeypatch.setenv("POCL_DEVICES", "pthread pthread")
    yield find_devices(("pocl:all",))


def test_two_devices_share_the_work(twins: tuple[DeviceInfo, ...], tmp_path: Path) -> None:
    first, *others = twins
    assert [other.key for other in others] == [f"{first.key}#2"]
    kinds = (GOOD, ALSO_GOOD, WRONG, LOOP, CRASH_CHECK)
    runner = DeviceRunner(scale_problem(), first, QUICK, tmp_path, 2, lower_by_hand, others=others)
    try:
        outcomes = dict(runner.evaluate([Job(number, plan(kind)) for number, kind in enumerate(kinds)]))
        finals = dict(runner.remeasure([Job(0, plan(GOOD)), Job(1, plan(ALSO_GOOD))], Sitting(0, 0, 0.1)))
    finally:
        runner.close()
    assert [type(outcomes[number]) for number in range(5)] == [Timed, Timed, WrongResult, Timed, Crashed]
    assert {outcome.device for outcome in outcomes.values()} == {first.key, f"{first.key}#2"}
    assert all(isinstance(outcome, Timed) for outcome in finals.values())


def test_a_store_knows_which_device_measured_what(tmp_path: Path) -> None:
    def answer(number: int) -> Outcome:
        spent = Durations()
        if number % 3 == 0:
            return WrongResult("A[0] is 1", spent, f"device {number % 2}")
        return Timed(1.0, 1.0, 1.0, (1.0,), 1.0, (), str(number), False, spent, f"device {number % 2}")

    class Many(ToyRunner):
        def evaluate(self, jobs: Sequence[Job], bounds: object = None) -> Iterator[tuple[int, Outcome]]:
            del bounds
            for job in jobs:
                yield job.number, answer(job.number)

    def open_runner(_problem: Problem, _place: Place, _limits: Limits, _work: Path) -> Runner:
        return Many()

    source = toy_source(tmp_path)
    directory = tmp_path / "run"
    tune(toy_options(source, evaluations=6), directory, Log(), replace(toy_parts(ToyRunner()), open_runner=open_runner))
    with read_store(directory) as store:
        assert [r.outcome for r in store.results()] == [answer(number) for number in range(7)]


def test_the_command_line_refuses_a_mixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POCL_DEVICES", "pthread basic")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # each device is tried, whatever passed before
    source = toy_source(tmp_path)
    options = toy_options(source, device="pthread", more_devices=("basic",))
    with pytest.raises(InputError, match=r"several models: opencl/pocl/pthread.*; opencl/pocl/basic"):
        tune(options, tmp_path / "run", Log(), PARTS)
    assert not (tmp_path / "run").exists()


def test_a_run_on_devices_that_were_found_asks_no_driver_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = check_place(Place(("pocl",)))
    assert [found.platform for found in place.found] == ["PoCL"] and place == Place(("pocl",))

    def again() -> None:
        raise AssertionError("drivers are asked once more")

    monkeypatch.setattr("runners.devices.survey", again)
    runner = open_place(scale_problem(), place, QUICK, tmp_path)
    try:
        assert runner.device == place.found[0]
    finally:
        runner.close()
