"""Programs of several ranks, as statements of mpisim's workload `program`, and what they return on a library.

A statement here is a dictionary with the keys that it has in a scenario. Sizes are numbers, requests and matched
messages are numbers, and keys that begin with `_` say how it is recorded:

`_poll`      it is called until its flag is true, or until so many requests have ended
`_index_only` the status that comes with an index is left out
`_statuses`  for each of its requests, or for its only one, whether MPI defines a status at its end
"""

ELEMENTS = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float": 4, "int64": 8,
            "uint64": 8, "double": 8, "int32_pair": 8, "int64_pair": 16}
SIZES = {"size", "max"}
LISTS_OF_SIZES = {"sizes", "send_sizes", "receive_sizes"}
STATUS = {"recv", "mrecv", "sendrecv", "sendrecv_replace", "probe", "mprobe"}
TESTS = {"test", "request_get_status", "iprobe", "improbe", "parrived"}
# What a statement means without the key.
DEFAULTS = {"comm": 0, "at": 0, "root": 0, "type": "int32", "operator": "sum"}
# Keys of requests and of matched messages, which programs name.
NAMED = {"req": "r", "handle": "m"}


class Script:
    """The statements of `ranks` ranks."""

    def __init__(self, ranks, arrays=False):
        self.ranks = [[] for _ in range(ranks)]
        self.buffers = {}
        # Whether requests are those of an array; a name must be open where it is used.
        self.arrays = arrays
        self.numbers = [0] * ranks
        self.nodes = None

    def add(self, rank, op, **keys):
        self.ranks[rank].append({"op": op, **keys})

    def all(self, op, **keys):
        for rank in range(len(self.ranks)):
            self.add(rank, op, **keys)

    def request(self, rank):
        """A number for a new request, or a new matched message, of a rank."""
        self.numbers[rank] += 1
        return self.numbers[rank] - 1

    def buffer(self, name, size):
        """A buffer of every rank with room for `size` bytes."""
        self.buffers[name] = max(self.buffers.get(name, 1), size)
        return name

    def lines(self, case):
        """The program for `play`."""
        yield f"case {case}"
        buffers = {name: number for number, name in enumerate(self.buffers)}
        comms = {0: 0, 1: 1, 2: 2}
        for rank, statements in enumerate(self.ranks):
            yield f"rank {rank}"
            for name, number in buffers.items():
                yield f"buffer {number} {self.buffers[name]}"
            for statement in statements:
                yield " ".join([statement["op"], *self.words(statement, buffers, comms)])

    @staticmethod
    def words(statement, buffers, comms):
        for key, value in statement.items():
            if key == "op":
                continue
            if key == "_poll":
                key, value = "poll", int(value)
            if key.startswith("_"):
                continue
            if key in ("buf", "sendbuf", "recvbuf"):
                value = buffers[value]
            if key in ("comm", "new", "peer"):
                value = comms.setdefault(value, len(comms))
            if isinstance(value, list):
                value = ",".join(str(int(one)) for one in value)
            if isinstance(value, bool):
                value = int(value)
            yield f"{key}={value}"
        if statement["op"] == "load":
            yield f"count={statement['_count']}"
        if statement["op"] == "store":
            yield f"count={len(statement['values'])}"

    def workload(self, returned):
        """Keys of the workload: the program that expects `returned[rank][statement]`."""
        buffers = [{"name": name, "size": f"{size} B"} for name, size in self.buffers.items()]
        ranks = [[one for statement, result in zip(own, results, strict=True)
                  for one in self.expecting(statement, result)]
                 for own, results in zip(self.ranks, returned, strict=True)]
        return {**({"buffers": buffers} if buffers else {}), "ranks": ranks}

    def name(self, kind, number):
        return {"name": kind, "index": number} if self.arrays else f"{kind}{number}"

    def plain(self, statement):
        """A statement as scenarios have it, without what it returns."""
        plain = {}
        for key, value in statement.items():
            if key.startswith("_") or DEFAULTS.get(key) == value:
                continue
            if key in NAMED:
                value = self.name(NAMED[key], value)
            elif key == "reqs":
                value = [self.name("r", one) for one in value]
            elif key in SIZES:
                value = f"{value} B"
            elif key in LISTS_OF_SIZES:
                value = [f"{one} B" for one in value]
            plain[key] = value
        return plain

    def expecting(self, statement, result):
        """The statements of a scenario for one statement and what it returned."""
        op, plain = statement["op"], self.plain(statement)
        expect = expectation(statement, result)
        if not statement.get("_poll"):
            yield {**plain, "expect": expect} if expect else plain
            return
        if op in ("waitsome", "testsome"):
            yield {"op": "set", "name": "over", "to": 0}
            condition = f"= over == {statement['_poll']} || n == undefined"
            yield {"op": "until", "at_most": 100000, "condition": condition, "do": [
                {**plain, "into": {"outcount": "n"}},
                {"op": "set", "name": "over", "to": "= n == undefined ? over : over + n"}]}
            yield {"op": "assert", "condition": f"= over == {result['outcount']}"}
            return
        if op == "testall":
            yield {"op": "until", "at_most": 100000, "condition": "= done", "do": [
                {**plain, "into": {"flag": "done"}}]}
            return
        kept = {"source": "from", "tag": "mark", "count": "bytes", "index": "which"}
        kept = {key: name for key, name in kept.items() if key in expect}
        yield {"op": "until", "at_most": 100000, "condition": "= done", "do": [
            {**plain, "into": {"flag": "done", **kept}}]}
        told = [f"{name} == {str(expect[key]).removeprefix('= ').removesuffix(' B')}"
                for key, name in kept.items()]
        if told:
            yield {"op": "assert", "condition": "= " + " && ".join(told)}


def value(text):
    """A value that a statement returned, as `expect` has it."""
    return f"= {text}" if text in ("undefined", "proc_null") else int(text)


def status(result, before=""):
    """A status as `expect` has it."""
    if result.get(f"{before}cancelled") == "1":
        return {"cancelled": True}
    told = {key: value(result[before + key]) for key in ("source", "tag") if before + key in result}
    told["count"] = f"{result[before + 'count']} B"
    return told


def expectation(statement, result):
    op = statement["op"]
    if op == "load":
        return {"values": [int(one) for one in result["values"].split(",")]}
    if op in ("comm_rank", "comm_size", "comm_remote_size"):
        return {key: value(told) for key, told in result.items()}
    if op in STATUS:
        return status(result)
    defined = statement.get("_statuses")
    if op == "wait":
        return status(result) if defined else {}
    if op in TESTS:
        flag = result["flag"] == "1"
        return {"flag": flag, **(status(result) if flag and defined else {})}
    if op in ("waitany", "testany"):
        told = {"flag": result["flag"] == "1"} if op == "testany" else {}
        told["index"] = value(result["index"])
        ended = told.get("flag", True) and not statement.get("_index_only")
        known = told["index"] == "= undefined" or defined[told["index"]]
        return {**told, **(status(result) if ended and known else {})}
    if op in ("waitall", "testall"):
        told = {"flag": result["flag"] == "1"} if op == "testall" else {}
        if told.get("flag", True):
            told["statuses"] = [status(result, f"{at}.") if known else {} for at, known in enumerate(defined)]
        return told
    if op in ("waitsome", "testsome"):
        told = {"outcount": value(result["outcount"])}
        if "_poll" in statement or told["outcount"] == "= undefined":
            return told
        each = []
        for at in range(told["outcount"]):
            index = int(result[f"{at}.index"])
            each.append({"index": index, **(status(result, f"{at}.") if defined[index] else {})})
        return {**told, "statuses": each}
    return {}
