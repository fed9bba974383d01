#!/usr/bin/env python3
"""Runs MPICH's own tests under `mpisim exec`, beside MPICH itself, and counts what passes.

The tests come from MPICH 4.0.2, which Debian has as a source package. They are compiled once, with mpisim's header; the
same binaries run on MPICH 5.0.2 of the Python registry, which has the same binary interface (`libmpi_abi.so.1`): what does
not pass there either is counted apart.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sources import call, fetched

VERSION = "4.0.2"
SHA256 = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
ORACLE = "mpich==5.0.2"
FOLDERS = ["pt2pt", "comm", "coll", "datatype", "group", "errhan", "init", "attr", "info", "topo", "rma"]
DEFINES = [
    # Functions that MPI 3.0 removed, and those that took their place: `dtpools` still calls the former.
    "MPI_Type_hvector=MPI_Type_create_hvector",
    "MPI_Type_hindexed=MPI_Type_create_hindexed",
    # What MPICH allows and the standard does not, such as sums of MPI_CHAR, is left out.
    "USE_STRICT_MPI=1",
    # Tests of functions that were an extension of MPICH before MPI 3.0.
    "TEST_NEIGHB_COLL=1",
    "TEST_HINDEXED_BLOCK=1",
]
FAILED = ["refused", "wrong", "crashed", "timed out"]
VERDICTS = ["passed", *FAILED, "not compiled", "not run"]
# Seconds that a run may take on MPICH, whose waiting processes keep the cores busy.
ORACLE_SECONDS = 90
# Cores of a node of the machine.
CORES = 28
# Tests that say that they need more memory than this are not run.
GIGABYTES = 4


def main():
    options = arguments()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    mpisim = options.mpisim.resolve()
    build = compiled(work, mpisim, options.folders)
    tests = [test for folder in options.folders for test in listed(build / folder, options.dtp)]
    tests = [test for test in tests if re.search(options.only, test["program"])]
    mpisim = Mpisim(mpisim, options.nodes)
    with ThreadPoolExecutor(options.jobs) as pool:
        records = list(pool.map(lambda test: tried(build, test, "mpisim", mpisim, options.limit), tests))
        if options.oracle:
            beside(build, records, Mpich(oracle(work)), work / "oracle.json", pool)
    (work / f"{options.records}.json").write_text(json.dumps(records, indent=1) + "\n")
    print(table(records))


def beside(build, records, mpich, known_in, pool):
    """Runs on MPICH what did not pass under mpisim. MPICH's verdicts are kept for the next time."""
    known = json.loads(known_in.read_text()) if known_in.exists() else {}
    failed = [record for record in records if record["mpisim"]["verdict"] in FAILED]
    unknown = [record for record in failed if named(record) not in known]
    for record in pool.map(lambda record: tried(build, record, "mpich", mpich, ORACLE_SECONDS), unknown):
        known[named(record)] = record["mpich"]
        known_in.write_text(json.dumps(known, indent=1) + "\n")
    for record in failed:
        record["mpich"] = known[named(record)]


def tried(build, test, name, library, limit):
    record = {**test, name: verdict(build, test, library, limit)}
    print(f"{named(test)}: {name} {record[name]['verdict']} {record[name]['reason']}", file=sys.stderr, flush=True)
    return record


def named(test):
    return " ".join([test["folder"], test["program"], str(test["processes"]), *test["arguments"], *test["environment"]])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=FOLDERS, help="folders of tests (default: all that are known)")
    parser.add_argument("--mpisim", type=Path, default=Path("target/release/mpisim"), help="the simulator")
    parser.add_argument("--work", type=Path, default=Path("target/mpich-tests"), help="sources, binaries and records")
    parser.add_argument("--oracle", action="store_true", help=f"run on {ORACLE} what does not pass under mpisim")
    parser.add_argument("--dtp", action="store_true", help="run also the lists of random datatypes (`testlist.dtp`)")
    parser.add_argument("--nodes", type=int, default=1, help="nodes that the ranks are spread over")
    parser.add_argument("--limit", type=int, default=60, help="seconds that a run may take, at most")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--only", default="", help="programs whose names match this expression")
    parser.add_argument("--records", default="records", help="name of the file of records in the folder --work")
    return parser.parse_args()


# Sources and binaries


def compiled(work, mpisim, folders):
    """The folder with the compiled tests. A test that does not compile is missing there."""
    source = unpacked(work)
    build = work / "build"
    if not (build / "testlist").exists():
        build.mkdir(exist_ok=True)
        mpicc = build / "mpicc"
        # The configure script exports CC=mpicc: `mpisim cc` shall call the system's compiler.
        mpicc.write_text(f'#!/bin/sh\nCC=cc exec {mpisim} cc -- "$@"\n')
        mpicc.chmod(0o755)
        configure = [source / "configure", f"MPICC={mpicc}", "--disable-fortran", "--disable-cxx"]
        call(configure, build, build / "configure.log")
    make = ["make", "-j2", "CPPFLAGS=" + " ".join(f"-D{define}" for define in DEFINES)]
    for folder in ["util", "dtpools"]:
        call([*make, "-C", folder], build, build / f"{folder}.log")
    for folder in folders:
        call([*make, "-k", "-C", folder], build, build / f"{folder}.log", must=False)
    return build


def unpacked(work):
    source = work / f"mpich-{VERSION}" / "test" / "mpi"
    if not source.exists():
        with tarfile.open(fetched(work, "mpich", f"mpich_{VERSION}.orig.tar.xz", SHA256, "MPICH_SOURCE")) as archive:
            wanted = [member for member in archive if member.name.startswith(f"mpich-{VERSION}/test/mpi/")]
            archive.extractall(work, wanted, filter="data")
    return source


def oracle(work):
    """The folder with MPICH's library and launcher."""
    folder = work / "oracle"
    if not folder.exists():
        call([sys.executable, "-m", "pip", "download", "--no-deps", "--dest", work, ORACLE], work, work / "pip.log")
        wheel = next(work.glob("mpich-*.whl"))
        draft = work / "wheel"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(draft)
        next(draft.glob("*.data/data")).rename(folder)
        shutil.rmtree(draft)
        for program in (folder / "bin").iterdir():
            program.chmod(0o755)
    return folder


# Lists of tests


def listed(folder, with_random_datatypes):
    """The runs that a folder's list names, in its order."""
    names = ["testlist", "testlist.dtp"] if with_random_datatypes else ["testlist"]
    for name in names:
        for place in [folder / name, source_of(folder) / name]:
            if place.exists():
                yield from filter(None, (test(folder.name, text) for text in place.read_text().splitlines()))
                break


def source_of(folder):
    return folder.parent.parent / f"mpich-{VERSION}" / "test" / "mpi" / folder.name


def test(folder, text):
    """A line of a list: program, processes, and options as `key=value`."""
    words = text.split("#")[0].split()
    if not words:
        return None
    options = [word.split("=", 1) for word in words[2:] if "=" in word]
    values = dict(options)
    return {
        "folder": folder,
        "program": words[0].split("/")[-1],
        "processes": int(words[1]) if len(words) > 1 else 2,
        "arguments": [value for name, value in options if name == "arg"],
        "environment": [value for name, value in options if name == "env"],
        "seconds": int(values.get("timeLimit", 180)),
        "gigabytes": float(values.get("mem", 0)),
        "expects": values.get("resultTest", "no errors"),
        "expected_to_fail": values.get("xfail", ""),
    }


# Runs


class Mpisim:
    def __init__(self, program, nodes):
        self.program, self.nodes = program, nodes

    def command(self, test, binary, scratch):
        nodes = max(min(self.nodes, test["processes"]), -(-test["processes"] // CORES))
        machine = ["--machine", "broadwell-edr", "--nodes", nodes]
        return [self.program, "exec", "-n", test["processes"], *machine, "--out", scratch / "results", "--output", "plain", "--", binary]

    def environment(self, seconds):
        return {}


class Mpich:
    def __init__(self, folder):
        self.folder = folder

    def command(self, test, binary, scratch):
        return [self.folder / "bin" / "mpiexec", "-n", test["processes"], binary]

    def environment(self, seconds):
        return {"LD_LIBRARY_PATH": str(self.folder / "lib"), "MPIEXEC_TIMEOUT": str(seconds), "MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}


def verdict(build, test, library, limit):
    binary = build / test["folder"] / test["program"]
    if not binary.exists():
        return {"verdict": "not compiled", "reason": ""}
    if test["gigabytes"] > GIGABYTES:
        return {"verdict": "not run", "reason": f"needs {test['gigabytes']} GB"}
    seconds = min(limit, test["seconds"])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        folder.mkdir()
        command = ["nice", "-n", "10", *library.command(test, binary, Path(scratch)), *test["arguments"]]
        environment = os.environ | library.environment(seconds) | dict(e.split("=", 1) for e in test["environment"])
        status, output = run([str(word) for word in command], folder, environment, seconds + 5)
    return judged(test, status, output)


def run(command, folder, environment, seconds):
    """Exit status and output; no status if time ran out."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = None
    return status, output.decode(errors="replace")


def judged(test, status, output):
    # Where the program handles errors, it was refused earlier, and the sentence about its end says so.
    refusal = re.search(r"(?:rank \d+, |refused before: )(\w+(?: \(\S+\))?: the simulator does not carry.*)", output)
    if status is None:
        return {"verdict": "timed out", "reason": last_line(output)}
    if refusal:
        return {"verdict": "refused", "reason": refusal[1]}
    if "panicked at" in output or status < 0:
        return {"verdict": "crashed", "reason": complaint(output)}
    no_errors = re.search(r"^\s*No [Ee]rrors\s*$", output, re.MULTILINE)
    passed = {
        "no errors": no_errors and status == 0,
        "TestStatus": status != 0,
        "TestErrFatal": status != 0,
        "TestStatusNoErrors": no_errors and status != 0,
    }[test["expects"]]
    return {"verdict": "passed", "reason": ""} if passed else {"verdict": "wrong", "reason": complaint(output)}


def complaint(output):
    """What went wrong: the simulator's sentence, unless it only reports how a rank ended, and what the program printed."""
    failure = re.search(r"^point \d+ failed:\n(.+)|panicked at.*\n(.*)", output, re.MULTILINE)
    sentence = [next(filter(None, failure.groups()), "")] if failure else []
    if sentence and "its process has ended" not in sentence[0]:
        return sentence[0][:300]
    lines = [text.strip() for text in output.splitlines() if text.strip() and not text.startswith(("note:", "error["))]
    return " / ".join([*lines[:2], *sentence])[:300]


def last_line(output):
    lines = [text.strip() for text in output.splitlines() if text.strip()]
    return lines[-1][:300] if lines else ""


# Reports


def table(records):
    """Counts by folder. What passes neither here nor on MPICH has a column of its own, and stands in no other."""
    rows = [["folder", "runs", *VERDICTS, "nor on MPICH"]]
    folders = list(dict.fromkeys(record["folder"] for record in records))
    for folder in [*folders, "all"]:
        of_folder = [record for record in records if folder in ("all", record["folder"])]
        counted = [record for record in of_folder if record.get("mpich", {}).get("verdict", "passed") == "passed"]
        counts = [sum(record["mpisim"]["verdict"] == verdict for record in counted) for verdict in VERDICTS]
        rows.append([folder, len(of_folder), *counts, len(of_folder) - len(counted)])
    rows.insert(1, ["---", *["---:"] * (len(rows[0]) - 1)])
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


if __name__ == "__main__":
    main()
