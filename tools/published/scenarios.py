#!/usr/bin/env python3
"""Writes `scenarios/published` from the tables of `traces/published`, by the rule in its README.

    tools/published/scenarios.py            (from the project's root)

`PLAN` has a line for each scenario: machine, choices of the library, workload, the tables that it is compared with and
where their rows lie in the sweep. What a claim expects is the row, and nothing here reads a result.
"""
import json
import pathlib

TABLES, OUT = pathlib.Path("traces/published"), pathlib.Path("scenarios/published")
POINT_TO_POINT, COLLECTIVE = "20 %", "30 %"
# A table of at most so many rows is compared row by row, a longer one at powers of four.
SHORT = 4

OPENMPI = {"library": "openmpi-3.1"}
OPENMPI_ALL = {"library": "openmpi-3.1", "collectives": {"preset": "openmpi-4.1"}}
INTEL_ALL = {"collectives": {"preset": "mpich-4"}}
LATENCY = {"kind": "ping_pong", "size": "1 B", "rounds": 4, "warmup": 1}
CORES = LATENCY | {"between": "cores"}
BANDWIDTH = {"kind": "bandwidth", "size": "1 B", "window": 64, "rounds": 4, "warmup": 1, "buffers": "one"}
BOTH = BANDWIDTH | {"kind": "bidirectional_bandwidth"}
RATE = {"kind": "message_rate", "senders_per_node": 2, "size": "1 B", "window": 64, "rounds": 3, "warmup": 1,
        "direction": "one"}
# osu_allreduce and osu_alltoall have a barrier before each call, IMB has none.
OSU = {"kind": "collective", "operation": "allreduce", "ranks_per_node": 32, "type": "float", "size": "4 B",
       "rounds": 1, "warmup": 1}
IMB = {"kind": "collective", "operation": "alltoall", "ranks_per_node": 28, "type": "int8", "size": "1 B",
       "rounds": 2, "warmup": 1}
RING = {"kind": "sendrecv_ring", "processes": 56, "processes_per_node": 28, "size": "1 B", "warmup": 2, "steps": 4}


def cores(machine, number, source):
    """The machine with so many cores in a socket."""
    number = {"value": number, "confidence": "spec", "source": source}
    return {"extends": machine, "cpu": {"cores_per_socket": number}}


ALASKA = cores("broadwell-edr", 16, "Xeon E5-2683 v4 of the table")
CIRRUS = cores("broadwell-fdr", 18, "Xeon E5-2695 v4 of the table")
ALASKA_NOTE = ("AlaSKA has a Xeon E5-2683 v4 of 2.1 GHz, the model an E5-2680 v4 of 2.4 GHz; both have a ConnectX-4 and "
               "EDR. The model's thresholds between nodes are those of MVAPICH2; Open MPI ran over UCX there.")
ALASKA_INTEL = ("AlaSKA has a Xeon E5-2683 v4 of 2.1 GHz, the model an E5-2680 v4 of 2.4 GHz; both have a ConnectX-4 and "
                "EDR. The model's thresholds between nodes are those of MVAPICH2; Intel MPI ran over libfabric's verbs.")
ATHENA_NOTE = ("CPU and network of Athena follow from its public description: those of the model. Intel MPI chooses "
               "algorithms by tables of its own, here those of MPICH 4 stand for them.")
CIRRUS_NOTE = ("CPU and network of Cirrus follow from its public description: a Xeon E5-2695 v4 of 18 cores and FDR; the "
               "model has an E5-2680 v4 of 14. Intel MPI chooses algorithms by tables of its own, here those of MPICH 4 "
               "stand for them.")
CORES_NOTE = " Two neighbours of one node; where in the node they ran is not stated."
ACTS_TWICE = (" A step has two exchanges, one with each neighbour, where one of IMB has one: a claim expects twice the "
              "row.")
AZURE_NOTE = "Milan-X in a virtual machine with a virtual function of a ConnectX-6; the model is a Genoa on the metal."
QDR_NOTE = ("The CPU is not stated, and QDR follows from the rate. The model is a node of 2010 with GPUs and the library "
            "of its document, MVAPICH2 1.8; Open MPI 1.4 or 1.5 ran over openib there. The preset of Open MPI needs kernel "
            "copies, which the model lacks, and says nothing else between nodes.")
CX5_NOTE = ("The CPU is not stated; a ConnectX-5 for the model's ConnectX-4. ib_send_lat has no MPI library, and sends "
            "datagrams (UD) where the model has connected queue pairs.")
CX7_NOTE = ("The CPU is not stated, and a cable without a switch joins both servers. perftest has no MPI library; here "
            "one stands above the adapter.")
REFRAME_NOTE = ("Kesch has a Haswell and Mönch an Ivy Bridge, the model a Broadwell; FDR follows from the rate. The rows "
                "are what the centre accepts in regression tests.")


def at(**axes):
    """Values of axes by their paths, with one underscore for each full stop."""
    return {path.replace("__", "."): value for path, value in axes.items()}


# File, title, machine, nodes, choices of the library, workload, metric, [(table, values of axes)], note.
PLAN = [
    ("alaska_openmpi_latency", "Latency on AlaSKA, Open MPI 4.0.3 over UCX", "broadwell-edr", 2, OPENMPI, LATENCY, "latency",
     [("alaska-edr-ompi-latency", {}), ("alaska-edr-ompi-imb-pingpong", {})], ALASKA_NOTE),
    ("alaska_openmpi_bandwidth", "Bandwidth on AlaSKA, Open MPI 4.0.3 over UCX", "broadwell-edr", 2, OPENMPI, BANDWIDTH,
     "bandwidth", [("alaska-edr-ompi-bw", {})], ALASKA_NOTE),
    ("alaska_openmpi_both_ways", "Bandwidth both ways on AlaSKA, Open MPI 4.0.3 over UCX", "broadwell-edr", 2, OPENMPI, BOTH,
     "bandwidth", [("alaska-edr-ompi-bibw", {})], ALASKA_NOTE),
    ("alaska_openmpi_message_rate", "Bandwidth of 2 to 32 pairs on AlaSKA, Open MPI 4.0.3 over UCX", ALASKA, 2, OPENMPI,
     RATE, "bandwidth",
     [(f"alaska-edr-ompi-mbw_mr-{pairs}", at(workload__senders_per_node=pairs)) for pairs in (2, 8, 16, 32)],
     ALASKA_NOTE),
    ("alaska_openmpi_allreduce", "Allreduce of 64 ranks on AlaSKA, Open MPI 4.0.3 over UCX", ALASKA, 2, OPENMPI_ALL, OSU,
     "latency", [("alaska-edr-ompi-allreduce", {})], ALASKA_NOTE),
    ("alaska_openmpi_alltoall", "All-to-all of 64 ranks on AlaSKA, Open MPI 4.0.3 over UCX", ALASKA, 2, OPENMPI_ALL,
     OSU | {"operation": "alltoall", "type": "int8", "size": "1 B"}, "latency", [("alaska-edr-ompi-alltoall", {})],
     ALASKA_NOTE),
    ("alaska_intelmpi_latency", "Latency on AlaSKA, Intel MPI 2019.7", "broadwell-edr", 2, {}, LATENCY, "latency",
     [("alaska-edr-impi-latency", {})], ALASKA_INTEL),
    ("alaska_intelmpi_bandwidth", "Bandwidth on AlaSKA, Intel MPI 2019.7", "broadwell-edr", 2, {}, BANDWIDTH, "bandwidth",
     [("alaska-edr-impi-bw", {})], ALASKA_INTEL),
    ("alaska_intelmpi_allreduce", "Allreduce of 64 ranks on AlaSKA, Intel MPI 2019.7", ALASKA, 2, INTEL_ALL, OSU, "latency",
     [("alaska-edr-impi-allreduce", {})], ALASKA_INTEL),
    ("alaska_intelmpi_alltoall", "All-to-all of 64 ranks on AlaSKA, Intel MPI 2019.7", ALASKA, 2, INTEL_ALL,
     OSU | {"operation": "alltoall", "type": "int8", "size": "1 B"}, "latency", [("alaska-edr-impi-alltoall", {})],
     ALASKA_INTEL),
    ("athena_alltoall", "All-to-all of 56 and 112 ranks on Athena, Intel MPI 2018.2", "broadwell-edr", 2, INTEL_ALL, IMB,
     "latency", [(f"athena-imb-alltoall-{nodes}n", {"nodes": nodes}) for nodes in (2, 4)], ATHENA_NOTE),
    ("athena_allgather", "Allgather of 56 and 112 ranks on Athena, Intel MPI 2018.2", "broadwell-edr", 2, INTEL_ALL,
     IMB | {"operation": "allgather"}, "latency",
     [(f"athena-imb-allgather-{nodes}n", {"nodes": nodes}) for nodes in (2, 4)], ATHENA_NOTE),
    ("athena_sendrecv", "Exchange on a ring of 56 and 112 ranks on Athena, Intel MPI 2018.2", "broadwell-edr", 4, {}, RING,
     "step_time", [(f"athena-imb-sendrecv-{nodes}n", at(workload__processes=28 * nodes)) for nodes in (2, 4)],
     ATHENA_NOTE + ACTS_TWICE),
    ("athena_pingpong_cores", "Latency inside a node of Athena, Intel MPI 2018.2", "broadwell-edr", 1, {}, CORES, "latency",
     [("athena-imb-pingpong-intranode", {})], ATHENA_NOTE + CORES_NOTE),
    ("cirrus_alltoall", "All-to-all of 72 ranks on Cirrus, Intel MPI 18", CIRRUS, 2, INTEL_ALL, IMB | {"ranks_per_node": 36},
     "latency", [("cirrus-imb-alltoall-2n", {})], CIRRUS_NOTE),
    ("cirrus_allgather", "Allgather of 72 ranks on Cirrus, Intel MPI 18", CIRRUS, 2, INTEL_ALL,
     IMB | {"operation": "allgather", "ranks_per_node": 36}, "latency", [("cirrus-imb-allgather-2n", {})], CIRRUS_NOTE),
    ("cirrus_sendrecv", "Exchange on a ring of 72 ranks on Cirrus, Intel MPI 18", CIRRUS, 2, {},
     RING | {"processes": 72, "processes_per_node": 36}, "step_time", [("cirrus-imb-sendrecv-2n", {})],
     CIRRUS_NOTE + ACTS_TWICE),
    ("cirrus_pingpong_cores", "Latency inside a node of Cirrus, Intel MPI 18", "broadwell-fdr", 1, {}, CORES, "latency",
     [("cirrus-imb-pingpong-intranode", {})], CIRRUS_NOTE + CORES_NOTE),
    ("azure_hbv3_latency", "Latency of Azure HBv3, Open MPI over UCX", "genoa-hdr", 2, OPENMPI, LATENCY, "latency",
     [("azure-hbv3-hdr-tutorial-latency", {}), ("azure-hbv3-hdr-vendor-latency", {})], AZURE_NOTE),
    ("rome_hdr_pingpong", "Ping-pong of two Rome servers over HDR, Open MPI over UCX", "genoa-hdr", 2, OPENMPI, LATENCY,
     "bandwidth", [("cx6-hdr-rome-imb-pingpong-bw", {})],
     "An EPYC 7402 for the model's Genoa; the best of four combinations of adapters, the others gave 7.2 to 8.4 GB/s."),
    ("qdr_latency", "Latency over QDR, Open MPI 1.4 or 1.5", "arc-c2050-qdr", 2, {}, LATENCY, "latency",
     [("qdr-mlx4-latency", {})], QDR_NOTE),
    ("qdr_bandwidth", "Bandwidth over QDR, Open MPI 1.4 or 1.5", "arc-c2050-qdr", 2, {}, BANDWIDTH, "bandwidth",
     [("qdr-mlx4-bw", {})], QDR_NOTE),
    ("qdr_both_ways", "Bandwidth both ways over QDR, Open MPI 1.4 or 1.5", "arc-c2050-qdr", 2, {}, BOTH, "bandwidth",
     [("qdr-mlx4-bibw", {})], QDR_NOTE),
    ("connectx5_send_latency", "Latency of ConnectX-5 over EDR, ib_send_lat", "broadwell-edr", 2, {}, LATENCY, "latency",
     [("cx5-edr-ib_send_lat-ud", {})], CX5_NOTE),
    ("connectx7_send_latency", "Latency of ConnectX-7 over NDR, ib_send_lat", "spr-ndr-h100", 2, {}, LATENCY, "latency",
     [("cx7-ndr-ib_send_lat", {})], CX7_NOTE),
    ("connectx7_bandwidth", "Bandwidth of ConnectX-7 over NDR, ib_write_bw and ib_send_bw", "spr-ndr-h100", 2, {}, BANDWIDTH,
     "bandwidth", [("cx7-ndr-ib_write_bw", {}), ("cx7-ndr-ib_send_bw", {})], CX7_NOTE),
    ("cscs_latency", "Latency of Kesch (MVAPICH2-GDR) and Mönch", "broadwell-fdr", 2, {"library": "plain"}, LATENCY, "latency",
     [("kesch-ref-latency", at(mpi__library="mvapich2-2.3")), ("monch-ref-latency", at(mpi__library="plain"))],
     REFRAME_NOTE),
    ("cscs_bandwidth", "Bandwidth of Kesch (MVAPICH2-GDR) and Mönch", "broadwell-fdr", 2, {"library": "plain"}, BANDWIDTH,
     "bandwidth", [("kesch-ref-bw", at(mpi__library="mvapich2-2.3")), ("monch-ref-bw", at(mpi__library="plain"))],
     REFRAME_NOTE),
    ("monch_alltoall", "All-to-all of 2 to 8 nodes of Mönch", "broadwell-fdr", 2, {},
     OSU | {"operation": "alltoall", "type": "int8", "size": "8 B", "ranks_per_node": 1}, "latency",
     [(f"monch-ref-alltoall-{nodes}n", {"nodes": nodes}) for nodes in (2, 4, 6, 8)], REFRAME_NOTE),
]


def read(table):
    """What the comments of a table say, and its rows that are claims: bytes, and the number as it stands there."""
    said, rows, unit = {}, [], None
    for line in (TABLES / f"{table}.txt").read_text().splitlines():
        if line.startswith("# Size"):
            unit = line[line.rindex("(") + 1:line.rindex(")")]
        elif line.startswith("#"):
            key, _, value = line[2:].partition(": ")
            said.setdefault(key if value else "benchmark", value or key)
        else:
            size, value = line.split()
            rows.append((int(size), value))
    if len(rows) > SHORT:
        rows = [row for row in rows if row[0] and row[0] & (row[0] - 1) == 0 and row[0].bit_length() % 2]
    return said, rows, unit


def words(size):
    """A number of bytes as scenarios write it."""
    for unit, many in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size % many == 0:
            return f"{size // many} {unit}"
    return f"{size} B"


def twice(value):
    """Twice a decimal number, with as many digits behind the point."""
    digits = len(value.partition(".")[2])
    return f"{2 * float(value):.{digits}f}"


def claims_of(table, axes, metric, swept):
    """The claims of a table, and the sizes that they are about."""
    said, rows, unit = read(table)
    benchmark = said["benchmark"].split(",")[0]
    is_collective = any(name in benchmark.lower() for name in ("allreduce", "alltoall", "allgather"))
    tolerance = COLLECTIVE if is_collective else POINT_TO_POINT
    place = said["source"].removeprefix("GitHub ").split(",")[0]
    source = f"published, {table}: {benchmark}, {said['library'].split(',')[0]}, {said['date']}; {place}"
    claims = []
    for size, value in rows:
        value = twice(value) if metric == "step_time" else value
        where = {path: axes[path] for path in swept if path in axes} | {"workload.size": words(size)}
        where = where if "workload.size" in swept else {key: one for key, one in where.items() if key != "workload.size"}
        claims.append({"id": f"pub-{table}-{size}", "value": metric, "at": where,
                       "expect": {"value": f"{value} {unit}", "tolerance": tolerance},
                       "role": "prediction", "source": source})
    return claims, [size for size, _ in rows]


def dump(value):
    return json.dumps(value, ensure_ascii=False)


def scenario(title, machine, nodes, mpi, workload, metric, tables, note):
    """The text of a scenario."""
    rows = [read(table)[1] for table, _ in tables]
    sizes = sorted({size for table in rows for size, _ in table})
    workload = workload | {"size": words(sizes[0])}
    sweep = {}
    for path in dict.fromkeys(path for _, axes in tables for path in axes):
        sweep[path] = [axes[path] for _, axes in tables]
        where = path.partition(".")
        if where[0] == "workload":
            workload = workload | {where[2]: sweep[path][0]}
    sweep["workload.size"] = [words(size) for size in sizes]
    if len(sizes) == 1 and len(sweep) > 1:
        del sweep["workload.size"]
    sources = dict.fromkeys(read(table)[0]["source"] for table, _ in tables)
    lines = [f'  "schema": 1,\n  "title": {dump(title)},\n  "source": {dump("; ".join(sources))},\n  "note": {dump(note)},',
             f'  "machine": {dump(machine)},\n  "nodes": {nodes},']
    if mpi:
        lines.append(f'  "mpi": {dump(mpi)},')
    lines.append(f'  "workload": {dump(workload)},')
    axes = ",\n".join(f'    {dump(path)}: {dump(values)}' for path, values in sweep.items())
    lines.append(f'  "sweep": {{\n{axes}\n  }},')
    if len(sizes) > 1:
        series = next((path for path in sweep if path != "workload.size"), None)
        figure = {"x": "workload.size", "y": metric} | ({"series": series} if series else {}) | {"log_x": True, "log_y": True}
        lines.append(f'  "figures": [ {dump(figure)} ],')
    claims = [claim for table, axes in tables for claim in claims_of(table, axes, metric, sweep)[0]]
    def two_lines(claim):
        first = ", ".join(f"{dump(key)}: {dump(claim[key])}" for key in ("id", "value", "at"))
        second = ", ".join(f"{dump(key)}: {dump(claim[key])}" for key in ("expect", "role", "source"))
        return f"    {{ {first},\n      {second} }}"
    lines.append('  "claims": [\n' + ",\n".join(map(two_lines, claims)) + "\n  ]")
    return "{\n" + "\n".join(lines) + "\n}\n"


def main():
    OUT.mkdir(exist_ok=True)
    used = {table for *_, tables, _ in PLAN for table, _ in tables}
    assert used == {path.stem for path in TABLES.glob("*.txt")}, "each table is compared"
    for name, *rest in PLAN:
        (OUT / f"{name}.json").write_text(scenario(*rest))


if __name__ == "__main__":
    main()
