//! What real programs do though MPI forbids it: notes, and a run that goes on.

use crate::binary::{Answer, Scratch};
use crate::exec::{compiled, run};

const FORBIDDEN: &str = include_str!("../programs/c/forbidden.c");

/// The program with these words, on two ranks.
fn exec(scratch: &Scratch, words: &[&str]) -> Answer {
    let options = "exec -n 2 --nodes 2 --machine broadwell-edr --output plain -- ./program";
    let options: Vec<&str> = options.split(' ').collect();
    run(scratch, &[&options[..], words].concat())
}

/// The notes of a run that goes on.
#[track_caller]
fn notes<'a>(how: &str, ran: &'a Answer) -> Vec<&'a str> {
    assert_eq!(ran.exit, 0, "{how}: {}{}", ran.out, ran.err);
    let notes = ran.err.lines().filter_map(|line| line.strip_prefix("note: "));
    notes.filter(|note| !note.starts_with("results in ")).collect()
}

/// The place of the line with this remark in it.
fn place(remark: &str) -> String {
    let remark = format!("/* {remark} */");
    let line = FORBIDDEN.lines().position(|line| line.ends_with(&remark)).expect(&remark);
    format!("(program.c:{})", line + 1)
}

#[test]
fn memory_in_two_operations_of_an_epoch_is_a_note() {
    let scratch = Scratch::new("exec-one-sided-twice");
    compiled(&scratch, FORBIDDEN);
    for (how, call) in [
        ("get and put", "MPI_Put"),
        ("put and get", "MPI_Get"),
        ("rget and rput", "MPI_Rput"),
        ("fetch into origin", "MPI_Fetch_and_op"),
        ("fetch crosswise", "MPI_Fetch_and_op"),
        ("get and accumulate", "MPI_Get_accumulate"),
        ("put and receive", "MPI_Irecv"),
    ] {
        let ran = exec(&scratch, &["one-sided", how]);
        let said = format!("{call} {}", place(how));
        let notes = notes(how, &ran);
        let is_said = |note: &&&str| note.contains(&said) && note.ends_with(", which MPI forbids");
        assert_eq!(notes.iter().filter(is_said).count(), 2, "{how}: {notes:?}");
    }
}

#[test]
fn local_functions_keep_off_the_memory_of_open_operations() {
    let scratch = Scratch::new("exec-local");
    compiled(&scratch, FORBIDDEN);
    for (how, call) in [
        ("reduce", "MPI_Reduce_local"),
        ("reduce out of", "MPI_Reduce_local"),
        ("pack", "MPI_Pack"),
        ("pack out of", "MPI_Pack"),
        ("unpack", "MPI_Unpack"),
        ("unpack out of", "MPI_Unpack"),
    ] {
        let ran = exec(&scratch, &["local", how]);
        let said =
            format!("rank 0: {call} {} touches bytes that MPI_Irecv (program.c:", place(how));
        let notes = notes(how, &ran);
        let is_said = |note: &&&str| {
            note.starts_with(&said) && note.ends_with(" still writes, which MPI forbids")
        };
        assert_eq!(notes.iter().filter(is_said).count(), 1, "{how}: {notes:?}");
    }
    let ran = exec(&scratch, &["local", "beside"]);
    let notes = notes("beside", &ran);
    assert!(notes.iter().all(|note| !note.contains("forbids")), "{notes:?}");
}
