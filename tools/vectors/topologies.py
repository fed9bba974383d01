"""Grids and graphs of processes, and what neighbours in them exchange."""

import itertools
import math

from collectives import Buffers

KINDS = ["neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv"]


def positions(dims):
    """The coordinates of each rank."""
    return list(itertools.product(*map(range, dims)))


class Topologies:
    """Communicators with neighbours, of a script."""

    def __init__(self, draws, script):
        self.draws, self.script = draws, script
        self.made = []
        self.number = 0
        # Whether both neighbours of a dimension may be one process.
        self.folded = False

    def name(self):
        return f"t{len(self.made)}"

    def grid(self):
        """A grid, and sometimes one of its parts; answers with name, and for each process its degree."""
        draws, script = self.draws, self.script
        ranks = len(script.ranks)
        dims = draws.choice([dims for dims in [[1], [2], [3], [4], [5], [1, 2], [2, 2], [2, 3], [3, 2], [3, 1], [2, 1, 2]]
                             if math.prod(dims) <= ranks])
        periods = [draws.random() < 0.6 for _ in dims]
        self.folded = any(periodic and extent <= 2 for extent, periodic in zip(dims, periods))
        parent = draws.choice([0, 0, 1, 2])
        members = list(range(ranks))[::-1] if parent == 2 else list(range(ranks))
        name = self.name()
        for process in members:
            script.add(process, "cart_create", comm=parent, dims=dims, periods=periods, new=name)
        members = members[:math.prod(dims)]
        self.made.append((name, members))
        if len(dims) > 1 and draws.random() < 0.5:
            remain = [draws.random() < 0.6 for _ in dims]
            if any(remain):
                part = self.name()
                for process in members:
                    script.add(process, "cart_sub", comm=name, remain=remain, new=part)
                self.made.append((part, members))
                return part, {process: 2 * sum(remain) for process in members}
        return name, {process: 2 * len(dims) for process in members}

    def graph(self):
        """Edges between any two; answers with name, and each process's sources and destinations."""
        draws, script = self.draws, self.script
        ranks = range(len(script.ranks))
        edges = [(one, other) for one in ranks for other in ranks if draws.random() < 0.5]
        parent, name = draws.choice([0, 0, 1, 2]), self.name()
        there = lambda process: len(ranks) - 1 - process if parent == 2 else process
        sources, destinations = {}, {}
        for process in ranks:
            sources[process] = [one for one, other in edges if other == process]
            destinations[process] = [other for one, other in edges if one == process]
            draws.shuffle(sources[process])
            draws.shuffle(destinations[process])
            script.add(process, "dist_graph_create_adjacent", comm=parent, sources=list(map(there, sources[process])),
                       destinations=list(map(there, destinations[process])), new=name)
        self.made.append((name, list(ranks)))
        return name, sources, destinations

    def operation(self, name, blocks):
        """`blocks(kind)` has for each process the lengths that it sends, in all or to each, and that it receives."""
        draws, script = self.draws, self.script
        kind, form = draws.choice(KINDS), draws.choice(["plain", "plain", "begun", "prepared"])
        if self.folded and "alltoall" in kind:
            # Both libraries swap the two blocks in forms that only begin: no outcome of MPI's is recorded.
            form = "plain"
        buffers = Buffers(draws, script, self.number)
        self.number += 1
        for process, (sends, receives) in blocks(kind).items():
            given = [1000 * (process + 1) + 100 * to + at for to, one in enumerate(sends) for at in range(one)]
            keys = {"sendbuf": buffers.put(process, "s", "int32", given),
                    "recvbuf": buffers.put(process, "t", "int32", [7] * sum(receives)), "comm": name}
            if kind == "neighbor_allgatherv":
                keys |= {"size": 4 * sends[0], "sizes": [4 * one for one in receives]}
            elif kind == "neighbor_alltoallv":
                keys |= {"send_sizes": [4 * one for one in sends], "receive_sizes": [4 * one for one in receives]}
            else:
                # A rank without destinations says the length that all have.
                keys["size"] = 4 * self.length
            req = script.request(process)
            if form == "plain":
                script.add(process, kind, **keys)
            elif form == "begun":
                script.add(process, "i" + kind, **keys, req=req)
            else:
                script.add(process, kind + "_init", **keys, req=req)
                script.add(process, "start", req=req)
            if form != "plain":
                script.add(process, "wait", req=req, _statuses=False)
            if form == "prepared":
                script.add(process, "request_free", req=req)
            buffers.look(process, "t", "int32", sum(receives) + 1)

    def in_grid(self, name, degrees):
        def blocks(kind):
            self.length = self.draws.choice([1, 2, 3])
            each = {process: [self.length] * degree for process, degree in degrees.items()}
            return {process: ([self.length] if "gather" in kind else own, own) for process, own in each.items()}
        self.operation(name, blocks)

    def in_graph(self, name, sources, destinations):
        def blocks(kind):
            draws, equal = self.draws, not kind.endswith("v")
            self.length = draws.choice([1, 2, 3])
            length = lambda: self.length if equal else draws.randint(0, 3)
            if "gather" in kind:
                own = {process: length() for process in sources}
                return {process: ([own[process]], [own[one] for one in sources[process]]) for process in sources}
            edge = {(one, other): length() for one in destinations for other in destinations[one]}
            return {process: ([edge[process, other] for other in destinations[process]],
                              [edge[other, process] for other in sources[process]]) for process in sources}
        self.operation(name, blocks)

    def free(self):
        for name, members in reversed(self.made):
            for process in members:
                self.script.add(process, "comm_free", comm=name)


def neighbours(draws, script, graphs):
    """Operations over one topology."""
    topologies = Topologies(draws, script)
    made = topologies.graph() if graphs else topologies.grid()
    for _ in range(draws.randint(1, 3)):
        (topologies.in_graph if graphs else topologies.in_grid)(*made)
    topologies.free()
    return script
