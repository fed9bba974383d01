//! The HCA between processes of one node: what its loopback carries, and whom it slows.

use crate::common::{Script, job, model, run};
use mpisim::experiment::plan::{Point, Request, load};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use mpisim::protocols::contract::Next;
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme, coop_hca};
use mpisim::runtime::account::Part;
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::shipped;
use mpisim::units::{Bandwidth, Bytes, Time, TimeDelta};

const LARGE: u64 = 16 << 20;

fn send(to: u32) -> Vec<Next<Call>> {
    let (comm, mode) = (Comm::default(), SendMode::Standard);
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id: 0, bytes: LARGE });
    vec![Next::Call(Call::Send { to, tag: 0, comm, buffer, mode }), Next::Mark(0)]
}

fn recv(source: u32) -> Vec<Next<Call>> {
    let (source, buffer) = (Peer::Rank(Rank(source)), Buffer { id: 1, bytes: LARGE });
    vec![Next::Call(Call::Recv { source, tag: Some(0), comm: Comm::default(), buffer })]
}

fn play(nodes: u32, protocol: Protocol, steps: Vec<Vec<Next<Call>>>) -> Outcome {
    let scripts = steps.into_iter().map(Script::of).collect();
    // Pinning takes a core's time once for each buffer; it is not what is compared here.
    let free = [("hca.mem_reg_base", "0.1 us"), ("hca.mem_reg_per_byte", "0.001 ns/B")];
    let mut near = job(model("broadwell-edr", &free), scripts);
    let scheme = Scheme::Fixed(protocol);
    near.mpi.cooperation = Cooperation { hca_share_ppm: 1_000_000, ..Cooperation::by(scheme) };
    (near.nodes, near.mpi.rendezvous) = (nodes, Protocol::RGet);
    let outcome = run(near);
    assert_eq!((&outcome.ending, &outcome.violations), (&Ending::Finished, &Vec::new()));
    outcome
}

/// Pairs of neighbours that send one large message each, all at once.
fn pairs(count: u32, protocol: Protocol) -> TimeDelta {
    let pair = |pair: u32| [send(2 * pair + 1), recv(2 * pair)];
    play(1, protocol, (0..count).flat_map(pair).collect()).end.since(Time::ZERO)
}

/// The time that so many messages take at a rate.
fn at_least(messages: u64, rate: Bandwidth) -> TimeDelta {
    rate.transfer_time(Bytes::new(messages * LARGE))
}

#[test]
fn all_pairs_together_get_what_the_loopback_carries() {
    // claim: coop-sem-dmaengine
    // claim: coop-sec2-bandwidth
    let profile = model("broadwell-edr", &[]);
    let loopback = profile.hca.loopback_bw.unwrap();
    assert!(loopback <= profile.pcie.raw_bw);
    for count in [1, 2, 4, 7] {
        let by_hca = pairs(count, Protocol::CoopHca);
        let least = at_least(u64::from(count), loopback);
        assert!(by_hca >= least, "{count} pairs: {by_hca}, at least {least}");
        assert!(by_hca <= least.scaled(11, 10), "{count} pairs: {by_hca}, at least {least}");
    }
    // Their cores together copy faster: 7 pairs of one socket, limited by its memory.
    assert!(pairs(7, Protocol::RGet) < at_least(7, loopback));
}

#[test]
fn a_stream_to_another_node_is_slower_beside_loopback_traffic() {
    // claim: coop-sec2a2-slowdown
    let stream = |beside: bool| {
        let idle = || vec![Next::Mark(9)];
        let near = if beside { [send(2), recv(1)] } else { [idle(), idle()] };
        let [first, second] = near;
        let outcome =
            play(2, Protocol::CoopHca, vec![send(3), first, second, recv(0), idle(), idle()]);
        let ended = outcome.marks.iter().find(|mark| mark.process.0 == 0).unwrap().at;
        ended.since(Time::ZERO)
    };
    assert!(stream(true) > stream(false).scaled(12, 10), "{} {}", stream(true), stream(false));
}

#[test]
fn only_copies_inside_a_node_take_a_core() {
    // claim: coop-sem-intra-cpu
    let near = play(1, Protocol::RGet, vec![send(1), recv(0)]);
    let far = play(2, Protocol::RGet, vec![send(1), recv(0)]);
    let copies = |outcome: &Outcome| {
        outcome.accounts.iter().map(|account| account.of(Part::Copy)).collect::<Vec<_>>()
    };
    assert!(copies(&near)[1] > TimeDelta::ZERO && copies(&near)[0] == TimeDelta::ZERO);
    assert_eq!(copies(&far), [TimeDelta::ZERO, TimeDelta::ZERO]);
}

/// Bh / (Bh + Bc) of a message is the HCA's, as the scenario asks for it; Bc is a copy with its pages.
#[test]
fn the_tuned_parts_are_to_each_other_as_the_rates() {
    // claim: coop-sec2a2-ratio
    for machine in ["broadwell", "knl"] {
        let scenario = format!("scenarios/coop/fig08_loopback_{machine}.json");
        let request = Request { scenario, library: shipped::library(), ..Request::default() };
        let plan = load(&request).0.unwrap();
        let tuned = |point: &&Point| point.params.iter().any(|(_, value)| value == "tuned");
        let point = plan.points.iter().find(tuned).unwrap();
        let profile = &point.machine.profile;
        let page = profile.os.page_size.as_u64();
        for bytes in [1 << 20, 4 << 20] {
            let share = point.mpi.cooperation.hca_share_ppm;
            let by_hca = coop_hca::of_hca(bytes, share, page);
            let time_of_hca = profile.hca.loopback_bw.unwrap().transfer_time(Bytes::new(bytes));
            let pages = profile.cma.page_cost.unwrap() * (bytes / page);
            let core = profile.mem.core_copy_bw.transfer_time(Bytes::new(bytes)) + pages;
            // Both parts take the same time, but for a page.
            let [hca, cpu] =
                [(time_of_hca, by_hca), (core, bytes - by_hca)].map(|(whole, part)| {
                    u128::from(whole.as_ps()) * u128::from(part) / u128::from(bytes)
                });
            let one = u128::from(core.as_ps()) * 2 * u128::from(page) / u128::from(bytes);
            assert!(hca.abs_diff(cpu) <= one, "{machine} {bytes}: {hca} and {cpu} ps");
        }
    }
}
