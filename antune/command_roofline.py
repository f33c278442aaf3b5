"""`antune suite roofline`: the ceilings of a device, and the share that runs reach."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.options import Device, Json

if TYPE_CHECKING:
    from experiments.ceilings.placed import Placed
    from metrics.roofline import Ceilings

Runs = Annotated[list[Path] | None, typer.Argument(metavar="[DIR]...", show_default=False,
                                                   help="Runs to compare with the ceilings.")]
Again = Annotated[bool, typer.Option("--again", help="Measure again, even if the ceilings of the device are known.")]


def roofline(runs: Runs = None, device: Device = None, again: Again = False, json_file: Json = None) -> None:
    """Measure the ceilings of a device (operations and bytes per second), and compare runs with them.

    Measuring takes a minute or two; the result is kept in ~/.cache/antune (or $XDG_CACHE_HOME) for the device with its
    driver. For every run the table shows the least time that the ceilings allow: the operations of its program, and its
    data moved once. A share of 50 % means that no schedule can be more than twice as fast.

    \b
    Examples:
      antune suite roofline --device pocl
      antune suite roofline antune-runs/gemm-1 antune-runs/mvt-1
    """
    from antune.files import write_json
    from experiments.ceilings.placed import Placed, place_run

    ceilings = _ceilings(device, again, measure=again or device is not None or not runs)
    if ceilings is not None:
        _print_ceilings(ceilings)
    answers = [place_run(directory) for directory in runs or []]
    placed = [answer for answer in answers if isinstance(answer, Placed)]
    if placed:
        _print_placed(placed)
    for answer in answers:
        if isinstance(answer, str):
            print(answer)
    if json_file:
        write_json(
            json_file, {"ceilings": asdict(ceilings) if ceilings else None, "runs": [asdict(one) for one in placed]}
        )


def _ceilings(device: str | None, again: bool, measure: bool) -> Ceilings | None:
    from experiments.ceilings.files import keep_ceilings, kept_ceilings
    from experiments.ceilings.measure import measure_ceilings
    from experiments.search.places import find_device
    from generator.errors import InputError

    if not measure:
        return None
    found = find_device(device)
    if found.key == "deterministic":
        raise InputError("--device deterministic measures nothing, so that it has no ceilings; choose a real device")
    kept = None if again else kept_ceilings(found)
    if kept is not None:
        return kept
    print(f"measuring {found.name} ({found.platform})", flush=True)
    with tempfile.TemporaryDirectory(prefix="antune-ceilings-") as folder:
        measured = measure_ceilings(found, Path(folder), lambda text: print(f"  {text}", flush=True))
    print(f"kept in {keep_ceilings(measured)}")
    return measured


def _print_ceilings(ceilings: Ceilings) -> None:
    from antune.tables import print_table

    print(f"\n{ceilings.device_key}, driver {ceilings.driver}, {ceilings.measured_at}")
    rows = [(f"{type_} operations", f"{rate * 1e-9:.4g} billion/s") for type_, rate in ceilings.operations_per_s]
    rows += [(f"bandwidth, {one.working_set >> 10:,} KiB of data", f"{one.bytes_per_s * 1e-9:.4g} GB/s")
             for one in ceilings.bandwidths]
    print_table(("", "at most"), rows)


def _print_placed(placed: Sequence[Placed]) -> None:
    from antune.tables import print_table
    from experiments.search.result_table import PLAN_TIME
    from experiments.words import describe_ms, describe_percent

    print_table(
        ("run", "limited by", "least time", "default plan", "of the possible", "best plan", "of the possible"),
        [
            (
                one.run,
                one.limit,
                describe_ms(one.roof_ms),
                describe_ms(one.default_ms),
                describe_percent(one.default_share),
                describe_ms(one.best_ms),
                describe_percent(one.best_share),
            )
            for one in placed
        ],
    )
    print(f"Plans: {PLAN_TIME}.")
