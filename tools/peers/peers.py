#!/usr/bin/env python3
"""Times mpisim and other simulators of MPI by turns, and prints a table with the ratios.

    tools/peers/peers.py                     every row
    tools/peers/peers.py pairs --turns 9     rows whose name begins so, nine turns each
    tools/peers/peers.py --instructions      instructions instead of processor time: exact, and slow
    tools/peers/peers.py --loggopsim FOLDER  schedules too, on a build of LogGOPSim (`LogGOPSim` and `txt2bin`)

A cost is the difference of two runs of different length, start and end excluded, for one message (or call). Both
sides run the same pattern in every turn, one after the other, since the machine is not quiet: the ratio of a turn
is kept, and the table has the median of the ratios with the least and the largest. A run that fails ends the
program. SMPI is that of `smpirun` and `smpicc`; without them its rows are left out, and the table says so.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Nodes of both sides have so many ranks, where a row says no other number.
RANKS_PER_NODE = 16
WINDOW = 64


@dataclass
class Cost:
    """What one run took: seconds of processor time or instructions, and at most so many KiB."""

    cost: float
    memory: int


@dataclass
class Command:
    """A simulator: the words of its starter, none where it is started itself, and those of the program."""

    head: list
    program: list


@dataclass
class Row:
    """A pattern: how either side runs a number of its rounds, and the units of a round."""

    name: str
    unit: str
    units: int
    # A short and a long run, whose difference counts; with a short one of 0 all of the long one counts.
    rounds: tuple
    ours: Callable[[int], Command]
    theirs: Callable[[int], Command]
    # Valgrind counts one process: the ranks of `exec` are others.
    is_one_process: bool = True


def main():
    options = read_options()
    with tempfile.TemporaryDirectory(prefix="mpisim-peers-") as folder:
        work = Path(folder)
        rows = [row for row in all_rows(options, work) if not options.only or row.name.startswith(tuple(options.only))]
        if options.instructions:
            rows = [row for row in rows if row.is_one_process]
        if not rows:
            sys.exit("no row has such a name, or its simulator is not there")
        print(header(options))
        for row in rows:
            print(line(options, row, work), flush=True)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="beginnings of the names of rows (default: all)")
    parser.add_argument("--mpisim", type=Path, default=ROOT / "target/release/mpisim", help="the simulator, in the release profile")
    parser.add_argument("--turns", type=int, default=5, help="turns of each row (default: 5)")
    parser.add_argument("--instructions", action="store_true", help="count instructions by valgrind, in one turn")
    parser.add_argument("--loggopsim", type=Path, help="the folder of LogGOPSim's programs")
    options = parser.parse_args()
    options.mpisim = options.mpisim.resolve()
    if not options.mpisim.is_file():
        sys.exit(f"{options.mpisim}: no such program; `cargo build --release` makes it")
    return options


def all_rows(options, work):
    """Every row whose simulators are there."""
    rows = []
    if shutil.which("smpirun") and shutil.which("smpicc"):
        smpi = Smpi(work)
        rows += [
            pairs(options, smpi, 1, 8, False, (50, 2050)),
            pairs(options, smpi, 16, 8, False, (10, 210)),
            pairs(options, smpi, 16, 8, True, (5, 105)),
            pairs(options, smpi, 16, 8192, True, (2, 42)),
            allreduce(options, smpi, 64, (20, 420)),
            allreduce(options, smpi, 1024, (2, 22)),
            allreduce(options, smpi, 4096, (1, 5)),
            exchange(options, smpi, work, 16, (100, 3100)),
            exchange(options, smpi, work, 64, (25, 775)),
        ]
    else:
        print("SMPI is not installed (`libsimgrid-dev` of Debian): its rows are left out", file=sys.stderr)
    if options.loggopsim:
        rows += [schedule(options, work, ranks) for ranks in (1024, 16384)]
    return rows


class Smpi:
    """Programs compiled for SMPI, on a cluster whose numbers do not matter: nothing is compared but what it costs."""

    def __init__(self, work):
        self.work = work
        self.programs = {name: self.compiled(name) for name in ("pairs", "allreduce")}

    def compiled(self, name, source=None):
        program = self.work / f"smpi-{name}"
        source = source or HERE / f"{name}.c"
        subprocess.run(["smpicc", "-O2", str(source), "-o", str(program)], check=True)
        return program

    def platform(self, nodes):
        """The file of a cluster of so many nodes."""
        path = self.work / f"cluster-{nodes}.xml"
        path.write_text(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
            "<platform version='4.1'>\n"
            f"  <cluster id='cluster' prefix='node-' suffix='' radical='0-{nodes - 1}' speed='10Gf' bw='12.5GBps' lat='1us'"
            " loopback_bw='5GBps' loopback_lat='0.5us'/>\n"
            "</platform>\n"
        )
        return path

    def command(self, program, ranks, ranks_per_node, arguments):
        """The ranks of one node follow each other, as mpisim places them."""
        nodes = max(1, ranks // ranks_per_node)
        platform = self.platform(nodes)
        hosts = self.work / f"hosts-{nodes}-{ranks_per_node}"
        hosts.write_text("".join(f"node-{rank // ranks_per_node}\n" for rank in range(ranks)))
        settings = ["--cfg=smpi/simulate-computation:no", "--cfg=smpi/allreduce:rdb", "--log=root.thres:critical"]
        head = ["smpirun", "-np", str(ranks), "-platform", str(platform), "-hostfile", str(hosts), *settings]
        return Command(head, [str(program), *map(str, arguments)])


def scenario(options, name, rounds, settings):
    command = [str(options.mpisim), "run", str(ROOT / f"benches/instructions/{name}.json"), "--jobs", "1"]
    for key, value in {**settings, "workload.rounds": rounds}.items():
        command += ["--set", f"{key}={value}"]
    return command


def pairs(options, smpi, count, size, both, rounds):
    """So many pairs of ranks on two nodes; of mpisim each direction has pairs of its own."""
    settings = {"senders_per_node": count, "size": f"{size} B", "direction": "both" if both else "one"}
    settings = {f"workload.{key}": value for key, value in settings.items()}
    directions = 2 if both else 1
    of_size = f"{size} B" if size < 1024 else f"{size // 1024} KiB"
    return Row(
        f"pairs: {count} {'both ways' if both else 'one way'}, {of_size}",
        "message",
        count * directions * WINDOW,
        rounds,
        lambda n: Command([], scenario(options, "pairs_8B", n, settings)),
        lambda n: smpi.command(smpi.programs["pairs"], 2 * count, count, [size, WINDOW, n, int(both)]),
    )


def allreduce(options, smpi, ranks, rounds):
    """Recursive doubling of 8 bytes."""
    return Row(
        f"allreduce: recursive doubling, 8 B, {ranks:,} ranks, {RANKS_PER_NODE} a node",
        "message",
        ranks * (ranks.bit_length() - 1),
        rounds,
        lambda n: Command([], scenario(options, "allreduce_64", n, {"nodes": ranks // RANKS_PER_NODE})),
        lambda n: smpi.command(smpi.programs["allreduce"], ranks, RANKS_PER_NODE, [n]),
    )


def exchange(options, smpi, work, ranks, calls):
    """The same program in C on both sides; both ranks of an exchange are on one node."""
    source, ours = HERE / "exchange.c", work / "exchange"
    subprocess.run([str(options.mpisim), "cc", "--", "-O2", str(source), "-o", str(ours)], check=True)
    theirs = smpi.compiled("exchange", source)
    head = [str(options.mpisim), "exec", "-n", str(ranks), "--machine", "broadwell-edr", "--nodes", str(max(1, ranks // RANKS_PER_NODE))]
    return Row(
        f"exec: MPI_Sendrecv of 8 B, {ranks} ranks",
        "call",
        ranks,
        calls,
        lambda n: Command([], [*head, "--", str(ours), str(n)]),
        lambda n: smpi.command(theirs, ranks, RANKS_PER_NODE, [n]),
        is_one_process=False,
    )


def schedule(options, work, ranks):
    """A dissemination as a schedule: the whole model here, LogGOPS there; the whole of each run."""
    goal, binary, own = (work / f"dissemination-{ranks}.{end}" for end in ("goal", "bin", "json"))
    goal.write_text(dissemination(ranks))
    subprocess.run([str(options.loggopsim / "txt2bin"), "-i", str(goal), "-o", str(binary), "-p"], check=True, stdout=subprocess.DEVNULL)
    with own.open("w") as out:
        subprocess.run([str(options.mpisim), "trace", "import", str(goal)], check=True, stdout=out)
    rounds = (ranks - 1).bit_length()
    return Row(
        f"schedule: dissemination of {ranks:,} ranks, 1 KiB",
        "message",
        ranks * rounds,
        (0, 1),
        lambda n: Command([], [str(options.mpisim), "run", str(own), "--jobs", "1"]),
        lambda n: Command([], [str(options.loggopsim / "LogGOPSim"), "-f", str(binary), "--batchmode"]),
    )


def dissemination(ranks):
    """In round k each rank sends to rank + 2^k, once what it was sent in the round before has come."""
    lines = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        lines.append(f"rank {rank} {{")
        distance, operation, before = 1, 0, None
        while distance < ranks:
            lines.append(f"l{operation}: send 1024b to {(rank + distance) % ranks}")
            if before is not None:
                lines.append(f"l{operation} requires l{before}")
            lines.append(f"l{operation + 1}: recv 1024b from {(rank - distance) % ranks}")
            distance, operation, before = 2 * distance, operation + 2, operation + 1
        lines.append("}")
    return "\n".join(lines) + "\n"


def run(command, work, counted):
    """Runs a command in a folder of its own; with `counted` its simulator runs under valgrind."""
    words = command.head + command.program
    log = work / "valgrind.log"
    if counted:
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log}"]
        # `smpirun` is a script: it starts the simulator, which is the program, by its wrapper.
        words = [*command.head, "-wrapper", " ".join(valgrind), *command.program] if command.head else [*valgrind, *words]
    with tempfile.TemporaryDirectory(dir=work) as folder, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(words)}\nended with {process.returncode}:\n{output.read().decode(errors='replace')[-2000:]}")
    if not counted:
        return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
    found = re.search(r"I *refs: *([0-9,]+)", log.read_text())
    return Cost(int(found[1].replace(",", "")), 0)


def unit(row, make, work, counted):
    """What a unit costs, and the most KiB of the longer run."""
    short, long = row.rounds
    if counted:
        # A count is exact, and valgrind is slow: a tenth of the rounds.
        long = short + max(1, (long - short) // 10)
    before = run(make(short), work, counted).cost if short else 0
    after = run(make(long), work, counted)
    return (after.cost - before) / (row.units * (long - short)), after.memory


def header(options):
    what = "instructions" if options.instructions else "us of CPU"
    names = ["pattern", "unit", f"mpisim, {what}", f"peer, {what}", "ratio", *([] if options.instructions else ["mpisim, MiB", "peer, MiB"])]
    return "| " + " | ".join(names) + " |\n|" + "---|" * len(names)


def line(options, row, work):
    """A row of the table: the median of the turns, and the ratio with its range."""
    turns = 1 if options.instructions else options.turns
    counted = options.instructions
    ours, theirs = [], []
    for _ in range(turns):
        ours.append(unit(row, row.ours, work, counted))
        theirs.append(unit(row, row.theirs, work, counted))
    ratios = sorted(their / our for (our, _), (their, _) in zip(ours, theirs))
    costs = [statistics.median(cost for cost, _ in side) for side in (ours, theirs)]
    if counted:
        cells = [f"{cost:,.0f}" for cost in costs] + [f"{ratios[0]:.2f}"]
    else:
        memory = [f"{max(kib for _, kib in side) / 1024:.0f}" for side in (ours, theirs)]
        cells = [f"{cost * 1e6:.2f}" for cost in costs]
        cells += [f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", *memory]
    return "| " + " | ".join([row.name, row.unit, *cells]) + " |"


if __name__ == "__main__":
    main()
