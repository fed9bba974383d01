use super::*;
use engine::streams::Streams;

/// Two threads on process 0, three on process 1, the server is process 2.
fn example() -> Windows {
    Windows::new(&[2, 3])
}

// claim: xep-win-ex-N
#[test]
fn the_example_has_five_client_and_three_server_windows() {
    let windows = example();
    assert_eq!((windows.server_windows(), windows.client_windows()), (3, 5));
}

// claim: xep-win-ex-null
#[test]
fn process_0_gives_a_null_buffer_to_the_last_window() {
    let rounds = example().rounds();
    assert_eq!(rounds[2], Round { index: 2, buffers: vec![None, Some(Rank(4))] });
    assert!(rounds[..2].iter().all(|round| round.buffers.iter().all(Option::is_some)));
}

// claim: xep-win-ex-ep4
#[test]
fn endpoint_4_is_thread_2_of_process_1_and_uses_window_c() {
    let access = example().access(Operation::Put, Party::Client(Rank(4)), Party::Server).unwrap();
    assert_eq!(access, Access { operation: Operation::Put, route: Route { window: 2, client: 1 } });
    assert_eq!(letter(access.route.window), "C");
}

// claim: xep-win-N
// claim: xep-win-loop
#[test]
fn there_are_as_many_creations_as_threads_and_each_client_is_in_one() {
    let mut stream = Streams::new(11).stream("windows", 0);
    for _ in 0..100 {
        let processes = stream.below(5);
        let threads: Vec<u32> =
            (0..processes).map(|_| u32::try_from(stream.below(5)).unwrap()).collect();
        let windows = Windows::new(&threads);
        let rounds = windows.rounds();
        assert_eq!(rounds.len(), threads.iter().max().map_or(0, |most| *most as usize));
        assert_eq!(windows.server_windows() as usize, rounds.len());
        let mut shown = Vec::new();
        for (round, index) in rounds.iter().zip(0..) {
            // One server window per creation, so all of them are views of one memory.
            assert_eq!(round.index, index);
            for (buffer, process) in round.buffers.iter().zip(0_usize..) {
                assert_eq!(buffer.is_some(), index < threads[process]);
                shown.extend(*buffer);
            }
        }
        shown.sort_unstable();
        assert_eq!(shown, (0..windows.client_windows()).map(Rank).collect::<Vec<_>>());
    }
}

// claim: xep-win-route
// claim: xep-win-ops
#[test]
fn every_operation_of_thread_i_goes_through_window_i() {
    let windows = example();
    for operation in Operation::ALL {
        for (client, thread, process) in [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1), (4, 2, 1)] {
            let client = Party::Client(Rank(client));
            for (origin, target) in [(client, Party::Server), (Party::Server, client)] {
                let access = windows.access(operation, origin, target).unwrap();
                let route = Route { window: thread, client: process };
                assert_eq!(access, Access { operation, route });
            }
        }
    }
    let mut names = Operation::ALL.map(|operation| format!("{operation:?}"));
    names.sort_unstable();
    let offered = ["Accumulate", "CompareAndSwap", "FetchAndOp", "Get", "GetAccumulate", "Put"];
    assert_eq!(names, offered);
}

// claim: xep-win-mode
#[test]
fn two_clients_have_no_window() {
    let windows = example();
    let refused =
        |origin, target| windows.access(Operation::Get, origin, target).unwrap_err().to_string();
    let client = |rank| Party::Client(Rank(rank));
    assert_eq!(
        refused(client(0), client(3)),
        "endpoints 0 and 3 are both clients; windows lie between a client and the server"
    );
    assert_eq!(refused(client(5), Party::Server), "client 5 is out of range: there are 5");
    assert_eq!(
        refused(Party::Server, Party::Server),
        "the server accesses itself; windows lie between a client and the server"
    );
}

#[test]
fn windows_have_letters_as_far_as_they_go() {
    assert_eq!([0, 2, 25, 26].map(letter), ["A", "C", "Z", "W26"]);
}
