//! Programs of processes with several threads: each thread executes its own, in a run and in every order of events.

use crate::both::{ends_well, fails, is_refused};

/// A program of two nodes whose threads are addressed so.
fn program(ranks: &str, processes: u32, body: &str) -> String {
    format!(
        "{{ \"schema\": 1, \"title\": \"threads\", \"source\": \"test\", \"machine\": \"ideal\", \"nodes\": 2,
  \"mpi\": {{ \"payload\": \"real\" }}, \"ranks\": {{ \"threads_per_process\": 2{ranks} }},
  \"workload\": {{ \"kind\": \"program\", \"processes\": {processes},
    \"buffers\": [ {{ \"name\": \"b\", \"size\": \"8 B\" }}, {{ \"name\": \"c\", \"size\": \"8 B\" }} ],
    \"body\": [ {body} ] }} }}"
    )
}

const STORE: &str =
    "{ \"op\": \"store\", \"buf\": \"b\", \"type\": \"int64\", \"values\": [ \"= 10 + thread\" ] }";

/// Each thread of rank 0 sends its number; the threads of rank 1 receive them with these arguments.
fn two_messages(send: &str, receive: &str, expected: &str) -> String {
    format!(
        "{{ \"op\": \"if\", \"condition\": \"= rank == 0\", \"then\": [ {STORE},
          {{ \"op\": \"send\", \"to\": 1, \"buf\": \"b\", \"size\": \"8 B\"{send} }} ], \"else\": [
          {{ \"op\": \"irecv\", \"src\": 0, \"buf\": \"b\", \"max\": \"8 B\", \"req\": \"r\"{receive} }},
          {{ \"op\": \"wait\", \"req\": \"r\", \"expect\": {{ \"source\": 0 }} }},
          {{ \"op\": \"load\", \"buf\": \"b\", \"type\": \"int64\", \"expect\": {{ \"values\": [ \"{expected}\" ] }} }} ] }}"
    )
}

#[test]
fn threads_share_the_rank_of_their_process() {
    let (send, receive) = (", \"tag\": \"= thread\"", ", \"tag\": \"= threads - 1 - thread\"");
    let right = two_messages(send, receive, "= 11 - thread");
    ends_well("threads_tags", &program("", 2, &right));
    let wrong = two_messages(send, receive, "= 10");
    fails("threads_wrong", &program("", 2, &wrong), &["rank 1, thread 0, in line"]);
}

#[test]
fn each_thread_has_a_duplicate_of_the_world() {
    let body = two_messages("", "", "= 10 + thread");
    let duplicated = ", \"addressing\": \"duplicated\"";
    ends_well("threads_dup", &program(duplicated, 2, &body));
    // Both threads of a process make a communicator, and free it.
    let made = format!(
        "{{ \"op\": \"comm_dup\", \"new\": \"d\" }}, {}, {{ \"op\": \"comm_free\", \"comm\": \"d\" }}",
        two_messages(", \"comm\": \"d\"", ", \"comm\": \"d\"", "= 10 + thread")
    );
    ends_well("threads_made", &program(duplicated, 2, &made));
}

/// A ring of all ranks, and the sum of their numbers.
const RING: &str = "{ \"op\": \"store\", \"buf\": \"b\", \"type\": \"int64\", \"values\": [ \"= 10 + rank\" ] },
      { \"op\": \"isend\", \"to\": \"= (rank + 1) % size\", \"buf\": \"b\", \"size\": \"8 B\", \"req\": \"s\" },
      { \"op\": \"recv\", \"src\": \"= (rank + 3) % size\", \"buf\": \"c\", \"max\": \"8 B\" },
      { \"op\": \"wait\", \"req\": \"s\" },
      { \"op\": \"load\", \"buf\": \"c\", \"type\": \"int64\", \"expect\": { \"values\": [ \"= 10 + (rank + 3) % size\" ] } },
      { \"op\": \"allreduce\", \"type\": \"int64\", \"count\": 1, \"sendbuf\": \"b\", \"recvbuf\": \"c\" },
      { \"op\": \"load\", \"buf\": \"c\", \"type\": \"int64\", \"expect\": { \"values\": [ \"= 10 * size + size * (size - 1) / 2\" ] } }";

#[test]
fn each_thread_is_a_rank_of_endpoints() {
    for creation in ["dynamic", "static"] {
        let ranks = format!(
            ", \"addressing\": \"endpoints\", \"endpoints\": {{ \"creation\": \"{creation}\" }}"
        );
        ends_well(&format!("threads_{creation}"), &program(&ranks, 4, RING));
    }
    let uneven = program(", \"addressing\": \"endpoints\"", 3, RING);
    is_refused("threads_uneven", &uneven, &["one for each of the 2 endpoints of every process"]);
}

#[test]
fn windows_belong_to_processes_of_one_thread() {
    let body = "{ \"op\": \"win_create\", \"new\": \"w\", \"size\": \"8 B\" }, { \"op\": \"win_free\", \"win\": \"w\" }";
    let words = ["calls `MPI_Win_create`: windows need processes of one thread"];
    is_refused("threads_windows", &program("", 2, body), &words);
}
