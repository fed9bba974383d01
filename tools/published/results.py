#!/usr/bin/env python3
"""Prints the numbers of `docs/method/published.md`: what the baselines of `scenarios/published` hold of their rows.

    tools/published/results.py              (from the project's root)

First by network and benchmark, then by table. The page has the causes beside them.
"""
import json
import pathlib

PUBLISHED, BASELINES = pathlib.Path("scenarios/published"), pathlib.Path("traces/baselines/main/published")
NETWORKS = ("QDR", "FDR", "EDR", "HDR", "NDR")
BENCHMARKS = (("osu_latency", "latency"), ("PingPong", "latency"), ("osu_bw", "bandwidth"), ("osu_bibw", "both ways"),
              ("osu_mbw_mr", "message rate"), ("Sendrecv", "exchange on a ring"), ("allreduce", "allreduce"),
              ("llgather", "allgather"), ("lltoall", "all-to-all"), ("_lat", "latency of verbs"), ("_bw", "bandwidth of verbs"))
# Ratios are shown where a table has rows: up to the size, the heading.
COLUMNS = ((16, 4), (1024, 256), (65536, 16384), (1 << 30, 1 << 20))


def number(text):
    return float(text.split()[0])


def median(values):
    return sorted(values)[len(values) // 2]


def rows():
    """Every claim: table, size, simulated over published, whether it holds, whether a copy of the row before does."""
    for path in sorted(PUBLISHED.glob("*.json")):
        claims = json.loads(path.read_text())["claims"]
        verdicts = {one["id"]: one for one in json.loads((BASELINES / path.name).read_text())["claims"]}
        before = None
        for claim in claims:
            table, size = claim["id"].removeprefix("pub-").rsplit("-", 1)
            expected = number(claim["expect"]["value"])
            tolerance = number(claim["expect"]["tolerance"]) / 100
            copied = before is not None and abs(before / expected - 1) <= tolerance
            before = expected
            verdict = verdicts[claim["id"]]
            yield table, int(size), number(verdict["measured"]) / expected, verdict["status"] == "pass", copied


def kind(table):
    lines = pathlib.Path(f"traces/published/{table}.txt").read_text().splitlines()
    comments = " ".join(line for line in lines if line.startswith("# network"))
    network = next((name for name in NETWORKS if name in comments), "inside a node")
    head = lines[0]
    return network, next(name for word, name in BENCHMARKS if word in head)


def summary(found):
    errors = [abs(ratio - 1) for _, _, ratio, _, _ in found]
    hold, copied = (sum(row[place] for row in found) for place in (3, 4))
    return len(found), hold, f"{100 * median(errors):.0f} %", copied


def main():
    groups, tables = {}, {}
    for row in rows():
        groups.setdefault(kind(row[0]), []).append(row)
        tables.setdefault(row[0], []).append(row)
    order = [*NETWORKS, "inside a node"]
    names = list(dict.fromkeys(name for _, name in BENCHMARKS))
    for key in sorted(groups, key=lambda key: (order.index(key[0]), names.index(key[1]))):
        count, hold, error, copied = summary(groups[key])
        print(f"| {key[0]} | {key[1]} | {count} | {hold} | {100 * hold / count:.0f} % | {error} | {copied} |")
    every = [row for found in tables.values() for row in found]
    count, hold, error, copied = summary(every)
    print(f"| all | | {count} | {hold} | {100 * hold / count:.0f} % | {error} | {copied} |\n")
    for table, found in tables.items():
        count, hold, error, _ = summary(found)
        cells = []
        for least, (most, wanted) in zip((0, *(most for most, _ in COLUMNS)), COLUMNS):
            near = [row for row in found if least < row[1] <= most]
            shown = [row for row in near if row[1] == wanted] or near[-1:]
            cells.append(f"{shown[0][2]:.2f}" if shown else "")
        print(f"| `{table}` | {count} | {hold} | {error} | {' | '.join(cells)} |  |")


if __name__ == "__main__":
    main()
