#!/usr/bin/env python3
"""Writes the rules of Open MPI's fixed decisions: thresholds and names of `coll_tuned_decision_fixed.c`.

    openmpi.py coll_tuned_decision_fixed.c > src/language/presets/openmpi-4.1.json

Each function there is a chain of tests of the number of ranks, and in it one of bytes. Bounds become inclusive:
`< 4096` is up to 4095 B. Algorithms that mpisim does not have are replaced by the nearest one, and keep their name in
`stands_for`. The functions pass a segment of 0 bytes, which means the whole message, and chains of a fan-out of 0,
which means one chain.
"""
import json
import re
import sys

WHOLE = "1 GiB"
# Operation: function, key of bytes, and algorithms by Open MPI's names: mpisim's name, and whether it is another one.
OPERATIONS = {
    "barrier": ("barrier", None, {
        "linear": "linear", "double_ring": "dissemination*", "recursive_doubling": "recursive_doubling",
        "bruck": "dissemination", "two_proc": "recursive_doubling", "tree": "tree"}),
    "bcast": ("bcast", "up_to", {
        "basic_linear": "linear", "chain": "pipelined_ring", "pipeline": "pipelined_ring",
        "split_binary_tree": "binary_tree*", "binary_tree": "binary_tree", "binomial": "binomial",
        "knomial": "knomial", "scatter_allgather": "scatter_recursive_doubling_allgather",
        "scatter_allgather_ring": "scatter_ring_allgather"}),
    "scatter": ("scatter", "up_to", {"basic_linear": "linear", "binomial": "binomial", "linear_nb": "linear"}),
    "gather": ("gather", "up_to", {"basic_linear": "linear", "binomial": "binomial", "linear_sync": "linear*"}),
    "allgather": ("allgather", "up_to", {
        "linear": "ring*", "bruck": "bruck", "recursive_doubling": "recursive_doubling", "ring": "ring",
        "neighbor": "neighbour_exchange", "two_proc": "recursive_doubling"}),
    "reduce": ("reduce", "up_to", {
        "linear": "linear", "chain": "pipelined_ring", "pipeline": "pipelined_ring", "binary": "binary_tree",
        "binomial": "binomial", "in-order_binary": "binomial*", "rabenseifner": "reduce_scatter_gather"}),
    "allreduce": ("allreduce", "up_to", {
        "basic_linear": "reduce_bcast*", "nonoverlapping": "reduce_bcast",
        "recursive_doubling": "recursive_doubling", "ring": "ring", "segmented_ring": "ring*",
        "rabenseifner": "reduce_scatter_allgather"}),
    "reduce_scatter": ("reduce_scatter", "total_up_to", {
        "non-overlapping": "halving*", "recursive_halving": "halving", "ring": "ring", "butterfly": "halving*"}),
    "reduce_scatter_block": ("reduce_scatter_block", "up_to", {
        "basic_linear": "halving*", "recursive_doubling": "halving*", "recursive_halving": "halving",
        "butterfly": "halving*"}),
    "alltoall": ("alltoall", "up_to", {
        "linear": "linear", "pairwise": "pairwise", "modified_bruck": "bruck", "linear_sync": "scattered*",
        "two_proc": "pairwise"}),
}
SEGMENTED = {"pipelined_ring", "binary_tree", "knomial"}


def body(text, name):
    start = re.search(rf"ompi_coll_tuned_{name}_intra_dec_fixed\s*\(", text).start()
    return text[start:text.index("\n}\n", start)]


def rules(text, key):
    numbers = dict(re.findall(r'\{(\d+), "([^"]+)"', text))
    stack, found, pending = [], [], None
    token = re.compile(
        r"if\s*\(\s*!\s*ompi_op_is_commute\(op\)\s*\)|(communicator_size|total_dsize)\s*(<=|<|==)\s*(\d+)"
        r"|\belse\b|alg\s*=\s*(\d+)|[{}]")
    begun = False
    for match in token.finditer(text[text.index("Algorithms:"):]):
        word = match.group(0)
        if "commute" in word:
            pending, begun = ("commutative", False), True
        elif match.group(1):
            bound = int(match.group(3)) - (match.group(2) == "<")
            which = "ranks_up_to" if match.group(1) == "communicator_size" else key
            pending, begun = (which, bound), True
        elif word == "else":
            pending = None
        elif word == "{" and begun:
            stack.append(pending)
            pending = None
        elif word == "}" and begun:
            stack.pop()
        elif match.group(4):
            rule = dict(one for one in stack if one)
            found.append((rule, numbers[match.group(4)]))
    return found


def written(key, found, names):
    out = []
    for rule, theirs in found:
        ours = names[theirs]
        one = {"algorithm": ours.rstrip("*")}
        for bound, value in rule.items():
            one[bound] = f"{value} B" if bound == key else value
        if one["algorithm"] in SEGMENTED:
            one["segment"] = WHOLE
        if ours.endswith("*"):
            one["stands_for"] = theirs
        out.append(one)
    return out


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    all_rules = {}
    for ours, (theirs, key, names) in OPERATIONS.items():
        function = body(text, theirs)
        all_rules[ours] = written(key, rules(function, key), names)
    lines = ["{", '  "title": "Open MPI 4.1, coll_tuned, fixed decisions",', '  "source": "OMPITUNED",', '  "collectives": {']
    for index, (ours, found) in enumerate(all_rules.items()):
        lines.append(f'    "{ours}": [')
        lines += [f"      {json.dumps(one)}{',' if at + 1 < len(found) else ''}".replace("{", "{ ").replace("}", " }")
                  for at, one in enumerate(found)]
        lines.append("    ]" + ("," if index + 1 < len(all_rules) else ""))
    lines += ["  }", "}"]
    print("\n".join(lines))


main()
