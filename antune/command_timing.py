"""`antune suite timing`: check whether this machine selects the same winner twice."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.options import (
    Cache,
    CacheChoice,
    Defines,
    Finalists,
    IncludeDirs,
    Json,
    MaxRepeats,
    Parameters,
    Precision,
    Realtime,
    Seed,
    Trust,
)
from antune.parsing import Scoped, parse_scoped

if TYPE_CHECKING:
    from experiments.studies.retimed.plans import Material
    from experiments.studies.retimed.results import Figures, Winner
    from experiments.values.options import Timing

INTERRUPTED, APART = 130, 1
USUAL = ("gemm", "MEDIUM_DATASET")

Source = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE.c|DIR]",
        show_default=False,
        help="A C file, for which plans are generated, or the directory of a run, whose plans are used. Default: "
             "antune's matrix product, medium size.",
    ),
]
Plans = Annotated[int, typer.Option("--plans", metavar="N", min=3, help="Number of plans.")]
Device = Annotated[str | None, typer.Option("--device", metavar="DEVICE", show_default=False,
                                            help="As for `antune tune`. Default: the device of the run, or the best "
                                                 "device found.")]
FinalSeconds = Annotated[float, typer.Option("--final-seconds", metavar="SECONDS", min=0.1,
                                             help="Time limit of the final of each pass.")]


def timing(source: Source = None, include: IncludeDirs = None, define: Defines = None, param: Parameters = None,
           plans: Plans = 50, device: Device = None, seed: Seed = 0, precision: Precision = 2.0,
           max_repeats: MaxRepeats = 200, cache: Cache = CacheChoice.warm, finalists: Finalists = 5,
           realtime: Realtime = False, final_seconds: FinalSeconds = 30.0, trust: Trust = False,
           json_file: Json = None) -> None:
    """Time the same plans twice, and check whether the winners of both passes are equally fast.

    The winners are judged by their long-run medians, measured in turns afterwards. It passes (exit code 0, else 1) when
    those of the two finals' winners differ by less than 3 %. The row `best time` shows the winners without a final.

    \b
    Examples:
      antune suite timing --plans 50 --device pocl
      antune suite timing gemm.c -D SMALL_DATASET --json timing.json
      antune suite timing antune-runs/gemm-1 --cache cold
    """
    from antune.files import write_json
    from experiments.studies.retimed.passes import measure
    from experiments.studies.retimed.results import figures
    from experiments.values.options import Timing

    how = Timing(precision, max_repeats, cache.value, finalists, realtime)
    material = _material(source, _compiled(source, include, define, param), plans, device, seed, how, trust)
    try:
        found = figures(measure(material, plans, final_seconds, _note))
    except KeyboardInterrupt:
        print("antune: interrupted; nothing was written", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    _print(found)
    if json_file:
        write_json(json_file, found.to_data())
    if not found.passed:
        raise typer.Exit(APART)


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _compiled(source: Path | None, include: list[Path] | None, define: list[str] | None,
              param: list[str] | None) -> Scoped | None:
    """Return the C file to generate plans for; None for the directory of a run. Raises InputError."""
    from experiments.suites.polybench import program_file
    from generator.errors import InputError

    if source is not None and source.is_dir():
        if include or define or param:
            raise InputError(f"{source} is a run: its program is fixed; leave -I, -D and --param away")
        return None
    if source is None:
        return parse_scoped(program_file(USUAL[0]), include, define or [USUAL[1]], None, "", None, None, param)
    return parse_scoped(source, include, define, None, "", None, None, param)


def _material(source: Path | None, scoped: Scoped | None, plans: int, device: str | None, seed: int,
              how: Timing, trust: bool) -> Material:
    from experiments.search.parts import PARTS
    from experiments.studies.retimed.plans import material_of_file, material_of_run
    from experiments.values.options import Budget, RunOptions
    from generator.frontend_c.source import Compilation

    if scoped is None:
        assert source is not None
        options = RunOptions("", Compilation(), Budget(evaluations=plans), seed=seed, device=device, timing=how)
        return material_of_run(source, plans, options, trust)
    options = RunOptions(str(scoped.file), scoped.compilation, Budget(evaluations=plans), parameters=scoped.parameters,
                         seed=seed, device=device, timing=how)
    return material_of_file(options, PARTS)


def _print(found: Figures) -> None:
    from antune.tables import print_table
    from experiments.words import describe_percent

    print(f"\n{found.plans} plans on {found.device}, {found.timed} of them timed in both passes; load average "
          f"{found.load:.1f}")
    print_table(("named by", "pass 1", "pass 2", "for long", "apart", "over the best"),
                [_row(found.one_shot), _row(found.final)])
    (one, two), (final_one, final_two), (hit_one, hit_two) = found.search_s, found.final_s, found.coverage
    agreement = "-" if found.agreement is None else f"{found.agreement:.3f}"
    print_table(
        ("the passes beside each other", ""),
        [
            ("rank correlation", agreement),
            ("median time, pass 2 / pass 1", f"{found.ratio:.3f}"),
            (
                "95 % intervals that contain the long-run median",
                f"{describe_percent(hit_one)}, {describe_percent(hit_two)}",
            ),
            ("seconds for all plans", f"{one:.0f}, {two:.0f}"),
            ("seconds for the finals", f"{final_one:.0f}, {final_two:.0f}"),
            ("seconds for the long run", f"{found.long_s:.0f}"),
        ],
    )
    print(
        f"{'Passed' if found.passed else 'Not passed'}: the winners of the finals differ by "
        f"{describe_percent(found.final.apart)} "
        "for long (3 % are allowed)."
    )


def _row(winner: Winner) -> tuple[str, ...]:
    from experiments.words import describe_ms, describe_percent

    cells = [f"plan {plan}: {describe_ms(ms)}" for plan, ms in zip(winner.plans, winner.times_ms, strict=True)]
    long_ms = ", ".join(describe_ms(ms) for ms in winner.long_ms)
    return (
        winner.way,
        *cells,
        long_ms,
        describe_percent(winner.apart),
        ", ".join(describe_percent(lost) for lost in winner.lost),
    )

