#!/usr/bin/env python3
"""Writes the rules of MVAPICH2 for one machine: the tables of `src/mpi/coll/tuning` for nodes of two Xeon E5-2680 v4
with EDR (RI2), where neighbours copy by CMA.

    mvapich2.py PATH/OF/MVAPICH2 > src/language/presets/mvapich2-2.3.json

A table has a part for each number of ranks of a node, a row for each number of ranks, and an algorithm for each number
of bytes, all of them powers of two times the first one. The library takes the part of the next greater number of ranks
of a node, and the row and the entry of the greatest power of two that is not above. Entries that say so go in steps
over nodes; what happens inside a node then is left out. Algorithms that mpisim does not have are replaced by the
nearest one, and keep their name in `stands_for`.
"""
import json
import pathlib
import re
import sys

PARTS = [1, 2, 4, 8, 16, 28]
WHOLE = "1 GiB"
# Operation: whether its flags mean steps over nodes, and algorithms by MVAPICH2's names: mpisim's, `*` for another one.
OPERATIONS = {
    "bcast": (True, {
        "Bcast_binomial": "binomial", "Bcast_scatter_doubling_allgather": "scatter_recursive_doubling_allgather",
        "Bcast_scatter_ring_allgather": "scatter_ring_allgather",
        "Bcast_scatter_ring_allgather_shm": "scatter_ring_allgather*", "Knomial_Bcast_inter_node_wrapper": "knomial",
        "Pipelined_Bcast": "knomial*", "Pipelined_Bcast_Zcpy": "knomial*", "Shmem_Bcast": "binomial*",
        "Knomial_Bcast_intra_node": "knomial*"}),
    "scatter": (False, {
        "Scatter_MV2_Binomial": "binomial", "Scatter_MV2_Direct": "linear",
        "Scatter_MV2_two_level_Binomial": "binomial*", "Scatter_MV2_two_level_Direct": "linear*"}),
    "gather": (False, {
        "Gather_MV2_Direct": "linear", "Gather_MV2_two_level_Direct": "linear*", "Gather_intra": "binomial"}),
    "allgather": (False, {
        "Allgather_Bruck": "bruck", "Allgather_RD": "recursive_doubling",
        "Allgather_RD_Allgather_Comm": "recursive_doubling*", "Allgather_Ring": "ring"}),
    "reduce": (True, {
        "Reduce_binomial": "binomial", "Reduce_inter_knomial_wrapper": "binomial*",
        "Reduce_redscat_gather": "reduce_scatter_gather", "Reduce_shmem": "binomial*",
        "Reduce_intra_knomial_wrapper": "binomial*", "Reduce_allreduce": "binomial*"}),
    "allreduce": (True, {
        "Allreduce_pt2pt_rd": "recursive_doubling", "Allreduce_pt2pt_rs": "reduce_scatter_allgather",
        "Allreduce_pt2pt_ring_wrapper": "ring", "Allreduce_reduce_p2p": "reduce_bcast*",
        "Allreduce_reduce_shmem": "reduce_bcast*"}),
    "alltoall": (False, {
        "Alltoall_RD": "bruck*", "Alltoall_bruck": "bruck", "Alltoall_Scatter_dest": "scattered",
        "Alltoall_pairwise": "pairwise"}),
}


def initializer(text):
    """The nested lists of a C initializer."""
    stack = [[]]
    for word in re.findall(r"[{}]|-?\d+|&\w+", text):
        if word == "{":
            stack.append([])
        elif word == "}":
            closed = stack.pop()
            stack[-1].append(closed)
        else:
            stack[-1].append(word[1:] if word[0] == "&" else int(word))
    return stack[0][0]


def power(number):
    return 1 << (number.bit_length() - 1)


def rules(folder, operation, in_steps, names):
    found = []
    for part in PARTS:
        text = (folder / operation / f"gen2_cma_RI2_{part}ppn.h").read_text(encoding="utf-8")
        rows = initializer(text[text.index("{"):])
        for at, row in enumerate(rows):
            bounds = {}
            if part != PARTS[-1]:
                bounds["ranks_per_node_up_to"] = part
            if at + 1 < len(rows):
                bounds["ranks_up_to"] = 2 * power(rows[0][0]) * (1 << at) - 1
            lists = [one for one in row if isinstance(one, list)]
            table = next(one for one in lists if isinstance(one[0], list))
            flags = lists[0] if in_steps and not isinstance(lists[0][0], list) else [0] * len(table)
            merged = []
            for entry, steps in zip(table, flags):
                theirs = entry[1].removeprefix("MPIR_").removesuffix("_MV2")
                ours = names[theirs]
                rule = {"algorithm": ours.rstrip("*"), **bounds}
                if steps and part > 1:
                    rule["over"] = "nodes"
                if rule["algorithm"] == "knomial":
                    rule["segment"] = WHOLE
                if ours.endswith("*"):
                    rule["stands_for"] = theirs
                if merged and merged[-1][1] == rule:
                    merged[-1][0] = entry[0]
                else:
                    merged.append([entry[0], rule])
            for place, (last, rule) in enumerate(merged):
                if place + 1 < len(merged):
                    rule["up_to"] = f"{2 * last - 1} B"
                found.append(rule)
    return found


def main():
    folder = pathlib.Path(sys.argv[1]) / "src/mpi/coll/tuning"
    title = "MVAPICH2 2.3, nodes of two Xeon E5-2680 v4 with EDR"
    note = "What happens inside a node, where an operation goes in steps over nodes, is not of the tables."
    lines = ["{", f'  "title": {json.dumps(title)},', '  "source": "MV2TUNING",', f'  "note": {json.dumps(note)},',
             '  "collectives": {']
    for index, (operation, (in_steps, names)) in enumerate(OPERATIONS.items()):
        found = rules(folder, operation, in_steps, names)
        if operation in ("reduce", "allreduce"):
            ours = "binomial" if operation == "reduce" else "recursive_doubling"
            found.insert(0, {"algorithm": ours, "commutative": False})
        lines.append(f'    "{operation}": [')
        lines += [f"      {json.dumps(one)}{',' if at + 1 < len(found) else ''}".replace("{", "{ ").replace("}", " }")
                  for at, one in enumerate(found)]
        lines.append("    ]" + ("," if index + 1 < len(OPERATIONS) else ""))
    lines += ["  }", "}"]
    print("\n".join(lines))


main()
