"""Programs over communicators that they make; what group each has is worked out as MPI defines it.

The group says which programs are in order. What the calls return is recorded all the same.
"""

import collectives

VALUES = 4


def split(members, colors, keys):
    """The parts of a split: by color, each in the order of keys, then of ranks."""
    parts = {}
    for rank, process in enumerate(members):
        if colors[rank] != "undefined":
            parts.setdefault(colors[rank], []).append((keys[rank], rank, process))
    return {color: [process for *_, process in sorted(part)] for color, part in parts.items()}


class Maker:
    """Communicators of a script: names, each with the processes that have one of that name, part by part."""

    def __init__(self, draws, script):
        self.draws, self.script = draws, script
        self.names = 0
        self.numbers = 0
        everyone = list(range(len(script.ranks)))
        self.known = {0: [everyone], 1: [everyone], 2: [everyone[::-1]]}

    def name(self):
        self.names += 1
        return f"c{self.names}"

    def next(self):
        self.numbers += 1
        return self.numbers

    def make(self, parent):
        """A new communicator from each part of another one."""
        way = self.draws.choice(["comm_dup", "comm_split", "comm_split", "comm_split_type", "comm_create",
                                 "comm_create_group"])
        new, parts = self.name(), []
        for members in self.known[parent]:
            parts += getattr(self, way)(parent, members, new)
        self.known[new] = parts
        return new

    def comm_dup(self, parent, members, new):
        for process in members:
            self.script.add(process, "comm_dup", comm=parent, new=new)
        return [members]

    def comm_split(self, parent, members, new):
        draws = self.draws
        colors = [draws.choice([0, 0, 1, 1, 7, "undefined"]) for _ in members]
        keys = [draws.randint(-2, 2) for _ in members]
        for process, color, key in zip(members, colors, keys):
            self.script.add(process, "comm_split", comm=parent, color=color, key=key, new=new)
        return list(split(members, colors, keys).values())

    def comm_split_type(self, parent, members, new):
        # All processes of the recorded job are on one node.
        self.script.nodes = 1
        keys = [self.draws.randint(-2, 2) for _ in members]
        types = [self.draws.choice(["shared"] * 5 + ["undefined"]) for _ in members]
        for process, kind, key in zip(members, types, keys):
            kind = {} if kind == "shared" else {"type": kind}
            self.script.add(process, "comm_split_type", comm=parent, key=key, new=new, **kind)
        colors = [0 if kind == "shared" else "undefined" for kind in types]
        return list(split(members, colors, keys).values())

    def some(self, members):
        return self.draws.sample(range(len(members)), self.draws.randint(1, len(members)))

    def comm_create(self, parent, members, new):
        ranks = self.some(members)
        for process in members:
            self.script.add(process, "comm_create", comm=parent, ranks=ranks, new=new)
        return [[members[rank] for rank in ranks]]

    def comm_create_group(self, parent, members, new):
        ranks = self.some(members)
        group = [members[rank] for rank in ranks]
        for process in group:
            self.script.add(process, "comm_create_group", comm=parent, ranks=ranks, tag=self.names, new=new)
        return [group]

    def ask(self, name):
        for members in self.known[name]:
            for process in members:
                self.script.add(process, "comm_rank", comm=name)
                self.script.add(process, "comm_size", comm=name)

    def ring(self, name):
        """A message from each rank to the next, looked for in one of several ways."""
        way = self.draws.choice(["recv", "irecv", "probe", "iprobe", "mprobe", "improbe", "imrecv"])
        number = self.next()
        for members in self.known[name]:
            for rank, process in enumerate(members):
                to, source = (rank + 1) % len(members), (rank - 1) % len(members)
                self.message(process, name, (to, source), number, way)

    def message(self, process, name, ends, number, way):
        """A number to one rank, and one from another."""
        to, source = ends
        script, draws = self.script, self.draws
        sent, got = script.buffer(f"s{number}", VALUES), script.buffer(f"t{number}", 2 * VALUES)
        req, place = script.request(process), {"buf": got, "max": 2 * VALUES}
        matching = {"src": draws.choice([source, "any"]), "tag": number, "comm": name}
        if to is not None:
            script.add(process, "store", buf=sent, values=[100 * number + process])
            script.add(process, "isend", to=to, tag=number, size=VALUES, comm=name, buf=sent, req=req)
        if source is not None:
            self.receive(process, way, matching, place)
            script.add(process, "load", buf=got, _count=2)
        if to is not None:
            script.add(process, "wait", req=req, _statuses=False)

    def receive(self, process, way, matching, place):
        script = self.script
        if way == "irecv":
            req = script.request(process)
            script.add(process, "irecv", **matching, **place, req=req)
            script.add(process, "wait", req=req, _statuses=True)
            return
        if way in ("recv", "probe", "iprobe"):
            if way != "recv":
                poll = {"_poll": 1} if way == "iprobe" else {}
                script.add(process, way, **matching, _statuses=True, **poll)
            script.add(process, "recv", **matching, **place)
            return
        handle, poll = script.request(process), {"_poll": 1} if way == "improbe" else {}
        script.add(process, "improbe" if way == "improbe" else "mprobe", handle=handle, **matching, _statuses=True,
                   **poll)
        if way == "imrecv":
            req = script.request(process)
            script.add(process, "imrecv", handle=handle, req=req, **place)
            script.add(process, "wait", req=req, _statuses=True)
        else:
            script.add(process, "mrecv", handle=handle, **place)

    def collective(self, name):
        kind = [self.draws.choice(collectives.KINDS)]
        number = self.next()
        for members in self.known[name]:
            collectives.collective(self.draws, self.script, number, (name, members), kinds=kind)


def communicators(draws, script):
    maker = Maker(draws, script)
    names = [0, 1, 2]
    for _ in range(draws.randint(1, 3)):
        name = maker.make(draws.choice(names))
        names.append(name)
        maker.ask(name)
        if draws.random() < 0.6:
            maker.ring(name)
        for _ in range(draws.randint(0, 2)):
            maker.collective(name)
    # Another one still separates its messages.
    maker.ring(draws.choice(names))
    free(maker, [])
    return script


class Between:
    """Intercommunicators: names, each with its two groups."""

    def __init__(self, maker):
        self.maker, self.draws, self.script = maker, maker.draws, maker.script

    def create(self):
        """The two sides of a split, and what couples them."""
        draws, maker = self.draws, self.maker
        parent = draws.choice([0, 1, 2])
        members = maker.known[parent][0]
        colors = [draws.randint(0, 1) for _ in members]
        colors[draws.randrange(len(members))] = 0
        if 1 not in colors:
            colors[draws.randrange(len(members))] = 1
        if 0 not in colors:
            colors[colors.index(1)] = 0
        keys = [draws.randint(-2, 2) for _ in members]
        own, new, tag = maker.name(), maker.name(), draws.randrange(100)
        for process, color, key in zip(members, colors, keys):
            self.script.add(process, "comm_split", comm=parent, color=color, key=key, new=own)
        parts = split(members, colors, keys)
        maker.known[own] = [parts[0], parts[1]]
        leaders = [draws.randrange(len(parts[side])) for side in (0, 1)]
        for side in (0, 1):
            other = members.index(parts[1 - side][leaders[1 - side]])
            for process in parts[side]:
                self.script.add(process, "intercomm_create", comm=own, leader=leaders[side], peer=parent,
                                remote_leader=other, tag=tag, new=new)
        maker.known[new] = []
        return new, [parts[0], parts[1]]

    def ask(self, name, groups):
        for process in sum(groups, []):
            self.script.add(process, "comm_rank", comm=name)
            self.script.add(process, "comm_size", comm=name)

    def messages(self, name, groups):
        """Each rank of the smaller group and one of the other send to each other."""
        way = self.draws.choice(["recv", "irecv", "probe", "iprobe", "mprobe", "improbe", "imrecv"])
        number = self.maker.next()
        pairs = min(2, *map(len, groups))
        shift = self.draws.randrange(len(groups[1]))
        place = lambda rank: (rank + shift) % len(groups[1])
        for rank in range(pairs):
            self.maker.message(groups[0][rank], name, (place(rank), place(rank)), number, way)
            self.maker.message(groups[1][place(rank)], name, (rank, rank), number, way)

    def dup(self, name, groups):
        new = self.maker.name()
        for process in sum(groups, []):
            self.script.add(process, "comm_dup", comm=name, new=new)
        self.maker.known[new] = []
        return [(new, groups)]

    def split(self, name, groups):
        """A color that one side alone has leaves its ranks without a communicator."""
        new, draws = self.maker.name(), self.draws
        parts = []
        for members in groups:
            colors = [draws.choice([0, 0, 0, 1, "undefined"]) for _ in members]
            keys = [draws.randint(-2, 2) for _ in members]
            for process, color, key in zip(members, colors, keys):
                self.script.add(process, "comm_split", comm=name, color=color, key=key, new=new)
            parts.append(split(members, colors, keys))
        self.maker.known[new] = []
        return [(new, [parts[0][color], parts[1][color]]) for color in parts[0] if color in parts[1]]

    def merge(self, name, groups):
        new, first = self.maker.name(), self.draws.randint(0, 1)
        for side in (0, 1):
            for process in groups[side]:
                self.script.add(process, "intercomm_merge", comm=name, high=side != first, new=new)
        self.maker.known[new] = [groups[first] + groups[1 - first]]
        self.maker.ask(new)
        self.maker.ring(new)
        self.maker.collective(new)
        return new


def between_groups(draws, script):
    """Collectives between the two groups of an intercommunicator."""
    maker = Maker(draws, script)
    couple = Between(maker).create()
    for process in sum(couple[1], []):
        script.add(process, "comm_remote_size", comm=couple[0])
    for _ in range(draws.randint(2, 4)):
        collectives.between(draws, script, maker.next(), *couple)
    free(maker, [couple])
    return script


def intercommunicators(draws, script, splits):
    maker = Maker(draws, script)
    between = Between(maker)
    name, groups = between.create()
    couples = [(name, groups)]
    between.ask(name, groups)
    if draws.random() < 0.7:
        between.messages(name, groups)
    for number in range(draws.randint(1, 2)):
        way = between.split if splits and number == 0 else between.dup
        for couple in way(*draws.choice(couples)):
            between.ask(*couple)
            between.messages(*couple)
            couples.append(couple)
    merged = draws.choice(couples)
    between.merge(*merged)
    between.messages(*couples[0])
    free(maker, couples)
    return script


def free(maker, couples):
    """Every communicator, the last first."""
    for name in reversed([name for name in maker.known if isinstance(name, str)]):
        groups = maker.known[name] or [sum(groups, []) for other, groups in couples if other == name]
        for process in sum(groups, []):
            maker.script.add(process, "comm_free", comm=name)
