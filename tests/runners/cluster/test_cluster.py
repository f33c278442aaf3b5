"""Runs on a Dask cluster: real schedulers, real workers, some of which are killed."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.run import resume, tune
from experiments.search.parts import PARTS, Parts
from experiments.store import read_store
from experiments.values.records import Result
from generator.errors import AntuneError, InputError
from generator.problem import Problem
from metrics.outcome import CompileFailed, Crashed, Durations, Illegal, Outcome, Timed, WrongResult
from runners.base import Job, Limits, Runner
from runners.cluster import hub, roster
from runners.cluster.local import local_workers, spread
from runners.cluster.pool import ClusterPool
from runners.cluster.runner import ClusterRunner, open_cluster
from runners.cluster.versions import differences, versions
from runners.many import Place
from runners.opencl.platforms import measuring_settings
from runners.processes import Task
from runners.tasks import Generate
from tests.support.cluster import TestCluster, cluster_of, marked, wait_until
from tests.support.runners import (
    ALSO_GOOD,
    CRASH,
    GOOD,
    ILLEGAL,
    NO_COMPILE,
    QUICK,
    SAME_CODE,
    SLEEPY,
    WRONG,
    lower_by_hand,
    plan,
    scale_problem,
    stays_on_cores,
    worker_pids,
)
from tests.support.runs import Log, ToyRunner, toy_options, toy_parts, toy_source
from tests.support.slow import in_turn

PAUSED = "deterministic:0.05"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    with cluster_of(tmp_path_factory.mktemp("cluster"), ["deterministic", "deterministic", "pocl"]) as found:
        yield found


def parts(wait_s: float = 30) -> Parts:
    """The toy space on real runners; a cluster without workers is given up after `wait_s` seconds."""

    def open_runner(problem: Problem, place: Place, limits: Limits, work: Path) -> Runner:
        if place.cluster is None:
            return PARTS.open_runner(problem, place, limits, work)
        return open_cluster(problem, place, limits, work, wait_s)

    return replace(toy_parts(ToyRunner()), open_runner=open_runner, check_place=PARTS.check_place)


class Does(Log):
    """A reporter that does things when so many results have come."""

    def __init__(self, when: dict[int, Callable[[], object]]) -> None:
        super().__init__()
        self._when = when

    def result(self, result: Result) -> None:
        super().result(result)
        self._when.get(len(self.results), lambda: None)()


def history(directory: Path) -> list[tuple[object, Outcome]]:
    """What a run is: who asked for what, and what came of it; not where, nor how long that took."""
    with read_store(directory) as store:
        return [(r.evaluation, replace(r.outcome, durations=Durations(), device="")) for r in store.results()]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, Outcome]]:
    """The history of the same run without a cluster."""
    folder = tmp_path_factory.mktemp("here")
    tune(toy_options(toy_source(folder), device="deterministic"), folder / "run", Log(), parts())
    return history(folder / "run")


def test_a_run_on_a_cluster_is_the_run_on_one_machine(cluster: TestCluster, source: Path, tmp_path: Path,
                                                      expected: list[tuple[object, Outcome]]) -> None:
    options = toy_options(source, device="deterministic", cluster=cluster.file)
    tune(options, tmp_path / "there", Log(), parts())
    assert history(tmp_path / "there") == expected
    with read_store(tmp_path / "there") as store:
        assert all(r.outcome.device.endswith(": deterministic") for r in store.results())
        assert store.info().options.place == Place(("deterministic",), cluster.file)


def test_lost_workers_cost_time_only(cluster: TestCluster, source: Path, tmp_path: Path,
                                     expected: list[tuple[object, Outcome]]) -> None:
    victim = cluster.bare_worker("deterministic", "victim")
    cluster.ready("victim")

    def kill_under_nanny() -> None:  # the nanny starts another one
        for pid in marked(cluster.mark):
            with suppress(OSError):  # another process that has ended meanwhile
                parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == cluster.processes[1].pid and b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)

    log = Does({4: lambda: cluster.end(victim), 9: kill_under_nanny})
    tune(toy_options(source, device=PAUSED, cluster=cluster.file), tmp_path / "there", log, parts())
    assert history(tmp_path / "there") == expected


@pytest.mark.slow
def test_without_workers_a_run_ends_and_can_be_resumed_elsewhere(source: Path, tmp_path: Path,
                                                                 expected: list[tuple[object, Outcome]]) -> None:
    directory = tmp_path / "run"
    with cluster_of(tmp_path / "one", ["deterministic"]) as one:
        log = Does({5: lambda: one.end(one.processes[1])})
        with pytest.raises(AntuneError, match=r"no worker of .* has had deterministic for 1 s.*antune worker"):
            tune(toy_options(source, device=PAUSED, cluster=one.file), directory, log, parts(wait_s=1))
        one.bare_worker("deterministic", "new")
        one.ready("new")
        with pytest.raises(AntuneError, match=r"scheduler .* is lost.*antune resume"):
            resume(directory, None, Does({3: lambda: one.end(one.processes[0])}), parts())
    assert len(history(directory)) < 26
    resume(directory, None, Log(), parts(), elsewhere=Place(cluster="none"))
    assert history(directory) == expected


@in_turn
def test_every_kind_of_outcome_comes_back_and_the_data_travel_once(cluster: TestCluster, tmp_path: Path,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    submit = hub.Hub.submit

    def counting(self: hub.Hub, function: Callable[..., object], *arguments: object, **rest: object) -> object:
        sizes.append(len(pickle.dumps(arguments)))
        return submit(self, function, *arguments, **rest)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(hub.Hub, "submit", counting)
    kinds = {GOOD: Timed, ILLEGAL: Illegal, NO_COMPILE: CompileFailed, CRASH: Crashed, WRONG: WrongResult,
             SAME_CODE: Timed, ALSO_GOOD: Timed}
    runner = open_cluster(scale_problem(1 << 18), Place(("pocl",), cluster.file), QUICK, tmp_path, lower=lower_by_hand)
    try:
        jobs = [Job(number, plan(kind)) for number, kind in enumerate(kinds)]
        outcomes = dict(runner.evaluate(jobs))
        again = dict(runner.evaluate(jobs[:1]))
        workers = [pid for parent in marked(cluster.mark) for pid in worker_pids(parent)]
        stay = {stays_on_cores(pid) for pid in workers}
    finally:
        runner.close()
    assert [type(outcomes[job.number]) for job in jobs] == list(kinds.values())
    assert stay == {os.cpu_count() == 1 or dict(found).get("POCL_AFFINITY") == "1"
                    for found in (os.environ, os.environ | measuring_settings())}
    assert outcomes[0].device.endswith(runner.device.key) and outcomes[1].device == ""
    assert replace(again[0], durations=Durations()) == replace(outcomes[0], durations=Durations())
    assert len(sizes) > len(kinds) and max(sizes) < 200_000  # the arrays have 3 MB


@in_turn
def test_workers_of_a_cluster_begin_with_announced_jobs(cluster: TestCluster, tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """PoCL stands for a device with cores of its own."""
    sent, submit = list[object](), ClusterPool.submit

    def noting(pool: ClusterPool, task: Task) -> None:
        sent.append(task.payload)
        submit(pool, task)

    def generated() -> int:
        return sum(isinstance(one, Generate) for one in sent)

    monkeypatch.setattr(ClusterPool, "submit", noting)
    one, two, three = (Job(number, plan(kind)) for number, kind in enumerate((GOOD, ALSO_GOOD, WRONG)))
    runner = open_cluster(scale_problem(), Place(("pocl",), cluster.file), QUICK, tmp_path, lower=lower_by_hand)
    assert isinstance(runner, ClusterRunner)
    monkeypatch.setattr(runner, "_overlap", True)
    try:
        runner.announce([two, three])
        assert [type(outcome) for _, outcome in runner.evaluate([one])] == [Timed]
        assert generated() == 3
        assert {number: type(found) for number, found in runner.evaluate([two, three])} == {1: Timed, 2: WrongResult}
        assert generated() == 3
        runner.announce([Job(3, plan(SAME_CODE))])  # will not be asked
        assert [type(outcome) for _, outcome in runner.evaluate([Job(4, plan(NO_COMPILE))])] == [CompileFailed]
        assert [type(outcome) for _, outcome in runner.evaluate([Job(5, plan(ILLEGAL))])] == [Illegal]
    finally:
        runner.close()


@in_turn
def test_stopping_early_ends_what_runs(cluster: TestCluster, tmp_path: Path) -> None:
    runner = open_cluster(scale_problem(), Place(("deterministic:2",), cluster.file), Limits(), tmp_path)
    try:
        results = iter(runner.evaluate([Job(number, plan(GOOD)) for number in range(100)]))
        next(results)
        results.close()  # type: ignore[attr-defined]  # a generator
        begin = time.monotonic()
        assert [number for number, _ in runner.evaluate([Job(7, plan(ALSO_GOOD))])] == [7]
        assert time.monotonic() - begin < 60
    finally:
        runner.close()
    wait_until(lambda: not any(worker_pids(pid) for pid in marked(cluster.mark)), "the run's processes have ended")


def test_devices_of_several_models_are_refused(cluster: TestCluster, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"several models: .*deterministic.*pocl.*one run per model"):
        open_cluster(scale_problem(), Place(cluster=cluster.file), Limits(), tmp_path)
    with pytest.raises(InputError, match=r"no device is called 'h200'.*PoCL"):
        open_cluster(scale_problem(), Place(("h200",), cluster.file), Limits(), tmp_path)


@in_turn
def test_a_cluster_without_workers_says_how_to_start_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "FIRST_WAIT_S", 0.2)
    with cluster_of(tmp_path, []) as empty:
        with pytest.raises(InputError, match="has no workers: start workers with `antune worker"):
            open_cluster(scale_problem(), Place(cluster=empty.file), Limits(), tmp_path)
        empty.start("-m", "distributed.cli.dask_worker", "--scheduler-file", empty.file, "--no-nanny", name="plain")
        empty.ready("plain")
        with pytest.raises(InputError, match=r"1 workers, but none with a device .*--preload runners.cluster.preload"):
            open_cluster(scale_problem(), Place(cluster=empty.file), Limits(), tmp_path)


@pytest.mark.parametrize(("address", "words"), [
    ("tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0.0.1:1"),
    ("nonsense://127.0.0.1:1", "cannot be used"), ("tls://127.0.0.1:1", "docs/cluster.md"),
    ("missing.json", "no scheduler file missing.json"), ("local:0", "from 1 to"), ("local:many", "from 1 to")])
def test_a_bad_address_is_one_clear_error(address: str, words: str, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "CONNECT_S", 0.5)
    with pytest.raises(InputError, match=words):
        open_cluster(scale_problem(), Place(cluster=address), Limits(), tmp_path)


def test_local_workers_share_the_devices_evenly() -> None:
    assert local_workers("local:3") == 3 and local_workers("tcp://host:1") is None
    assert spread(["a", "b", "c"], 2).devices == (("a", "c"), ("b",))
    assert spread(["a", "b"], 3).devices == (("a",), ("b",), ("a",))


def test_differences_of_versions_are_named() -> None:
    ours = versions()
    assert differences(ours, ours) is None
    theirs = tuple((name, "9.9") if name == "Python" else (name, version) for name, version in ours)
    assert "Python 9.9 there" in (differences(ours, theirs) or "")


@pytest.mark.slow
def test_a_worker_of_another_version_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with cluster_of(tmp_path / "cluster", []) as cluster:
        copy_of_the_code(cluster.root, copy)
        (copy / "runners" / "base.py").open("a").write("# changed\n")
        cluster.worker("deterministic", "other", copy)
        cluster.ready("other")
        with pytest.raises(InputError, match=r"does not fit: antune's code .* there"):
            open_cluster(scale_problem(), Place(cluster=cluster.file), Limits(), tmp_path)


def copy_of_the_code(root: Path, copy: Path) -> None:
    for room in ("antune", "experiments", "explorer", "generator", "graph", "metrics", "runners"):
        for file in (root / room).rglob("*.py"):
            (copy / file.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
            (copy / file.relative_to(root)).write_bytes(file.read_bytes())


@pytest.mark.slow
def test_compiling_and_measuring_survive_lost_workers(tmp_path: Path) -> None:
    with cluster_of(tmp_path / "cluster", ["pocl", "pocl"]) as cluster:
        runner = open_cluster(scale_problem(), Place(("pocl",), cluster.file), QUICK, tmp_path, lower=lower_by_hand)
        try:
            outcomes: dict[int, Outcome] = {}
            for number, outcome in runner.evaluate([Job(0, plan(GOOD)), Job(1, plan(SLEEPY)), Job(2, plan(ALSO_GOOD))]):
                outcomes[number] = outcome
                if len(outcomes) == 1:
                    cluster.end(cluster.processes[1])
        finally:
            runner.close()
    assert {type(outcome) for outcome in outcomes.values()} == {Timed} and len(outcomes) == 3


SCALE = """
void scale(int n, double A[n], double B[n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    B[i] = 2.0 * A[i] + B[i];
#pragma endscop
}
"""


def tuning(cluster: TestCluster, directory: Path, address: str) -> subprocess.Popen[bytes]:
    """`antune tune` in a process of its own, after its first results."""
    (directory / "scale.c").write_text(SCALE)
    process = cluster.start("-m", "antune.cli", "tune", str(directory / "scale.c"), "--param", "n=64", "--evaluations",
                            "500", "--device", "deterministic:0.3", "--cluster", address, "--out",
                            str(directory / "run"), name="tune")
    log = cluster.folder / "tune.log"
    wait_until(lambda: b"[3/500]" in log.read_bytes(), "the run has begun")
    return process


@pytest.mark.slow
def test_the_workers_of_a_run_end_when_its_process_is_killed(tmp_path: Path) -> None:
    with cluster_of(tmp_path / "cluster", ["deterministic"]) as cluster:
        client = tuning(cluster, tmp_path, cluster.file)
        assert any(worker_pids(pid) for pid in marked(cluster.mark))
        client.kill()
        wait_until(lambda: not any(worker_pids(pid) for pid in marked(cluster.mark)), "nobody works for it any more")
        assert not list((tmp_path / "cluster").glob("**/reference.npz"))


@pytest.mark.slow
def test_ctrl_c_reaches_a_run_but_not_its_local_cluster(tmp_path: Path) -> None:
    cluster = TestCluster(tmp_path)
    try:
        client = tuning(cluster, tmp_path, "local:2")
        os.killpg(client.pid, signal.SIGINT)
        assert client.wait(60) == 130
        assert b"interrupted, saved" in (tmp_path / "tune.log").read_bytes()
        wait_until(lambda: not marked(cluster.mark), "all processes have ended", 15)
    finally:
        cluster.close()


@pytest.mark.slow
def test_a_local_cluster_ends_with_its_run(tmp_path: Path) -> None:
    cluster = TestCluster(tmp_path)
    try:
        tuning(cluster, tmp_path, "local:2").kill()
        wait_until(lambda: not marked(cluster.mark), "all processes have ended", 30)
    finally:
        cluster.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_dasks_own_configuration_secures_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = tmp_path / "all.pem"
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=antune",
                    "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    pem.write_bytes(key.read_bytes() + certificate.read_bytes())
    config = {"CA_FILE": certificate, "SCHEDULER__CERT": pem, "WORKER__CERT": pem, "CLIENT__CERT": pem}
    for name, value in config.items():
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{name}", str(value))
    cluster = TestCluster(tmp_path)
    try:
        cluster.scheduler("--protocol", "tls")
        cluster.worker("deterministic", "w0")
        cluster.ready("w0")
        done = cluster.start("-c", CONNECT, cluster.file, name="client")
        assert done.wait(60) == 0, (tmp_path / "client.log").read_text()
        for name in config:
            monkeypatch.delenv(f"DASK_DISTRIBUTED__COMM__TLS__{name}")
        refused = cluster.start("-c", CONNECT, cluster.file, name="stranger")
        assert refused.wait(60) == 1
        assert "docs/cluster.md" in (tmp_path / "stranger.log").read_text()
    finally:
        cluster.close()


CONNECT = """
import sys
from runners.cluster.hub import Hub
hub = Hub(sys.argv[1])
assert hub.addresses()
hub.close()
"""
