"""Random programs of each group of calls. Every one is strict: MPI allows one outcome.

A receive with a wildcard can match one message only, a test is asked before its message can be sent or until it is
over, and what a call leaves undefined is not looked at.
"""

from dataclasses import dataclass
from typing import Callable

import collectives
import made
import topologies
from script import Script

BOTH = ["MPICH", "Open MPI"]
SIZES = [0, 4, 8, 12, 64, 1024, 8192, 20000, 65536, 100000]


@dataclass
class Group:
    """A file of cases."""

    cases: int
    case: Callable
    libraries: tuple


GROUPS = {}


def group(name, cases, libraries=BOTH):
    def named(case):
        GROUPS[name] = Group(cases, case, libraries)
        return case
    return named


def places(size):
    """Which numbers of a message are written and compared: the last ones, which arrive last."""
    numbers = size // 4
    return range(max(numbers - 3, 0), numbers)


def fill(script, rank, buffer, size, seed):
    """Writes a message: numbers that no other message has."""
    at = places(size)
    if at:
        script.add(rank, "store", buf=buffer, at=at[0], values=[seed * 100 + one for one in range(len(at))])


def look(script, rank, buffer, size, beyond=False):
    """Compares what a buffer holds, and the number that lies after it."""
    at = places(size)
    if at or beyond:
        script.add(rank, "load", buf=buffer, at=at[0] if at else 0, _count=len(at) + beyond)


def a_size(draws):
    return draws.choice(SIZES)


def as_rank(comm, rank, ranks):
    """The rank of a process in one of the three communicators that are there."""
    return ranks - 1 - rank if comm == 2 else rank


# Exchanges


def exchange(draws, script, number, ops):
    """Each rank sends to one and receives from one; the requests of those that only begin it, with what to look at."""
    ranks = len(script.ranks)
    to = list(range(ranks))
    draws.shuffle(to)
    comm = draws.choice([0, 0, 1, 2])
    # Some neighbours are missing, as at the ends of a line.
    cut = {rank for rank in range(ranks) if draws.random() < 0.2}
    sizes = [a_size(draws)] * ranks if draws.random() < 0.5 else [a_size(draws) for _ in range(ranks)]
    begun = []
    for rank, size in enumerate(sizes):
        source = to.index(rank)
        here = source not in cut
        arrives = sizes[source] if here else 0
        op = draws.choice([op for op in ops if size >= arrives or not op.endswith("replace")])
        if op.startswith("i") and (rank in cut or not here):
            # MPICH 4.0.2 looks up the address of the null process here, and crashes.
            op = "sendrecv"
        exact = not here or draws.random() < 0.6
        named = as_rank(comm, source, ranks) if exact else "any"
        keys = {
            "to": "proc_null" if rank in cut else as_rank(comm, to[rank], ranks), "send_tag": number, "size": size,
            "src": named if here else "proc_null", "recv_tag": "any" if exact and draws.random() < 0.3 else number,
            "comm": comm,
        }
        if op.startswith("i"):
            keys["req"] = script.request(rank)
        if op.endswith("replace"):
            buffer = keys["buf"] = script.buffer(f"b{number}", size)
            fill(script, rank, buffer, size, 10 * number + rank + 1)
            beyond = False
        else:
            keys["max"] = arrives + draws.choice([0, 4, 400])
            sent = keys["sendbuf"] = script.buffer(f"s{number}", size)
            buffer = keys["recvbuf"] = script.buffer(f"t{number}", keys["max"])
            fill(script, rank, sent, size, 10 * number + rank + 1)
            beyond = keys["max"] > arrives
        script.add(rank, op, **keys)
        if op.startswith("i"):
            begun.append((rank, keys["req"], (buffer, arrives, beyond)))
        else:
            look(script, rank, buffer, arrives, beyond)
    return begun


@group("exchange", 24)
def exchanges(draws):
    script = Script(draws.randint(2, 4))
    for number in range(1, draws.randint(3, 6)):
        exchange(draws, script, number, ["sendrecv", "sendrecv_replace"])
    return script


@group("exchange_begun", 12, ["MPICH"])
def exchanges_begun(draws):
    """Some only begin, and are over later, in any order; MPICH 4.0.2 leaves their statuses as they were."""
    script = Script(draws.randint(2, 4))
    ops = ["isendrecv", "isendrecv_replace", "isendrecv", "sendrecv"]
    begun = [one for number in range(1, draws.randint(3, 5)) for one in exchange(draws, script, number, ops)]
    for rank in range(len(script.ranks)):
        own = [one[1:] for one in begun if one[0] == rank]
        draws.shuffle(own)
        reqs = [req for req, _ in own]
        way = draws.choice(["wait", "test", "waitall", "testall", "waitsome"])
        complete(script, rank, way, [(req, False) for req in reqs])
        for _, looks in own:
            look(script, rank, *looks)
    return script


def complete(script, rank, way, requests):
    """Waits until all of `requests` are over; beside each, whether MPI defines its status."""
    reqs, defined = [req for req, _ in requests], [known for _, known in requests]
    if not reqs:
        return
    if way in ("wait", "test"):
        for req, known in requests:
            poll = {"_poll": 1} if way == "test" else {}
            script.add(rank, way, req=req, _statuses=known, **poll)
        return
    polls = {"waitall": {}, "testall": {"_poll": 1}, "waitsome": {"_poll": len(reqs)}, "testsome": {"_poll": len(reqs)}}
    script.add(rank, way, reqs=reqs, _statuses=defined, **polls[way])


# Requests


@group("requests", 24)
def requests(draws):
    """One rank, the asker, has requests that end when it lets another rank send or receive."""
    ranks = draws.randint(2, 3)
    script = Script(ranks, arrays=True)
    asker = draws.randrange(ranks)
    others = [rank for rank in range(ranks) if rank != asker]
    kept = []
    for at in range(draws.randint(2, 5)):
        receives, size, peer = draws.random() < 0.7, a_size(draws), draws.choice(others)
        buffer = script.buffer(f"b{at}", size)
        kept.append((script.request(asker), receives, size, peer, buffer))
    # Two places of the array that are never used: `MPI_REQUEST_NULL`.
    nulls = [script.request(asker), script.request(asker)]
    for req, receives, size, peer, buffer in kept:
        if receives:
            src = peer if draws.random() < 0.6 else "any"
            script.add(asker, "irecv", src=src, tag=10 + req, max=size, buf=buffer, req=req)
        else:
            fill(script, asker, buffer, size, 10 + req)
            script.add(asker, "issend", to=peer, tag=10 + req, size=size, buf=buffer, req=req)
    receiving = {req for req, receives, *_ in kept if receives}
    defined = lambda req: req in receiving
    pending, over = [req for req, *_ in kept], list(nulls)

    def some(of, least=0):
        return draws.sample(of, draws.randint(min(least, len(of)), len(of)))

    def ask(pending, over):
        """Asks for what cannot be over, or for what has been over long."""
        way = draws.choice(["test", "request_get_status", "testany", "testall", "testsome", "waitany", "waitsome", "wait", "waitall"])
        if way in ("test", "request_get_status"):
            req = draws.choice(pending + over)
            script.add(asker, way, req=req, _statuses=True)
        elif way.startswith("wait"):
            if way == "wait":
                script.add(asker, way, req=draws.choice(over), _statuses=True)
                return
            reqs = some(over, 1)
            script.add(asker, way, reqs=reqs, _statuses=[True] * len(reqs))
        else:
            open_ones = some(pending, 1)
            reqs = open_ones + some(over)
            draws.shuffle(reqs)
            if reqs:
                script.add(asker, way, reqs=reqs, _statuses=[req in over or defined(req) for req in reqs])

    ended = []
    while pending:
        ask(pending, over)
        now = draws.sample(pending, min(len(pending), draws.choice([1, 1, 2])))
        for req in now:
            _, receives, size, peer, buffer = kept[req]
            pending.remove(req)
            script.add(asker, "send", to=peer, tag=1, size=0)
            script.add(peer, "recv", src=asker, tag=1, max=0)
            if receives:
                fill(script, peer, buffer, size, 20 + req)
                script.add(peer, draws.choice(["send", "ssend"]), to=asker, tag=10 + req, size=size, buf=buffer)
            else:
                script.add(peer, "recv", src=draws.choice([asker, "any"]), tag=10 + req, max=size, buf=buffer)
                look(script, peer, buffer, size)
        if len(now) == 1:
            one_ends(draws, script, asker, now[0], defined, (some(pending), some(over)))
        else:
            way = draws.choice(["wait", "test", "waitall", "testall", "waitsome", "testsome"])
            beside = some(over) if way in ("waitall", "testall") else []
            mixed = [(req, defined(req)) for req in now] + [(req, True) for req in beside]
            draws.shuffle(mixed)
            complete(script, asker, way, mixed)
        for req in now:
            if defined(req):
                look(script, asker, kept[req][4], kept[req][2])
        over += now
    ask([], over)
    if draws.random() < 0.4:
        given_up(draws, script, asker, others, 40)
    return script


def one_ends(draws, script, rank, req, defined, beside):
    """The only request that can be over, among others that are not, and some that have been over long."""
    pending, over = beside
    way = draws.choice(["wait", "test", "waitany", "testany", "waitsome", "testsome", "request_get_status"])
    if way in ("wait", "test"):
        complete(script, rank, way, [(req, defined(req))])
        return
    if way == "request_get_status":
        script.add(rank, way, req=req, _statuses=defined(req), _poll=1)
        script.add(rank, way, req=req, _statuses=defined(req))
        script.add(rank, draws.choice(["wait", "test"]), req=req, _statuses=defined(req))
        return
    reqs = [req, *pending, *over]
    draws.shuffle(reqs)
    polls = {"_poll": 1} if way.startswith("test") else {}
    script.add(rank, way, reqs=reqs, _statuses=[one in over or defined(one) for one in reqs], **polls)


def given_up(draws, script, rank, others, tag):
    """A receive that is cancelled, and a send whose request is freed."""
    if draws.random() < 0.5:
        req = script.request(rank)
        buffer = script.buffer("c", 64)
        script.add(rank, "irecv", src=draws.choice([*others, "any"]), tag=tag, max=64, buf=buffer, req=req)
        script.add(rank, "test", req=req, _statuses=True)
        script.add(rank, "cancel", req=req)
        script.add(rank, "wait", req=req, _statuses=True)
    for at, peer in enumerate(others):
        size = a_size(draws)
        buffer = script.buffer(f"f{at}", size)
        fill(script, rank, buffer, size, 50 + at)
        req = script.request(rank)
        script.add(rank, draws.choice(["isend", "issend"]), to=peer, tag=tag + 1, size=size, buf=buffer, req=req)
        script.add(rank, "request_free", req=req)
        script.add(peer, "recv", src=rank, tag="any", max=size, buf=buffer)
        look(script, peer, buffer, size)


# Persistent requests


@group("persistent", 20)
def persistent(draws):
    """Channels that are prepared once; some of them are started in each round."""
    ranks = draws.randint(2, 4)
    script = Script(ranks)
    modes = ["send_init", "ssend_init", "bsend_init", "rsend_init"]
    channels = [channel(draws, script, at, draws.choice(modes)) for at in range(draws.randint(1, 5))]
    room = sum(one["size"] + 1000 for one in channels if one["mode"] == "bsend_init")
    if room:
        script.all("buffer_attach", size=room)
    prepared = [[] for _ in range(ranks)]
    for one in channels:
        prepare(script, one, prepared)
    for rank in range(ranks):
        inactive(draws, script, rank, prepared[rank])
    begun = []
    for number in range(draws.randint(1, 4)):
        # A second buffered send of a rank to itself is among the cases on which libraries differ.
        can = [one for one in channels if one["source"] != one["target"] or one["mode"] != "bsend_init"
               or one not in begun]
        active = [one for one in can if draws.random() < 0.8]
        started_round(draws, script, number, active, prepared)
        begun += active
    for rank, reqs in enumerate(prepared):
        inactive(draws, script, rank, reqs)
        for req in draws.sample(reqs, len(reqs)):
            script.add(rank, "request_free", req=req)
    if room:
        script.all("buffer_detach")
    return script


def channel(draws, script, at, mode):
    """Where messages of one length and tag go again and again."""
    ranks = len(script.ranks)
    comm, size = draws.choice([0, 0, 1, 2]), a_size(draws)
    source, target = draws.randrange(ranks), draws.randrange(ranks)
    named = as_rank(comm, source, ranks)
    one = {"mode": mode, "size": size, "tag": 100 + at, "comm": comm, "source": source, "target": target,
           "to": as_rank(comm, target, ranks), "src": named if draws.random() < 0.7 else "any", "tag_there": 100 + at,
           "max": size + draws.choice([0, 0, 4, 400]), "in": script.request(target), "out": script.request(source)}
    one["sent"], one["got"] = script.buffer(f"s{at}", size), script.buffer(f"t{at}", one["max"])
    return one


def prepare(script, one, prepared):
    script.add(one["source"], one["mode"], to=one["to"], tag=one["tag"], size=one["size"], comm=one["comm"],
               buf=one["sent"], req=one["out"])
    script.add(one["target"], "recv_init", src=one["src"], tag=one["tag_there"], max=one["max"], comm=one["comm"],
               buf=one["got"], req=one["in"])
    prepared[one["source"]].append(one["out"])
    prepared[one["target"]].append(one["in"])


def inactive(draws, script, rank, reqs):
    """Waits and tests of requests that are not started return at once."""
    if not reqs:
        return
    for way in draws.sample(["wait", "test", "request_get_status", "waitall", "testall", "waitany", "testany",
                             "waitsome", "testsome"], draws.randint(1, 3)):
        if way in ("wait", "test", "request_get_status"):
            script.add(rank, way, req=draws.choice(reqs), _statuses=True)
        else:
            some = draws.sample(reqs, draws.randint(1, len(reqs)))
            # What the status of `testany` is here is among the cases on which libraries differ.
            script.add(rank, way, reqs=some, _statuses=[True] * len(some), _index_only=way == "testany")


def begin(draws, script, rank, reqs):
    if reqs and draws.random() < 0.5:
        script.add(rank, "startall", reqs=draws.sample(reqs, len(reqs)))
    else:
        for req in draws.sample(reqs, len(reqs)):
            script.add(rank, "start", req=req)


def started_round(draws, script, number, active, prepared):
    ranks = range(len(script.ranks))
    ready = [one for one in active if one["mode"] == "rsend_init"]
    for rank in ranks:
        begin(draws, script, rank, [one["in"] for one in active if one["target"] == rank])
    if ready:
        # Nothing of them can be there before every rank has come here.
        for one in ready:
            if draws.random() < 0.5:
                script.add(one["target"], draws.choice(["test", "request_get_status"]), req=one["in"], _statuses=True)
        script.all("barrier")
    for rank in ranks:
        mine = [one for one in active if one["source"] == rank]
        for one in mine:
            fill(script, rank, one["sent"], one["size"], 10 * number + one["tag"])
        begin(draws, script, rank, [one["out"] for one in mine])
    for rank in ranks:
        of = [(one["out"], False) for one in active if one["source"] == rank]
        of += [(one["in"], True) for one in active if one["target"] == rank]
        draws.shuffle(of)
        way = draws.choice(["wait", "test", "waitall", "testall", "waitsome", "testsome"])
        if len(of) == 1 and draws.random() < 0.7:
            idle = [req for req in prepared[rank] if req != of[0][0]]
            idle = draws.sample(idle, draws.randint(0, len(idle)))
            one_ends(draws, script, rank, of[0][0], lambda _, known=of[0][1]: known, ([], idle))
        else:
            complete(script, rank, way, of)
        for one in active:
            if one["target"] == rank:
                look(script, rank, one["got"], one["size"], one["max"] > one["size"])


@group("persistent_disputed", 10)
def persistent_disputed(draws):
    """What MPICH and Open MPI do not agree on."""
    script = Script(1)
    what = draws.choice(["second buffered send", "no active request", "null process"])
    if what == "null process":
        script.add(0, "recv_init", src="proc_null", tag=draws.choice(["any", 3]), max=64, buf=script.buffer("t0", 64),
                   req=0)
        script.add(0, "start", req=0)
        way = draws.choice(["wait", "test", "waitany", "testany", "waitsome"])
        one_of = {"req": 0, "_statuses": True} if way in ("wait", "test") else {"reqs": [0], "_statuses": [True]}
        script.add(0, way, **one_of)
        script.add(0, "request_free", req=0)
        return script
    size = draws.choice([1024, 20000])
    one = {"mode": "bsend_init", "size": size, "max": size, "tag": 100, "tag_there": 100, "comm": 0, "source": 0,
           "target": 0, "to": 0, "src": 0, "in": 0, "out": 1, "sent": script.buffer("s0", size),
           "got": script.buffer("t0", size)}
    script.all("buffer_attach", size=4 * size)
    prepare(script, one, [[]])
    if what == "no active request":
        script.add(0, "testany", reqs=[0, 1], _statuses=[True, True])
    else:
        for number in range(2):
            started_round(draws, script, number, [one], [[0, 1]])
    script.add(0, "request_free", req=0)
    script.add(0, "request_free", req=1)
    script.all("buffer_detach")
    return script


# Partitioned messages


@group("partitioned", 10, ["MPICH"])
def partitioned(draws):
    """Messages whose parts are ready one by one; both sides divide them as they like."""
    script = Script(draws.randint(2, 3))
    channels = []
    for at in range(draws.randint(1, 2)):
        source, target = draws.sample(range(len(script.ranks)), 2)
        parts, there = draws.choice([(1, 1), (4, 4), (4, 2), (2, 4), (6, 3), (8, 1), (1, 8)])
        size = 24 * draws.choice([8, 64, 2048])
        one = {"source": source, "target": target, "parts": parts, "there": there, "size": size,
               "out": script.request(source), "in": script.request(target),
               "sent": script.buffer(f"s{at}", size), "got": script.buffer(f"t{at}", size)}
        channels.append(one)
        script.add(source, "psend_init", to=target, tag=at, size=size, partitions=parts, buf=one["sent"],
                   req=one["out"])
        script.add(target, "precv_init", src=source, tag=at, size=size, partitions=there, buf=one["got"],
                   req=one["in"])
    for turn in range(draws.randint(1, 3)):
        for one in channels:
            script.add(one["source"], "start", req=one["out"])
            script.add(one["target"], "start", req=one["in"])
        for one in channels:
            make_ready(draws, script, one, 1000 * (turn + 1))
        for one in channels:
            target, parts = one["target"], one["there"]
            width = one["size"] // parts
            for part in draws.sample(range(parts), min(2, parts)):
                script.add(target, "parrived", req=one["in"], partition=part, _poll=1)
                script.add(target, "load", buf=one["got"], at=(part + 1) * width // 4 - 1, _count=1)
        for one in channels:
            complete(script, one["source"], draws.choice(["wait", "test", "waitall"]), [(one["out"], False)])
            complete(script, one["target"], draws.choice(["wait", "test", "waitall"]), [(one["in"], False)])
            for part in range(one["parts"]):
                script.add(one["target"], "load", buf=one["got"],
                           at=(part + 1) * one["size"] // one["parts"] // 4 - 1, _count=1)
    for one in channels:
        script.add(one["source"], "request_free", req=one["out"])
        script.add(one["target"], "request_free", req=one["in"])
    return script


def make_ready(draws, script, one, mark):
    """Writes each part and says that it is ready, in any order."""
    source, parts = one["source"], one["parts"]
    width = one["size"] // parts
    order = draws.sample(range(parts), parts)
    way = draws.choice(["pready", "pready_list", "pready_range"])
    if way == "pready_range":
        order.sort()
    for part in order:
        script.add(source, "store", buf=one["sent"], at=(part + 1) * width // 4 - 1, values=[mark + part])
        if way == "pready":
            script.add(source, "pready", req=one["out"], partition=part)
    if way == "pready_range":
        middle = draws.randrange(parts)
        script.add(source, "pready_range", req=one["out"], first=middle, last=parts - 1)
        if middle:
            script.add(source, "pready_range", req=one["out"], first=0, last=middle - 1)
    if way == "pready_list":
        script.add(source, "pready_list", req=one["out"], list=draws.sample(order, parts))


# Collectives in place, and over communicators that were made


@group("in_place", 32)
def in_place(draws):
    script = Script(draws.randint(1, 5))
    for number in range(draws.randint(2, 4)):
        comm = draws.choice([0, 0, 1, 2])
        ranks = list(range(len(script.ranks)))
        members = ranks[::-1] if comm == 2 else ranks
        collectives.collective(draws, script, number, (comm, members), in_place=0.8, kinds=collectives.IN_PLACE)
    return script


@group("persistent_collectives", 14)
def persistent_collectives(draws):
    """Several at a time, each rank starts them in an order of its own."""
    script = Script(draws.randint(1, 4))
    ranks = list(range(len(script.ranks)))
    all_of = []
    for number in range(draws.randint(1, 3)):
        comm = draws.choice([0, 0, 1, 2])
        members = ranks[::-1] if comm == 2 else ranks
        all_of.append(collectives.Prepared(draws, script, number, (comm, members)))
    for turn in range(draws.randint(1, 3)):
        for one in all_of if turn else []:
            list(one.fill())
        for rank in ranks:
            reqs = [one.requests[rank] for one in all_of]
            begin(draws, script, rank, reqs)
            draws.shuffle(reqs)
            # In MPICH 4.0.2 `testall` and `testsome` of persistent collectives fail.
            complete(script, rank, draws.choice(["wait", "test", "waitall"]), [(req, False) for req in reqs])
            for one in all_of:
                one.look(rank)
    for rank in ranks:
        for one in all_of:
            script.add(rank, "request_free", req=one.requests[rank])
    return script


@group("communicators", 16)
def communicators(draws):
    """Communicators that are made from others, messages and collectives over them."""
    return made.communicators(draws, Script(draws.randint(2, 5)))


@group("intercommunicators", 8)
def intercommunicators(draws):
    """Two groups: messages between them, duplicates and merges."""
    return made.intercommunicators(draws, Script(draws.randint(2, 5)), splits=False)


@group("intercommunicators_split", 8, ["Open MPI"])
def intercommunicators_split(draws):
    """Splits of two groups: in MPICH 4.0.2 messages go to other ranks than those of the new groups."""
    return made.intercommunicators(draws, Script(draws.randint(2, 5)), splits=True)


@group("between_groups", 18)
def between_groups(draws):
    """Collectives between two groups."""
    return made.between_groups(draws, Script(draws.randint(2, 5)))


@group("neighbours_grid", 16)
def neighbours_grid(draws):
    """Neighbourhood collectives over grids and their parts."""
    return topologies.neighbours(draws, Script(draws.randint(1, 5)), graphs=False)


@group("neighbours_graph", 12)
def neighbours_graph(draws):
    """Neighbourhood collectives over graphs."""
    return topologies.neighbours(draws, Script(draws.randint(2, 4)), graphs=True)
