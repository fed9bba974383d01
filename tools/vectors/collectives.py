"""One random collective operation of the ranks of a communicator."""

from script import ELEMENTS

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
OPERATORS = {
    "sum": [*INTEGERS, "float", "double"], "prod": [*INTEGERS, "float", "double"],
    "max": [*INTEGERS, "float", "double"], "min": [*INTEGERS, "float", "double"],
    "land": INTEGERS, "lor": INTEGERS, "lxor": INTEGERS, "band": INTEGERS, "bor": INTEGERS, "bxor": INTEGERS,
    "maxloc": ["int32_pair"], "minloc": ["int32_pair"], "affine": ["int64_pair"],
}
ROOTED = {"bcast", "scatter", "scatterv", "gather", "gatherv", "reduce"}
REDUCTIONS = {"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"}
MOVES = {"scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall", "alltoallv"}
IN_PLACE = sorted(MOVES | REDUCTIONS)
KINDS = ["barrier", "bcast", *sorted(MOVES), *sorted(REDUCTIONS)]


def numbers(draws, operator, element, count):
    """Numbers that no operator over a few ranks takes out of their type."""
    if operator == "affine":
        return [draws.randrange(1, 1000003) for _ in range(2 * count)]
    if element == "int32_pair":
        return [one for _ in range(count) for one in (draws.randrange(4), draws.randrange(100))]
    least = 0 if element[0] == "u" else -2
    if operator in ("band", "bor", "bxor"):
        return [draws.randrange(0, 127) for _ in range(count)]
    if operator == "prod":
        return [draws.choice([least, 1, 2, 3 if element not in ("int8", "uint8") else 1]) for _ in range(count)]
    if operator in ("land", "lor", "lxor"):
        return [draws.randrange(3) for _ in range(count)]
    return [draws.randrange(least, 20) for _ in range(count)]


class Buffers:
    """The send and receive buffers of one operation."""

    def __init__(self, draws, script, number):
        self.draws, self.script, self.number = draws, script, number

    def put(self, rank, which, element, values):
        """Writes all of a buffer; large ones begin and end with numbers, and are 0 between."""
        width = ELEMENTS[element]
        per = 2 if element.endswith("pair") else 1
        name = self.script.buffer(f"{which}{self.number}", (len(values) // per + 1) * width)
        if values:
            self.script.add(rank, "store", buf=name, type=element, values=values)
        return name

    def look(self, rank, which, element, count, at=0):
        if count:
            self.script.add(rank, "load", buf=f"{which}{self.number}", type=element, at=at, _count=count)


def collective(draws, script, number, of, in_place=0.2, kinds=None):
    """Adds one operation of `of`: a communicator and its ranks, in their order."""
    comm, members = of
    kind = draws.choice(kinds or KINDS)
    placed = draws.random() < in_place
    begins = draws.random() < 0.4
    root = draws.randrange(len(members))
    buffers = Buffers(draws, script, number)
    keys = {"comm": comm, **({"root": root} if kind in ROOTED else {})}
    shape = Shape(draws, kind, len(members))
    for rank, process in enumerate(members):
        own, looks = shape.part(buffers, (rank, process), root, placed)
        req = {"req": script.request(process)} if begins else {}
        script.add(process, ("i" if begins else "") + kind, **own, **keys, **req)
        if begins:
            script.add(process, "wait", req=req["req"], _statuses=False)
        for which, element, count, at in looks:
            buffers.look(process, which, element, count, at)


class Prepared:
    """A collective that is prepared once and started several times."""

    def __init__(self, draws, script, number, of):
        self.draws, self.script = draws, script
        comm, self.members = of
        kind = draws.choice(KINDS)
        self.placed, self.root = draws.random() < 0.3, draws.randrange(len(self.members))
        self.shape = Shape(draws, kind, len(self.members))
        self.buffers = Buffers(draws, script, number)
        keys = {"comm": comm, **({"root": self.root} if kind in ROOTED else {})}
        self.requests, self.looks = {}, {}
        for process, own in self.fill():
            self.requests[process] = script.request(process)
            script.add(process, kind + "_init", **own, **keys, req=self.requests[process])

    def fill(self):
        """Writes what each process gives next; beside each the keys of its statement."""
        for rank, process in enumerate(self.members):
            own, self.looks[process] = self.shape.part(self.buffers, (rank, process), self.root, self.placed)
            yield process, own
        self.shape.turn += 1

    def look(self, process):
        for which, element, count, at in self.looks[process]:
            self.buffers.look(process, which, element, count, at)


class Shape:
    """What all ranks of an operation agree on, and what each takes part with."""

    def __init__(self, draws, kind, size):
        self.draws, self.kind, self.size = draws, kind, size
        self.operator = draws.choice(list(OPERATORS))
        self.element = draws.choice(OPERATORS[self.operator])
        # Ranks that do a scan in place, where it is one; and how often it was done before.
        self.in_place = [draws.random() < 0.7 for _ in range(size)]
        self.turn = 0
        self.count = draws.choice([0, 1, 1, 2, 3, 7])
        self.counts = [draws.choice([0, 1, 2, 3]) for _ in range(size)]
        # How many numbers go from each to each.
        self.between = [[draws.choice([0, 1, 1, 2]) for _ in range(size)] for _ in range(size)]

    def values(self, count):
        return numbers(self.draws, self.operator, self.element, count)

    def part(self, buffers, who, root, placed):
        """The keys of a rank's statement, and what is looked at afterwards."""
        rank, process = who
        if self.kind == "barrier":
            return {}, []
        if self.kind in REDUCTIONS:
            return self.reduction(buffers, rank, process, root, placed)
        return self.moving(buffers, rank, process, root, placed)

    def reduction(self, buffers, rank, process, root, placed):
        kind, element = self.kind, self.element
        per = 2 if element.endswith("pair") else 1
        keys = {"type": element, "operator": self.operator}
        given, received = self.count, self.count
        if kind == "reduce_scatter":
            keys["counts"] = self.counts
            given, received = sum(self.counts), self.counts[rank]
        else:
            keys["count"] = self.count
            if kind == "reduce_scatter_block":
                given = self.count * self.size
        if kind in ("scan", "exscan"):
            # Each rank decides for itself.
            placed = placed and self.in_place[rank]
        if kind == "reduce":
            placed = placed and rank == root
        if placed:
            keys["recvbuf"] = buffers.put(process, "t", element, self.values(given))
            keys["in_place"] = True
        else:
            keys["sendbuf"] = buffers.put(process, "s", element, self.values(given))
            keys["recvbuf"] = buffers.put(process, "t", element, [77] * (per * received))
        if kind == "exscan" and rank == 0 and not placed:
            return keys, []
        beyond = 0 if placed and kind.startswith("reduce_scatter") else 1
        return keys, [("t", element, per * received + beyond * per, 0)]

    def moving(self, buffers, rank, process, root, placed):
        kind, size, count = self.kind, self.size, self.count
        element = "int32"
        mark = lambda to: 10000 * self.turn + 1000 * (process + 1) + 100 * to
        looks = []
        if kind == "bcast":
            given = [mark(0) + at for at in range(count)] if rank == root else [5] * count
            return {"size": 4 * count, "buf": buffers.put(process, "b", element, given)}, [("b", element, count + 1, 0)]
        counts = {"scatter": [count] * size, "gather": [count] * size, "allgather": [count] * size,
                  "alltoall": [count] * size}.get(kind, self.counts)
        keys = {"size": 4 * count} if kind in ("scatter", "gather", "allgather", "alltoall") else {}
        if kind in ("scatterv", "gatherv", "allgatherv"):
            keys["sizes"] = [4 * one for one in counts]
        sends = receives = counts
        if kind == "alltoallv":
            between = self.between
            if placed:
                # In place, as much comes from a rank as goes to it.
                between = [[self.between[min(a, b)][max(a, b)] for b in range(size)] for a in range(size)]
            sends, receives = between[rank], [between[other][rank] for other in range(size)]
            keys["send_sizes"], keys["receive_sizes"] = [4 * one for one in sends], [4 * one for one in receives]
        blocks = [mark(to) + at for to, one in enumerate(sends) for at in range(one)]
        own = [mark(0) + at for at in range(counts[rank])]
        everything = sum(receives)
        if kind.startswith("scatter"):
            sent = blocks if rank == root else [6] * sum(sends)
            keys["sendbuf"] = buffers.put(process, "s", element, sent)
            if placed and rank == root:
                keys["in_place"] = True
                return keys, [("s", element, sum(sends), 0)]
            keys["recvbuf"] = buffers.put(process, "t", element, [7] * counts[rank])
            return keys, [("t", element, counts[rank] + 1, 0)]
        if kind.startswith(("gather", "allgather")):
            here = kind.startswith("allgather") or rank == root
            before = [7] * everything
            if placed and here:
                keys["in_place"] = True
                at = sum(counts[:rank])
                before[at:at + counts[rank]] = own
            else:
                keys["sendbuf"] = buffers.put(process, "s", element, own)
            keys["recvbuf"] = buffers.put(process, "t", element, before)
            return keys, [("t", element, everything + 1, 0)]
        if placed:
            keys["in_place"] = True
            keys["recvbuf"] = buffers.put(process, "t", element, blocks)
        else:
            keys["sendbuf"] = buffers.put(process, "s", element, blocks)
            keys["recvbuf"] = buffers.put(process, "t", element, [7] * everything)
        return keys, [("t", element, everything + 1, 0)]


# Between two groups


def between(draws, script, number, name, groups):
    """Adds one operation of an intercommunicator: each group gets what the other one gives."""
    kind = draws.choice(BETWEEN)
    begins = draws.random() < 0.4
    side = draws.randrange(2)
    root = draws.randrange(len(groups[side]))
    shape = Between(draws, kind, list(map(len, groups)), side)
    buffers = Buffers(draws, script, number)
    for own in (0, 1):
        for rank, process in enumerate(groups[own]):
            keys = {"comm": name}
            if kind in ROOTED:
                keys["root"] = root if own != side else "mpi_root" if rank == root else "proc_null"
            part, look = shape.part(buffers, (own, rank, process), keys.get("root"))
            req = {"req": script.request(process)} if begins else {}
            script.add(process, ("i" if begins else "") + kind, **part, **keys, **req)
            if begins:
                script.add(process, "wait", req=req["req"], _statuses=False)
            if look:
                buffers.look(process, *look)


BETWEEN = sorted(set(KINDS) - {"scan", "exscan"})


class Between:
    """What both groups agree on; the root is in group `side`."""

    def __init__(self, draws, kind, sizes, side):
        self.draws, self.kind, self.sizes, self.side = draws, kind, sizes, side
        self.operator = draws.choice(list(OPERATORS))
        self.element = draws.choice(OPERATORS[self.operator])
        self.count = draws.choice([0, 1, 1, 2, 3])
        # Of each rank of each group.
        self.counts = [[draws.choice([0, 1, 2]) for _ in range(size)] for size in sizes]
        if kind == "reduce_scatter":
            # Both groups reduce as many elements.
            less = min((0, 1), key=lambda group: sum(self.counts[group]))
            self.counts[less][-1] += sum(self.counts[1 - less]) - sum(self.counts[less])
        # Numbers from a rank of the first group to one of the second, and back.
        self.there = [[draws.choice([0, 1, 2]) for _ in range(sizes[1])] for _ in range(sizes[0])]
        self.back = [[draws.choice([0, 1, 2]) for _ in range(sizes[0])] for _ in range(sizes[1])]

    def values(self, count):
        return numbers(self.draws, self.operator, self.element, count)

    def part(self, buffers, who, root):
        """The keys of a rank's statement, and what is looked at afterwards."""
        if self.kind == "barrier":
            return {}, None
        if self.kind in REDUCTIONS:
            return self.reduction(buffers, who, root)
        return self.moving(buffers, who, root)

    def reduction(self, buffers, who, root):
        own, rank, process = who
        kind, element = self.kind, self.element
        per = 2 if element.endswith("pair") else 1
        keys = {"type": element, "operator": self.operator}
        given = received = self.count
        if kind == "reduce_scatter":
            keys["counts"] = self.counts[own]
            given, received = sum(self.counts[own]), self.counts[own][rank]
        elif kind == "reduce_scatter_block":
            given, received = self.count * self.sizes[0] * self.sizes[1], self.count * self.sizes[1 - own]
            keys["count"] = received
        else:
            keys["count"] = self.count
        if root is None or isinstance(root, int):
            keys["sendbuf"] = buffers.put(process, "s", element, self.values(given))
        if root is None or root == "mpi_root":
            keys["recvbuf"] = buffers.put(process, "t", element, [77] * (per * received))
            return keys, ("t", element, per * (received + 1), 0)
        return keys, None

    def moving(self, buffers, who, root):
        own, rank, process = who
        kind, count, other = self.kind, self.count, 1 - own
        mark = lambda to: 1000 * (process + 1) + 100 * to
        put = lambda which, numbers: buffers.put(process, which, "int32", numbers)
        if kind == "bcast":
            given = [mark(0) + at for at in range(count)] if root == "mpi_root" else [5] * count
            return {"size": 4 * count, "buf": put("b", given)}, ("b", "int32", count + 1, 0)
        keys = {} if kind.endswith("v") else {"size": 4 * count}
        lists = self.counts if kind.endswith("v") else [[count] * size for size in self.sizes]
        sends, receives = [lists[own][rank]], lists[other]
        if kind in ("scatterv", "gatherv"):
            # Of the group that has no root.
            keys["sizes"] = [4 * one for one in lists[1 - self.side]]
        if kind == "allgatherv":
            keys["sizes"] = [4 * one for one in lists[own] + lists[other]]
        if kind.startswith("scatter"):
            sends, receives = lists[other], [lists[own][rank]]
        if kind == "alltoall":
            sends = lists[other]
        if kind == "alltoallv":
            going, coming = (self.there, self.back) if own == 0 else (self.back, self.there)
            sends, receives = going[rank], [row[rank] for row in coming]
            keys["send_sizes"], keys["receive_sizes"] = [4 * one for one in sends], [4 * one for one in receives]
        if root != "proc_null" and (root is None or (root == "mpi_root") == kind.startswith("scatter")):
            keys["sendbuf"] = put("s", [mark(to) + at for to, one in enumerate(sends) for at in range(one)])
        if root != "proc_null" and (root is None or (root == "mpi_root") != kind.startswith("scatter")):
            keys["recvbuf"] = put("t", [7] * sum(receives))
            return keys, ("t", "int32", sum(receives) + 1, 0)
        return keys, None
