//! Single calls of real programs: datatypes, operators, buffers that change, counts that no program means.

use crate::binary::{Answer, Scratch};
use crate::exec::{compiled, run};

/// The program with these words on so many ranks of two nodes.
fn exec(scratch: &Scratch, ranks: &str, words: &[&str]) -> Answer {
    let nodes = if ranks == "1" { "1" } else { "2" };
    let options = ["exec", "-n", ranks, "--machine", "broadwell-edr", "--nodes", nodes];
    run(scratch, &[&options[..], &["--output", "plain", "--", "./program"], words].concat())
}

const DATATYPES: &str = include_str!("../programs/c/datatypes.c");
const RANDOM_TYPES: &str = include_str!("../programs/c/random_types.c");

/// The bounds that C gives to structures, and that MPI gives to arrays.
const BOUNDS: &str = "\
wrong: 0
int and pair: lower bound 0, extent 24, size 12
int and resized pair: lower bound 16, extent 8, size 12
3 pairs: lower bound 0, extent 96, size 60
array of nothing: lower bound 0, extent 66, size 0
no part of an array: lower bound 0, extent 8, size 0
";

#[test]
fn a_structure_has_the_bounds_that_c_gives_it() {
    let scratch = Scratch::new("exec-datatypes");
    compiled(&scratch, DATATYPES);
    let ran = exec(&scratch, "1", &[]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with(BOUNDS), "{}", ran.out);
}

/// What MPICH 5.0.2 and Open MPI 5.0.11 print for these seeds: pairs in structures, and one array without data.
const RANDOM: [&str; 8] = [
    "280 size 32 lb -3 ex 60 tlb 5 tex 36 pack 64 7d19de25 send 64 7d19de25",
    "325 size 72 lb 0 ex 2496 tlb 55 tex 725 pack 144 a896d4bf send 144 a896d4bf",
    "358 size 104 lb 0 ex 320 tlb 14 tex 282 pack 208 eb50a357 send 208 eb50a357",
    "407 size 52 lb 0 ex 360 tlb 40 tex 359 pack 156 74929a8f send 156 74929a8f",
    "522 size 20 lb 30 ex 64 tlb 30 tex 62 pack 20 f575a623 send 20 f575a623",
    "889 size 0 lb 0 ex 66 tlb 0 tex 0",
    "967 size 18 lb 23 ex 32 tlb 23 tex 32 pack 36 8cad1443 send 36 8cad1443",
    "1080 size 36 lb 8 ex 144 tlb 8 tex 143 pack 36 25705157 send 36 25705157",
];

#[test]
fn nested_types_are_those_of_mpich_and_open_mpi() {
    let scratch = Scratch::new("exec-random-types");
    compiled(&scratch, RANDOM_TYPES);
    let seeds = RANDOM.map(|line| line.split(' ').next().expect("a line begins with its seed"));
    let ran = exec(&scratch, "1", &seeds);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let lines: Vec<&str> = ran.out.lines().take(RANDOM.len()).collect();
    assert_eq!(lines, RANDOM);
}

/// Basic elements: a complex number and a `long double` are one, a pair is two.
const ELEMENTS: &str = "\
INT: 3
LONG_DOUBLE: 3
C_FLOAT_COMPLEX: 3
C_DOUBLE_COMPLEX: 3
C_LONG_DOUBLE_COMPLEX: 3
INTEGER16: 3
LOGICAL16: 3
REAL16: 3
COMPLEX32: 3
2INT: 6
2REAL: 6
2DOUBLE_PRECISION: 6
SHORT_INT: 6
LONG_DOUBLE_INT: 6
two long doubles: 4
one of two: 3, in part
two pairs: 8
half of a pair: 1, in part
structures: 6
the first member: 1, in part
inside: 1 1
";

#[test]
fn elements_of_a_message_are_those_of_named_types() {
    let scratch = Scratch::new("exec-elements");
    compiled(&scratch, include_str!("../programs/c/elements.c"));
    let ran = exec(&scratch, "1", &[]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with(ELEMENTS), "{}", ran.out);
}

/// What the sends in buffered mode return where no buffer is attached, and where one is.
const BUFFERED: &str = "\
MPI_Bsend: no buffer
MPI_Ibsend: no buffer
to no process: done
MPI_Bsend_init: done
MPI_Start: no buffer
MPI_Startall: no buffer
with a buffer: done
detached: no buffer
";

#[test]
fn a_send_in_buffered_mode_without_a_buffer_is_an_error_that_returns() {
    let scratch = Scratch::new("exec-buffered");
    compiled(&scratch, include_str!("../programs/c/buffered.c"));
    let ran = exec(&scratch, "1", &[]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with(BUFFERED), "{}", ran.out);
    let fatal = exec(&scratch, "1", &["fatal"]);
    assert_eq!(fatal.exit, 1, "{}{}", fatal.out, fatal.err);
    let said =
        "rank 0, MPI_Bsend (program.c:18): no buffer is attached for a send in buffered mode";
    assert!(fatal.out.contains(said), "{}", fatal.out);
}

/// MPI's table of operators, one letter each: greatest, least, sum, product, logical and, or, exclusive or, bits of the
/// three, place of the least and of the greatest; a point where MPI defines none. Beyond it characters are numbers, and
/// numbers of several languages truth values, as in MPICH.
const OPERATORS: &str = "\
AISPaoxAOX..: CHAR SHORT INT LONG LONG_LONG SIGNED_CHAR UNSIGNED_CHAR UNSIGNED_SHORT UNSIGNED UNSIGNED_LONG \
UNSIGNED_LONG_LONG INT8_T INT16_T INT32_T INT64_T UINT8_T UINT16_T UINT32_T UINT64_T AINT COUNT OFFSET
AISP...AOX..: INTEGER INTEGER1 INTEGER2 INTEGER4 INTEGER8
AISP........: FLOAT DOUBLE LONG_DOUBLE REAL DOUBLE_PRECISION REAL4 REAL8
....aox.....: C_BOOL CXX_BOOL LOGICAL LOGICAL1 LOGICAL2 LOGICAL4 LOGICAL8 LOGICAL16
..SP........: C_FLOAT_COMPLEX C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX CXX_FLOAT_COMPLEX CXX_DOUBLE_COMPLEX \
CXX_LONG_DOUBLE_COMPLEX COMPLEX DOUBLE_COMPLEX COMPLEX8 COMPLEX16
.......AOX..: BYTE
............: PACKED WCHAR CHARACTER
..........nm: FLOAT_INT DOUBLE_INT LONG_INT SHORT_INT LONG_DOUBLE_INT 2INT 2INTEGER 2REAL 2DOUBLE_PRECISION
";

#[cfg(target_arch = "x86_64")]
#[test]
fn each_operator_takes_the_types_of_mpis_table() {
    let scratch = Scratch::new("exec-operators");
    compiled(&scratch, include_str!("../programs/c/operators.c"));
    let ran = exec(&scratch, "3", &[]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with(OPERATORS), "{}", ran.out);
    for said in ["greatest and where: 2.5 4\n", "swapped: 1\n", "at the end: 77\n", ", wrong: 0\n"]
    {
        assert!(ran.out.contains(said), "{said}{}", ran.out);
    }
    let note = "note: MPI defines no operator on MPI_CHAR: ";
    assert_eq!(ran.err.matches(note).count(), 1, "once a run: {}", ran.err);
}

const WRONG_OPERATOR: &str = "\
#include <mpi.h>
int main(int argc, char **argv) {
    char from[16] = {0}, into[16];
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    if (argc > 2) MPI_Type_set_name(pair, argv[2]);
    MPI_Type_commit(&pair);
    MPI_Allreduce(from, into, 1, argv[1][0] == 'b' ? MPI_BYTE : pair, MPI_SUM, MPI_COMM_WORLD);
    return 0;
}
";

#[test]
fn an_operator_that_is_not_defined_is_said_with_the_name_of_the_type() {
    let scratch = Scratch::new("exec-wrong-operator");
    compiled(&scratch, WRONG_OPERATOR);
    for (words, said) in [
        (&["byte"][..], "MPI does not define MPI_SUM on MPI_BYTE"),
        (&["pair"], "MPI does not define MPI_SUM on a datatype that the program has made"),
        (&["pair", "two ints"], "MPI does not define MPI_SUM on two ints"),
    ] {
        let ran = exec(&scratch, "1", words);
        assert_eq!(ran.exit, 1, "{}", ran.err);
        let said = format!("rank 0, MPI_Allreduce (program.c:9): {said}\n");
        assert!(ran.out.contains(&said), "{said}{}", ran.out);
    }
}

/// Sends out of a buffer that it changes before the sends are complete.
const CHANGED: &str = "\
#include <mpi.h>
#include <stdio.h>
static int numbers[40000];
int main(int argc, char **argv) {
    int rank, count = argc > 1 ? 40000 : 2, wrong = 0;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++) {
        if (rank == 0) {
            numbers[0] = numbers[count - 1] = 7 + i;
            MPI_Isend(numbers, count, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Recv(numbers, count, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += numbers[0] != 7 + i || numbers[count - 1] != 7 + i;
        }
    }
    if (rank == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    else printf(\"wrong: %d\\n\", wrong);
    MPI_Finalize();
    return 0;
}
";

#[test]
fn an_eager_message_has_the_bytes_of_its_call_and_a_large_one_may_not_change() {
    let scratch = Scratch::new("exec-changed");
    compiled(&scratch, CHANGED);
    let eager = exec(&scratch, "2", &[]);
    assert_eq!(eager.exit, 0, "{}{}", eager.out, eager.err);
    assert!(eager.out.starts_with("wrong: 0\n"), "{}", eager.out);
    let note =
        "note: rank 0 changes what MPI_Isend (program.c:12) sends before the send is complete";
    assert_eq!(eager.err.matches(note).count(), 1, "{}", eager.err);
    let large = exec(&scratch, "2", &["large"]);
    assert_eq!(large.exit, 1, "{}{}", large.out, large.err);
    let said = "rank 0, MPI_Waitall (program.c:18): the 160000 bytes that MPI_Isend (program.c:12) sends were changed";
    assert!(large.out.contains(said), "{}", large.out);
}

#[test]
fn files_are_refused_by_an_error_that_returns() {
    let scratch = Scratch::new("exec-files");
    compiled(&scratch, include_str!("../programs/c/files.c"));
    let ran = exec(&scratch, "2", &[]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let printed = "open 1, delete 1: 55; no file 1; without one: 1, 1\nerrors return: 1\n";
    assert!(ran.out.starts_with(printed), "{}", ran.out);
    let note = "note: MPI_File_open (program.c:20) is refused, and the program goes on: the simulator does not carry files\n";
    assert_eq!(ran.err.matches(note).count(), 1, "{}", ran.err);
    let fatal = exec(&scratch, "2", &["fatal"]);
    assert_eq!(fatal.exit, 1, "{}{}", fatal.out, fatal.err);
    let said = "MPI_File_open (program.c:20): the simulator does not carry files\n";
    assert!(fatal.out.contains(said), "{}", fatal.out);
}

#[test]
fn what_takes_no_simulated_time_is_said_once() {
    let scratch = Scratch::new("exec-untimed");
    compiled(&scratch, include_str!("../programs/c/untimed.c"));
    let note = "note: packing, unpacking and combining took no simulated time in MPI_Bcast (4 times, 32000 bytes in \
                all), MPI_Pack (1 times, 8000 bytes in all), MPI_Reduce_local (1 times, 8000 bytes in all), MPI_Unpack \
                (1 times, 8000 bytes in all)\n";
    let packs = exec(&scratch, "4", &["packs"]);
    assert_eq!(packs.exit, 0, "{}{}", packs.out, packs.err);
    assert_eq!(packs.err.matches(note).count(), 1, "{}", packs.err);
    // The ranks that read them between MPI_Init and MPI_Finalize, where they are the system's.
    let note = "note: rank 1 reads clocks of this host, as 2 more do, which know nothing of simulated time";
    let clocks = exec(&scratch, "4", &["clocks"]);
    assert_eq!(clocks.exit, 0, "{}{}", clocks.out, clocks.err);
    assert_eq!(clocks.err.matches(note).count(), 1, "{}", clocks.err);
    let words = ["exec", "-n", "4", "--machine", "broadwell-edr", "--clock", "simulated"];
    let simulated = run(&scratch, &[&words[..], &["--", "./program", "clocks"]].concat());
    assert_eq!(simulated.exit, 0, "{}{}", simulated.out, simulated.err);
    let quiet = ["before", "after", "wtime", "cpu"].map(|how| exec(&scratch, "4", &[how]));
    for ran in quiet.iter().chain([&simulated]) {
        assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
        assert!(!ran.err.contains("simulated time"), "{}", ran.err);
    }
}

#[test]
fn counts_that_no_program_means_end_in_a_sentence() {
    let scratch = Scratch::new("exec-absurd");
    compiled(&scratch, include_str!("../programs/c/absurd.c"));
    let returned = exec(&scratch, "1", &["returned"]);
    assert_eq!(returned.exit, 0, "{}{}", returned.out, returned.err);
    let classes = returned.out.lines().filter(|line| line.contains(": "));
    let classes: Vec<&str> = classes.take_while(|line| !line.starts_with("./program")).collect();
    assert_eq!(classes.len(), 11, "{}", returned.out);
    assert!(classes.iter().all(|line| line.contains(": MPI_ERR_")), "{}", returned.out);
    // What the program has no memory for ends the run, by the call; the others find an error, or nothing to do.
    for (how, exit, said) in [
        (
            "testany",
            1,
            " is longer than the memory of rank 0 from there on; its last call was MPI_Testany (program.c:",
        ),
        (
            "waitall",
            1,
            " is longer than the memory of rank 0 from there on; its last call was MPI_Waitall (program.c:",
        ),
        ("startall", 0, "digest "),
        ("send", 1, "its last call was MPI_Send_c (program.c:"),
        ("bcast", 1, "its last call was MPI_Bcast_c (program.c:"),
        ("pack", 1, "its last call was MPI_Pack_c (program.c:"),
        ("group", 1, "its last call was MPI_Group_incl (program.c:"),
    ] {
        let ran = exec(&scratch, "1", &[how]);
        assert_eq!(ran.exit, exit, "{how}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(said), "{how}: {}{}", ran.out, ran.err);
    }
}

const LEFT_OVER: &str = "\
#include <mpi.h>
int main(int argc, char **argv) {
    int from, into;
    MPI_Request requests[3];
    MPI_Init(&argc, &argv);
    MPI_Irecv(&from, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(&into, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[1]);
    MPI_Ibarrier(MPI_COMM_SELF, &requests[2]);
    MPI_Finalize();
    return 0;
}
";

#[test]
fn requests_left_over_are_counted_by_the_name_of_their_call() {
    let scratch = Scratch::new("exec-left-over");
    compiled(&scratch, LEFT_OVER);
    let note =
        "note: rank 0 calls MPI_Finalize with requests that it has not completed, 3 in all: ";
    let lines = "1 of MPI_Ibarrier (program.c:8), 1 of MPI_Irecv (program.c:6), 1 of MPI_Irecv (program.c:7)\n";
    let ran = exec(&scratch, "1", &[]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains(&format!("{note}{lines}")), "{}", ran.err);
    let words = ["cc", "--", "-O1", "-g0", "program.c", "-o", "program"];
    assert_eq!(run(&scratch, &words).exit, 0);
    let ran = exec(&scratch, "1", &[]);
    assert!(ran.err.contains(&format!("{note}1 of MPI_Ibarrier, 2 of MPI_Irecv\n")), "{}", ran.err);
}

#[test]
fn a_rank_is_one_program_that_calls_mpi() {
    let scratch = Scratch::new("exec-second");
    compiled(&scratch, LEFT_OVER);
    let words = ["exec", "-n", "1", "--machine", "broadwell-edr", "--", "sh", "-c"];
    let one = run(&scratch, &[&words[..], &["true; ./program; true"]].concat());
    assert_eq!(one.exit, 0, "{}{}", one.out, one.err);
    let two = run(&scratch, &[&words[..], &["./program; ./program"]].concat());
    assert_eq!(two.exit, 1, "{}{}", two.out, two.err);
    let said = "rank 0 starts a second program that calls MPI: a rank is one such program; its last call was MPI_Finalize";
    assert!(two.out.contains(said), "{}", two.out);
}

#[cfg(target_os = "linux")]
#[test]
fn a_small_stack_of_the_user_is_no_matter() {
    let scratch = Scratch::new("exec-stack");
    let program = env!("CARGO_BIN_EXE_mpisim");
    let words = "exec -n 2 --machine broadwell-edr -- ./absent";
    let line = format!("ulimit -s 64 && exec '{program}' {words}");
    let mut shell = std::process::Command::new("sh");
    let ran = Answer::from(shell.args(["-c", &line]).current_dir(&scratch.0).output().unwrap());
    assert!(ran.err.contains("there is no program `./absent`"), "{}{}", ran.out, ran.err);
}
