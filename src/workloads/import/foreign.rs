//! Traces of other programs that are known and not read: each is named by its content, with the way to go on.
//!
//! Source: the sources of the programs that write them: OTF2 (`OTF2_AnchorFile.c`), LogGOPSim
//! (`Parser.hpp`, `process_trace.cpp`), SST DUMPI, Chakra, Pajé, Paraver.

/// A format that is not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Foreign {
    /// Its name, and the programs that write it.
    pub name: &'static str,
    /// The way to go on.
    pub help: &'static str,
}

/// The way from a format that no program converts.
const AGAIN: &str =
    "run the program itself by `mpisim exec`, or convert the trace into GOAL's text";

const OTF2: Foreign = Foreign { name: "OTF2 (Score-P, VampirTrace)", help: AGAIN };
const DUMPI: Foreign = Foreign {
    name: "DUMPI (SST)",
    help: "`dumpi2ascii` shows it; run the program itself by `mpisim exec`, or convert the trace into GOAL's text",
};
const BINARY_GOAL: Foreign = Foreign {
    name: "the binary form of GOAL (`txt2bin` of LogGOPSim)",
    help: "give the text that `txt2bin` was given",
};
const ALLPROF: Foreign = Foreign {
    name: "liballprof (LogGOPSim)",
    help: "LogGOPSim's `schedgen` makes GOAL of it: `schedgen -p trace --traces FILE -o FILE.goal`",
};
const CHAKRA: Foreign = Foreign {
    name: "Chakra (execution traces of machine learning)",
    help: "convert the trace into GOAL's text, as ATLAHS does",
};
const PAJE: Foreign = Foreign {
    name: "Pajé (SimGrid, ViTE)",
    help: "`smpirun` of SMPI writes time-independent traces, too, which are read (docs/guide/exchange.md)",
};
const PARAVER: Foreign = Foreign { name: "Paraver (Extrae)", help: AGAIN };
const SQLITE: Foreign = Foreign {
    name: "SQLite (reports of NVIDIA Nsight Systems)",
    help: "convert the trace into GOAL's text, as ATLAHS does",
};

/// Lines that are looked at.
/// Limit: a description of a trace is short.
const LINES: usize = 50;
/// Bytes in which a binary format has its name, behind a header of its own.
/// Limit: headers are short.
const HEADER: usize = 64;

/// The format of a file that is known and not read, by its content; where that says nothing, by its name.
pub fn recognised(name: &str, start: &[u8]) -> Option<Foreign> {
    let head = &start[..start.len().min(HEADER)];
    if head.windows(5).any(|part| part == b"OTF2\0") || start.starts_with(b"OTF2") {
        return Some(OTF2);
    }
    // The number 4223 in 64 bits.
    if start.starts_with(&[0x7f, 0x10, 0, 0, 0, 0, 0, 0]) {
        return Some(BINARY_GOAL);
    }
    if start.starts_with(b"SQLite format 3\0") {
        return Some(SQLITE);
    }
    let text = String::from_utf8_lossy(start);
    let is_binary = start.contains(&0);
    let says = |word: &str| text.lines().take(LINES).any(|line| line.starts_with(word));
    if says("%EventDef") {
        return Some(PAJE);
    }
    if text.starts_with("#Paraver ") {
        return Some(PARAVER);
    }
    if text.contains("chakra") && text.trim_start().starts_with('{') {
        return Some(CHAKRA);
    }
    let ends =
        |end: &str| name.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(end));
    if name.starts_with("dumpi-") && is_binary || says("fileprefix=dumpi") {
        return Some(DUMPI);
    }
    if ends("otf2") {
        return Some(OTF2);
    }
    if ends("et") && is_binary {
        return Some(CHAKRA);
    }
    let mut lines = text.lines().take(LINES).map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
    (first.starts_with("MPI_") && first.contains(':')).then_some(ALLPROF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_known_by_their_beginnings_else_by_their_names() {
        let cases: [(&str, &[u8], Option<Foreign>); 14] = [
            ("traces.otf2", b"\x00\x01", Some(OTF2)),
            ("a", b"\x03\x45OTF2\0\x03\x01", Some(OTF2)),
            ("dumpi-2026.11.28-0000.bin", b"\x00\x01", Some(DUMPI)),
            ("run.meta", b"hostname=n1\nnumprocs=4\nfileprefix=dumpi-2026\n", Some(DUMPI)),
            ("pmpi-trace-rank-0.txt", b"# htor\nMPI_Init:123.4:-:456\n", Some(ALLPROF)),
            ("a.goal", b"\x7f\x10\0\0\0\0\0\0\x02\0\0\0", Some(BINARY_GOAL)),
            ("rank.0.et", b"\x0a\x00\x12", Some(CHAKRA)),
            ("a.json", b"{ \"schema\": \"1.1.0-chakra.0.0.4\" }", Some(CHAKRA)),
            ("a.trace", b"#Paje\n%EventDef PajeDefineContainerType 0\n", Some(PAJE)),
            ("a.prv", b"#Paraver (28/11/26 at 10:00):1000_ns:1(4):1", Some(PARAVER)),
            ("report.sqlite", b"SQLite format 3\0\x10\0", Some(SQLITE)),
            ("0.trace", b"0 init\n0 compute 1e6\n", None),
            ("latency.txt", b"# OSU MPI Latency Test v7.1\n# Size  Latency (us)\n1 1.5\n", None),
            ("table.txt", b"8 1.5\n", None),
        ];
        for (name, bytes, wanted) in cases {
            assert_eq!(recognised(name, bytes), wanted, "{name}");
        }
    }
}
