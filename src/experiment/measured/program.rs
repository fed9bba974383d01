//! Benchmarks by the titles of their tables.

/// A benchmark whose tables are read.
#[derive(Debug, Eq, PartialEq)]
pub struct Program {
    /// The name of the program.
    pub name: &'static str,
    /// Its title in lower case, without the names of the suite and without `test`.
    title: &'static str,
    /// The part of a scenario that measures the same.
    like: Like,
}

/// The part of a scenario that measures the same as a benchmark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Like {
    /// Workloads of these kinds; none where no workload does.
    Workloads(&'static [&'static str]),
    /// A collective operation.
    Collective(&'static str),
    /// The same beside a computation.
    Nonblocking(&'static str),
}

const fn program(name: &'static str, title: &'static str, like: Like) -> Program {
    Program { name, title, like }
}

impl Program {
    /// Whether a workload of this kind measures the same, where its collective operation is one of
    /// `operations`.
    pub fn measures(&self, kind: &str, operations: &[&str]) -> bool {
        match self.like {
            Like::Workloads(kinds) => kinds.contains(&kind),
            Like::Collective(operation) => kind == "collective" && operations.contains(&operation),
            Like::Nonblocking(operation) => {
                kind == "nonblocking_collective" && operations.contains(&operation)
            }
        }
    }

    /// The names of those that measure the same as a workload.
    pub fn of(kind: &str, operations: &[&str]) -> Vec<&'static str> {
        let all = PROGRAMS.iter().filter(|program| program.measures(kind, operations));
        all.map(|program| program.name).collect()
    }
}

/// Every benchmark that is read. Of IMB only the ping-pong: its other tables have the times of
/// several ranks, or of two messages.
static PROGRAMS: [Program; 39] = [
    program("osu_latency", "latency", Like::Workloads(&["ping_pong"])),
    program("osu_bw", "bandwidth", Like::Workloads(&["bandwidth", "message_rate"])),
    program("osu_bibw", "bi-directional bandwidth", Like::Workloads(&["bidirectional_bandwidth"])),
    program(
        "osu_mbw_mr",
        "multiple bandwidth / message rate",
        Like::Workloads(&["bandwidth", "message_rate"]),
    ),
    program("osu_multi_lat", "multi latency", Like::Workloads(&[])),
    program("osu_latency_mt", "multi-threaded latency", Like::Workloads(&[])),
    program("osu_latency_mp", "multi-process latency", Like::Workloads(&[])),
    program("osu_allgather", "allgather latency", Like::Collective("allgather")),
    program("osu_allgatherv", "allgatherv latency", Like::Workloads(&[])),
    program("osu_allreduce", "allreduce latency", Like::Collective("allreduce")),
    program(
        "osu_alltoall",
        "all-to-all personalized exchange latency",
        Like::Collective("alltoall"),
    ),
    program("osu_alltoallv", "all-to-allv personalized exchange latency", Like::Workloads(&[])),
    program("osu_bcast", "broadcast latency", Like::Collective("bcast")),
    program("osu_gather", "gather latency", Like::Collective("gather")),
    program("osu_gatherv", "gatherv latency", Like::Workloads(&[])),
    program("osu_reduce", "reduce latency", Like::Collective("reduce")),
    program(
        "osu_reduce_scatter",
        "reduce_scatter latency",
        Like::Collective("reduce_scatter_block"),
    ),
    program("osu_scatter", "scatter latency", Like::Collective("scatter")),
    program("osu_scatterv", "scatterv latency", Like::Workloads(&[])),
    program("osu_iallgather", "non-blocking allgather latency", Like::Nonblocking("allgather")),
    program("osu_iallgatherv", "non-blocking allgatherv latency", Like::Workloads(&[])),
    program("osu_iallreduce", "non-blocking allreduce latency", Like::Nonblocking("allreduce")),
    program("osu_ialltoall", "non-blocking all-to-all latency", Like::Nonblocking("alltoall")),
    program("osu_ibcast", "non-blocking broadcast latency", Like::Nonblocking("bcast")),
    program("osu_igather", "non-blocking gather latency", Like::Nonblocking("gather")),
    program("osu_ireduce", "non-blocking reduce latency", Like::Nonblocking("reduce")),
    program("osu_iscatter", "non-blocking scatter latency", Like::Nonblocking("scatter")),
    program("osu_put_latency", "mpi_put latency", Like::Workloads(&["rma_epochs"])),
    program("osu_put_bw", "mpi_put bandwidth", Like::Workloads(&["rma_epochs"])),
    program("osu_put_bibw", "mpi_put bi-directional bandwidth", Like::Workloads(&["rma_epochs"])),
    program("osu_get_latency", "mpi_get latency", Like::Workloads(&["rma_epochs"])),
    program("osu_get_bw", "mpi_get bandwidth", Like::Workloads(&["rma_epochs"])),
    program("osu_acc_latency", "mpi_accumulate latency", Like::Workloads(&["rma_epochs"])),
    program("osu_get_acc_latency", "mpi_get_accumulate latency", Like::Workloads(&["rma_epochs"])),
    program("osu_fop_latency", "mpi_fetch_and_op latency", Like::Workloads(&["rma_epochs"])),
    program("osu_cas_latency", "mpi_compare_and_swap latency", Like::Workloads(&["rma_epochs"])),
    program("osu_latency (GPU buffers)", "mpi-cuda latency", Like::Workloads(&["gpu_ping_pong"])),
    program("osu_bw (GPU buffers)", "mpi-cuda bandwidth", Like::Workloads(&[])),
    program(PING_PONG, "pingpong", Like::Workloads(&["ping_pong"])),
];

/// The ping-pong of the Intel MPI Benchmarks.
pub const PING_PONG: &str = "IMB PingPong";

/// The names of all benchmarks that are read.
pub(super) fn titles() -> String {
    let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
    names.join(", ")
}

/// The benchmark that a title names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Named<'a> {
    /// A benchmark that is read.
    Known(&'static Program),
    /// Another one, as its title calls it.
    Other(&'a str),
}

/// The benchmark that a comment names, where the comment is the title of one.
///
/// OSU: `OSU MPI Latency Test v7.1`, `OSU MPI_Put Latency Test`; IMB: `Benchmarking PingPong`.
pub(super) fn named(comment: &str) -> Option<Named<'_>> {
    let comment = comment.trim();
    // Where a table went through a spreadsheet, tabs stand between the words.
    let words: Vec<&str> = comment.split_whitespace().collect();
    if let ["Benchmarking", name, ..] = words[..] {
        let is_read = name == "PingPong" && words.len() == 2;
        let found = PROGRAMS.iter().find(|one| one.name == PING_PONG && is_read);
        return Some(found.map_or(Named::Other(comment), Named::Known));
    }
    let lower = words.join(" ").to_ascii_lowercase();
    let end = lower.find(" test")?;
    let behind = lower[end + " test".len()..].trim_start();
    let is_title = behind.is_empty() || behind.starts_with(['v', '(']);
    let of_suite = lower.strip_prefix("osu ");
    let title = of_suite.map_or(&lower[..end], |rest| &rest[..end.saturating_sub("osu ".len())]);
    let title = title.strip_prefix("mpi ").unwrap_or(title).trim();
    let title = title.strip_prefix("one sided ").unwrap_or(title);
    let title = title.replace("mpi-rocm ", "mpi-cuda ").replace("mpi-openacc ", "mpi-cuda ");
    let known = PROGRAMS.iter().find(|one| one.title == title && one.name != PING_PONG);
    match known {
        Some(program) if is_title => Some(Named::Known(program)),
        Some(_) | None => (is_title && of_suite.is_some()).then_some(Named::Other(comment)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(comment: &str, name: Option<&str>) {
        match (named(comment), name) {
            (Some(Named::Known(program)), Some(name)) => assert_eq!(program.name, name),
            (Some(Named::Other(title)), None) => assert_eq!(title, comment),
            (found, wanted) => panic!("{comment}: {found:?} instead of {wanted:?}"),
        }
    }

    #[test]
    fn titles_of_all_versions_are_known() {
        check("OSU MPI Latency Test v7.1", Some("osu_latency"));
        check("OSU MPI Latency Test (simulated by mpisim 0.1.0)", Some("osu_latency"));
        check("OSU Latency Test v3.9", Some("osu_latency"));
        check("Latency Test", Some("osu_latency"));
        check("OSU MPI Bi-Directional Bandwidth Test v5.6.2", Some("osu_bibw"));
        check("OSU MPI Multiple Bandwidth / Message Rate Test v5.9", Some("osu_mbw_mr"));
        check("OSU MPI_Put Latency Test v7.4", Some("osu_put_latency"));
        check("OSU MPI_Accumulate latency Test v5.8", Some("osu_acc_latency"));
        check("OSU One Sided MPI_Get Bandwidth Test v3.6", Some("osu_get_bw"));
        check("OSU MPI-CUDA Latency Test v5.6", Some("osu_latency (GPU buffers)"));
        check("OSU MPI Non-blocking Allreduce Latency Test v7.0", Some("osu_iallreduce"));
        check("Benchmarking PingPong ", Some(PING_PONG));
        check("Benchmarking\tPingPong\t", Some(PING_PONG));
        check("OSU\tMPI\tLatency\tTest\tv7.1", Some("osu_latency"));
    }

    #[test]
    fn other_titles_are_titles_and_remarks_are_none() {
        check("OSU MPI Barrier Latency Test v7.0", None);
        check("OSU MPI Partitioned Latency Test v7.5", None);
        check("Benchmarking Allreduce", None);
        for remark in ["a latency test of mine", "Size  Latency (us)", "this is a test", "PingPong"]
        {
            assert_eq!(named(remark), None, "{remark}");
        }
    }
}
