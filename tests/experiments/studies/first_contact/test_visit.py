"""Steps one after the other: their time, their files, and what the next visit does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.studies.first_contact.peers import run_peer
from experiments.studies.first_contact.steps import ROOT, Step, Wish, chosen, steps
from experiments.studies.first_contact.told import Told, read_told, table
from experiments.studies.first_contact.visit import open_steps, visit
from generator.errors import InputError
from tests.support.runners import alive

WRITE = "import json, pathlib; pathlib.Path({file!r}).write_text(json.dumps({data!r}))"
COUNT = """
import json, pathlib, time
file = pathlib.Path({file!r})
done = len(json.loads(file.read_text())) if file.exists() else 0
for number in range(done, 3):
    file.write_text(json.dumps([{{"number": n}} for n in range(number + 1)]))
    if number == {stop}:
        time.sleep(60)
"""


def step(name: str, folder: Path, code: str, resumes: bool = False, obstacle: str = "") -> Step:
    result = folder / f"{name}.result.json"
    return Step(name, name.title(), (sys.executable, "-c", code), result, None, resumes, obstacle)


def visited(found: tuple[Step, ...], folder: Path, step_s: float = 8.0, seconds: float = 60.0) -> dict[str, Told]:
    return {told.name: told for told in visit(lambda: found, folder, seconds, lambda text: None, step_s)}


def test_every_step_leaves_its_two_files_and_a_line_in_the_summary(tmp_path: Path) -> None:
    rows = [{"program": "gemm", "right": 11}, {"program": "mvt", "right": 10}]
    found = (step("good", tmp_path, WRITE.format(file=str(tmp_path / "good.result.json"), data=rows)),
             step("bad", tmp_path, "raise SystemExit('it broke')"),
             step("absent", tmp_path, "", obstacle="ncu is not in the PATH"))
    told = visited(found, tmp_path)
    assert {name: one.state for name, one in told.items()} == {"good": "done", "bad": "failed",
                                                              "absent": "cannot be run"}
    assert told["good"].result == rows and json.loads((tmp_path / "good.json").read_text())["result"] == rows
    assert "| gemm | 11 |" in (tmp_path / "good.md").read_text()
    assert "it broke" in (tmp_path / "bad.md").read_text() and told["bad"].exit_code == 1
    assert "ncu is not in the PATH" in (tmp_path / "absent.md").read_text()
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [row["step"] for row in summary] == ["good", "bad", "absent"]
    assert "| bad | Bad | failed |" in (tmp_path / "summary.md").read_text()


def test_what_is_done_is_not_done_again_and_what_failed_is(tmp_path: Path) -> None:
    code = "import pathlib; p = pathlib.Path({file!r}); p.write_text(p.read_text() + 'x' if p.exists() else 'x')"
    found = (step("good", tmp_path, code.format(file=str(tmp_path / "good"))),
             step("bad", tmp_path, code.format(file=str(tmp_path / "bad")) + "; raise SystemExit(1)"))
    for _ in range(2):
        visited(found, tmp_path)
    assert (tmp_path / "good").read_text() == "x" and (tmp_path / "bad").read_text() == "xx"
    asked_for_more = step("good", tmp_path, code.format(file=str(tmp_path / "good")) + "; 1")
    visited((asked_for_more,), tmp_path)
    assert (tmp_path / "good").read_text() == "xx", "another command is another question"


SKIPPED = """<testsuites><testsuite><testcase name="a"><skipped message="{reason}"/></testcase>
<testcase name="b">{second}</testcase></testsuite></testsuites>"""
REASON = "no CUDA device can be used: there is no NVIDIA driver here"


def test_a_step_whose_tests_were_all_skipped_is_not_done_and_says_why(tmp_path: Path) -> None:
    result, said = tmp_path / "tests-1.result.xml", list[str]()
    write = "import pathlib; pathlib.Path({file!r}).write_text({text!r}); print('2 skipped')"

    def tests(second: str) -> Step:
        code = write.format(file=str(result), text=SKIPPED.format(reason=REASON, second=second))
        return Step("tests-1", "Tests", (sys.executable, "-c", code), result)

    skipped = tests(f'<skipped message="{REASON}"/>')
    for _ in range(2):
        (told,) = visit(lambda: (skipped,), tmp_path, 60.0, said.append)
        assert (told.state, told.output) == ("cannot be run", f"2 of 2 skipped: {REASON}")
    assert [line.startswith("tests-1: Tests, for") for line in said] == [True, False, True, False], "it is repeated"
    assert said[1].endswith(f": 2 of 2 skipped: {REASON}; {tmp_path}/tests-1.md")
    assert REASON in (tmp_path / "tests-1.md").read_text().split("```")[1]
    as_before = json.loads((tmp_path / "tests-1.json").read_text()) | {"state": "done"}
    (tmp_path / "tests-1.json").write_text(json.dumps(as_before))
    assert open_steps((skipped,), tmp_path) == [skipped], "a file of an earlier version does not count either"
    (told,) = visit(lambda: (tests(""),), tmp_path, 60.0, said.append)
    assert told.state == "done", "one of them was run"


def test_no_device_is_not_done_and_says_why(tmp_path: Path) -> None:
    result = str(tmp_path / "devices.result.json")
    code = WRITE.format(file=result, data=[]) + "; print('No device was found.\\nNVRTC is missing')"
    assert visited((step("devices", tmp_path, code),), tmp_path)["devices"].output == (
        "there was nothing to do: No device was found.; NVRTC is missing")
    broken = [{"key": "cuda/x", "state": "fails", "note": "CUDA error 36"}]
    told = visited((step("devices", tmp_path, WRITE.format(file=result, data=broken)),), tmp_path)["devices"]
    assert (told.state, told.output) == ("cannot be run", "1 of 1 fails: CUDA error 36")


def test_a_step_that_hangs_costs_its_time_only_and_goes_on_when_all_had_their_turn(tmp_path: Path) -> None:
    hanging = step("long", tmp_path, COUNT.format(file=str(tmp_path / "long.result.json"), stop=1), resumes=True)
    other = step("short", tmp_path, "pass")
    begin = time.monotonic()
    told = visited((hanging, other), tmp_path, step_s=6.0)
    assert time.monotonic() - begin < 40
    assert told["short"].state == "done"
    assert told["long"].state == "done", "its second turn begins where the first one was stopped"
    assert [row["number"] for row in told["long"].result] == [0, 1, 2]


def test_what_was_reached_counts_when_time_runs_out(tmp_path: Path) -> None:
    hanging = step("long", tmp_path, COUNT.format(file=str(tmp_path / "long.result.json"), stop=0), resumes=True)
    told = visited((hanging, step("never", tmp_path, "pass")), tmp_path, seconds=4.0)
    assert told["long"].state == "not finished" and told["long"].result == [{"number": 0}]
    assert read_told("never", tmp_path) is None


def test_a_call_that_is_ended_takes_its_step_along(tmp_path: Path) -> None:
    peers, out = tmp_path / "peers", tmp_path / "contact"
    peers.mkdir()
    (peers / "slow").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 50\n")
    (peers / "slow").chmod(0o755)
    call = subprocess.Popen([sys.executable, "-m", "antune", "suite", "first-contact", "--minutes", "5", "--steps",
                             "peers", "--peers", str(peers), "--out", str(out)], cwd=ROOT, stdout=subprocess.DEVNULL)
    wait_until((tmp_path / "pid").exists)
    wait_until(lambda: (tmp_path / "pid").read_text().strip() != "")
    call.terminate()
    assert call.wait(30) == 128 + signal.SIGTERM
    wait_until(lambda: not alive(int((tmp_path / "pid").read_text())))
    told = read_told("peers", out)
    assert told is not None and told.state == "not finished", "as it was when it began"


def wait_until(what: Callable[[], bool], seconds: float = 40.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_steps_of_a_wish(tmp_path: Path) -> None:
    found = steps(Wish(tmp_path, device="cuda:1", peers=tmp_path))
    assert [one.name for one in found] == ["devices", "tests-1", "tests-2", "tests-3", "plans", "ceilings", "polybench",
                                           "pipelines", "peers"], "results first, then times"
    polybench = next(one for one in found if one.name == "polybench")
    assert "--size large" in " ".join(polybench.command) and "--budget 30" in " ".join(polybench.command)
    assert all("cuda:1" in one.command for one in found if one.name in ("ceilings", "polybench", "pipelines", "plans"))
    assert [one.name for one in chosen(found, "tests,peers")] == ["tests-1", "tests-2", "tests-3", "peers"]
    with pytest.raises(InputError, match="there is no step 'everything'"):
        chosen(found, "everything")


def test_the_times_that_a_program_of_others_prints(tmp_path: Path) -> None:
    script = tmp_path / "peer"
    script.write_text("#!/bin/sh\necho some words\necho sgemm 4096 1.25\n")
    script.chmod(0o755)
    (peer,) = run_peer(script)
    assert (peer.name, peer.milliseconds) == ("sgemm 4096", 1.25)
    script.write_text("#!/bin/sh\nsleep 30\n")
    (late,) = run_peer(script, limit_s=0.2)
    assert late.milliseconds is None and "timed out" in late.message


def test_a_bar_in_a_cell_ends_no_column() -> None:
    assert table([{"a": "x|y", "b": None}]) == "| a | b |\n| --- | --- |\n| x\\|y |  |"
