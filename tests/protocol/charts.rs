//! Sequence charts: what two or three libraries say to each other, step by step, without a runtime.
//!
//! Each chart drives `Library` machines by hand: see `common/chart.rs`.

use crate::chart::{check_chart, neighbours, nodes};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::Handle;
use mpisim::protocols::rendezvous::Protocol;

fn buffer(bytes: u64) -> Buffer {
    Buffer { id: 0, bytes }
}

fn to(rank: u32) -> Peer {
    Peer::Rank(Rank(rank))
}

fn send(rank: u32, bytes: u64) -> Call {
    let (to, comm, mode) = (to(rank), Comm::default(), SendMode::Standard);
    Call::Send { to, tag: 7, comm, buffer: buffer(bytes), mode }
}

fn ssend(rank: u32, bytes: u64) -> Call {
    let (to, comm, mode) = (to(rank), Comm::default(), SendMode::Synchronous);
    Call::Send { to, tag: 7, comm, buffer: buffer(bytes), mode }
}

fn recv(source: Peer, bytes: u64) -> Call {
    Call::Recv { source, tag: Some(7), comm: Comm::default(), buffer: buffer(bytes) }
}

fn irecv(request: u32, source: Peer, bytes: u64) -> Call {
    let (request, comm) = (Handle(request), Comm::default());
    Call::Irecv { request, source, tag: Some(7), comm, buffer: buffer(bytes) }
}

fn iprobe(source: Peer) -> Call {
    Call::Iprobe { source, tag: Some(7), comm: Comm::default() }
}

#[test]
fn an_expected_eager_message_is_copied_in_and_out() {
    check_chart(
        &nodes(2, Protocol::RPut).call(1, recv(to(0), 8)).call(0, send(1, 8)).settle(),
        "
        0 copies 8 B from user to staging
        0 sends EAGER 8 B to 1
        0 completes
        0 returns sent
        1 copies 8 B from landing to user
        1 frees the landing buffer
        1 completes
        1 returns 8 B from 0 tag 7
        ",
    );
}

#[test]
fn an_empty_message_is_its_envelope() {
    check_chart(
        &nodes(2, Protocol::RPut).call(1, recv(to(0), 8)).call(0, send(1, 0)).settle(),
        "
        0 sends EAGER 0 B to 1
        0 completes
        0 returns sent
        1 completes
        1 returns 0 B from 0 tag 7
        ",
    );
}

/// claim: ep-sem-uq-small-large (small ones: buffered whole)
#[test]
fn an_unexpected_eager_message_is_kept_whole_and_copied_once_more() {
    check_chart(
        &nodes(2, Protocol::RPut)
            .call(0, send(1, 8))
            .call(1, iprobe(to(0)))
            .call(1, recv(to(0), 8)),
        "
        0 copies 8 B from user to staging
        0 sends EAGER 8 B to 1
        0 completes
        0 returns sent
        1 copies 8 B from landing to kept
        1 frees the landing buffer
        1 returns a message of 8 B from 0 tag 7
        1 copies 8 B from kept to user
        1 completes
        1 returns 8 B from 0 tag 7
        ",
    );
}

/// claim: ep-sem-uq-small-large (large ones: only the envelope, the rest is fetched later)
#[test]
fn an_unexpected_large_message_leaves_its_payload_with_the_sender() {
    check_chart(
        &nodes(2, Protocol::RGet)
            .call(0, send(1, 65_536))
            .call(1, iprobe(to(0)))
            .call(1, recv(to(0), 65_536))
            .settle(),
        "
        0 pins 65536 B
        0 sends RTS 65536 B to 1
        1 returns a message of 65536 B from 0 tag 7
        1 pins 65536 B
        1 reads 65536 B from 0
        1 sends FIN to 0
        1 completes
        1 returns 65536 B from 0 tag 7
        0 completes
        0 returns sent
        ",
    );
}

#[test]
fn a_synchronous_send_completes_when_its_message_is_matched() {
    check_chart(
        &nodes(2, Protocol::RPut)
            .call(0, ssend(1, 8))
            .call(1, iprobe(to(0)))
            .settle()
            .call(1, recv(to(0), 8))
            .settle(),
        "
        0 copies 8 B from user to staging
        0 sends EAGER 8 B to 1
        1 copies 8 B from landing to kept
        1 frees the landing buffer
        1 returns a message of 8 B from 0 tag 7
        1 sends MATCHED to 0
        1 copies 8 B from kept to user
        1 completes
        1 returns 8 B from 0 tag 7
        0 completes
        0 returns sent
        ",
    );
}

#[test]
fn rput_pushes_after_the_cts_with_the_fin_right_behind() {
    check_chart(
        &nodes(2, Protocol::RPut).call(1, recv(to(0), 65_536)).call(0, send(1, 65_536)).settle(),
        "
        0 sends RTS 65536 B to 1
        1 pins 65536 B
        1 sends CTS to 0
        0 pins 65536 B
        0 writes 65536 B to 1
        0 sends FIN to 1
        0 completes
        0 returns sent
        1 completes
        1 returns 65536 B from 0 tag 7
        ",
    );
}

#[test]
fn rput_immediate_pushes_payload_and_fin_at_once() {
    check_chart(
        &nodes(2, Protocol::RPutImmediate)
            .call(1, recv(to(0), 65_536))
            .call(0, send(1, 65_536))
            .settle(),
        "
        0 sends RTS 65536 B to 1
        1 pins 65536 B
        1 sends CTS to 0
        0 pins 65536 B
        0 writes 65536 B to 1, with FIN
        0 completes
        0 returns sent
        1 completes
        1 returns 65536 B from 0 tag 7
        ",
    );
}

#[test]
fn rget_costs_the_sender_one_rts() {
    check_chart(
        &nodes(2, Protocol::RGet).call(1, recv(to(0), 65_536)).call(0, send(1, 65_536)).settle(),
        "
        0 pins 65536 B
        0 sends RTS 65536 B to 1
        1 pins 65536 B
        1 reads 65536 B from 0
        1 sends FIN to 0
        1 completes
        1 returns 65536 B from 0 tag 7
        0 completes
        0 returns sent
        ",
    );
}

#[test]
fn neighbours_copy_through_cells_and_four_need_no_credit() {
    check_chart(
        &neighbours().call(1, recv(to(0), 32_769)).call(0, send(1, 32_769)).settle(),
        "
        0 sends RTS 32769 B to 1
        1 sends CTS to 0
        0 copies 16384 B from user to staging
        0 sends CHUNK 16384 B at 0 to 1
        0 copies 16384 B from user to staging
        0 sends CHUNK 16384 B at 16384 to 1
        0 copies 1 B from user to staging
        0 sends CHUNK 1 B at 32768 to 1
        0 completes
        0 returns sent
        1 copies 16384 B from landing to user
        1 frees the landing buffer
        1 copies 16384 B from landing to user
        1 frees the landing buffer
        1 copies 1 B from landing to user
        1 frees the landing buffer
        1 completes
        1 returns 32769 B from 0 tag 7
        ",
    );
}

#[test]
fn a_credit_is_sent_for_every_cell_beyond_four() {
    for cells in 1..=12 {
        let bytes = cells * 16_384;
        let chart = neighbours().call(1, recv(to(0), bytes)).call(0, send(1, bytes)).settle();
        let count = |what: &str| chart.story.iter().filter(|line| line.contains(what)).count();
        let cells = usize::try_from(cells).expect("a few cells");
        // One cell of bytes is still eager.
        let rendezvous = cells > 1;
        assert_eq!(count("sends CHUNK"), if rendezvous { cells } else { 0 });
        assert_eq!(count("sends CREDIT"), cells.saturating_sub(4));
        assert_eq!(count("frees the landing buffer"), cells);
        assert!(chart.wires.is_empty() && chart.inside == [false, false]);
    }
}

#[test]
fn a_truncated_eager_message_gives_what_fits() {
    check_chart(
        &nodes(2, Protocol::RPut).call(1, recv(to(0), 5)).call(0, send(1, 8)).settle(),
        "
        0 copies 8 B from user to staging
        0 sends EAGER 8 B to 1
        0 completes
        0 returns sent
        1 copies 5 B from landing to user
        1 frees the landing buffer
        1 completes
        1 returns 5 B from 0 tag 7, truncated
        ",
    );
}

#[test]
fn a_truncated_large_message_moves_only_what_fits() {
    check_chart(
        &nodes(2, Protocol::RPut).call(1, recv(to(0), 100)).call(0, send(1, 65_536)).settle(),
        "
        0 sends RTS 65536 B to 1
        1 pins 100 B
        1 sends CTS to 0
        0 pins 65536 B
        0 writes 100 B to 1
        0 sends FIN to 1
        0 completes
        0 returns sent
        1 completes
        1 returns 100 B from 0 tag 7, truncated
        ",
    );
}

#[test]
fn a_cancelled_receive_leaves_the_message_to_the_next_one() {
    check_chart(
        &nodes(2, Protocol::RPut)
            .call(1, irecv(3, to(0), 8))
            .call(1, Call::Cancel { request: Handle(3) })
            .call(0, send(1, 8))
            .call(1, Call::Wait { request: Handle(3) })
            .call(1, recv(to(0), 8))
            .settle(),
        "
        1 returns at once
        1 completes
        1 returns at once
        0 copies 8 B from user to staging
        0 sends EAGER 8 B to 1
        0 completes
        0 returns sent
        1 returns cancelled
        1 copies 8 B from landing to user
        1 frees the landing buffer
        1 completes
        1 returns 8 B from 0 tag 7
        ",
    );
}

#[test]
fn a_cancel_comes_too_late_for_a_matched_receive() {
    check_chart(
        &nodes(2, Protocol::RPut)
            .call(1, irecv(3, to(0), 8))
            .call(0, send(1, 8))
            .call(1, iprobe(to(0)))
            .call(1, Call::Cancel { request: Handle(3) })
            .call(1, Call::Wait { request: Handle(3) }),
        "
        1 returns at once
        0 copies 8 B from user to staging
        0 sends EAGER 8 B to 1
        0 completes
        0 returns sent
        1 copies 8 B from landing to user
        1 frees the landing buffer
        1 completes
        1 returns false
        1 returns at once
        1 returns 8 B from 0 tag 7
        ",
    );
}

#[test]
fn a_matched_probe_takes_the_message_away_from_every_other_receive() {
    let mprobe =
        Call::Mprobe { message: Handle(0), source: to(0), tag: Some(7), comm: Comm::default() };
    check_chart(
        &nodes(2, Protocol::RPut)
            .call(0, send(1, 8))
            .call(0, send(1, 4))
            .call(1, mprobe)
            .settle()
            .call(1, recv(Peer::Any, 8))
            .settle()
            .call(1, Call::Mrecv { message: Handle(0), buffer: buffer(8) }),
        "
        0 copies 8 B from user to staging
        0 sends EAGER 8 B to 1
        0 completes
        0 returns sent
        0 copies 4 B from user to staging
        0 sends EAGER 4 B to 1
        0 completes
        0 returns sent
        1 copies 8 B from landing to kept
        1 frees the landing buffer
        1 returns a message of 8 B from 0 tag 7
        1 copies 4 B from landing to user
        1 frees the landing buffer
        1 completes
        1 returns 4 B from 0 tag 7
        1 copies 8 B from kept to user
        1 completes
        1 returns 8 B from 0 tag 7
        ",
    );
}

#[test]
fn a_test_makes_one_pass() {
    check_chart(
        &nodes(2, Protocol::RPut)
            .call(1, irecv(0, to(0), 8))
            .call(1, Call::Test { request: Handle(0) })
            .call(0, send(1, 8))
            .call(1, Call::Test { request: Handle(0) }),
        "
        1 returns at once
        1 returns false
        0 copies 8 B from user to staging
        0 sends EAGER 8 B to 1
        0 completes
        0 returns sent
        1 copies 8 B from landing to user
        1 frees the landing buffer
        1 completes
        1 returns true: 8 B from 0 tag 7
        ",
    );
}

#[test]
fn messages_of_two_senders_keep_the_order_of_each() {
    let waits =
        Call::WaitAll { requests: Requests::Range { first: Handle(0), count: 3 }, statuses: true };
    check_chart(
        &nodes(3, Protocol::RPut)
            .call(2, irecv(0, Peer::Any, 8))
            .call(2, irecv(1, to(0), 8))
            .call(2, irecv(2, Peer::Any, 8))
            .call(1, send(2, 1))
            .call(0, send(2, 2))
            .call(0, send(2, 3))
            .call(2, waits)
            .settle(),
        "
        2 returns at once
        2 returns at once
        2 returns at once
        1 copies 1 B from user to staging
        1 sends EAGER 1 B to 2
        1 completes
        1 returns sent
        0 copies 2 B from user to staging
        0 sends EAGER 2 B to 2
        0 completes
        0 returns sent
        0 copies 3 B from user to staging
        0 sends EAGER 3 B to 2
        0 completes
        0 returns sent
        2 copies 1 B from landing to user
        2 frees the landing buffer
        2 completes
        2 copies 2 B from landing to user
        2 frees the landing buffer
        2 completes
        2 copies 3 B from landing to user
        2 frees the landing buffer
        2 completes
        2 returns 1 B from 1 tag 7; 2 B from 0 tag 7; 3 B from 0 tag 7
        ",
    );
}
