"""`antune devices` and `antune doctor`: the devices and the installation of this machine."""

from __future__ import annotations

import typer

from antune.options import Json


def devices(json_file: Json = None) -> None:
    """List the devices that antune can tune for, the default one first.

    Each device has built and run a small kernel in a separate process. Devices that fail are named below, with the
    message of their driver and a remedy; in the JSON file their `state` is `fails`.

    \b
    Example:
      antune devices --json devices.json
    """
    from antune.files import write_json
    from antune.tables import device_rows, print_broken, print_devices
    from runners.backends import BACKENDS
    from runners.devices import survey

    seen = survey()
    if seen.devices:
        print_devices(seen.devices)
    elif seen.broken:
        print("No device works.")
    else:
        print("No device was found; `pip install pyopencl[pocl]` installs one that runs on any CPU.")
    print_broken(seen)
    for backend in BACKENDS:
        if backend.dialect in seen.obstacles and backend.present():
            print(
                f"Not every {backend.vendor} GPU can be used through {backend.title}: {seen.obstacles[backend.dialect]}"
            )
    if json_file:
        write_json(json_file, device_rows(seen))


def doctor() -> None:
    """Check the installation, and suggest how to fix what is missing.

    Exit code 2 if a required part is missing.

    \b
    Example:
      antune doctor
    """
    from antune.doctor import examine, print_findings

    findings = examine()
    print_findings(findings)
    if any(finding.state == "missing" for finding in findings):
        raise typer.Exit(2)
