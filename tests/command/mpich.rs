//! MPICH's own tests as programs: each file below `tests/programs/mpich` is one of them in the language of scenarios,
//! and says by `expect` and `assert` what the test checks. Every program ends well in a run, and in every order of
//! events where these can be counted; an erroneous one ends with exit code 1 and says why.

use std::fs;
use std::path::{Path, PathBuf};

use crate::binary::{Answer, Scratch};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/mpich");

/// The most states of an exploration.
const STATES: &str = "states=60000";

/// What is said of each erroneous program.
const ERRONEOUS: [(&str, &str); 37] = [
    ("errors/allgatherlength", "MPI_ERR_COUNT"),
    ("errors/allreducelength", "MPI_ERR_COUNT"),
    ("errors/alltoalllength", "MPI_ERR_COUNT"),
    ("errors/bcastlength", "the length of the one is 44 B, that of the other is 40 B"),
    (
        "errors/ccreate1",
        "no group is made: entry 1: rank 1 is out of range, the group has 1 processes",
    ),
    ("errors/errinstatta", "more than the 36 B that the receive has room for"),
    ("errors/errinstatts", "more than the 40 B that the receive has room for"),
    ("errors/errinstatwa", "more than the 36 B that the receive has room for"),
    ("errors/errinstatws", "more than the 40 B that the receive has room for"),
    ("errors/gatherlength", "MPI_ERR_COUNT"),
    ("errors/iallgatherlength", "MPI_ERR_COUNT"),
    ("errors/iallreducelength", "MPI_ERR_COUNT"),
    ("errors/ibcastlength", "MPI_ERR_COUNT"),
    ("errors/igatherlength", "MPI_ERR_COUNT"),
    ("errors/ireducelength", "MPI_ERR_COUNT"),
    ("errors/ireduceop", "MPI_ERR_OP"),
    ("errors/iscatterlength", "MPI_ERR_COUNT"),
    ("errors/proberank", "`src` is 2, and takes 0 to 1"),
    ("errors/reducelength", "the length of the one is 44 B, that of the other is 40 B"),
    ("errors/reduceop", "the operator of the one is sum, that of the other is prod"),
    ("errors/scancel_by_name", "the request is not that of a receive"),
    ("errors/scatterlength", "MPI_ERR_COUNT"),
    ("errors/truncmsg1", "MPI_ERR_TRUNCATE"),
    ("errors/truncmsg2", "the message has char where the receive has int32"),
    ("errors/truncmsg_mrecv", "MPI_ERR_TRUNCATE"),
    ("errors/unmatched", "deadlock"),
    ("errors/win_sync_complete", "MPI_ERR_RMA_SYNC: complete outside any access epoch"),
    ("errors/win_sync_free_at", "MPI_ERR_RMA_SYNC: free in a start epoch"),
    ("errors/win_sync_free_pt", "MPI_ERR_RMA_SYNC: free outside any access epoch, exposed by post"),
    ("errors/win_sync_lock_at", "MPI_ERR_RMA_SYNC: lock of target 0 in a start epoch"),
    ("errors/win_sync_lock_fence", "MPI_ERR_RMA_SYNC: lock of target 0 in a fence epoch"),
    (
        "errors/win_sync_lock_pt",
        "MPI_ERR_RMA_SYNC: lock of target 0 outside any access epoch, exposed by post",
    ),
    ("errors/win_sync_nested", "MPI_ERR_RMA_SYNC: start in a start epoch"),
    ("errors/win_sync_op", "MPI_ERR_RMA_SYNC: an operation of target 0 outside any access epoch"),
    ("errors/win_sync_unlock", "MPI_ERR_RMA_SYNC: unlock of target 0 outside any access epoch"),
    ("errors/winerr", "`target` is 2, and takes 0 to 1"),
    ("errors/winerr2", "takes 0 to 1"),
];

/// What is said of each erroneous program that no rank begins: its text already is refused.
const REFUSED: [(&str, &str); 8] = [
    ("refused/cas_type_check", "`double` is compared and swapped; integers are needed"),
    ("refused/cfree", "communicator `d` was freed"),
    ("refused/nb_noalias", "`a` is both buffers"),
    ("refused/nb_rerr", "`max` is not defined on `int32_pair`"),
    ("refused/noalias", "`a` is both buffers"),
    ("refused/noalias2", "`a` is both buffers"),
    ("refused/noalias3", "`a` is both buffers"),
    ("refused/rerr", "`max` is not defined on `int32_pair`"),
];

/// The programs of a group, by name.
fn programs(group: &str) -> Vec<(String, PathBuf)> {
    let files = fs::read_dir(Path::new(FOLDER).join(group)).unwrap();
    let mut all: Vec<(String, PathBuf)> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (format!("{group}/{}", path.file_stem().unwrap().display()), path))
        .collect();
    all.sort();
    all
}

/// What `run` and `explore` answer.
fn answers(name: &str, path: &Path) -> [Answer; 2] {
    let scratch = Scratch::new(&name.replace('/', "-"));
    let path = path.to_str().unwrap();
    let run = scratch.run(&["run", path, "--out", "out"]);
    [run, scratch.run(&["explore", path, "--reduce", "--budget", STATES])]
}

/// Every program of the group ends well; answers how many there are.
fn end_well(group: &str) -> usize {
    let all = programs(group);
    for (name, path) in &all {
        let [run, explored] = answers(name, path);
        assert_eq!(run.exit, 0, "{name}: {}{}", run.out, run.err);
        assert_eq!(explored.exit, 0, "{name}: {}{}", explored.out, explored.err);
    }
    all.len()
}

#[test]
fn messages_of_the_group_pt2pt() {
    assert!(end_well("pt2pt") >= 60);
}

#[test]
fn communicators_of_the_group_comm() {
    assert!(end_well("comm") >= 25);
}

#[test]
fn collectives_of_the_group_coll() {
    assert!(end_well("coll") >= 105);
}

#[test]
fn messages_in_pieces_of_the_group_datatype() {
    assert!(end_well("datatype") >= 40);
}

#[test]
fn groups_of_the_group_group() {
    assert!(end_well("group") >= 3);
}

#[test]
fn one_sided_calls_of_the_group_rma() {
    assert!(end_well("rma") >= 135);
}

#[test]
fn several_threads_of_the_group_threads() {
    assert!(end_well("threads") >= 15);
}

#[test]
fn erroneous_programs_end_by_name() {
    end_by_name("errors", &ERRONEOUS, 1);
}

#[test]
fn erroneous_programs_are_refused_by_name() {
    end_by_name("refused", &REFUSED, 3);
}

/// Every program of the group ends with this exit code, and the words that are named here.
fn end_by_name(group: &str, erroneous: &[(&str, &str)], exit: i32) {
    let all = programs(group);
    let named: Vec<&str> = erroneous.iter().map(|(name, _)| *name).collect();
    let found: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(found, named);
    for ((name, path), (_, words)) in all.iter().zip(erroneous) {
        for answer in answers(name, path) {
            let said = format!("{}{}", answer.out, answer.err);
            assert_eq!(answer.exit, exit, "{name}: {said}");
            assert!(said.contains(words), "{name}: {said}");
        }
    }
}

/// Programs about calls of which MPICH's tests, as far as they are here, have none.
#[test]
fn programs_of_single_calls_end_well() {
    assert!(end_well("../calls") >= 10);
}

/// What is said of each wrong use of a call of which MPICH's tests, as far as they are here, have none.
const MISUSES: [(&str, &str); 31] = [
    ("../calls/errors/between_groups", "the operation is not defined between two groups"),
    ("../calls/errors/comm_idup_alone", "MPI_Comm_idup"),
    ("../calls/errors/comm_idup_early", "no wait or test has ended the request of `comm_idup`"),
    ("../calls/errors/commutes_for_one", "MPI_ERR_OP"),
    ("../calls/errors/create_group_other_order", "entry 0 of the group of the one is rank"),
    ("../calls/errors/create_left_out", "MPI_ERR_GROUP"),
    ("../calls/errors/create_other_order", "MPI_Comm_create of rank 1 in line 9"),
    ("../calls/errors/free_collective", "the request is that of a collective"),
    ("../calls/errors/freed_again", "the name of a request that was freed is not used again"),
    (
        "../calls/errors/graph_one_way",
        "the graph has more edges from one rank to another than back",
    ),
    ("../calls/errors/graph_other_list", "has 1 sources and 1 destinations"),
    ("../calls/errors/graph_too_large", "3 nodes for 2 ranks"),
    ("../calls/errors/grid_too_large", "the extents make 4 positions for 2 ranks"),
    ("../calls/errors/list_of_ranks", "the list has 2, and the communicator 1 ranks"),
    ("../calls/errors/parrived_send", "request 0 is that of MPI_Psend_init: MPI_Parrived"),
    ("../calls/errors/partitioned_lengths", "it has 16 B, and the send that it matches 24 B"),
    (
        "../calls/errors/partitioned_unready",
        "2 partitions with tag 0 to rank 1, of which 1 are ready",
    ),
    ("../calls/errors/pready_inactive", "request 0 is not active: MPI_Pready"),
    ("../calls/errors/pready_plain", "request 0 has no partitioned operation: MPI_Pready"),
    ("../calls/errors/pready_range", "partition 2 of 2, which are numbered from 0: MPI_Pready"),
    ("../calls/errors/pready_twice", "partition 1 is ready already: MPI_Pready_range"),
    (
        "../calls/errors/prepared_in_two_orders",
        "was MPI_Barrier_init for one and MPI_Allreduce_init for the other",
    ),
    (
        "../calls/errors/reduce_local_in_use",
        "the operation that line 9 has begun still writes these bytes",
    ),
    ("../calls/errors/root_of_one_group", "a communicator of one group has a rank as its root"),
    ("../calls/errors/rsend_early", "the receive of a ready send is posted before the send starts"),
    ("../calls/errors/sendrecv_deadlock", "MPI_Sendrecv"),
    ("../calls/errors/sendrecv_truncated", "MPI_ERR_TRUNCATE"),
    ("../calls/errors/start_active", "the request of the statement is still open"),
    ("../calls/errors/start_plain", "MPI_ERR_REQUEST"),
    (
        "../calls/errors/store_into_piece",
        "the operation that line 14 has begun still writes these bytes",
    ),
    ("../calls/errors/two_roots", "MPI_ERR_ROOT"),
];

#[test]
fn wrong_uses_of_single_calls_end_by_name() {
    end_by_name("../calls/errors", &MISUSES, 1);
}
