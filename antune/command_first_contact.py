"""`antune suite first-contact`: test and measure a machine with a GPU, in steps of a few minutes."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from antune.command_pipelines import SizeChoice

if TYPE_CHECKING:
    from experiments.studies.first_contact.steps import Step, Wish

NOTHING = 3
Minutes = Annotated[float, typer.Option("--minutes", metavar="M", min=0.1, help="Time limit of this call.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for all results: a JSON and a Markdown file "
                                                                "per step, summary.md, and the runs of the suites.")]
Device = Annotated[str, typer.Option("--device", metavar="D", help="The device, as for `antune tune`.")]
Programs = Annotated[str, typer.Option("--programs", metavar="A,B", help="Programs of PolyBench, or groups of them.")]
Pipelines = Annotated[str, typer.Option("--pipelines", metavar="A,B", help="Image pipelines.")]
Size = Annotated[str, typer.Option("--size", metavar="SIZE", help="Size of PolyBench's programs.")]
PipelineSize = Annotated[SizeChoice, typer.Option("--pipeline-size", metavar="SIZE", help="Size of the pipelines.")]
Evaluations = Annotated[int, typer.Option("--evaluations", metavar="N", min=1, help="Evaluations of each search.")]
Plans = Annotated[int, typer.Option("--plans", metavar="N", min=1, help="Random plans of every program to check.")]
Peers = Annotated[Path | None, typer.Option("--peers", metavar="DIR", show_default=False, exists=True, file_okay=False,
                                            help="A folder with other programs that print their times.")]
Steps = Annotated[str, typer.Option("--steps", metavar="A,B", show_default=False,
                                    help="Run only these steps: devices, tests, plans, ceilings, polybench, pipelines, "
                                         "profile, peers.")]


def first_contact(minutes: Minutes, out: Out = Path("first-contact"), device: Device = "cuda",
                  programs: Programs = "all", pipelines: Pipelines = "all", size: Size = "large",
                  pipeline_size: PipelineSize = SizeChoice.full, evaluations: Evaluations = 30, plans: Plans = 10,
                  peers: Peers = None, steps: Steps = "") -> None:
    """Test and measure a machine with a GPU: tests, random plans, ceilings, suites, counters, other programs.

    Each step takes at most 8 minutes and writes a JSON and a Markdown file, so finished steps are kept when the time is
    over. The same command continues with unfinished steps, and repeats those that failed or could not be run. Without
    the device, nothing is run. No network is needed; docs/gpu_first_contact.md lists the required files.

    \b
    Examples:
      antune suite first-contact --minutes 55 --out contact
      antune suite first-contact --minutes 10 --steps devices,tests,plans
    """
    from experiments.studies.first_contact.steps import Wish, chosen
    from experiments.studies.first_contact.steps import steps as all_steps
    from experiments.studies.first_contact.visit import visit
    from experiments.studies.side_by_side.pipelines import parse_pipelines
    from experiments.studies.side_by_side.polybench import PolyBench, parse_programs

    parse_programs(programs), parse_pipelines(pipelines, "--pipelines"), PolyBench(size.upper())
    wish = Wish(out.absolute(), device, programs, pipelines, size, pipeline_size.value, evaluations, plans,
                peers.absolute() if peers else None)
    signal.signal(signal.SIGTERM, _end)
    _check_device(wish, chosen(all_steps(wish), steps))
    told = visit(lambda: chosen(all_steps(wish), steps), wish.folder, 60 * minutes,
                 lambda text: print(text, flush=True))
    for one in told:
        print(f"{one.state:>13}  {one.title}")
    print(f"\nFiles: {out}/summary.md, and a .md and a .json for each step")
    if not any(one.state == "done" for one in told):
        raise typer.Exit(NOTHING)


def _check_device(wish: Wish, found: tuple[Step, ...]) -> None:
    """Look for the device if a step is to use it, and print what is known about it.

    Raises InputError if there is none: all steps would fail, after minutes.
    """
    from antune.errors import InputError
    from experiments.files import make_folder
    from experiments.search.places import find_device
    from experiments.studies.first_contact.visit import open_steps

    make_folder(wish.folder)
    if not any(step.on_device for step in open_steps(found, wish.folder)):
        return
    try:
        device = find_device(wish.device)
    except InputError as error:
        what = "docs/gpu_first_contact.md lists what this machine needs"
        raise InputError(f"{error}; no step was run ({what})") from None
    print(f"{device.platform}, {device.name}, {device.driver}", flush=True)
    if device.warning:
        print(f"warning: {device.warning}", flush=True)


def _end(number: int, frame: FrameType | None) -> None:
    """End in order, so that the current step does not keep running."""
    del frame
    sys.exit(128 + number)
