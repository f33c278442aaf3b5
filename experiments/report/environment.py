"""The device, machine and software of the run, and the command that repeats it."""

from __future__ import annotations

from experiments.report.facts import Facts
from experiments.report.html import Section, copied, note, table
from experiments.search.reproducing import reproduce_command


def section(facts: Facts) -> Section:
    """Return the section on the device, the machine, the versions and the program."""
    info, environment, target = facts.info, facts.environment, facts.info.device.target
    limits = (f"{target.compute_units} compute units, {target.max_threads} threads per block, "
              f"{target.local_bytes} bytes of shared memory")
    rows = [
        ("device", f"{info.device.name}, {info.device.platform}, driver {info.device.driver}"),
        ("limits", limits),
        ("sequential compiler", info.compiler),
        ("machine", f"{environment.machine}, {environment.cpus} cores, {environment.system}"),
        ("python", environment.python),
        ("packages", ", ".join(f"{name} {version}" for name, version in environment.packages)),
        ("settings of drivers", ", ".join(f"{name}={value}" for name, value in environment.settings or ()) or "none"),
        ("file", f"{info.options.file} (SHA-256 {info.source_hash[:16]})"),
        ("program", info.subject.digest),
        ("started", info.created_at),
    ]
    return Section("environment", "Environment", "Environment", table(rows))


def command_section(facts: Facts) -> Section:
    """Return the section with the command, ready to copy."""
    body = copied(reproduce_command(facts.info), "command")
    body += note(
        "Paths are those of the machine that made the run. The same seed walks the same way as long as the times "
        "agree on "
        "which plans are good; times are never the same twice."
    )
    return Section("again", "Reproduce", "Make this run again", body)
