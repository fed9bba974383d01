#!/usr/bin/env python3
"""Runs the OSU micro-benchmarks (7.x) under `mpisim exec`, each with its own validation where it has one.

The sources are those of an unpacked archive, named by `--sources`, or of an archive whose address is in OSU_SOURCE. A
program passes that ends with exit status 0 and finds no wrong byte. The exit status is 1 if one does not.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sources import call

UTILITIES = ["osu_util", "osu_util_mpi", "osu_util_graph", "osu_util_papi", "osu_util_validation"]
# What `configure` finds out.
DEFINES = ['-DPACKAGE_NAME="OMB"', '-DPACKAGE_VERSION="7"', "-DFIELD_WIDTH=18", "-DFLOAT_PRECISION=2", "-D_ENABLE_MPI4_"]
# MPI_THREAD_MULTIPLE is not provided.
LEFT_OUT = {"osu_latency_mt"}
# Looks at a buffer that it does not reduce: it fails on MPICH, too.
NOT_VALIDATED = {"osu_allreduce_persistent"}
OF_TWO = re.compile(r"osu_(bibw|bw|latency|latency_mp|(bibw|bw|latency)_persistent|(acc|cas|fop|get_acc|get|put)_(latency|bw|bibw))")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="names of programs (default: all)")
    parser.add_argument("--sources", type=Path, help="the folder of the unpacked archive")
    parser.add_argument("--mpisim", type=Path, default=Path("target/release/mpisim"), help="the simulator")
    parser.add_argument("--work", type=Path, default=Path("target/osu"), help="binaries and logs")
    parser.add_argument("--ranks", type=int, default=4, help="ranks of programs that take more than two")
    parser.add_argument("--set", action="append", default=[], help="a field of the scenario, as `mpisim exec --set`")
    parser.add_argument("--limit", type=int, default=120, help="seconds that a program may take")
    options = parser.parse_args()
    options.mpisim, options.work = options.mpisim.resolve(), options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    source = (options.sources or unpacked(options)).resolve() / "c"
    programs = built(options, source)
    chosen = [name for name in sorted(programs) if name not in LEFT_OUT and (not options.only or name in options.only)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda name: tried(options, name), chosen))
    for name, wrong in zip(chosen, results):
        if wrong:
            print(f"{name}: {wrong}")
    print(f"{results.count(None)} of {len(chosen)} pass")
    sys.exit(0 if results.count(None) == len(chosen) else 1)


def unpacked(options):
    address = os.environ.get("OSU_SOURCE")
    if not address:
        sys.exit("name the folder of the sources by --sources, or the address of their archive in OSU_SOURCE")
    archive = options.work / "osu.tar.gz"
    if not archive.exists():
        urllib.request.urlretrieve(address, archive)
    with tarfile.open(archive) as opened:
        opened.extractall(options.work, filter="data")
        return options.work / opened.getnames()[0].split("/")[0]


def built(options, source):
    """Compiles all programs of MPI without a makefile: `configure` asks for more than there is to know."""
    compile = [options.mpisim, "cc", "--", "-O1", "-w", "-I", source / "util", *DEFINES]
    objects = []
    for name in UTILITIES:
        objects.append(options.work / f"{name}.o")
        call([*compile, "-c", source / "util" / f"{name}.c", "-o", objects[-1]], source, options.work / "build.log")
    names = []
    for path in sorted((source / "mpi").rglob("osu_*.c")):
        if path.parent.name == "utils":
            continue
        beside = path.parent / "utils"
        more = [*beside.glob("*.c"), "-I", beside] if beside.exists() else []
        call([*compile, path, *more, *objects, "-o", options.work / path.stem, "-lm", "-lpthread"], source, options.work / "build.log")
        names.append(path.stem)
    return names


def tried(options, name):
    """What is wrong with a program; `None` where nothing is."""
    folder = options.work / f"{name}.run"
    folder.mkdir(exist_ok=True)
    status, text = executed(options, folder, name, ["-h"])
    if status is None:
        return f"no end after {options.limit} s, asked for its options"
    is_validated = "--validation" in text and name not in NOT_VALIDATED
    words = [*(["-c"] if is_validated else []), *(["-u", "2"] if is_validated and "--validation-warmup" in text else [])]
    words += ["-i", "10", "-x", "2"] if "--iterations" in text else []
    words += ["-m", ":65536"] if "--message-size" in text else []
    status, text = executed(options, folder, name, words)
    # Some programs list an option that they do not take.
    while status and (refused := re.search(r"Invalid option \[-(\w)\]", text)):
        at = words.index(f"-{refused[1]}")
        del words[at : at + (1 if refused[1] == "c" else 2)]
        status, text = executed(options, folder, name, words)
    (folder / "log").write_text(text)
    if status is None:
        return f"no end after {options.limit} s"
    if status == 0 and "Fail" not in text:
        return None
    said = re.search(r"failed:\n(.*)", text)
    return said[1] if said else f"exit status {status}: see {folder / 'log'}"


def executed(options, folder, name, words):
    """Exit status, and all that is printed."""
    ranks = 2 if OF_TWO.fullmatch(name) else options.ranks
    sets = [word for one in options.set for word in ("--set", one)]
    command = [options.mpisim, "exec", "-n", ranks, "--machine", "broadwell-edr", "--nodes", 2, "--output", "plain",
               "--out", folder / "out", *sets, "--", options.work / name, *words]
    try:
        done = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=options.limit)
    except subprocess.TimeoutExpired as expired:
        return None, (expired.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout


if __name__ == "__main__":
    main()
