#!/usr/bin/env python3
"""Runs MPICH's own tests under `mpisim exec`, beside MPICH itself, and counts what passes.

The tests come from MPICH 4.0.2, which Debian has as a source package. They are compiled once, with mpisim's header; the
same binaries run on MPICH 5.0.2 of the Python registry, which has the same binary interface (`libmpi_abi.so.1`). A run that
does not pass there is left out of the counts.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

VERSION = "4.0.2"
SHA256 = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
ORACLE = "mpich==5.0.2"
FOLDERS = ["pt2pt", "comm", "coll", "datatype", "group", "errhan", "init", "attr", "info", "topo", "rma"]
# Functions that MPI 3.0 removed, and those that took their place: `dtpools` still calls the former.
RENAMED = ["MPI_Type_hvector=MPI_Type_create_hvector", "MPI_Type_hindexed=MPI_Type_create_hindexed"]
VERDICTS = ["passed", "refused", "wrong", "crashed", "timed out", "not compiled", "not run"]
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
    libraries = {"mpisim": Mpisim(mpisim, options.nodes)}
    if options.oracle:
        libraries["mpich"] = Mpich(oracle(work))
    tests = [test for folder in options.folders for test in listed(build / folder, options.dtp)]
    tests = [test for test in tests if re.search(options.only, test["program"])]
    records_of = work / f"records{options.suffix}.json"
    kept = {}
    if options.keep_oracle and records_of.exists():
        kept = {key(record): record["mpich"] for record in json.loads(records_of.read_text()) if "mpich" in record}

    def tried(test):
        record = dict(test)
        for name, library in libraries.items():
            known = kept.get(key(test)) if name == "mpich" else None
            record[name] = known or verdict(build, test, library, options.limit)
        print(line(record), file=sys.stderr, flush=True)
        return record

    with ThreadPoolExecutor(options.jobs) as pool:
        records = list(pool.map(tried, tests))
    records_of.write_text(json.dumps(records, indent=1) + "\n")
    print(table(records))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=FOLDERS, help="folders of tests (default: all that are known)")
    parser.add_argument("--mpisim", type=Path, default=Path("target/release/mpisim"), help="the simulator")
    parser.add_argument("--work", type=Path, default=Path("target/mpich-tests"), help="sources, binaries and records")
    parser.add_argument("--oracle", action="store_true", help=f"run each test on {ORACLE}, too")
    parser.add_argument("--keep-oracle", action="store_true", help="take MPICH's verdicts from the records of before")
    parser.add_argument("--dtp", action="store_true", help="run also the lists of random datatypes (`testlist.dtp`)")
    parser.add_argument("--nodes", type=int, default=1, help="nodes that the ranks are spread over")
    parser.add_argument("--limit", type=int, default=60, help="seconds that a run may take, at most")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--only", default="", help="programs whose names match this expression")
    parser.add_argument("--suffix", default="", help="a part of the name of the records")
    return parser.parse_args()


def key(record):
    return (record["folder"], record["program"], record["processes"], *record["arguments"], *record["environment"])


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
        flags = " ".join(f"-D{renamed}" for renamed in RENAMED)
        configure = [source / "configure", f"MPICC={mpicc}", f"CPPFLAGS={flags}", "--disable-fortran", "--disable-cxx"]
        call(configure, build, build / "configure.log")
    for folder in ["util", "dtpools"]:
        call(["make", "-j2", "-C", folder], build, build / f"{folder}.log")
    for folder in folders:
        call(["make", "-k", "-j2", "-C", folder], build, build / f"{folder}.log", must=False)
    return build


def unpacked(work):
    source = work / f"mpich-{VERSION}" / "test" / "mpi"
    if not source.exists():
        with tarfile.open(fetched(work)) as archive:
            wanted = [member for member in archive if member.name.startswith(f"mpich-{VERSION}/test/mpi/")]
            archive.extractall(work, wanted, filter="data")
    return source


def fetched(work):
    """MPICH's source: from the address in MPICH_SOURCE, else from the system's archive."""
    archive = work / f"mpich_{VERSION}.orig.tar.xz"
    if not archive.exists():
        address = os.environ.get("MPICH_SOURCE")
        if address:
            urllib.request.urlretrieve(address, archive)
        else:
            call(["apt-get", "source", "--download-only", "mpich"], work, work / "apt.log")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != SHA256:
        sys.exit(f"{archive} has the checksum {found}, not {SHA256}")
    return archive


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


def call(command, folder, log, must=True):
    with log.open("w") as output:
        done = subprocess.run(["nice", *command], cwd=folder, stdout=output, stderr=subprocess.STDOUT)
    if must and done.returncode != 0:
        sys.exit(f"{command[0]} failed: see {log}")


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
        return [self.program, "exec", "-n", test["processes"], *machine, "--out", scratch / "results", "--", binary]

    def environment(self, seconds):
        return {}


class Mpich:
    def __init__(self, folder):
        self.folder = folder

    def command(self, test, binary, scratch):
        return [self.folder / "bin" / "mpiexec", "-n", test["processes"], binary]

    def environment(self, seconds):
        return {"LD_LIBRARY_PATH": str(self.folder / "lib"), "MPIEXEC_TIMEOUT": str(seconds)}


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
    refusal = re.search(r"rank \d+, (\w+): (the simulator does not carry.*)", output)
    if status is None:
        return {"verdict": "timed out", "reason": last_line(output)}
    if refusal:
        return {"verdict": "refused", "reason": f"{refusal[1]}: {refusal[2]}"}
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
    """What went wrong: the simulator's sentence, else the first lines that the program printed."""
    for pattern in [r"panicked at.*\n.*", r"^point \d+ failed:\n(?:.+\n)+"]:
        found = re.search(pattern, output, re.MULTILINE)
        if found:
            return " ".join(found[0].split())[:300]
    lines = [text.strip() for text in output.splitlines() if text.strip() and not text.startswith(("note:", "error["))]
    return " / ".join(lines[:3])[:300]


def last_line(output):
    lines = [text.strip() for text in output.splitlines() if text.strip()]
    return lines[-1][:300] if lines else ""


# Reports


def line(record):
    words = [record["folder"], record["program"], str(record["processes"]), *record["arguments"], *record["environment"]]
    found = "; ".join(f"{name} {record[name]['verdict']} {record[name]['reason']}" for name in ("mpisim", "mpich") if name in record)
    return f"{' '.join(words)}: {found}"


def table(records):
    """Counts by folder. Runs that do not pass on MPICH have a column of their own, and stand in no other."""
    rows = [["folder", "runs", *VERDICTS, "not on MPICH"]]
    folders = list(dict.fromkeys(record["folder"] for record in records))
    for folder in [*folders, "all"]:
        of_folder = [record for record in records if folder in ("all", record["folder"])]
        counted = [record for record in of_folder if record.get("mpich", {}).get("verdict", "passed") in ("passed", "not compiled", "not run")]
        counts = [sum(record["mpisim"]["verdict"] == verdict for record in counted) for verdict in VERDICTS]
        rows.append([folder, len(of_folder), *counts, len(of_folder) - len(counted)])
    rows.insert(1, ["---", *["---:"] * (len(rows[0]) - 1)])
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


if __name__ == "__main__":
    main()
