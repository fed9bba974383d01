//! S1: who waits for whom, and whether it can ever end.
//!
//! Threads and their [`WaitSet`]s form an AND/OR graph. A wait on a process may be answered by
//! any of its threads; a wildcard by any process. Starting from the threads that wait for nothing,
//! every thread that may still be answered is marked; the others are deadlocked. So a cycle alone
//! is no deadlock where one of its waits has another way out: a deadlock is a knot.

use std::collections::BTreeMap;
use std::fmt;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use protocols::contract::{CallSite, Process, Thread, Wait, WaitSet};
use units::Time;

/// Where one thread stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Standing {
    /// Its process.
    pub process: Process,
    /// The thread.
    pub thread: Thread,
    /// Whether its program ended: it will never answer a wait.
    pub ended: bool,
    /// Waits of its call; `None` where it can go on by itself.
    pub waits: Option<WaitSet>,
    /// Where its call stands in the scenario.
    pub position: Option<u32>,
    /// The function of the program that it is in.
    pub site: Option<CallSite>,
    /// The functions that have started what it waits for, by the numbers of their calls.
    pub begun: BTreeMap<u32, CallSite>,
    /// Since when it waits, in a timed run.
    pub since: Option<Time>,
}

/// One thread that waits, and one of its waits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Blocked {
    /// Its process.
    pub process: Process,
    /// The thread.
    pub thread: Thread,
    /// The wait.
    pub wait: Wait,
    /// Where the thread's call stands in the scenario.
    pub position: Option<u32>,
    /// The function of the program that the thread is in.
    pub site: Option<CallSite>,
    /// The function that has started what the thread waits for.
    pub begun: Option<CallSite>,
    /// Since when it waits, in a timed run.
    pub since: Option<Time>,
}

/// A deadlock, explained.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Deadlock {
    /// Cycles: each thread waits for the next one, the last for the first. Shortest per knot.
    pub cycles: Vec<Vec<Blocked>>,
    /// Waits that no thread is left to answer.
    pub unanswered: Vec<Blocked>,
    /// All other waits of deadlocked threads.
    pub behind: Vec<Blocked>,
}

/// Words for a program that keeps returning to earlier states, where it has no description of its own.
pub const ASKING: &str = "asking again and again";

impl Standing {
    /// Its process and thread.
    pub const fn who(&self) -> (Process, Thread) {
        (self.process, self.thread)
    }
}

impl Deadlock {
    /// All of its waits.
    pub fn all(&self) -> impl Iterator<Item = &Blocked> {
        self.cycles.iter().flatten().chain(&self.unanswered).chain(&self.behind)
    }
}

/// The wait of a thread for the other threads of its process: to be created, or for their end.
pub fn for_threads(process: Process) -> WaitSet {
    let (peers, detail) = (vec![process], "its other threads".to_owned());
    WaitSet::All(vec![Wait { operation: "fork/join", peers, thread: None, detail, origin: 0 }])
}

/// The deadlock among these threads; `None` where all may still be answered.
pub fn diagnose(standings: &[Standing]) -> Option<Deadlock> {
    let crowd = Crowd::new(standings);
    let live = crowd.live();
    let stuck: Vec<usize> =
        (0..standings.len()).filter(|&at| !live[at] && !standings[at].ended).collect();
    if stuck.is_empty() {
        return None;
    }
    let mut graph = DiGraph::new();
    let nodes: BTreeMap<usize, NodeIndex> =
        stuck.iter().map(|&at| (at, graph.add_node(at))).collect();
    let mut unanswered = Vec::new();
    for &at in &stuck {
        for wait in hopeless(&crowd, &live, at) {
            let answers = crowd.answers(wait).filter(|&other| crowd.may_answer(other, at));
            let answers = answers.filter_map(|other| nodes.get(&other));
            let before = graph.edge_count();
            for node in answers {
                graph.add_edge(nodes[&at], *node, wait);
            }
            if graph.edge_count() == before {
                let mut blocked = blocked(&standings[at], wait);
                crowd.tell_ended(&mut blocked.wait);
                unanswered.push(blocked);
            }
        }
    }
    let mut knots: Vec<Vec<NodeIndex>> = tarjan_scc(&graph);
    knots.retain(|knot| knot.len() > 1 || graph.contains_edge(knot[0], knot[0]));
    for knot in &mut knots {
        knot.sort_unstable();
    }
    knots.sort_unstable();
    let cycles: Vec<Vec<Blocked>> = knots
        .iter()
        .map(|knot| {
            let links = cycle(&graph, knot);
            links.into_iter().map(|(at, wait)| blocked(&standings[at], wait)).collect()
        })
        .collect();
    let behind = stuck
        .iter()
        .filter(|&&at| {
            let named = cycles.iter().flatten().chain(&unanswered);
            let who = (standings[at].process, standings[at].thread);
            !named.map(|blocked| (blocked.process, blocked.thread)).any(|named| named == who)
        })
        .filter_map(|&at| Some(blocked(&standings[at], hopeless(&crowd, &live, at).next()?)))
        .collect();
    Some(Deadlock { cycles, unanswered, behind })
}

/// Threads, found by their process.
struct Crowd<'a> {
    standings: &'a [Standing],
    of_process: BTreeMap<Process, Vec<usize>>,
}

impl<'a> Crowd<'a> {
    fn new(standings: &'a [Standing]) -> Self {
        let mut of_process: BTreeMap<Process, Vec<usize>> = BTreeMap::new();
        for (at, standing) in standings.iter().enumerate() {
            of_process.entry(standing.process).or_default().push(at);
        }
        Self { standings, of_process }
    }

    /// Indexes of the threads that could end a wait.
    fn answers<'b>(&'b self, wait: &'b Wait) -> impl Iterator<Item = usize> + 'b {
        let anybody = wait.peers.is_empty().then_some(0..self.standings.len());
        let named = wait.peers.iter().filter_map(|peer| self.of_process.get(peer)).flatten();
        let named = named.copied().filter(|&other| {
            wait.thread.is_none_or(|thread| self.standings[other].thread == thread)
        });
        anybody.into_iter().flatten().chain(named)
    }

    /// Adds to a wait for one process that it has ended, where it has.
    fn tell_ended(&self, wait: &mut Wait) {
        let [peer] = wait.peers.as_slice() else { return };
        let threads = self.of_process.get(peer).into_iter().flatten();
        if threads.clone().next().is_some() && threads.clone().all(|&at| self.standings[at].ended) {
            let joint = if wait.detail.is_empty() { "" } else { "; " };
            wait.detail = format!("{}{joint}process {} has ended", wait.detail, peer.0);
        }
    }

    /// Whether a wait of `at` could end by `other`: only the sole thread of a process, which does
    /// so wrongly, waits for itself.
    fn may_answer(&self, other: usize, at: usize) -> bool {
        other != at || self.of_process[&self.standings[at].process].len() == 1
    }

    fn hopeful(&self, live: &[bool], wait: &Wait) -> bool {
        self.answers(wait).any(|other| live[other])
    }

    /// Threads that may still go on, by index: the least set that contains those that wait for nothing and
    /// those whose waits its members can end.
    fn live(&self) -> Vec<bool> {
        let standings = self.standings;
        let mut live: Vec<bool> =
            standings.iter().map(|standing| !standing.ended && standing.waits.is_none()).collect();
        loop {
            let woken: Vec<usize> = (0..standings.len())
                .filter(|&at| !live[at] && !standings[at].ended)
                .filter(|&at| match &standings[at].waits {
                    Some(WaitSet::All(waits)) => waits.iter().all(|wait| self.hopeful(&live, wait)),
                    Some(WaitSet::Any(waits)) => waits.iter().any(|wait| self.hopeful(&live, wait)),
                    None => true,
                })
                .collect();
            if woken.is_empty() {
                return live;
            }
            for at in woken {
                live[at] = true;
            }
        }
    }
}

/// The waits of a thread that no living process can end.
fn hopeless<'a>(
    crowd: &'a Crowd<'a>,
    live: &'a [bool],
    at: usize,
) -> impl Iterator<Item = &'a Wait> + 'a {
    let waits = match &crowd.standings[at].waits {
        Some(WaitSet::All(waits) | WaitSet::Any(waits)) => &waits[..],
        None => &[],
    };
    waits.iter().filter(move |wait| !crowd.hopeful(live, wait))
}

/// The shortest cycle through the first thread of a knot.
fn cycle<'a>(graph: &DiGraph<usize, &'a Wait>, knot: &[NodeIndex]) -> Vec<(usize, &'a Wait)> {
    let start = knot[0];
    let mut came: BTreeMap<NodeIndex, NodeIndex> = BTreeMap::new();
    let mut ring = vec![start];
    let last = 'search: loop {
        let mut next = Vec::new();
        for &node in &ring {
            let mut peers: Vec<NodeIndex> = graph.neighbors(node).collect();
            peers.sort_unstable();
            if peers.binary_search(&start).is_ok() {
                break 'search node;
            }
            for peer in peers {
                if knot.binary_search(&peer).is_ok() && !came.contains_key(&peer) {
                    came.insert(peer, node);
                    next.push(peer);
                }
            }
        }
        assert!(!next.is_empty(), "every member of a knot reaches every other");
        ring = next;
    };
    let mut path = vec![last];
    while path[path.len() - 1] != start {
        path.push(came[&path[path.len() - 1]]);
    }
    path.reverse();
    let successors = path.iter().skip(1).chain([&start]);
    path.iter()
        .zip(successors)
        .map(|(&from, &to)| {
            let edge = graph.find_edge(from, to).expect("the path was found along edges");
            (graph[from], graph[edge])
        })
        .collect()
}

fn blocked(standing: &Standing, wait: &Wait) -> Blocked {
    let &Standing { process, thread, position, ref site, ref begun, since, .. } = standing;
    let begun = begun.get(&wait.origin).filter(|begun| Some(*begun) != site.as_ref()).cloned();
    Blocked { process, thread, wait: wait.clone(), position, site: site.clone(), begun, since }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}{}", self.process.0, in_words(Some(self.thread)))?;
        let Wait { operation, peers, thread, detail, origin } = &self.wait;
        // A program that knows its lines has both numbers as lines.
        let begun = self.begun.as_ref();
        write!(f, ": {}", begun.map_or(*operation, |begun| begun.function))?;
        match (self.position, &self.site) {
            (None, Some(site)) if let Some(begun) = begun => {
                let line = begun.line.as_ref().map_or_else(String::new, |line| format!("{line}, "));
                write!(f, " ({line}waited for in {})", site.in_words())?;
            }
            (None, Some(site)) => f.write_str(&site.beside(operation))?,
            (None, None) if *operation == ASKING => {}
            (None, None) => write!(f, " (call {origin})")?,
            (Some(position), _) if position == *origin => write!(f, " (line {origin})")?,
            (Some(position), _) => write!(f, " (line {origin}, waited for in line {position})")?,
        }
        let peers: Vec<String> = peers.iter().map(|peer| peer.0.to_string()).collect();
        match peers.as_slice() {
            [] => f.write_str(" waits for anybody")?,
            [peer] => write!(f, " waits for process {peer}{}", in_words(*thread))?,
            peers => write!(f, " waits for one of processes {}", peers.join(", "))?,
        }
        if let Some(since) = self.since {
            write!(f, " since {since}")?;
        }
        if detail.is_empty() { Ok(()) } else { write!(f, ": {detail}") }
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for cycle in &self.cycles {
            let wait = if cycle.len() == 1 { "waits" } else { "wait" };
            writeln!(f, "deadlock: {} {wait} in a cycle", plural(cycle.len(), "thread"))?;
            cycle.iter().try_for_each(|blocked| writeln!(f, "  {blocked}"))?;
        }
        if !self.unanswered.is_empty() {
            writeln!(f, "nobody is left to answer {}", plural(self.unanswered.len(), "wait"))?;
            self.unanswered.iter().try_for_each(|blocked| writeln!(f, "  {blocked}"))?;
        }
        if !self.behind.is_empty() {
            writeln!(f, "behind them {}", plural(self.behind.len(), "thread"))?;
            self.behind.iter().try_for_each(|blocked| writeln!(f, "  {blocked}"))?;
        }
        Ok(())
    }
}

/// A thread after its process: the first one is the process itself.
fn in_words(thread: Option<Thread>) -> String {
    let other = thread.filter(|thread| thread.0 > 0);
    other.map_or_else(String::new, |thread| format!(", thread {}", thread.0))
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use WaitSet::{All, Any};

    fn wait(operation: &'static str, peers: &[u32]) -> Wait {
        let peers = peers.iter().copied().map(Process).collect();
        Wait { operation, peers, thread: None, detail: "tag 7, 65536 B".into(), origin: 3 }
    }

    fn send(peer: u32) -> Wait {
        wait("MPI_Send", &[peer])
    }

    fn recv(peers: &[u32]) -> Wait {
        wait("MPI_Recv", peers)
    }

    /// One thread per process; `Err(true)` has ended, `Err(false)` computes.
    fn job(states: Vec<Result<WaitSet, bool>>) -> Vec<Standing> {
        let threads = (0u32..).zip(states).map(|(process, state)| Standing {
            process: Process(process),
            thread: Thread(0),
            ended: state == Err(true),
            waits: state.ok(),
            position: Some(3),
            site: None,
            begun: BTreeMap::new(),
            since: Some(Time::from_ps(1_200_000)),
        });
        threads.collect()
    }

    fn processes(blocked: &[Blocked]) -> Vec<u32> {
        blocked.iter().map(|blocked| blocked.process.0).collect()
    }

    #[test]
    fn two_sends_head_to_head_are_a_cycle_of_two() {
        let found = diagnose(&job(vec![Ok(All(vec![send(1)])), Ok(All(vec![send(0)]))]));
        let found = found.expect("nobody can go on");
        assert_eq!(found.cycles.iter().map(|cycle| processes(cycle)).collect::<Vec<_>>(), [[0, 1]]);
        assert_eq!(
            found.to_string(),
            "deadlock: 2 threads wait in a cycle\n  \
             process 0: MPI_Send (line 3) waits for process 1 since 1.2 us: tag 7, 65536 B\n  \
             process 1: MPI_Send (line 3) waits for process 0 since 1.2 us: tag 7, 65536 B\n"
        );
    }

    #[test]
    fn a_cycle_with_another_way_out_is_no_deadlock() {
        let any = Any(vec![recv(&[1]), recv(&[2])]);
        let back = || Ok(All(vec![recv(&[0])]));
        assert_eq!(diagnose(&job(vec![Ok(any.clone()), back(), Err(false)])), None);
        let wildcard = Ok(All(vec![recv(&[])]));
        assert_eq!(diagnose(&job(vec![wildcard, back(), Err(false)])), None);
        // The same waits, all needed: rank 2 computing does not help.
        let all = Ok(All(vec![recv(&[1]), recv(&[2])]));
        let found = diagnose(&job(vec![all, back(), Err(false)])).expect("ranks 0 and 1 hang");
        assert_eq!(processes(&found.cycles[0]), [0, 1]);
        assert_eq!((found.cycles.len(), found.unanswered.len(), found.behind.len()), (1, 0, 0));
        // Any of them, but the way out waits as well: a knot.
        let found = diagnose(&job(vec![Ok(any), back(), back()])).expect("all hang");
        assert_eq!(processes(&found.cycles[0]), [0, 1]);
        assert_eq!(processes(&found.behind), [2]);
    }

    #[test]
    fn a_receive_that_nobody_answers_is_named_without_a_cycle() {
        let behind = Ok(All(vec![recv(&[1])]));
        let found = diagnose(&job(vec![behind, Ok(All(vec![recv(&[2])])), Err(true)]));
        let found = found.expect("rank 2 has ended");
        assert_eq!((found.cycles.len(), processes(&found.unanswered)), (0, vec![1]));
        assert_eq!(processes(&found.behind), [0]);
        let wildcard = diagnose(&job(vec![Err(true), Ok(All(vec![recv(&[])]))]));
        let wildcard = wildcard.expect("nobody is left");
        assert!(wildcard.to_string().contains("MPI_Recv (line 3) waits for anybody"), "{wildcard}");
    }

    #[test]
    fn a_sibling_thread_may_answer() {
        let mut threads = job(vec![Ok(All(vec![recv(&[1])])), Ok(All(vec![recv(&[0])]))]);
        assert!(diagnose(&threads).is_some());
        let sibling = Standing { thread: Thread(1), waits: None, ..threads[1].clone() };
        threads.push(sibling);
        assert_eq!(diagnose(&threads), None);
    }

    #[test]
    fn a_wait_for_one_thread_of_a_process_is_answered_by_no_other() {
        let of_thread = |peer, thread| {
            Ok(All(vec![Wait { thread: Some(Thread(thread)), ..wait("MPI_Recv", &[peer]) }]))
        };
        // Thread 1 of process 0 computes; process 1 waits for thread 0, which waits for it.
        let mut threads = job(vec![of_thread(1, 0), of_thread(0, 0)]);
        threads.push(Standing { thread: Thread(1), waits: None, ..threads[0].clone() });
        let found = diagnose(&threads).expect("two wait for each other");
        assert_eq!(processes(&found.cycles[0]), [0, 1]);
        threads[1].waits = of_thread(0, 1).ok();
        assert_eq!(diagnose(&threads), None, "the thread that computes may answer");
    }

    #[test]
    fn the_report_takes_the_shortest_cycle() {
        // 0 -> 1 -> 2 -> 0, and 0 -> 2 directly.
        let waits = |peers: &[u32]| Ok(All(peers.iter().map(|peer| send(*peer)).collect()));
        let found = diagnose(&job(vec![waits(&[1, 2]), waits(&[2]), waits(&[0])]));
        assert_eq!(processes(&found.expect("a knot of three").cycles[0]), [0, 2]);
    }
}
