#!/usr/bin/env python3
"""Runs programs that check themselves under `mpisim exec`: HPCC, NetPIPE, and mpi4py's own tests.

Sources come from Debian's archive and from the Python registry. Each result is a line; the exit status is 1 if one is wrong.
"""

import argparse
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from sources import call, fetched

HPCC = ("hpcc", "hpcc_1.5.0.orig.tar.gz", "0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8", "HPCC_SOURCE")
NETPIPE = ("netpipe", "netpipe_3.7.2.orig.tar.gz", "13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8", "NETPIPE_SOURCE")
MPI4PY = "4.1.2"
# What HPL's makefile takes from its user; the two functions are those that MPI 3.0 removed.
HPL_MAKEFILE = """
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir
RM = /bin/rm -f
TOUCH = touch
ARCH = mpisim
TOPdir = ../../..
INCdir = $(TOPdir)/include
BINdir = $(TOPdir)/bin/$(ARCH)
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
LAlib = -lblas
F2CDEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) $(LAlib) -lm
HPL_DEFS = $(F2CDEFS) $(HPL_INCLUDES)
CC = {mpicc}
CCNOOPT = $(CCFLAGS)
CCFLAGS = $(HPL_DEFS) -O2 -w -DMPI_Address=MPI_Get_address -DMPI_Type_struct=MPI_Type_create_struct
LINKER = $(CC)
LINKFLAGS = $(CCFLAGS)
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
"""
# Modules of mpi4py's tests that are about files, spawned processes and threads.
LEFT_OUT = {"test_file", "test_io", "test_spawn", "test_dynproc", "test_threads"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", choices=[[], *PROGRAMS], help="which of them (default: all)")
    parser.add_argument("--mpisim", type=Path, default=Path("target/release/mpisim"), help="the simulator")
    parser.add_argument("--work", type=Path, default=Path("target/applications"), help="sources, binaries and logs")
    parser.add_argument("--ranks", type=int, default=4, help="ranks of mpi4py's tests")
    parser.add_argument("--limit", type=int, default=90, help="seconds that a module of them may take")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.mpisim = options.mpisim.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    results = [PROGRAMS[name](options) for name in options.programs or PROGRAMS]
    sys.exit(0 if all(results) else 1)


def said(program, what, passed):
    print(f"{program}: {what}: {'passed' if passed else 'WRONG'}", flush=True)
    return passed


def executed(options, log, ranks, words, command, folder, limit=600):
    """What `mpisim exec` prints; empty where it does not end."""
    words = [options.mpisim, "exec", "-n", ranks, "--machine", "broadwell-edr", "--output", "plain", *words, "--", *command]
    call(["timeout", limit, *words], folder, log, must=False)
    return log.read_text(errors="replace")


def unpacked(options, source):
    package, name, *_ = source
    with tarfile.open(fetched(options.work, *source)) as archive:
        top = archive.getnames()[0].split("/")[0]
        if not (options.work / top).exists():
            archive.extractall(options.work, filter="data")
    return options.work / top


def compiler(options):
    """A compiler for makefiles that say themselves which one they want in CC."""
    mpicc = options.work / "mpicc"
    mpicc.write_text(f'#!/bin/sh\nCC=cc exec {options.mpisim} cc -- "$@"\n')
    mpicc.chmod(0o755)
    return mpicc


def hpcc(options):
    """Its own checks of HPL, PTRANS and RandomAccess, on 4 ranks, with small problems."""
    source = unpacked(options, HPCC)
    (source / "hpl" / "Make.mpisim").write_text(HPL_MAKEFILE.format(mpicc=compiler(options)))
    call(["make", "arch=mpisim"], source, options.work / "hpcc.log")
    text = (source / "_hpccinf.txt").read_text()
    run = source / "run"
    run.mkdir(exist_ok=True)
    (run / "hpccinf.txt").write_text(re.sub(r"^1000( +Ns)$", r"200\1", text, flags=re.MULTILINE))
    results = run / "hpccoutf.txt"
    results.unlink(missing_ok=True)
    executed(options, run / "run.log", 4, ["--clock", "simulated", "--out", run / "out"], ["../hpcc"], run)
    found = results.read_text() if results.exists() else ""
    summary = dict(re.findall(r"^(\w+)=(\S+)$", found, re.MULTILINE))
    residues = re.findall(r"\|\|Ax-b\|\|.*\.\.\.\.+ (\w+)", found)
    checks = {
        "HPL": bool(residues) and set(residues) == {"PASSED"},
        "PTRANS": summary.get("PTRANS_residual") == "0" or float(summary.get("PTRANS_residual", "inf")) < 1e-10,
        "RandomAccess": summary.get("MPIRandomAccess_ErrorsFraction") == "0",
        "end": summary.get("Success") == "1",
    }
    return all([said("hpcc", name, passed) for name, passed in checks.items()])


def netpipe(options):
    """Its latency of one byte between two nodes is that of the workload `ping_pong`."""
    source = unpacked(options, NETPIPE)
    call(["make", "mpi", f"MPICC={compiler(options)}", "CFLAGS=-O -g -w"], source, options.work / "netpipe.log")
    table = source / "np.out"
    table.unlink(missing_ok=True)
    words = ["--nodes", 2, "--clock", "simulated", "--out", source / "out"]
    executed(options, source / "run.log", 2, words, ["./NPmpi", "-u", 20000, "-n", 100, "-o", table], source)
    rows = [line.split() for line in table.read_text().splitlines()] if table.exists() else []
    pairs = [(int(size), float(seconds) * 1e6, latency(options, source, size)) for size, _, seconds in rows]
    far = max((abs(measured / stated - 1) for _, measured, stated in pairs), default=1)
    what = f"{len(pairs)} sizes to {max(pairs)[0] if pairs else 0} B, at most {far:.1%} from the workload ping_pong"
    return said("netpipe", what, far < 0.02)


def latency(options, folder, size):
    scenario = folder / "ping_pong.json"
    scenario.write_text(
        '{ "schema": 1, "title": "The same", "machine": "broadwell-edr", "nodes": 2, "mpi": { "payload": "real" }, '
        f'"workload": {{ "kind": "ping_pong", "size": "{size} B", "rounds": 20, "warmup": 10, "between": "nodes" }} }}\n'
    )
    command = [options.mpisim, "run", scenario, "--format", "csv", "--out", folder / "ping_pong"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split(",") for line in done.stdout.splitlines()]
    return next(float(value) for _, metric, value, _ in rows if metric == "latency")


def mpi4py(options):
    """Its own tests, each module by itself: how many pass, and which modules have no result."""
    python = options.work / "venv" / "bin" / "python"
    if not python.exists():
        call([sys.executable, "-m", "venv", options.work / "venv"], options.work, options.work / "venv.log")
        install = ["-m", "pip", "install", "--no-binary", "mpi4py", f"mpi4py=={MPI4PY}", "numpy"]
        call([python, *install], options.work, options.work / "mpi4py.log", environment={"MPICC": f"{options.mpisim} cc --"})
    tests = options.work / f"mpi4py-{MPI4PY}"
    if not tests.exists():
        download = ["-m", "pip", "download", "--no-deps", "--no-binary", ":all:", f"mpi4py=={MPI4PY}"]
        call([python, *download], options.work, options.work / "sdist.log")
        with tarfile.open(options.work / f"mpi4py-{MPI4PY}.tar.gz") as archive:
            archive.extractall(options.work, filter="data")
    logs = options.work / "mpi4py-logs"
    logs.mkdir(exist_ok=True)
    counts, without = {"ran": 0, "skipped": 0, "failed": 0}, []
    for module in sorted(path.stem for path in (tests / "test").glob("test_*.py")):
        if module in LEFT_OUT:
            continue
        command = [python, "test/main.py", "--no-builddir", module]
        text = executed(options, logs / f"{module}.log", options.ranks, ["--out", logs / "out"], command, tests, options.limit)
        ran = re.findall(r"^Ran (\d+) tests? in", text, re.MULTILINE)
        if len(ran) < options.ranks:
            without.append(module)
            continue
        # Ranks end in their own order: the worst of them counts.
        counts["ran"] += int(ran[0])
        for word in ["skipped", "failures", "errors"]:
            name = "skipped" if word == "skipped" else "failed"
            counts[name] += max([0, *map(int, re.findall(rf"{word}=(\d+)", text))])
    what = f"{options.ranks} ranks, {counts['ran']} tests, {counts['skipped']} skipped, {counts['failed']} failed"
    print(f"mpi4py: {what}; without a result: {', '.join(without) or 'none'}")
    return True


PROGRAMS = {"hpcc": hpcc, "netpipe": netpipe, "mpi4py": mpi4py}


if __name__ == "__main__":
    main()
