//! Traces of other tools: named where one is given for a table, since none is read.

use std::path::Path;

/// The form of a trace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Trace {
    /// Its name, and who writes it.
    pub(super) name: &'static str,
}

const OTF2: Trace = Trace { name: "OTF2 (Score-P, VampirTrace)" };
const DUMPI: Trace = Trace { name: "DUMPI (SST)" };
const TI: Trace = Trace { name: "the time-independent form of SimGrid (SMPI)" };
const ALLPROF: Trace = Trace { name: "liballprof (LogGOPSim)" };
const CHAKRA: Trace = Trace { name: "Chakra (execution traces of machine learning)" };

/// Lines that are looked at.
const LINES: usize = 50;

/// The names of operations in the form of `SimGrid`.
const OPERATIONS: [&str; 20] = [
    "init",
    "finalize",
    "compute",
    "comm_size",
    "comm_split",
    "comm_dup",
    "send",
    "isend",
    "recv",
    "irecv",
    "test",
    "wait",
    "waitall",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "alltoall",
    "allgather",
    "gather",
];

/// The form of the trace that a file is, by its name and by how it begins.
pub(super) fn recognised(path: &Path, bytes: &[u8]) -> Option<Trace> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let ends = |ending: &str| name.ends_with(ending);
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 14)]);
    let is_binary = start.contains('\0');
    if ends(".otf2") || bytes.starts_with(b"OTF2") {
        return Some(OTF2);
    }
    let says = |word: &str| start.lines().take(LINES).any(|line| line.starts_with(word));
    if name.starts_with("dumpi-") || says("fileprefix=dumpi") {
        return Some(DUMPI);
    }
    if ends(".et") && is_binary || start.contains("chakra") && start.trim_start().starts_with('{') {
        return Some(CHAKRA);
    }
    let mut lines = start.lines().take(LINES).map(str::trim);
    let mut lines = lines.by_ref().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.next()?;
    if first.starts_with("MPI_") && first.contains(':') {
        return Some(ALLPROF);
    }
    let mut words = first.split_whitespace();
    let rank = words.next()?.trim_start_matches('p');
    let operation = words.next()?.to_ascii_lowercase();
    let is_rank = !rank.is_empty() && rank.chars().all(|c| c.is_ascii_digit());
    (is_rank && OPERATIONS.contains(&operation.as_str())).then_some(TI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_known_by_their_names_and_beginnings() {
        let cases: [(&str, &[u8], Option<Trace>); 10] = [
            ("traces.otf2", b"\x00\x01", Some(OTF2)),
            ("dumpi-2026.11.28-0000.bin", b"\x00\x01", Some(DUMPI)),
            ("run.meta", b"hostname=n1\nnumprocs=4\nfileprefix=dumpi-2026\n", Some(DUMPI)),
            ("0.trace", b"0 init\n0 compute 1e6\n", Some(TI)),
            ("a.txt", b"p1 send 0 0 1e5\n", Some(TI)),
            ("pmpi-trace-rank-0.txt", b"# htor\nMPI_Init:123.4:-:456\n", Some(ALLPROF)),
            ("rank.0.et", b"\x0a\x00\x12", Some(CHAKRA)),
            ("a.json", b"{ \"schema\": \"1.1.0-chakra.0.0.4\" }", Some(CHAKRA)),
            ("latency.txt", b"# OSU MPI Latency Test v7.1\n# Size  Latency (us)\n1 1.5\n", None),
            ("table.txt", b"8 1.5\n", None),
        ];
        for (name, bytes, wanted) in cases {
            assert_eq!(recognised(Path::new(name), bytes), wanted, "{name}");
        }
    }
}
