//! Memory that a process hands to MPI by two calls at once: a note where MPI forbids it, and the run goes on.

use crate::binary::Scratch;
use crate::exec::{compiled, run};

const PROGRAM: &str = include_str!("../programs/c/in_use.c");

/// The line of the program in which this stands first, behind the words of a way to run it.
fn line(way: &str, text: &str) -> String {
    let from = PROGRAM.find(&format!("\"{way}\"")).expect(way);
    let at = from + PROGRAM[from..].find(text).expect(text);
    format!("program.c:{}", PROGRAM[..at].matches('\n').count() + 1)
}

#[test]
fn memory_that_is_handed_to_mpi_twice_is_a_note_with_both_lines() {
    let scratch = Scratch::new("exec-in-use");
    compiled(&scratch, PROGRAM);
    let words =
        ["exec", "-n", "2", "--machine", "broadwell-edr", "--nodes", "2", "--", "./program"];
    for (way, [access, open], still) in [
        ("received into a send", ["MPI_Irecv", "MPI_Isend"], "reads"),
        ("sent out of a get", ["MPI_Send", "MPI_Get"], "writes"),
        ("received into a partition", ["MPI_Recv", "MPI_Pready"], "reads"),
    ] {
        let ran = run(&scratch, &[&words[..], &[way]].concat());
        assert_eq!(ran.exit, 0, "{way}: {}{}", ran.out, ran.err);
        let first = if way.ends_with("partition") { "MPI_Recv(x, 2" } else { access };
        let said = format!(
            "note: rank 0: {access} ({}) touches bytes that {open} ({}) still {still}, which MPI forbids\n",
            line(way, first),
            line(way, open),
        );
        assert_eq!(ran.err.matches("MPI forbids").count(), 1, "{way}: {}", ran.err);
        assert!(ran.err.contains(&said), "{way}: {}\n{said}", ran.err);
    }
    let way = "both buffers are one";
    let ran = run(&scratch, &[&words[..], &[way]].concat());
    assert_eq!(ran.exit, 0, "{way}: {}{}", ran.out, ran.err);
    let said = format!(", MPI_Allreduce ({}): what it gives", line(way, "MPI_Allreduce"));
    assert!(ran.err.contains(&said), "{way}: {}\n{said}", ran.err);
    assert_eq!(ran.err.matches("MPI forbids").count(), 1, "{way}: {}", ran.err);
    let ran = run(&scratch, &[&words[..], &["allowed"]].concat());
    assert_eq!(ran.exit, 0, "allowed: {}{}", ran.out, ran.err);
    assert!(!ran.err.contains("MPI forbids"), "{}", ran.err);
}
