"""The memory of a node of the optimization graph: `python -m experiments.benchmarks.graph_memory --nodes 1000000`.

Fills a graph with decisions like those about kernels: a choice of four to eight sizes, about a set of statements,
depending on the largest sizes, and on the points and threads so far. Prints the bytes per node of the process's
resident memory after each step: reached nodes; one visited option each, with costs, the kernel's costs and five
metrics; the colony's pheromone.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Iterable, Iterator
from itertools import combinations, islice, product
from pathlib import Path

from explorer.colony import Colony
from generator.plan import Plan
from generator.schedules.choice import ScheduleChoice
from graph.knowledge import Measured
from graph.node import Node
from graph.optimization_graph import OptimizationGraph
from graph.space import Chooser, Decision

STATEMENTS = 16
DECISIONS = 12
METRICS = ("occupancy", "global loads", "global stores", "cache hits", "instructions per cycle")


def decisions() -> Iterator[tuple[Decision, tuple[int, ...]]]:
    """Yield decisions with their options; all texts and tuples are new objects, as in a space."""
    for size in range(1, STATEMENTS):
        for chosen in combinations(range(STATEMENTS), size):
            subject = tuple(f"S{number}" for number in chosen)
            for axis, points, threads in product(range(3), range(9), range(6)):
                depends = (("largest tiles", tuple(512 >> k for k in range(3))), ("points", 1 << points),
                           ("threads", 1 << threads))
                yield Decision(f"outer tile size {'xyz'[axis]}", subject, depends), sizes(points + threads)


def sizes(number: int) -> tuple[int, ...]:
    """Return four to eight powers of two."""
    return tuple(1 << k for k in range(4 + number % 5))


def reached(count: int) -> OptimizationGraph:
    """Return a graph of `count` nodes."""
    graph = OptimizationGraph()
    for decision, options in islice(decisions(), count):
        graph.node(decision, options)
    return graph


def visit(nodes: Iterable[Node]) -> None:
    """Record one walk over one option of each node; a kernel of a walk has DECISIONS decisions."""
    for number, node in enumerate(nodes):
        if number % DECISIONS == 0:
            program = Measured(2.0 + 1 / (number + 1))
            kernel = Measured(1.0 + 1 / (number + 1), {name: 1 / (number + k + 2) for k, name in enumerate(METRICS)})
        node.edge(number % len(node.options)).record(program, kernel)


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def nothing(chooser: Chooser) -> Plan:
    """Stand in for the space of a colony that never walks."""
    return Plan(ScheduleChoice(), ())


def main() -> None:
    """Print a line per step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    count = parser.parse_args().nodes
    before, start = resident_bytes(), time.perf_counter()

    def show(what: str) -> None:
        total = resident_bytes() - before
        print(f"{what:32} {total / count:6.0f} bytes per node  {total / 2**20:7.0f} MiB  "
              f"{time.perf_counter() - start:5.1f} s")

    graph = reached(count)
    assert len(graph.nodes) == count
    show("reached")
    visit(graph.nodes.values())
    show("and one option visited")
    trails = Colony(nothing, 0).trails
    for node in graph.nodes.values():
        trails.level(node)
    show("and pheromone on all options")


if __name__ == "__main__":
    main()
