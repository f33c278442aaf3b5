"""The report in a real browser: every section, every plot, no error, nothing loaded; phone, dark, print; live."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.pictures.stills import write_still
from experiments.report import convergence, kernels
from experiments.report.facts import gather
from experiments.report.page import write_report
from experiments.run import tune
from experiments.store import read_store
from metrics.outcome import CompileFailed, Durations
from tests.support.browser import DRAWN, WAIT_S, WIDER, Browser, BrowserFault, browser
from tests.support.cli import antune_command
from tests.support.pages import made_run
from tests.support.paths import ROOT
from tests.support.runs import Log, ToyRunner, toy_options, toy_parts, toy_source
from tests.support.slow import few, in_turn

SECTIONS = ("overview", "finalists", "convergence", "failures", "importance", "effects", "coordinates", "tree", "graph",
            "kernels", "metrics", "roofline", "source", "code", "evaluations", "environment", "again")
EMPTY = """[...document.querySelectorAll('figure.plot')].filter((figure) => {
  const layer = figure.querySelector('.main-svg')?.getBoundingClientRect();
  const marks = figure.querySelectorAll('.plot path, .plot .point, .barlayer path, .boxlayer path').length;
  return !(layer && layer.width > 100 && layer.height > 60 && marks > 0);
}).map((figure) => figure.id)"""
INVALID = """[...document.querySelectorAll('figure.plot > script')].flatMap((script) => JSON.parse(
  script.textContent.replaceAll(/"@[a-z_]+"/g, '"#888888"')).flatMap(
    ({data, layout}) => Plotly.validate(data, layout) ?? [])).map(({msg, path}) => `${path}: ${msg}`)"""
SIZES = "[...document.querySelectorAll('.drawn > svg')].map((svg) => svg.getBoundingClientRect().height)"
GENERATOR = """
#include <stdio.h>
#define N 40
static double A[N][N], B[N][N], x[N], y[N];
int main(void) {
  for (int i = 0; i < N; i++) { x[i] = i % 7; for (int j = 0; j < N; j++) A[i][j] = (i * j) % 5; }
#pragma scop
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) B[i][j] = 2 * A[j][i] + 1;
  for (int i = 0; i < N; i++) { y[i] = 0; for (int j = 0; j < N; j++) y[i] += B[i][j] * x[j]; }
#pragma endscop
  printf("%f\\n", y[3]);
  return 0;
}
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def antune(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "antune.cli", *map(str, words)], cwd=ROOT, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of a real program, with times that are computed; its report is written."""
    folder, said = tmp_path_factory.mktemp("finished"), io.StringIO()
    (folder / "mv.c").write_text(GENERATOR)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        here = antune_command(patch)
        assert here("tune", folder / "mv.c", "--device", "deterministic", "--evaluations", 30, "--level", "o2", "--out",
                    folder / "run") == 0
        assert here("report", folder / "run", "--plots", folder / "plots") == 0
    assert "pictures are written" in said.getvalue()
    return folder


def toy_report(folder: Path, evaluations: int, runner: ToyRunner) -> Path:
    """The report of a run in miniature."""
    parts = toy_parts(runner)
    tune(toy_options(toy_source(folder), evaluations), folder / "run", Log(), parts)
    with read_store(folder / "run") as store:
        return write_report(store, folder / "run", parts)


def opened(page: Browser, report: Path, width: int = 1280, scheme: str = "light") -> None:
    page.look(width, 844 if width < 600 else 900, scheme, mobile=width < 600)
    page.open(report.as_uri())
    page.until(DRAWN)


def sound(page: Browser, report: Path) -> None:
    """No error, no request but the page itself, all sections, all plots really drawn, nothing wider than the window."""
    assert page.errors == []
    assert {address.split("#")[0] for address in page.requests if not address.startswith("data:")} == {report.as_uri()}
    assert page.run("[...document.querySelectorAll('main > section')].map((section) => section.id)") == list(SECTIONS)
    assert page.run("[...document.querySelectorAll('nav a')].map((link) => link.hash.slice(1))") == list(SECTIONS)
    assert page.run("[...document.querySelectorAll('main > section')]"
                    ".filter((s) => s.innerText.trim().length < 30).length") == 0
    assert page.run(EMPTY) == []
    assert all(height > 100 for height in page.run(SIZES))
    assert page.run(WIDER) <= 0


def figures(page: Browser) -> set[str]:
    return {str(name).removeprefix("plot-")
            for name in page.run("[...document.querySelectorAll('figure.plot')].map((f) => f.id)")}


@pytest.mark.parametrize(("width", "scheme"), few([(390, "dark"), (1280, "light"), (390, "light")], 1))
def test_a_finished_run_is_drawn_whole(page: Browser, finished: Path, width: int, scheme: str) -> None:
    report = finished / "run" / "report.html"
    opened(page, report, width, scheme)
    sound(page, report)
    assert {"convergence", "failures", "importance", "effect-1", "coordinates", "kernels", "metrics"} <= figures(page)
    assert page.run("document.querySelectorAll('.drawn > svg').length") == 2, "the tree and the pheromone"
    assert page.run(INVALID) == []
    assert page.run("document.querySelectorAll('#code pre .kt').length") > 3, "words of the code are coloured"


@in_turn
def test_the_time_axis_can_be_chosen(page: Browser, finished: Path) -> None:
    opened(page, finished / "run" / "report.html")
    title = "document.querySelector('#plot-convergence .xtitle').textContent"
    assert page.run(title).startswith("evaluation")
    page.run("document.querySelector('#plot-convergence .views button:nth-child(2)').click()")
    page.until(f"{title}.startsWith('active time')")
    assert page.run(EMPTY) == []
    assert page.errors == []


@in_turn
def test_a_dark_page_has_dark_plots_and_follows_the_reader(page: Browser, finished: Path) -> None:
    opened(page, finished / "run" / "report.html", scheme="dark")
    assert brightness(page) < (60, 60)
    assert ink(page) > 180
    page.look(1280)
    page.until(f"{INK} < 90")
    assert brightness(page) > (220, 220)


INK = "(document.querySelector('.xtitle').style.fill.match(/\\d+/g) ?? [255]).map(Number)[0]"


def brightness(page: Browser) -> tuple[int, int]:
    """The red of the page's background and of a plot's paper."""
    red = "Number(getComputedStyle({}).{}.match(/\\d+/)[0])"
    return (page.run(red.format("document.body", "backgroundColor")),
            page.run(red.format("document.querySelector('.main-svg')", "backgroundColor")))


def ink(page: Browser) -> int:
    return int(page.run(INK))


@in_turn
def test_it_prints_whole_and_on_white(page: Browser, finished: Path, tmp_path: Path) -> None:
    """Also from a dark phone: the paper is white, plots fit it, what only a screen can do is gone."""
    opened(page, finished / "run" / "report.html", 390, "dark")
    page.run("window.printed = 0; addEventListener('beforeprint', () => { window.printed = "
             "[document.querySelector('#plot-convergence .main-svg').getAttribute('viewBox'), " + INK + "] })")
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF") and len(pdf) > 50_000
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 40
    view, red = page.run("window.printed")
    assert (view.split()[2], red < 90) == ("760", True)
    page.look(1000, 900, "dark", media="print")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.run("getComputedStyle(document.querySelector('.copy')).display") == "none"
    page.look(1280)


@in_turn
def test_a_run_in_which_everything_failed_says_so(page: Browser, tmp_path: Path) -> None:
    report = toy_report(tmp_path, 25, ToyRunner(answer=lambda _plan: CompileFailed("</script><b>no</b>", Durations())))
    opened(page, report, 390)
    sound(page, report)
    assert figures(page) == {"failures"}
    text = page.run("document.body.innerText")
    for words in ("No evaluation gave a valid time", "There is no best plan", "</script><b>no</b>", "there are 0",
                  "Nothing valid"):
        assert words.lower() in text.lower(), words


@pytest.mark.slow
def test_a_run_of_one_evaluation_is_a_page(page: Browser, tmp_path: Path) -> None:
    report = toy_report(tmp_path, 1, ToyRunner())
    opened(page, report)
    sound(page, report)
    assert {"convergence", "failures", "kernels"} <= figures(page)
    assert "A tree needs 8 timed walks" in page.run("document.querySelector('#tree').innerText")


@in_turn
def test_a_run_with_the_default_plan_only_is_a_page(page: Browser, tmp_path: Path) -> None:
    def stop(job: object) -> None:
        if runner.evaluated:
            raise KeyboardInterrupt

    runner = ToyRunner(before=stop)
    report = toy_report(tmp_path, 5, runner)
    opened(page, report)
    sound(page, report)
    assert "nothing but the default plan was evaluated" in page.run("document.querySelector('#graph').innerText")


@in_turn
def test_code_and_command_can_be_copied(page: Browser, finished: Path) -> None:
    opened(page, finished / "run" / "report.html")
    page.call("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    page.run("document.querySelector('#again .copy').click()")
    page.until("document.querySelector('#again .copy').textContent !== 'copy'")
    assert page.run("document.querySelector('#again pre').textContent").startswith("antune tune ")


def thread_seconds(page: Browser) -> float:
    """Seconds of a core that the page's main thread has taken so far: what loading costs, whatever else the machine
    does.
    """
    metrics = {one["name"]: one["value"] for one in page.call("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


@pytest.mark.slow
@pytest.mark.parametrize("evaluations", [2000, 20_000])
def test_a_large_run_loads_quickly_and_says_what_it_leaves_out(page: Browser, tmp_path: Path, evaluations: int) -> None:
    write_s, load_s = (25, 3) if evaluations == 20_000 else (30, 15)
    made_run(tmp_path / "run", evaluations).close()
    with read_store(tmp_path / "run") as store:
        begin_s = time.process_time()
        report = write_report(store, tmp_path / "run")
        assert time.process_time() - begin_s < write_s
    assert report.stat().st_size < 4_000_000
    with browser() as fresh:  # its counters begin at 0
        fresh.call("Performance.enable", timeDomain="threadTicks")
        opened(fresh, report)
        assert 0.1 < thread_seconds(fresh) < load_s
    opened(page, report)
    sound(page, report)
    if evaluations == 20_000:
        assert "2,400 of 18," in page.run("document.querySelector('#convergence').innerText")


def test_every_plot_is_written_as_png_and_svg(finished: Path) -> None:
    names = {path.stem for path in (finished / "plots").iterdir()}
    assert {"convergence-evaluations", "convergence-time", "failures", "effect-1", "tree", "graph", "kernels",
            "metrics"} <= names
    for path in (finished / "plots").iterdir():
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG") if path.suffix == ".png" else b"<svg" in content, path
        assert len(content) > 3000, path


def test_the_same_numbers_make_the_same_files(finished: Path, tmp_path: Path) -> None:
    with read_store(finished / "run") as store:
        facts = gather(store)
    for still in (convergence.still(facts.results, facts.summary), kernels.still(facts)):
        assert still is not None
        for path in write_still(still, tmp_path):
            assert path.read_bytes() == (finished / "plots" / path.name).read_bytes(), path


def live_run(folder: Path, *words: object) -> tuple[subprocess.Popen[str], str]:
    """A run that would go on for long, with its live view; the process and the address. Its explorer loads little."""
    (folder / "mv.c").write_text(GENERATOR)
    return live_process("tune", folder / "mv.c", "--device", "deterministic:0.1", "--evaluations", 9000,
                        "--explorer", "genetic", "--out", folder / "run", *words)


def live_process(*words: object) -> tuple[subprocess.Popen[str], str]:
    """A command with its live view; the process and the address. What it says is read: it would wait at a full pipe."""
    run = antune(*words)
    assert run.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{16}/", run.stdout.readline())
    assert found
    threading.Thread(target=run.stdout.read, daemon=True).start()
    return run, found[0]


MISS_ONE = """(() => { const real = fetch; window.fetch = () => {
  window.fetch = real; window.missed = true; return Promise.reject(new TypeError("no answer")) } })()"""


def test_the_live_page_follows_a_run_and_shows_its_end(page: Browser, tmp_path: Path) -> None:
    run, address = live_run(tmp_path, "--live")
    page.look(1280)
    page.open(address)
    try:
        page.until("document.querySelectorAll('main > section').length == 17")
        assert page.run("document.querySelector('.live').dataset.state") == "running"
        page.until("document.querySelectorAll('figure.plot .main-svg').length > 3")
        page.run(MISS_ONE)
        page.until("window.missed")
        page.run("scrollTo(0, 700)")
        first = page.run("document.querySelector('.live').textContent")
        page.until(f"document.querySelector('.live').textContent !== {json.dumps(first)}")
        assert page.run("scrollY") >= 700
        run.send_signal(signal.SIGINT)
        assert run.wait(WAIT_S) == 130
        page.until("document.querySelector('.live').dataset.state === 'ended'")
    finally:
        run.kill()
    page.until("document.querySelector('#overview').innerText.includes('interrupted')")
    page.until(f"{EMPTY}.length === 0")
    assert page.errors == []
    assert all(one.startswith((address, "data:")) for one in page.requests)
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"run.sqlite", "summary.json"}


@pytest.mark.slow
def test_the_live_page_of_a_resumed_run_has_what_was_known_and_what_is_new(page: Browser, tmp_path: Path) -> None:
    (tmp_path / "mv.c").write_text(GENERATOR)
    first = antune("tune", tmp_path / "mv.c", "--device", "deterministic:0.1", "--evaluations", 12, "--out",
                   tmp_path / "run")
    assert first.wait(WAIT_S) == 0
    run, address = live_process("resume", tmp_path / "run", "--evaluations", 9000, "--live")
    known = "Number(document.querySelector('.live')?.textContent.match(/live: ([0-9]+) results/)?.[1] ?? 0)"
    page.look(390, mobile=True)
    page.open(address)
    try:
        page.until(f"{known} >= 13")
        before = page.run(known)
        page.until(f"{known} > {before}")
        assert "still at work" in page.run("document.querySelector('#overview').innerText")
        page.until(f"{EMPTY}.length === 0")
        assert page.run(WIDER) <= 0
    finally:
        run.send_signal(signal.SIGINT)
        run.wait(WAIT_S)
    assert page.errors == []
    page.look(1280)


@pytest.mark.slow
def test_the_live_page_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    run, address = live_run(tmp_path, "--live-port", 0)
    port, token = re.findall(r":(\d+)/([\w-]+)/", address)[0]
    assert "200 OK" in asked(int(port), f"127.0.0.1:{port}", token)
    assert "403" in asked(int(port), "elsewhere.example", token)
    assert all("404" in asked(int(port), f"127.0.0.1:{port}", wrong) for wrong in ("guessed", ""))
    run.kill()
    run.wait()
    end_s = time.monotonic() + WAIT_S
    while time.monotonic() < end_s:
        try:
            socket.create_connection(("127.0.0.1", int(port)), 1).close()
        except OSError:
            return
        time.sleep(0.2)
    raise AssertionError("still there")


def asked(port: int, host: str, token: str) -> str:
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as connection:
        connection.sendall(f"GET /{token}/state HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        return connection.recv(100).decode()


@in_turn
def test_a_port_that_is_taken_is_said_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "mv.c").write_text(GENERATOR)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = antune("tune", tmp_path / "mv.c", "--device", "deterministic", "--live-port", port, "--out",
                     tmp_path / "run")
        said = run.communicate(timeout=WAIT_S)[0]
    assert run.returncode == 2
    assert said == (f"antune: --live-port {port} is taken by another program; choose another, or leave it out for a "
                    "free one\n")
    assert not (tmp_path / "run").exists()


def test_the_browser_tells_of_errors(page: Browser, tmp_path: Path) -> None:
    """The harness itself: it must see what the other tests say is not there."""
    (tmp_path / "bad.html").write_text("<script>console.error('one'); setTimeout(() => { throw new Error('two') })"
                                       "</script>"
                                       "<img src='http://127.0.0.1:9/three.png'>")
    page.open((tmp_path / "bad.html").as_uri())
    page.until("document.readyState === 'complete'")
    end_s = time.monotonic() + WAIT_S
    while not all(word in " ".join(page.errors) for word in ("one", "two", "three.png")):
        assert time.monotonic() < end_s, page.errors
        page.run("1")  # what the browser says comes with its answers
    assert any(address.endswith("three.png") for address in page.requests)
    with pytest.raises(BrowserFault):
        page.run("nothing.there")
