//! Messages over wires that lose, repeat and reorder packets: every order, so many faults.

use mpisim::experiment::plan::{Request, load};
use mpisim::experiment::run::job;
use mpisim::explore::{Explored, MayFail, Options, Size, Start, Subject, registry, scenario};
use mpisim::hardware::reliable::Settings;
use mpisim::runtime::faults::Allowed;
use mpisim::runtime::untimed::Between;
use mpisim::shipped::{self, SHIPPED};

const LOSS: Allowed = Allowed { losses: 1, repeats: 0, overtakings: 0 };
const REPEAT: Allowed = Allowed { losses: 0, repeats: 1, overtakings: 0 };
const OVERTAKING: Allowed = Allowed { losses: 0, repeats: 0, overtakings: 1 };
const ONE_EACH: Allowed = Allowed { losses: 1, repeats: 1, overtakings: 1 };

fn over(packets: Allowed) -> Options {
    Options { faults: MayFail { crash: false, packets }, states: 60_000, ..Options::default() }
}

fn explored(name: &str, size: Size, options: &Options) -> Explored {
    let (entry, planted) = registry::find(name, SHIPPED).unwrap();
    entry.subject(size, planted).explore(options)
}

fn met(found: &Explored, branch: &str) -> u64 {
    let named = found.sometimes.named();
    named.iter().find(|(name, _)| *name == branch).unwrap().1
}

/// Each kind of fault once, alone and together: the ranks end as ever, and each fault has happened.
#[test]
fn every_order_of_a_small_ring_survives_one_fault_of_each_kind() {
    let size = Size { ranks: 2, ops: 2 };
    let plain = explored("eager", size, &Options::default());
    for (packets, branches) in [
        (LOSS, &["lost", "timed_out"][..]),
        (REPEAT, &["repeated", "not_taken"]),
        (OVERTAKING, &["overtaken", "not_taken"]),
    ] {
        let found = explored("eager", size, &over(packets));
        assert!(found.stopped.is_none() && found.failures.is_empty(), "{:?}", found.failures);
        assert_eq!(found.diagnosed, 0, "nothing gives up");
        assert!(found.states > 2 * plain.states, "{} states", found.states);
        // The ranks know no more than without faults; the wires, how many faults are left.
        assert_eq!(found.finals, 2 * plain.finals);
        let less = explored("eager", size, &Options { reduce: true, ..over(packets) });
        assert!(less.failures.is_empty() && less.states < found.states, "{:?}", less.failures);
        assert_eq!(less.finals, found.finals, "the rule loses no end");
        for branch in branches {
            assert!(met(&found, branch) > 0, "{branch}: {:?}", found.sometimes);
        }
    }
}

/// A budget of nothing is the world without wires, and a retry counter is exceeded by name where
/// there are more losses than retries, and only there.
#[test]
fn a_queue_pair_gives_up_by_name_after_more_losses_than_retries() {
    let scenario = r#"{ "schema": 1, "title": "t", "source": "s", "machine": "ideal", "nodes": 2,
        "workload": { "kind": "ping_pong", "size": "8 B", "rounds": 1, "warmup": 0 } }"#;
    let (scenario, text) = ("t.json".to_owned(), Some(scenario.to_owned()));
    let (plan, said) =
        load(&Request { scenario, text, library: shipped::library(), ..Request::default() });
    let plan = plan.unwrap_or_else(|| panic!("{}", said.human()));
    let start = || Start::new(job::build(&plan.points[0]).untimed().unwrap());
    let undisturbed = start().explore(&Options::default());
    for retries in 0..3 {
        let wired = || start().with_wires(Settings::new(retries), Between::All);
        assert_eq!(wired().explore(&over(Allowed::default())).states, undisturbed.states);
        for losses in 1..4 {
            let found = wired().explore(&over(Allowed { losses, ..LOSS }));
            assert!(found.stopped.is_none() && found.failures.is_empty(), "{:?}", found.failures);
            assert_eq!(found.diagnosed > 0, losses > retries, "{losses} losses, {retries} retries");
            let named = found.diagnoses.iter().all(|words| words.contains("retry counter"));
            assert_eq!(found.diagnoses.is_empty(), losses <= retries);
            assert!(named, "{:?}", found.diagnoses);
        }
        // Processes that share a node have no link between them.
        let near = start().with_wires(Settings::new(retries), Between::These([].into()));
        assert_eq!(near.explore(&over(LOSS)).states, undisturbed.states);
    }
}

/// Every protocol by name: nothing fails in the first states, whatever the wires do.
#[test]
fn no_protocol_notices_what_the_wires_do() {
    let (mut complete, mut lost) = (0, 0);
    for entry in registry::entries(SHIPPED) {
        let size = Size { ranks: 2.clamp(entry.least, entry.most), ops: 1 };
        let options = Options { states: 2_000, ..over(ONE_EACH) };
        let found = explored(&entry.name, size, &options);
        assert!(found.failures.is_empty(), "{}: {:#?}", entry.name, found.failures);
        complete += u32::from(found.stopped.is_none());
        lost += met(&found, "lost");
    }
    assert!(complete > 3 && lost > 10_000, "{complete} complete, {lost} packets lost");
}

/// The transport of a scenario holds beside progress threads as well, in every order.
#[test]
fn ranks_with_progress_threads_lose_packets_as_their_scenario_says() {
    let explored = |retries: u32| {
        let text = format!(
            r#"{{ "schema": 1, "title": "t", "source": "s", "machine": "ideal", "nodes": 2,
            "ranks": {{ "progress_thread": true }},
            "workload": {{ "kind": "program", "ranks": [
                [ {{ "op": "send", "to": 1, "tag": 1, "size": "8 B" }} ],
                [ {{ "op": "recv", "src": 0, "tag": 1, "max": "8 B" }} ] ] }},
            "faults": [ {{ "kind": "packet_loss", "where": "all links", "probability": 0.01 }} ],
            "transport": {{ "retries": {retries} }} }}"#
        );
        let (scenario, text) = ("t.json".to_owned(), Some(text));
        let (plan, said) =
            load(&Request { scenario, text, library: shipped::library(), ..Request::default() });
        let plan = plan.unwrap_or_else(|| panic!("{}", said.human()));
        let subject = scenario::subject(&plan).unwrap();
        let found = subject.explore(&over(scenario::may_fail(&plan).unwrap().packets));
        assert!(found.stopped.is_none() && found.failures.is_empty(), "{:?}", found.failures);
        assert!(met(&found, "lost") > 0 && met(&found, "compared") > 0, "{:?}", found.sometimes);
        found
    };
    let (none, one) = (explored(0), explored(1));
    assert!(none.diagnosed > 0 && none.diagnoses[0].contains("retry counter"), "{none:?}");
    assert!(one.diagnosed == 0 && one.finals > 0, "{one:?}");
}
