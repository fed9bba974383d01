//! Protocols by name: each a job of any size, with the branches that a check of it must reach.
//!
//! A new one is a program below `registry/programs/`, or one entry and one function here where no scenario describes
//! the job. Everything else (strategies, crashes, shrinking, tokens) is the same for all.

mod gpu;
mod jobs;

use super::scenario::subject_with;
use super::subject::{Start, Subject};
use super::{Planted, Size};
use collectives::Algorithm;
use experiment::library::Library;
use experiment::plan::{self, Plan, Request};
use experiment::shipped::Shipped;
use form::shape::nearest;
use protocols::contract::{Machine, Program};
use protocols::rendezvous::coop_load::{Held, Load, Raised, Unit};
use protocols::rendezvous::{Protocol, Scheme};
use protocols::rma::Transport;
use runtime::monitors::buffers::Lends;
use workloads::mutex;

type Build = Box<dyn Fn(Size, Planted) -> Box<dyn Subject>>;

/// A protocol that can be explored.
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The job in one line; `R` are the ranks and `K` the operations.
    pub about: String,
    /// The fewest ranks.
    pub least: u32,
    /// The most ranks: beyond, no search ends.
    pub most: u32,
    /// Interesting branches that an exploration of this size must reach.
    pub reaches: Box<dyn Fn(Size) -> Vec<&'static str>>,
    build: Build,
}

impl Entry {
    /// The job of a size.
    pub fn subject(&self, size: Size, planted: Planted) -> Box<dyn Subject> {
        (self.build)(size, planted)
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

fn entry<M, P>(
    name: &str,
    about: &str,
    ranks: [u32; 2],
    reaches: fn(Size) -> Vec<&'static str>,
    build: impl Fn(Size, Planted) -> Start<M, P> + 'static,
) -> Entry
where
    M: Machine<Call: Lends> + 'static,
    P: Program<M> + 'static,
{
    let known = name.to_owned();
    Entry {
        name: name.to_owned(),
        about: about.to_owned(),
        least: ranks[0],
        most: ranks[1],
        reaches: Box::new(reaches),
        build: Box::new(move |size, planted| {
            let settings = format!("{known} {size:?} {planted:?}");
            Box::new(build(size, planted).with_settings(settings))
        }),
    }
}

fn compared(_: Size) -> Vec<&'static str> {
    vec!["compared"]
}

const fn nothing(_: Size) -> Vec<&'static str> {
    Vec::new()
}

/// Every protocol, by name; the machine of its program is one that ships.
pub fn entries(shipped: Shipped) -> Vec<Entry> {
    let mut all: Vec<Entry> = programs(shipped).into();
    all.extend(written());
    all.extend(Protocol::ALL.iter().map(|&protocol| {
        let name = format!("rendezvous/{}", protocol.name());
        entry(
            &name,
            "R ranks in a ring, K large messages to the next",
            [2, 8],
            compared,
            move |size, planted| {
                if protocol == Protocol::Rtr {
                    jobs::offered_ring(size, planted, None, false)
                } else {
                    jobs::large_ring(size, planted, protocol)
                }
            },
        )
    }));
    all.extend(cooperation());
    all.extend(counted());
    all.extend(mutexes());
    all.extend(Algorithm::ALL.iter().map(|&algorithm| {
        let (kind, name) = (algorithm.kind(), algorithm.name());
        let about = format!("R ranks call {} by {name} K times", kind.functions().waits);
        let name = format!("collectives/{}/{name}", kind.name());
        entry(&name, &about, [1, 8], nothing, move |size, planted| {
            jobs::collective(size, planted, algorithm)
        })
    }));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Jobs that are programs of a scenario: its title says what they do, and it sets the operations of a rank first.
fn programs(shipped: Shipped) -> [Entry; 4] {
    const fn skipped_if_several(size: Size) -> &'static [&'static str] {
        if size.ops > 1 { &["compared", "posted_skipped"] } else { &["compared"] }
    }
    let program = |name, text, most, reaches| program(name, text, most, reaches, shipped);
    [
        program("eager", include_str!("registry/programs/eager.json"), 8, |_| &["compared"]),
        program(
            "matching/exact",
            include_str!("registry/programs/matching/exact.json"),
            8,
            skipped_if_several,
        ),
        program("progress/eager", include_str!("registry/programs/progress/eager.json"), 4, |_| {
            &["compared", "posted_skipped"]
        }),
        program("progress/rget", include_str!("registry/programs/progress/rget.json"), 4, |_| {
            &["compared", "posted_skipped"]
        }),
    ]
}

/// A job that is the program of a scenario.
fn program(
    name: &'static str,
    text: &'static str,
    most: u32,
    reaches: fn(Size) -> &'static [&'static str],
    shipped: Shipped,
) -> Entry {
    let about = load(name, text, Size { ranks: 2, ops: 1 }, shipped).title;
    Entry {
        name: name.to_owned(),
        about,
        least: 2,
        most,
        reaches: Box::new(move |size| reaches(size).to_vec()),
        build: Box::new(move |size, planted| {
            let plan = load(name, text, size, shipped);
            subject_with(&plan, planted).expect("the program has one point")
        }),
    }
}

/// The plan of a program of this size.
fn load(name: &str, text: &str, Size { ranks, ops }: Size, shipped: Shipped) -> Plan {
    let overrides = vec![
        format!("nodes={ranks}"),
        format!("workload.processes={ranks}"),
        format!("workload.body[0].to={ops}"),
    ];
    let (scenario, text) = (name.to_owned(), Some(text.to_owned()));
    let library = Library { shipped, ..Library::default() };
    let request = Request { scenario, overrides, library, text, ..Request::default() };
    let (plan, reports) = plan::load(&request);
    plan.unwrap_or_else(|| panic!("`{name}` is a scenario: {}", reports.human()))
}

/// Jobs that no program of a scenario describes: it has no GPU memory, no threads of one rank beside each other, and
/// no names that a loop counts; and a loop keeps the replies of its last iteration only.
fn written() -> [Entry; 8] {
    [
        entry(
            "endpoints/free",
            "R processes create K endpoints each and free them, the last first",
            [1, 8],
            nothing,
            jobs::freed_endpoints,
        ),
        entry(
            "matching/probe",
            "R-1 ranks send K messages, which rank 0 probes and then receives",
            [2, 8],
            |_| vec!["compared", "unexpected"],
            jobs::probed,
        ),
        entry(
            "matching/wildcard",
            "R-1 ranks send K messages, large and small in turn, to wildcards of rank 0",
            [2, 8],
            |size| if size.ranks > 2 { vec!["compared", "wildcard_races"] } else { compared(size) },
            jobs::to_wildcards,
        ),
        entry(
            "polling/ring",
            "R ranks in a ring, K large messages; each probes and tests before it waits",
            [2, 8],
            |_| vec!["compared", "unexpected"],
            jobs::polling_ring,
        ),
        entry(
            "gpu/chunks",
            "R ranks in a ring, K messages of GPU memory in two chunks to the next",
            [2, 4],
            nothing,
            gpu::chunks,
        ),
        entry(
            "gpu/whole",
            "R ranks in a ring, K messages of GPU memory to the next, packed by two operations",
            [2, 4],
            nothing,
            gpu::whole,
        ),
        entry(
            "windows/shared",
            "R ranks add K times to one number in memory that they share, each under a shared lock",
            [2, 8],
            nothing,
            jobs::shared_window,
        ),
        entry(
            "threads/one-queue",
            "2 processes of R threads, K messages from thread to thread by tag",
            [1, 4],
            compared,
            jobs::threads,
        ),
    ]
}

/// The readings of COOP-load beside the default, at once and in chunks.
fn counted() -> impl Iterator<Item = Entry> {
    let default = Load::default();
    let by_each_side = Load { raised: Raised::ByEachSide, ..default };
    let readings = [
        ("half", Load { unit: Unit::Half, ..default }),
        ("cumulative", Load { held: Held::Cumulative, ..default }),
        ("by_each_side", by_each_side),
        ("half/by_each_side", Load { unit: Unit::Half, ..by_each_side }),
        ("cumulative/by_each_side", Load { held: Held::Cumulative, ..by_each_side }),
        ("cumulative/half", Load { held: Held::Cumulative, unit: Unit::Half, ..default }),
    ];
    readings.into_iter().flat_map(|(word, load)| {
        [("", None), ("/chunked", Some(8))].into_iter().map(move |(suffix, chunk)| {
            let name = format!("cooperation/coop_load/{word}{suffix}");
            let about = "R ranks of a node in a ring, K large messages to the next";
            entry(&name, about, [2, 4], compared, move |size, planted| {
                jobs::counted_ring(size, planted, load, chunk)
            })
        })
    })
}

/// Every way to move large messages inside a node, at once and in chunks.
fn cooperation() -> impl Iterator<Item = Entry> {
    let near = Protocol::ALL.iter().copied().filter(|protocol| protocol.is_single_copy());
    let fixed = near.map(Scheme::Fixed);
    let schemes = fixed.chain(Scheme::DECIDERS);
    schemes.flat_map(|scheme| {
        [("", None), ("/chunked", Some(8))].into_iter().map(move |(suffix, chunk)| {
            let name = format!("cooperation/{}{suffix}", scheme.name());
            let about = "R ranks of a node in a ring, K large messages to the next";
            entry(&name, about, [2, 4], compared, move |size, planted| {
                if scheme == Scheme::Fixed(Protocol::Rtr) {
                    jobs::offered_ring(size, planted, chunk, true)
                } else {
                    jobs::near_ring(size, planted, scheme, chunk)
                }
            })
        })
    })
}

/// Every mutex, over messages and, where it needs no exclusive lock, over RDMA.
fn mutexes() -> impl Iterator<Item = Entry> {
    let both = mutex::Algorithm::ALL.into_iter().flat_map(|algorithm| {
        let rdma = (algorithm != mutex::Algorithm::ByteVector).then_some(Transport::Rdma);
        [Some(Transport::Messages), rdma].into_iter().flatten().map(move |way| (algorithm, way))
    });
    both.map(|(algorithm, transport)| {
        let (over, suffix) = match transport {
            Transport::Rdma => ("RDMA atomics", "/rdma"),
            Transport::Messages | Transport::Mixed => ("messages", ""),
        };
        let name = format!("mutex/{}{suffix}", algorithm.name());
        let about = format!("R ranks take one mutex over {over} K times each");
        let reaches = if algorithm.queues() { contended } else { nothing };
        entry(&name, &about, [1, 8], reaches, move |size, planted| {
            jobs::mutex(size, planted, algorithm, transport)
        })
    })
}

fn contended(size: Size) -> Vec<&'static str> {
    if size.ranks > 1 { vec!["contended"] } else { Vec::new() }
}

/// Why a name is none of a protocol.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unknown {
    /// The nearest name.
    pub near: Option<String>,
}

/// The protocol of a name, with the bug that its ending plants: see [`Planted`].
///
/// # Errors
///
/// [`Unknown`] where there is none.
pub fn find(name: &str, shipped: Shipped) -> Result<(Entry, Planted), Unknown> {
    let (plain, planted) = Planted::named(name);
    let mut all = entries(shipped);
    let place = all.iter().position(|entry| entry.name == plain);
    if let (Some(place), Some(planted)) = (place, planted) {
        return Ok((all.swap_remove(place), planted));
    }
    let near = nearest(name, all.iter().map(|entry| entry.name.as_str()));
    Err(Unknown { near: near.map(str::to_owned) })
}
