//! The worked examples of the document, as they print.

use super::collective::{Collective, Plan};
use super::comm::{self, Empty};
use super::intercomm::tests::example;
use super::intercomm::{Caller, Members, Thread};
use super::merge::merge;
use super::split::{KeyRule, split};
use super::window::Windows;
use mpi::envelope::Rank;
use mpi::group::Choice;

/// `printed` line by line, without what indents it here.
#[track_caller]
fn check_printed(printed: &impl std::fmt::Display, expected: &str) {
    let lines = |text: &str| -> Vec<String> {
        text.trim().lines().map(|line| line.trim().to_owned()).collect()
    };
    assert_eq!(lines(&printed.to_string()), lines(expected));
}

#[test]
fn four_processes_with_three_threads() {
    let map = comm::layout(&[3; 4], Empty::Refused).unwrap();
    check_printed(
        &map,
        "[(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3)]",
    );
}

#[test]
fn broadcast_from_endpoint_4_of_4x3() {
    let map = comm::layout(&[3; 4], Empty::Refused).unwrap();
    let plan = Plan::new(Collective::Bcast { root: Rank(4) }, &map).unwrap();
    check_printed(
        &plan,
        "
        bcast with root 4: 12 endpoints, 4 in MPI's bcast, its root is process 1
          process 0: 0 calls MPI; 0 -> [1, 2]
          process 1: 4 calls MPI; 4 -> [3, 5]
          process 2: 6 calls MPI; 6 -> [7, 8]
          process 3: 9 calls MPI; 9 -> [10, 11]
        ",
    );
}

#[test]
fn allreduce_on_4x3() {
    let map = comm::layout(&[3; 4], Empty::Refused).unwrap();
    check_printed(
        &Plan::new(Collective::Allreduce, &map).unwrap(),
        "
        allreduce: 12 endpoints, 4 in MPI's allreduce
          process 0: [1, 2] -> 0; 0 calls MPI; 0 -> [1, 2]
          process 1: [4, 5] -> 3; 3 calls MPI; 3 -> [4, 5]
          process 2: [7, 8] -> 6; 6 calls MPI; 6 -> [7, 8]
          process 3: [10, 11] -> 9; 9 calls MPI; 9 -> [10, 11]
        ",
    );
}

#[test]
fn split_of_2x2_into_two_colors() {
    let map = comm::layout(&[2, 2], Empty::Refused).unwrap();
    let choice = |(color, key)| Choice { color: Some(color), key };
    let choices: Vec<Choice> = [0, 1, 1, 0].into_iter().zip(0..).map(choice).collect();
    let parts = split(&map, &choices, KeyRule::InProcess).unwrap();
    check_printed(&parts[0], "color 0: old ranks [0, 3]");
    check_printed(&parts[1], "color 1: old ranks [1, 2]");
}

#[test]
fn the_call_that_creates_an_intercommunicator() {
    let threads = |ranks: &[u32]| {
        let thread = |rank: &u32| Thread { process: rank / 3, thread: rank % 3 };
        Members::in_order(ranks.iter().map(thread).collect()).unwrap().into()
    };
    let call = |ranks: &[u32], leader, remote| Caller {
        members: threads(ranks),
        leader: Rank(leader),
        remote_leader: Rank(remote),
        tag: 0,
    };
    check_printed(&call(&[0, 2, 4], 2, 9), "leader 2, remote leader 9");
    check_printed(&call(&[1, 3, 5, 9], 3, 4), "leader 3, remote leader 4");
}

#[test]
fn rank_maps_of_an_intercommunicator() {
    check_printed(
        &example(),
        "
        A: local_rank_map [(1, 0), (0, 1), (2, 1), (4, 1)]
        A: remote_rank_map [(0, 0), (1, 1), (3, 1), (5, 1)]
        B: local_rank_map [(0, 0), (1, 1), (3, 1), (5, 1)]
        B: remote_rank_map [(1, 0), (0, 1), (2, 1), (4, 1)]
        A': rank_map [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
        A': intercomm_rank_map [(0, 0), (1, 0)]
        B': rank_map [(0, 0), (1, 0)]
        B': intercomm_rank_map [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
        process 0 joins B' (case 3a)
        process 1 joins A' (case 2)
        process 2 joins A' (case 1)
        process 3 joins A' (case 1)
        ",
    );
}

#[test]
fn its_merge() {
    let merged = merge(&example(), [&[false; 4], &[true; 4]]).unwrap();
    check_printed(&merged, "[A0, A1, A2, A3, B0, B1, B2, B3]");
}

#[test]
fn windows_of_five_clients_and_a_server() {
    check_printed(
        &Windows::new(&[2, 3]),
        "
        N = 3: 5 client windows, 3 server windows
          i = 0: clients [EP 0, EP 2], server A
          i = 1: clients [EP 1, EP 3], server B
          i = 2: clients [null, EP 4], server C
        ",
    );
}
