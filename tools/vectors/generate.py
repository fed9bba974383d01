#!/usr/bin/env python3
"""Writes tests/vectors/programs_*.json: random programs, and what they return on MPICH and on Open MPI.

usage: generate.py [GROUP...]
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import groups

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parents[1] / "tests" / "vectors"
SEED = 2911
RUNS = 3
LIBRARIES = {
    "MPICH": ("mpicc.mpich", ["mpirun.mpich"]),
    "Open MPI": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]),
}


def version(library):
    """The library's name with its version."""
    if library == "MPICH":
        said = subprocess.run(["mpirun.mpich", "--version"], capture_output=True, text=True, check=True).stdout
        number = next(line.split(":")[1].strip() for line in said.splitlines() if "Version" in line)
    else:
        said = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True, check=True).stdout
        number = said.splitlines()[0].split()[-1]
    return f"{library} {number}"


class Player:
    """`play` with one library."""

    def __init__(self, library, folder):
        compiler, self.launch = LIBRARIES[library]
        self.name = version(library)
        self.program = f"{folder}/play.{library.split()[0].lower()}"
        self.folder = folder
        subprocess.run([compiler, "-O1", "-o", self.program, str(HERE / "play.c")], check=True)

    def play(self, scripts):
        """What each statement returned: `[case][rank][statement]`."""
        returned = {}
        for ranks in sorted({len(script.ranks) for script in scripts.values()}):
            those = {case: script for case, script in scripts.items() if len(script.ranks) == ranks}
            text = "\n".join(line for case, script in those.items() for line in script.lines(case))
            programs, results = f"{self.folder}/programs", f"{self.folder}/results"
            Path(programs).write_text(text + "\n", encoding="ascii")
            command = [*self.launch, "-n", str(ranks), self.program, programs, results]
            environment = {**os.environ, "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                           "OMPI_MCA_mpi_yield_when_idle": "1"}
            subprocess.run(command, check=True, timeout=600, env=environment)
            for case, script in those.items():
                returned[case] = [[None] * len(own) for own in script.ranks]
            for rank in range(ranks):
                for line in Path(f"{results}.{rank}").read_text(encoding="ascii").splitlines():
                    case, statement, *words = line.split()
                    told = dict(word.split("=", 1) for word in words)
                    returned[int(case)][rank][int(statement)] = told
        return returned

    def workloads(self, scripts):
        """The programs with what this library returns, the same in each run."""
        all_runs = []
        for _ in range(RUNS):
            returned = self.play(scripts)
            all_runs.append({case: script.workload(returned[case]) for case, script in scripts.items()})
        for run in all_runs[1:]:
            for case, workload in run.items():
                for one, other in zip(workload["ranks"], all_runs[0][case]["ranks"], strict=True):
                    for found in zip(one, other, strict=True):
                        if found[0] != found[1]:
                            raise SystemExit(f"case {case} is not strict, {self.name} gives both\n{found}")
        return all_runs[0]


def write(name, head, cases):
    """One line for each case."""
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    before = json.dumps(head, separators=(",", ":"))[:-1]
    (VECTORS / f"{name}.json").write_text(f"{before},\"cases\":[\n{lines}\n]}}\n", encoding="ascii")


def record(group, players):
    draw = groups.GROUPS[group]
    draws = random.Random(f"{SEED} {group}")
    scripts = {case: draw.case(draws) for case in range(1, draw.cases + 1)}
    players = [players[library] for library in draw.libraries]
    by_library = {player.name: player.workloads(scripts) for player in players}
    head = {"family": "programs", "schema": 1, "mpi": players[0].name}
    if len(players) > 1:
        head["second_opinion"] = players[1].name
    head["seed"] = SEED
    agreed, differing = [], []
    for case, script in scripts.items():
        nodes = {"nodes": script.nodes} if script.nodes else {}
        workloads = {name: all_cases[case] for name, all_cases in by_library.items()}
        first = workloads[players[0].name]
        if all(one == first for one in workloads.values()):
            agreed.append({"id": case, **nodes, "program": first})
        else:
            differing.append({"id": case, **nodes, "results": workloads})
    if agreed:
        write(f"programs_{group}", head, agreed)
    if differing:
        name = group.removesuffix("_disputed")
        write(f"programs_{name}_variance", {**head, "family": "programs_variance"}, differing)
    print(f"{group}: {len(agreed)} cases, and {len(differing)} in which the libraries differ")


def main():
    chosen = sys.argv[1:] or list(groups.GROUPS)
    with tempfile.TemporaryDirectory() as folder:
        players = {library: Player(library, folder) for library in LIBRARIES}
        for group in chosen:
            record(group, players)


main()
