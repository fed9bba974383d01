//! How large messages move inside a node: the choices of a scenario, and what they need.

use super::progress;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::{Node, Value};
use form::machine::Machine;
use form::shape::path::place;
use hardware::profile::Profile;
use protocols::rendezvous::coop_load::{Held, Load, Raised, Unit};
use protocols::rendezvous::{Cooperation, Protocol, Rule, Scheme};
use runtime::timed::Kernel;
use units::{Bytes, TimeDelta};
use workloads::job::MpiOptions;
use workloads::mpi_form::{Library, MpiForm};
use workloads::ranks::Placement;

/// One whole, in millionths.
const WHOLE: u64 = 1_000_000;
/// The size at which the two rates of a tuned share are compared.
const TUNED_ON: Bytes = Bytes::mib(1);

/// Puts the agreement of the processes of a node among the choices, whose kernel copies are known.
pub(super) fn put(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    (form, mpi): (&MpiForm, &mut MpiOptions),
    machine: &Machine,
    (placement, threads): (&Placement, u16),
) {
    let kernel = mpi.kernel;
    let rules = rules(diagnostics, form);
    let settings = form.cooperation.as_ref();
    let count =
        |key: &str, default| settings.and_then(|settings| settings.small(key)).unwrap_or(default);
    let bytes = |key: &str| settings.and_then(|settings| settings.bytes(key));
    let profile = &machine.profile;
    let offloads = rules.iter().any(|rule| rule.scheme.may_offload());
    let cores = profile.cpu.sockets * profile.cpu.cores_per_socket;
    let cooperation = Cooperation {
        chunk: bytes("chunk"),
        chunks: count("chunks", 1),
        hca_share_ppm: share(settings, profile, kernel),
        page: profile.os.page_size,
        offload_threshold: count("offload_threshold", 1),
        large: bytes("large").unwrap_or_default(),
        free_cores: placement.per_node * u32::from(threads) < cores,
        counts_offloads: rules
            .iter()
            .any(|rule| matches!(rule.scheme, Scheme::Adaptive | Scheme::Hybrid)),
        load: load(settings),
        ready_by_rtr: settings.and_then(|settings| settings.word("ready")) == Some("rtr"),
        rules,
    };
    let single = |rule: &Rule| rule.scheme != Scheme::Fixed(Protocol::SharedMemory);
    if cooperation.rules.iter().any(single) {
        check_kernel(diagnostics, tree, machine, kernel);
    }
    if offloads {
        check_loopback(diagnostics, tree, machine);
    }
    let far = form.rendezvous.0 == Protocol::Rtr;
    check_offers(diagnostics, tree, &cooperation, (far, threads));
    mpi.counter_lag = counter_lag(diagnostics, tree, form, &cooperation);
    mpi.cooperation = cooperation;
}

/// How COOP-load counts copies.
fn load(settings: Option<&Node>) -> Load {
    let says = |key: &str, word: &str| settings.and_then(|node| node.word(key)) == Some(word);
    Load {
        unit: if says("load_unit", "half") { Unit::Half } else { Unit::Copy },
        held: if says("load_counts", "cumulative") { Held::Cumulative } else { Held::Outstanding },
        raised: if says("load_raised", "by_each_side") {
            Raised::ByEachSide
        } else {
            Raised::WithChoice
        },
    }
}

/// The delay of the counter of large RDMA operations; none where no process reads it.
fn counter_lag(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    form: &MpiForm,
    cooperation: &Cooperation,
) -> TimeDelta {
    let settings = form.cooperation.as_ref();
    let lag = settings.and_then(|settings| settings.time("counter_lag")).unwrap_or_default();
    if lag > TimeDelta::ZERO && !cooperation.counts_offloads {
        let path = "mpi.cooperation.counter_lag";
        let found = format!("a counter that is {lag} old, and no scheme that reads it");
        let allowed = "`adaptive_offload` and `coop_hybrid` do";
        let at = place(tree, path);
        diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, at, path, found, allowed));
    }
    lag
}

fn rules(diagnostics: &mut Diagnostics, form: &MpiForm) -> Vec<Rule> {
    let scheme = |name: &str| Scheme::find(name).expect("the shape lists the names of schemes");
    let always = |name: &str| Rule { from: Bytes::new(0), blocking: None, scheme: scheme(name) };
    let Some(asked) = &form.rendezvous_intra else {
        return match form.library {
            Library::Mvapich2 => vec![always("rput")],
            Library::OpenMpi => vec![always("rget")],
            Library::Plain => Vec::new(),
        };
    };
    let Some(list) = asked.elements() else {
        return vec![always(asked.text().expect("the shape has words and lists"))];
    };
    let rule = |node: &Node| Rule {
        from: node.bytes("from").unwrap_or_default(),
        blocking: node.flag("blocking"),
        scheme: scheme(node.required_word("scheme")),
    };
    let rules: Vec<Rule> = list.iter().map(rule).collect();
    check_order(diagnostics, list, &rules);
    rules
}

/// A rule that an earlier one hides is never asked.
fn check_order(diagnostics: &mut Diagnostics, nodes: &[Node], rules: &[Rule]) {
    let hides = |first: &Rule, later: &Rule| {
        first.from <= later.from && (first.blocking.is_none() || first.blocking == later.blocking)
    };
    for (index, later) in rules.iter().enumerate() {
        let Some(first) = rules[..index].iter().position(|first| hides(first, later)) else {
            continue;
        };
        let path = format!("mpi.rendezvous_intra[{index}]");
        let found = format!("messages from {} on are taken by rule {first} already", later.from);
        let allowed = "the first rule that fits decides: put those of larger sizes first";
        diagnostics.push(
            Diagnostic::error(&codes::CONTRADICTION, nodes[index].span, path, found, allowed)
                .related(nodes[first].span, "that rule is here"),
        );
    }
}

/// The HCA's part, in millionths.
fn share(settings: Option<&Node>, profile: &Profile, kernel: Kernel) -> u32 {
    let asked = settings.and_then(|settings| settings.get("hca_share"));
    let ppm = match asked.map(|asked| &asked.value) {
        Some(Value::Number(_)) => asked.map_or(0, Node::as_billionths) / 1_000,
        _ => tuned(profile, kernel),
    };
    u32::try_from(ppm.min(WHOLE)).expect("at most a million")
}

/// Bh / (Bh + Bc): the rate of the loopback, and that of a copy with its pages.
fn tuned(profile: &Profile, kernel: Kernel) -> u64 {
    let Some(loopback) = profile.hca.loopback_bw else { return 0 };
    let pages = TUNED_ON.as_u64() / profile.os.page_size.as_u64().max(1);
    let pinning = match kernel {
        Kernel::Cma => profile.cma.page_cost.unwrap_or_default() * pages,
        Kernel::Knem | Kernel::Xpmem => TimeDelta::ZERO,
    };
    let copy = (profile.mem.core_copy_bw.transfer_time(TUNED_ON) + pinning).as_ps();
    let hca = loopback.transfer_time(TUNED_ON).as_ps();
    // Rates are as the other's time: Bh / (Bh + Bc) = Tc / (Tc + Th).
    copy * WHOLE / (copy + hca)
}

fn check_kernel(diagnostics: &mut Diagnostics, tree: &Node, machine: &Machine, kernel: Kernel) {
    let profile = &machine.profile;
    let (there, parameter) = match kernel {
        Kernel::Cma => {
            let there = profile.os.cma_available && profile.cma.call_overhead.is_some();
            (there, "cma.call_overhead")
        }
        Kernel::Knem => (profile.knem.region_base.is_some(), "knem.region_base"),
        Kernel::Xpmem => (profile.xpmem.attach.is_some(), "xpmem.attach"),
    };
    if there {
        return;
    }
    let given = |path: &&str| {
        let key = path.trim_start_matches("mpi.");
        tree.get("mpi").is_some_and(|mpi| mpi.get(key).is_some())
    };
    let paths = ["mpi.single_copy", "mpi.rendezvous_intra", "mpi.library"];
    let path = paths.into_iter().find(given).unwrap_or("mpi");
    let found = format!("`{}` has no kernel copies of this kind ({parameter})", machine.name);
    let allowed = "`shared_memory`, or a machine whose model has them, is needed";
    diagnostics.push(
        Diagnostic::error(&codes::MODEL_INCOMPLETE, place(tree, path), path, found, allowed)
            .related(place(tree, "machine"), "the machine is given here"),
    );
}

fn check_loopback(diagnostics: &mut Diagnostics, tree: &Node, machine: &Machine) {
    let rate = machine.profile.hca.loopback_bw;
    if rate.is_some_and(|rate| rate.as_bit_per_s() > 0) {
        return;
    }
    let path = "mpi.rendezvous_intra";
    let found = format!("the HCA of `{}` has no loopback (hca.loopback_bw)", machine.name);
    let allowed = "a scheme without the HCA, or a machine with a loopback, is needed";
    diagnostics.push(
        Diagnostic::error(&codes::MODEL_INCOMPLETE, place(tree, path), path, found, allowed)
            .related(place(tree, "machine"), "the machine is given here"),
    );
}

/// RTRs are kept in the order in which one thread posts: see `protocols/library/rtr.rs`.
fn check_offers(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    cooperation: &Cooperation,
    (far, threads): (bool, u16),
) {
    if !(far || cooperation.has_offers()) {
        return;
    }
    let path = if far { "mpi.rendezvous" } else { "mpi.rendezvous_intra" };
    let mut refuse = |found: String, allowed: &str, other: &str, what: &str| {
        let at = place(tree, path);
        let one = Diagnostic::error(&codes::CONTRADICTION, at, path, found, allowed);
        diagnostics.push(one.related(place(tree, other), what));
    };
    if threads > 1 {
        let found = format!("{threads} threads of a process, with receives on offer (rtr)");
        let (allowed, other) =
            ("one thread of each process is needed", progress::threads_path(tree));
        refuse(found, allowed, other, "the threads are given here");
    }
    if tree.get("workload").is_some_and(|workload| workload.get("queue").is_some()) {
        let found = "receives on offer (rtr), and a queue whose receives are cancelled".to_owned();
        let allowed = "a receive on offer cannot be cancelled";
        refuse(found, allowed, "workload.queue", "the queue is given here");
    }
}
