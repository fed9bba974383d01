#!/usr/bin/env python3
"""The best algorithm of a collective by size and ranks, against what the presets of libraries choose.

    tune.py map OPERATION ALGORITHMS PRESETS > map.svg
    tune.py openmpi OPERATION ALGORITHMS MACHINE > rules.conf      coll_tuned_dynamic_rules_filename
    tune.py mpich OPERATION ALGORITHMS MACHINE > rules.json        MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE

ALGORITHMS and PRESETS are `points.csv` of `scenarios/modern/ext_collectives_OPERATION.json` and
`ext_collectives_presets.json`. Tables name flat algorithms only, of those that the library has.
"""
import csv
import json
import os
import sys
from html import escape

NODES = 4
SHORT = {
    "recursive_doubling": "doubling", "reduce_scatter_allgather": "halving", "ring": "ring", "reduce_bcast": "reduce+bcast",
    "binomial": "binomial", "pipelined_ring": "pipeline", "chain": "chains", "binary_tree": "binary",
    "scatter_recursive_doubling_allgather": "scatter+dbl", "scatter_ring_allgather": "scatter+ring", "knomial": "4-nomial",
    "linear": "linear",
}
# The numbers of Open MPI's algorithms, and MPICH's names.
OPENMPI = {
    "allreduce": (2, {"reduce_bcast": 2, "recursive_doubling": 3, "ring": 4, "reduce_scatter_allgather": 6}),
    "bcast": (7, {"linear": 1, "chain": 2, "pipelined_ring": 3, "binary_tree": 5, "binomial": 6, "knomial": 7,
                  "scatter_recursive_doubling_allgather": 8, "scatter_ring_allgather": 9}),
}
SEGMENTED = {"chain", "pipelined_ring", "binary_tree", "knomial"}
MPICH = {
    "allreduce": ["recursive_doubling", "reduce_scatter_allgather"],
    "bcast": ["binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather"],
}
UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2}


def size(text):
    number, unit = text.split()
    return int(number) * UNITS[unit]


def latencies(path, operation):
    """Latency by machine, ranks, size and what was chosen."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["metric"] != "latency" or row.get("workload.operation", operation) != operation:
                continue
            ranks = NODES * int(row["workload.ranks_per_node"])
            place = row["machine"], ranks, size(row["workload.size"])
            chosen = row.get("mpi.collectives.preset") or (row["workload.algorithm"], row["workload.over"])
            found.setdefault(place, {})[chosen] = float(row["value"])
    return found


def axes(found):
    return [list(dict.fromkeys(place[at] for place in found)) for at in range(3)]


def best(choices):
    return min(choices, key=choices.get)


CELL, ROW, LEFT, TOP, GAP = 88, 30, 74, 64, 30


def colour(ratio):
    """White where the best is chosen, dark where the choice takes four times as long or more."""
    share = min(1.0, max(0.0, (ratio - 1) / 3))
    red, green, blue = (round(255 - share * (255 - end)) for end in (213, 94, 0))
    return f"#{red:02x}{green:02x}{blue:02x}"


def bytes_in_words(number):
    for unit, scale in (("MiB", 1024**2), ("KiB", 1024)):
        if number >= scale:
            return f"{number // scale} {unit}"
    return f"{number} B"


def draw(operation, algorithms, presets):
    found, chosen = latencies(algorithms, operation), latencies(presets, operation)
    machines, ranks, sizes = axes(found)
    libraries = list(dict.fromkeys(name for choices in chosen.values() for name in choices))
    panels = ["the fastest algorithm", *libraries]
    width = LEFT + len(machines) * (len(sizes) * CELL + GAP) + 10
    height = TOP + len(panels) * (len(ranks) * ROW + 58)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           f'font-size="12">', f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="15">{escape(operation)} on {NODES} nodes: the fastest algorithm, and '
           f'the time of each library\'s choice over it</text>']
    for column, machine in enumerate(machines):
        x0 = LEFT + column * (len(sizes) * CELL + GAP)
        out.append(f'<text x="{x0}" y="44" font-weight="bold">{escape(machine)}</text>')
        for number, panel in enumerate(panels):
            y0 = TOP + number * (len(ranks) * ROW + 58)
            out.append(f'<text x="{x0}" y="{y0 + 12}">{escape(panel)}</text>')
            for line, many in enumerate(ranks):
                y = y0 + 20 + line * ROW
                if column == 0:
                    out.append(f'<text x="{LEFT - 6}" y="{y + 21}" text-anchor="end">{many} ranks</text>')
                for place, length in enumerate(sizes):
                    x, choices = x0 + place * CELL, found[machine, many, length]
                    least = choices[best(choices)]
                    if number == 0:
                        name, over = best(choices)
                        fill, words = "#eef4fa", SHORT[name] + (" *" if over == "nodes" else "")
                    else:
                        ratio = chosen[machine, many, length][panel] / least
                        fill, words = colour(ratio), f"{ratio:.2f}"
                    out.append(f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{ROW - 2}" fill="{fill}" '
                               f'stroke="#999999"/>')
                    out.append(f'<text x="{x + CELL / 2 - 1:g}" y="{y + 20}" text-anchor="middle">{escape(words)}</text>')
            for place, length in enumerate(sizes):
                x = x0 + place * CELL + CELL / 2 - 1
                y = y0 + 20 + len(ranks) * ROW + 12
                out.append(f'<text x="{x:g}" y="{y}" text-anchor="middle" fill="#555555">{bytes_in_words(length)}</text>')
    out.append(f'<text x="{LEFT}" y="{height - 6}" fill="#555555">* in steps over nodes</text></svg>')
    print("\n".join(out))


def flat(operation, algorithms, machine, known):
    """The fastest flat algorithm of those that are known, by ranks and size; equal neighbours are one."""
    found = latencies(algorithms, operation)
    _, ranks, sizes = axes(found)
    table = {}
    for many in ranks:
        rows = []
        for length in sizes:
            choices = {name: time for (name, over), time in found[machine, many, length].items()
                       if over == "ranks" and name in known}
            if not rows or rows[-1][1] != best(choices):
                rows.append((length, best(choices)))
        table[many] = rows
    return table


def openmpi(operation, algorithms, machine):
    number, names = OPENMPI[operation]
    table = flat(operation, algorithms, machine, names)
    print(f"1 # collectives\n{number} # {operation}, {machine}\n{len(table)} # numbers of ranks")
    for many, rows in table.items():
        print(f"{many} # ranks\n{len(rows)} # sizes")
        for at, (length, name) in enumerate(rows):
            chains = 4 if name == "chain" else 0
            print(0 if at == 0 else length, names[name], chains, 8192 if name in SEGMENTED else 0, f"# {name}")


def mpich(operation, algorithms, machine):
    by_ranks = {}
    table = flat(operation, algorithms, machine, MPICH[operation])
    for many, rows in table.items():
        by_size = {}
        for at, (_, name) in enumerate(rows):
            bound = f"avg_msg_size<{rows[at + 1][0]}" if at + 1 < len(rows) else "avg_msg_size=any"
            by_size[bound] = {f"algorithm=MPIR_{operation.capitalize()}_intra_{name}": {}}
        last = many == max(table)
        by_ranks["comm_size=any" if last else f"comm_size<={many}"] = by_size
    print(json.dumps({f"collective={operation}": {"comm_type=intra": by_ranks}}, indent=2))


def main(arguments):
    made = {"map": draw, "openmpi": openmpi, "mpich": mpich}
    if len(arguments) != 4 or arguments[0] not in made:
        asked = arguments[:1] in (["-h"], ["--help"])
        print(__doc__.strip(), file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    try:
        made[arguments[0]](*arguments[1:])
    except KeyError as missing:
        print(f"there is no {missing} in these tables, or no list of algorithms for it", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    try:
        ended = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader wants no more: nothing is left to be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ended = 0
    sys.exit(ended)
