//! The workload `program`: statements that a scenario writes out for each rank.

use std::sync::Arc;

use crate::job::AnyProgram;
use crate::kind::{Kind, Processes, Reading, Workload};
use crate::metric::{Measured, TIME};
use crate::ranks::{Addressing, Ranks};
use form::codes;
use form::diagnostic::Diagnostic;
use form::json::Node;
use form::shape::Shape;
use form::typed::{Object as _, alternative, optional};
use form::workload_field;
use language::collectives::Chosen;
use language::program::member::{MOST, World, is_numbered};
use language::program::{Does, Programs, Step, Team};
use language::statements::form::buffers::{BUFFERS, NamedBuffers};
use language::statements::form::pieces::{DATATYPES, NamedDatatypes};
use language::statements::{Calling, RankProgram, STATEMENTS, Statement, Statements, Work, read};
use protocols::call::Call;
use protocols::rma::call::{Flavor, RmaCall};
use runtime::loggops::schedule::Schedule;
use xios_ep::tag::{LOCAL_BITS, USER_BITS, USER_MAX};

static RANKS: Shape = Shape::List { of: &STATEMENTS, min: 1, max: 4_096 };

const EXAMPLE: &str = "[ [ { \"op\": \"send\", \"to\": 1, \"size\": \"8 B\" } ], \
                     [ { \"op\": \"recv\", \"src\": 0, \"max\": \"8 B\" } ] ]";

form::object! {
    /// Statements, written out for each rank.
    pub struct ProgramForm {
        /// One list of statements for each rank, or for each thread of a process of several; each has a buffer of
        /// its own, so that every large message registers its buffers anew (docs/guide/programs.md). A file holds 500,000 values, about
        /// 100,000 statements of all ranks together (E0216); longer ones are schedules in GOAL.
        ranks: Option<Node> = alternative(&RANKS, EXAMPLE),
        /// Statements that every rank executes; expressions tell the ranks apart.
        body: Option<Node> = optional(&STATEMENTS),
        /// Ranks of a `body`.
        processes: Option<u32> = optional(&Shape::Count { min: 1, max: 65_536 }),
        datatypes: NamedDatatypes = DATATYPES,
        buffers: NamedBuffers = BUFFERS,
    }
}

/// The path of the number of ranks of a body.
const BODY_RANKS: &str = workload_field!(ProgramForm, processes);

/// A program.
pub static KIND: Kind = Kind {
    name: "program",
    fields: ProgramForm::FIELDS,
    about: ProgramForm::ABOUT,
    metrics: &[TIME],
    account: &[],
    processes: workload_field!(ProgramForm, ranks),
    read: |reading| {
        check_form(reading)?;
        let team = team(reading.addressing, reading.threads);
        let Statements { ranks, variables, buffers } =
            read(reading.diagnostics, reading.choices, reading.node, team.of_a_rank());
        Some(Arc::new(WrittenProgram { ranks, variables, buffers, team }))
    },
};

/// The statements of each rank.
#[derive(Clone, Debug)]
pub struct WrittenProgram {
    /// One list for each rank.
    pub ranks: Vec<RankProgram>,
    /// Variables of a rank; 0 where no statement needs one.
    pub variables: usize,
    /// Bytes of the buffers with a name.
    pub buffers: Arc<[u64]>,
    /// The threads of each process.
    pub team: Team,
}

/// The threads of a process that have a program each.
const fn team(addressing: Addressing, threads: u16) -> Team {
    let world = match addressing {
        Addressing::Process | Addressing::Duplicated | Addressing::Partitioned if threads == 1 => {
            return Team::ALONE;
        }
        Addressing::Process | Addressing::Partitioned => Some(World::Shared),
        Addressing::Duplicated => Some(World::Duplicated),
        Addressing::Endpoints(own) if own.at_start => Some(World::Static),
        Addressing::Endpoints(_) => Some(World::Dynamic),
        Addressing::EndpointLibrary => None,
    };
    Team { threads, world }
}

/// Refuses a program that has not either lists of ranks or one body of all.
fn check_form(reading: &mut Reading<'_>) -> Option<()> {
    let has = |key: &str| reading.node.get(key).is_some();
    let (found, allowed) = match (has("ranks"), has("body"), has("processes")) {
        (true, false, false) | (false, true, true) => return Some(()),
        (true, true, _) => ("`ranks` and `body`", "one of them is needed"),
        (false, false, _) => ("neither `ranks` nor `body`", "one of them is needed"),
        (true, false, true) => ("`processes` beside `ranks`", "it is for `body`"),
        (false, true, false) => ("a `body` without `processes`", "the number of ranks is needed"),
    };
    reading.refuse("workload", found, allowed);
    None
}

impl WrittenProgram {
    fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.ranks.iter().flat_map(|rank| rank.iter())
    }

    /// Whether a statement makes a window that is so.
    fn makes_window(&self, is: impl Fn(Flavor) -> bool) -> bool {
        self.statements().any(|one| {
            matches!(one.work.one_sided(), Some(RmaCall::Create { flavor, .. }) if is(*flavor))
        })
    }

    /// Refuses lists that are not one for each endpoint, process by process.
    fn check_whole_processes(&self, reading: &mut Reading<'_>) {
        let (lists, threads) = (self.ranks.len(), reading.threads);
        if lists.is_multiple_of(usize::from(threads)) {
            return;
        }
        let found = format!("{lists} ranks");
        let each = if self.team.of_a_rank() > 1 { "threads" } else { "endpoints" };
        let allowed = format!("one for each of the {threads} {each} of every process");
        let path = if reading.node.get("body").is_some() { BODY_RANKS } else { KIND.processes };
        let one = reading.error(&codes::CONTRADICTION, path, found, allowed);
        let threads = reading.place("ranks.threads_per_process");
        reading.diagnostics.push(one.related(threads, "they are given here"));
    }

    /// The endpoint library passes on messages that lie in one piece, from the first byte of their buffer on.
    fn check_pieces(&self, reading: &mut Reading<'_>) {
        let is_scattered = |one: &&Statement| matches!(one.work.calls(), Some(Call::Typed(typed)) if !typed.elements.is_from_start());
        let Some(typed) = self.statements().find(is_scattered) else { return };
        let found = "the threads are endpoints of a library over plain MPI";
        let allowed =
            format!("the message in line {} lies in pieces, or behind displacement 0", typed.line);
        let one = reading.error(&codes::CONTRADICTION, "ranks.addressing", found, allowed);
        let one = one.help("without `xios_ep` each rank is a process, whose library packs");
        reading.diagnostics.push(one);
    }

    /// The endpoint library makes windows of memory that the program has, and no others.
    fn check_windows(&self, reading: &mut Reading<'_>) {
        let found = |one: &Statement| {
            let call = one.work.one_sided()?;
            let lacks = if let RmaCall::Create { flavor, .. } = call {
                *flavor != Flavor::Create
            } else {
                matches!(call, RmaCall::Test { .. } | RmaCall::Query { .. })
            };
            lacks.then(|| (one.line, call.name()))
        };
        let Some((line, function)) = self.statements().find_map(found) else { return };
        let found = "the threads are endpoints of a library over plain MPI";
        let allowed = format!("line {line} calls `{function}`, which that library does not offer");
        let one = reading.error(&codes::CONTRADICTION, "ranks.addressing", found, allowed);
        let one =
            one.help("`win_create` makes a window of endpoints, and `win_wait` ends an epoch");
        reading.diagnostics.push(one);
    }

    /// Windows belong to processes, and endpoints of a program's own to processes of one thread.
    fn check_team(&self, reading: &mut Reading<'_>) {
        let belongs = |work: &Work| {
            if let Some(call) = work.one_sided() {
                return Some((call.name(), "windows"));
            }
            let makes = matches!(work.calls(), Some(Call::CreateEndpoints { .. }));
            makes.then_some(("MPI_Comm_create_endpoints", "endpoints that a statement makes"))
        };
        let found = |one: &Statement| belongs(&one.work).map(|what| (one.line, what));
        let path = "ranks.threads_per_process";
        if let Some((line, (function, what))) = self.statements().find_map(found) {
            let found = "the threads of a process have a program each";
            let allowed = format!(
                "line {line} calls `{function}`: {what} need processes of one thread, addressed by `process`"
            );
            reading.refuse(path, found, allowed);
        }
        let threads = self.team.threads;
        let last = self.statements().filter_map(|one| one.work.makes()).max_by_key(|comm| comm.0);
        if threads <= MOST && last.is_some_and(|last| !is_numbered(last, threads)) {
            let found = format!("{threads} threads, of which each makes communicators");
            reading.refuse(path, found, "all of them have at most 65,535 together");
        }
        if self.team.threads > MOST {
            let found = format!("{} threads with a program each", self.team.threads);
            reading.refuse(path, found, format!("at most {MOST} of a process"));
        }
    }

    /// The calls, with the units of collectives.
    fn listed(&self, ranks: &Ranks) -> Programs {
        // The endpoint library has fewer tags than MPI.
        let tags = match ranks.addressing {
            Addressing::EndpointLibrary => Some(i64::from(USER_MAX)),
            Addressing::Process
            | Addressing::Duplicated
            | Addressing::Partitioned
            | Addressing::Endpoints(_) => None,
        };
        let extras = |statement: &Statement| match (&statement.extras, tags) {
            (Some(extras), Some(most)) => Some(Arc::new(extras.with_tags_up_to(most))),
            (extras, _) => extras.clone(),
        };
        let step = |statement: &Statement| {
            let line = u32::try_from(statement.line).unwrap_or(u32::MAX);
            let does = match &statement.work {
                Work::Does(does) => does.clone(),
                Work::Collective(chosen, way) => {
                    let call = Arc::new(ranks.placed(chosen));
                    Does::Call(match *way {
                        Calling::Blocking => Call::Collective(call),
                        Calling::Nonblocking(request) => Call::Icollective { request, call },
                        Calling::Persistent(request) => {
                            Call::Prepare(Arc::new(Call::Icollective { request, call }))
                        }
                    })
                }
            };
            let column = u32::try_from(statement.column).unwrap_or(u32::MAX);
            Step { line, column, does, extras: extras(statement) }
        };
        let mut lists: Vec<Arc<[Step]>> = Vec::with_capacity(self.ranks.len());
        for (rank, own) in self.ranks.iter().enumerate() {
            // Ranks with the same statements share their steps.
            let before =
                rank.checked_sub(1).filter(|before| Arc::ptr_eq(&self.ranks[*before], own));
            lists.push(match before {
                Some(before) => Arc::clone(&lists[before]),
                None => own.iter().map(step).collect(),
            });
        }
        Programs::checked(lists)
            .with_variables(self.variables)
            .with_buffers(Arc::clone(&self.buffers))
            .of_threads(self.team)
    }
}

/// Refuses tags of a program over the endpoint library, which has fewer than MPI; those that are computed are judged
/// when they are.
fn check_tags(reading: &mut Reading<'_>) {
    if let Some(body) = reading.node.get("body") {
        check_tags_of(reading, body, "workload.body");
    }
    let lists = reading.node.get("ranks").and_then(Node::elements).unwrap_or(&[]);
    for (rank, list) in lists.iter().enumerate() {
        check_tags_of(reading, list, &format!("workload.ranks[{rank}]"));
    }
}

fn check_tags_of(reading: &mut Reading<'_>, list: &Node, path: &str) {
    for (index, node) in list.elements().unwrap_or(&[]).iter().enumerate() {
        for key in ["do", "then", "else"] {
            if let Some(list) = node.get(key) {
                check_tags_of(reading, list, &format!("{path}[{index}].{key}"));
            }
        }
        let most = u64::from(USER_MAX.unsigned_abs());
        let tags = ["tag", "send_tag", "recv_tag"].into_iter();
        let mut tags = tags.filter_map(|key| Some((key, node.get(key)?)));
        let above = |tag: &Node| tag.text().is_none() && tag.as_count() > most;
        let Some((key, tag)) = tags.find(|(_, tag)| above(tag)) else { continue };
        let path = format!("{path}[{index}].{key}");
        let found = format!("tag {}", tag.as_count());
        let allowed = format!("tags of the endpoint library are 0 to {USER_MAX}");
        let one = Diagnostic::error(&codes::TAG, tag.span, path, found, allowed)
            .related(reading.place("ranks.addressing"), "the library is chosen here")
            .help(format!(
                "the program has {USER_BITS} of the 31 bits of a tag of MPI; twice {LOCAL_BITS} \
                 more say which endpoints of their processes send and receive"
            ));
        reading.diagnostics.push(one);
    }
}

impl Workload for WrittenProgram {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    /// Every addressing has programs.
    fn check_addressing(&self, reading: &mut Reading<'_>) {
        reading.refuse_partitioned();
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let payload = reading.tree.get("mpi").and_then(|mpi| mpi.word("payload"));
        if self.needs_bytes() && payload == Some("phantom") {
            let allowed = "`load` and `store` are about them: `real` is needed";
            reading.refuse("mpi.payload", "the bytes of messages do not exist", allowed);
        }
        let ranks = u32::try_from(self.ranks.len()).expect("the shape limits the ranks");
        let processes = ranks.div_ceil(u32::from(reading.threads.max(1)));
        Some(Processes::new(processes, processes.div_ceil(reading.nodes)))
    }

    fn check_threads(&self, reading: &mut Reading<'_>) {
        if reading.addressing == Addressing::EndpointLibrary {
            self.check_whole_processes(reading);
            self.check_pieces(reading);
            self.check_windows(reading);
            check_tags(reading);
        } else if self.team.world.is_some() {
            self.check_whole_processes(reading);
            self.check_team(reading);
        }
    }

    fn collectives(&self) -> Vec<&Chosen> {
        self.statements().filter_map(|statement| statement.work.collective()).collect()
    }

    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram> {
        let programs = self.listed(ranks);
        (0..self.ranks.len())
            .map(|rank| AnyProgram::Program(Box::new(programs.stream(rank))))
            .collect()
    }

    fn needs_bytes(&self) -> bool {
        self.statements().any(|one| matches!(one.work, Work::Does(Does::Access(_))))
    }

    fn has_windows(&self) -> bool {
        self.makes_window(|_| true)
    }

    fn maps_windows(&self) -> bool {
        self.makes_window(|flavor| matches!(flavor, Flavor::Shared(_)))
    }

    fn measure(&self, _: &mut Measured<'_>) {}

    fn schedule(&self) -> Result<Option<Schedule>, String> {
        let computes = |one: &&Statement| {
            one.extras.is_some() || matches!(one.work, Work::Does(Does::Control(_)))
        };
        match self.statements().find(computes) {
            Some(one) => Err(format!(
                "line {} has an expression, a loop, a condition or an expected value, and GOAL has none",
                one.line
            )),
            None => Ok(None),
        }
    }

    fn senders(&self, _: &Ranks) -> u64 {
        1
    }
}
