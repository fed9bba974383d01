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

#[test]
fn operations_that_are_open_at_the_end_are_a_note() {
    let scratch = Scratch::new("exec-open");
    compiled(&scratch, FORBIDDEN);
    for (how, said) in [
        ("receives", "3 in all: 3 of MPI_Irecv "),
        ("started", "1 in all: 1 of MPI_Start "),
        ("large", "2 in all: 1 of MPI_Irecv "),
        ("under way", "2 in all: 1 of MPI_Irecv "),
        ("matched", "1 in all: 1 of MPI_Irecv "),
    ] {
        let ran = exec(&scratch, &["open", how]);
        let notes = notes(how, &ran);
        for rank in 0..2 {
            let said = format!(
                "rank {rank} calls MPI_Finalize with requests that it has not completed, {said}{}",
                place(how)
            );
            let count = notes.iter().filter(|note| note.starts_with(&said)).count();
            assert_eq!(count, 1, "{how}: {said} {notes:?}");
        }
    }
}

/// Both ranks end while a large message of each is under way, and either of them may move it.
#[test]
fn a_transfer_that_is_open_at_the_end_is_a_note_under_each_protocol() {
    let scratch = Scratch::new("exec-under-way");
    compiled(&scratch, FORBIDDEN);
    for (nodes, scheme) in [
        ("2", "mpi.rendezvous=rput"),
        ("2", "mpi.rendezvous=rget"),
        ("2", "mpi.rendezvous=rput_immediate"),
        ("1", "mpi.rendezvous_intra=rput"),
        ("1", "mpi.rendezvous_intra=rget"),
        ("1", "mpi.rendezvous_intra=coop_p2p"),
        ("1", "mpi.rendezvous_intra=coop_load"),
    ] {
        let options = ["exec", "-n", "2", "--machine", "broadwell-edr", "--nodes", nodes];
        let program = ["--set", scheme, "--", "./program", "open", "under way"];
        let ran = run(&scratch, &[&options[..], &program].concat());
        let notes = notes(scheme, &ran);
        let is_said = |note: &&&str| note.contains("requests that it has not completed, 2 in all");
        assert_eq!(notes.iter().filter(is_said).count(), 2, "{scheme}: {notes:?}");
    }
}

#[test]
fn messages_that_are_never_received_are_a_note_in_words_of_mpi() {
    let scratch = Scratch::new("exec-never-received");
    compiled(&scratch, FORBIDDEN);
    let one = "a message of 8 B from rank 0 to rank 1 with tag 5 was never received";
    for (how, said) in [
        ("one", one),
        ("late", one),
        ("probed", one),
        ("collective", "a message of MPI_Bcast of 8 B from rank 0 to rank 1 was never received"),
        ("split", one),
        (
            "several",
            "4 messages of 8 B from rank 0 to rank 1 with tag 5 were never received; a message of 16 B from rank 0 to rank 1 \
             with tag 6 was never received",
        ),
        (
            "tags",
            "a message of 8 B from rank 0 to rank 1 with tag 0 was never received; a message of 8 B from rank 0 to rank 1 \
             with tag 1 was never received; a message of 8 B from rank 0 to rank 1 with tag 2 was never received; a message \
             of 8 B from rank 0 to rank 1 with tag 3 was never received; and 5 messages more",
        ),
    ] {
        let ran = exec(&scratch, &["open", how]);
        assert_eq!(notes(how, &ran), [said], "{how}");
    }
}
