//! Explicit programs: the statements of a scenario as calls, each with its line.

mod buffers;
mod communicators;
mod flow;
pub mod form;
mod groups;
mod handles;
mod list;
mod making;
mod messages;
mod named;
mod one_sided;
mod partitions;
mod pieces;
mod reader;
mod requests;
mod row;
mod scope;
mod statement;
mod variables;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::collectives::{self, Choices, Chosen};
use super::program::computed::{Part, Range};
use crate::marks::{END, START};
use crate::program::Does;
use ::collectives::{Collective, Kind};
use ::form::codes;
use ::form::diagnostic::{Diagnostic, Diagnostics, quote};
use ::form::fields::MAX_MESSAGE;
use ::form::json::{Node, Value};
use communicators::{Communicators, Named};
pub use communicators::{Unfreed, never_freed};
pub use form::collectives::CHOICES;
use form::collectives::MOST_ELEMENTS;
use handles::{Handles, Open};
pub use list::STATEMENTS;
use mpi::communicator::Communicators as Duplicates;
use mpi::operator::Reduction;
use named::{Buffers, Types};
use protocols::call::{Call, LocalReduction, Peer, Requests};
use protocols::contract::Handle;
use reader::{Item, LineCounter, Reader};
pub use statement::{Calling, RankProgram, Statement, Work};
use variables::Scope;
use windows::{MemoryNames, Windows};

/// The first rank that receives from any source where more than one may send, and the line: the order of arrivals
/// decides what it gets. Of a body the rank is unknown. Each rank has `of_a_rank` programs.
pub fn takes_any(ranks: &[RankProgram], of_a_rank: usize) -> Option<(Option<usize>, usize)> {
    let is_any =
        |statement: &Statement| statement.work.calls().and_then(Call::source) == Some(Peer::Any);
    if ranks.len() <= 2 {
        return None;
    }
    let wild = |rank: &RankProgram| rank.iter().find(|one| is_any(one)).map(|one| one.line);
    let (rank, line) = (0..).zip(ranks).find_map(|(rank, own)| Some((rank, wild(own)?)))?;
    let of_all = ranks.windows(2).all(|two| wild(&two[0]) == wild(&two[1]));
    Some(((!of_all).then_some(rank / of_a_rank), line))
}

/// The statements of all ranks, and how many variables each rank has.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    /// One list for each rank.
    pub ranks: Vec<RankProgram>,
    /// Variables of a rank, those of every program among them; 0 where no statement needs one.
    pub variables: usize,
    /// Bytes of the buffers with a name.
    pub buffers: Arc<[u64]>,
}

/// Reads a checked program workload, and reports mistakes; each rank has `of_a_rank` threads with
/// a program.
///
/// # Panics
///
/// When the node was not checked against its shape.
pub fn read(
    diagnostics: &mut Diagnostics,
    choices: &Choices,
    node: &Node,
    of_a_rank: usize,
) -> Statements {
    let mut types = Types::read(diagnostics, node);
    let named = Buffers::read(diagnostics, node);
    let mut memories = MemoryNames::default();
    let mut lines = LineCounter::new(diagnostics, node.span);
    let mut all = Statements { buffers: named.sizes(), ..Statements::default() };
    let mut one = |diagnostics: &mut Diagnostics, of: (u32, usize), list: &Node, path: &str| {
        let mut reader = Reader {
            diagnostics,
            choices,
            ranks: of.0,
            rank: of.1,
            body: node.get("body").is_some(),
            handles: Handles::default(),
            numbers: BTreeMap::new(),
            lines: &mut lines,
            scope: Scope::default(),
            nested: 0,
            begun: BTreeMap::new(),
            arrays: None,
            list,
            communicators: Communicators::default(),
            windows: Windows::default(),
            memories: &mut memories,
            types: &mut types,
            named: &named,
            buffers: 0,
            attached: None,
        };
        let mut statements = Vec::new();
        reader.list(list, path, &mut statements);
        reader.end(path);
        reader.windows.end(reader.diagnostics, path);
        let variables = if reader.scope.used { reader.scope.len() } else { 0 };
        (RankProgram::from(statements), variables)
    };
    if let Some(body) = node.get("body") {
        let ranks = node.small("processes").unwrap_or(1);
        let (first, variables) = one(diagnostics, (ranks, 0), body, "workload.body");
        // The buffers of a collective depend on the rank.
        let differs = first.iter().any(|it| it.work.collective().is_some());
        (all.ranks, all.variables) = (vec![first; ranks as usize * of_a_rank], variables);
        for rank in 1..ranks as usize {
            if !differs || diagnostics.has_errors() {
                break;
            }
            let (own, _) = one(diagnostics, (ranks, rank), body, "workload.body");
            let before = &all.ranks[rank * of_a_rank - 1];
            let own = if own == *before { Arc::clone(before) } else { own };
            all.ranks[rank * of_a_rank..][..of_a_rank].fill(own);
        }
        check_timers(diagnostics, (body, "workload.body"), &all.ranks[..1]);
        return all;
    }
    let Some(ranks) = node.get("ranks") else { return all };
    let lists = ranks.elements().expect("the tree was checked against its shape");
    let count = u32::try_from(lists.len().div_ceil(of_a_rank)).expect("the shape limits the ranks");
    for (rank, list) in lists.iter().enumerate() {
        let path = format!("workload.ranks[{rank}]");
        let (statements, variables) = one(diagnostics, (count, rank / of_a_rank), list, &path);
        all.ranks.push(statements);
        all.variables = all.variables.max(variables);
    }
    check_timers(diagnostics, (ranks, "workload.ranks"), &all.ranks);
    // Threads that share a rank make and free a communicator once.
    if of_a_rank == 1 {
        groups::check(diagnostics, lists);
    }
    all
}

/// A time that is measured has two ends.
fn check_timers(
    diagnostics: &mut Diagnostics,
    (node, path): (&Node, &str),
    programs: &[RankProgram],
) {
    let has = |mark| {
        let mut statements = programs.iter().flat_map(|program| program.iter());
        statements.any(|statement| statement.work == Work::Does(Does::Mark(mark)))
    };
    let (found, allowed) = match (has(START), has(END)) {
        (true, false) => ("a timer that starts and does not stop", "a `stop` is needed too"),
        (false, true) => ("a timer that stops and does not start", "a `start` is needed too"),
        (true, true) | (false, false) => return,
    };
    let report = Diagnostic::error(&codes::CONTRADICTION, node.span, path, found, allowed);
    diagnostics.push(report);
}

impl Reader<'_> {
    fn report(&mut self, one: Diagnostic) {
        self.diagnostics.push(one);
    }

    fn work(&mut self, node: &Node, path: &str) -> Work {
        let op = node.required_word("op");
        let mut rows = messages::ROWS.iter().chain(&making::ROWS).chain(&one_sided::ROWS);
        if let Some(row) = rows.find(|row| row.form.name == op) {
            return Work::Does((row.read)(&mut Item { reader: self, node, path }));
        }
        let named = self.communicators.named(self.diagnostics, node, path);
        // The arguments of a local reduction are those of one that all ranks have.
        if op == "reduce_local"
            && let Some(Chosen { call, .. }) = self.collective("allreduce", node, named, path)
            && let Collective { input: from, output: into, reduction: Some(reduction), .. } = call
        {
            return Work::call(Call::ReduceLocal(Arc::new(LocalReduction {
                from,
                into,
                reduction,
            })));
        }
        if let Some(chosen) = self.collective(op, node, named, path) {
            return Work::Collective(chosen, Calling::Blocking);
        }
        let nonblocking =
            op.strip_prefix('i').and_then(|op| self.collective(op, node, named, path));
        if let Some(chosen) = nonblocking {
            return Work::Collective(chosen, Calling::Nonblocking(self.open(node, "req", path)));
        }
        let operation = op.strip_suffix("_init");
        let prepared = operation.and_then(|op| self.collective(op, node, named, path));
        if let Some(chosen) = prepared {
            let request = self.open(node, "req", path);
            self.mark(node, "req", Open::Prepared);
            return Work::Collective(chosen, Calling::Persistent(request));
        }
        Work::Does(match op {
            "compute" => Does::Compute(self.time(node, path)),
            _ if node.word("is") == Some("stop") => Does::Mark(END),
            _ => Does::Mark(START),
        })
    }

    /// A collective among neighbours.
    fn neighbours(&mut self, op: &str, node: &Node, named: Named, path: &str) -> Option<Chosen> {
        if !op.starts_with("neighbor_") {
            return None;
        }
        let degrees = match named.kind {
            communicators::Kind::Arranged(degrees) => degrees,
            communicators::Kind::Processes(_) | communicators::Kind::Endpoint => {
                let found = "ranks that are no neighbours";
                let allowed = "a communicator of `cart_create` and its like is needed";
                let mut item = Item { reader: self, node, path };
                item.refuse(&codes::COMMUNICATOR, "comm", found, allowed);
                Some([0, 0])
            }
        };
        let mut reader = self.of_collectives(true);
        let mut chosen = reader.among_neighbours(op, node, (named.comm, degrees), path)?;
        self.buffers = reader.buffer;
        // How many neighbours the rank has is known in the run only.
        self.scope.extras.asked = degrees.is_none();
        let most = i64::try_from(MAX_MESSAGE).expect("a C int");
        self.computes(node, ("size", Part::Elements { width: 1 }), Range::up_to(most), path);
        Item { reader: self, node, path }.put_buffers(&mut chosen);
        Some(chosen)
    }

    fn of_collectives(&mut self, asked: bool) -> collectives::Reader<'_> {
        collectives::Reader {
            diagnostics: self.diagnostics,
            choices: self.choices,
            ranks: self.ranks,
            rank: u32::try_from(self.rank).expect("the shape limits the ranks"),
            body: self.body,
            asked,
            buffer: self.buffers,
        }
    }

    /// A collective whose blocks have a datatype and a displacement each.
    fn with_datatypes(
        &mut self,
        op: &str,
        node: &Node,
        named: Named,
        path: &str,
    ) -> Option<Chosen> {
        if !matches!(op, "alltoallw" | "neighbor_alltoallw") {
            return None;
        }
        let mut item = Item { reader: self, node, path };
        let blocks = ["sends", "receives"].map(|key| item.typed_blocks(key));
        let near = op == "neighbor_alltoallw";
        let asked = named.like().is_none() && !near;
        let mut reader = self.of_collectives(asked);
        let mut chosen = reader.with_datatypes((op, node), named.comm, &blocks, path);
        self.buffers = reader.buffer;
        self.scope.extras.asked = asked;
        Item { reader: self, node, path }.put_buffers(&mut chosen);
        Some(chosen)
    }

    fn collective(&mut self, op: &str, node: &Node, named: Named, path: &str) -> Option<Chosen> {
        if let Some(chosen) = self.with_datatypes(op, node, named, path) {
            return Some(chosen);
        }
        if let Some(chosen) = self.neighbours(op, node, named, path) {
            return Some(chosen);
        }
        // As on the communicator of every job that it is like; else the program asks for its place when it calls.
        let like = named.like().unwrap_or_default();
        let moved = named.comm != like && like.0 == Duplicates::REVERSED;
        let asked = named.like().is_none() || moved;
        let mut reader = self.of_collectives(asked);
        let mut chosen = reader.read(op, node, like, path)?;
        self.buffers = reader.buffer;
        let asked = asked && chosen.call.kind != Kind::Barrier;
        self.scope.extras.asked = asked;
        self.in_place(node, &chosen, path);
        // What the run knows may be an intercommunicator.
        let range = if asked { Range::ROOTS } else { Range::up_to((self.ranks - 1).into()) };
        self.computes(node, ("root", Part::Root), range, path);
        let most = i64::try_from(MAX_MESSAGE).expect("a C int");
        self.computes(node, ("size", Part::Elements { width: 1 }), Range::up_to(most), path);
        let most = i64::try_from(MOST_ELEMENTS).expect("a C int");
        let width = chosen.call.reduction.map_or(1, Reduction::width);
        self.computes(node, ("count", Part::Elements { width }), Range::up_to(most), path);
        chosen.call.comm = named.comm;
        Item { reader: self, node, path }.put_buffers(&mut chosen);
        Some(chosen)
    }

    /// `MPI_IN_PLACE`: every rank has one buffer, or the root where there is one.
    fn in_place(&mut self, node: &Node, chosen: &Chosen, path: &str) {
        let value = node.get("in_place").map(|value| &value.value);
        if !matches!(value, Some(Value::Bool(true))) {
            return;
        }
        self.scope.extras.in_place = true;
        // The program knows its rank at run time.
        self.scope.used = true;
        let key = if chosen.call.kind == Kind::Scatter { "recvbuf" } else { "sendbuf" };
        if node.get(key).is_some() && !chosen.call.kind.has_root() {
            let found = format!("`{key}` beside `in_place`");
            let allowed = "the buffer of the result holds what each rank gives";
            let mut item = Item { reader: self, node, path };
            item.refuse(&codes::CONTRADICTION, key, found, allowed);
        }
    }

    /// An attached buffer must be detached: its transfers complete by then, and not after the end.
    fn end(&mut self, path: &str) {
        let Some((first, true)) = self.attached else { return };
        let (found, allowed) =
            ("the buffer is never detached", "`buffer_detach` must come after it");
        let one = Diagnostic::error(&codes::CONTRADICTION, first, path, found, allowed);
        self.report(one.help("detaching waits for the transfers of all buffered sends"));
    }

    /// The number of the request or message that the text under `key` begins to name.
    fn open(&mut self, node: &Node, key: &str, path: &str) -> Handle {
        let value = node.get(key).expect("the key is required");
        let at = format!("{path}.{key}");
        let of = if key == "req" { Part::Request } else { Part::Message };
        if let Some(element) = self.element(value, &at, of) {
            if key == "req" {
                self.buffers_of_element(value);
            }
            return element;
        }
        let name = value.text().expect("the tree was checked against its shape").to_owned();
        let handle = self.number(&name);
        let known = self.handles.get(&name);
        if let Some((_, Open::Yes | Open::Prepared, first)) = known {
            self.report(
                Diagnostic::error(
                    &codes::REQUEST,
                    value.span,
                    format!("{path}.{key}"),
                    format!("`{}` is still open", quote(&name)),
                    "a name may be used again after its end",
                )
                .related(first, "it was opened here")
                .help("wait for it first, or use another name"),
            );
        }
        let certain = self.nested == 0;
        self.begun.insert(name.clone(), (node.required_word("op").to_owned(), certain));
        self.handles.set(&name, (handle, Open::Yes, value.span));
        handle
    }

    /// The number of a name.
    fn number(&mut self, name: &str) -> Handle {
        let next = Handle(u32::try_from(self.numbers.len()).expect("the shape limits statements"));
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    fn mark(&mut self, node: &Node, key: &str, open: Open) {
        let name = node.get(key).and_then(Node::text);
        if let Some(name) = name {
            self.handles.mark(name, open);
        }
    }

    fn close(&mut self, node: &Node, key: &str, path: &str, after: Open) -> Handle {
        let (value, at) = (node.get(key).expect("the key is required"), format!("{path}.{key}"));
        let of = if key == "req" { Part::Request } else { Part::Message };
        match self.element(value, &at, of) {
            Some(element) => element,
            None => self.close_node(value, &at, after),
        }
    }

    fn close_all(&mut self, node: &Node, path: &str, after: Open) -> Requests {
        let value = node.get("reqs").expect("the key is required");
        let Some(list) = value.elements() else {
            return self.first_of_array(value, &format!("{path}.reqs"));
        };
        let handles = list.iter().enumerate().map(|(index, value)| {
            let at = format!("{path}.reqs[{index}]");
            let listed = |members| Part::RequestAt(index, members);
            match self.element(value, &at, listed) {
                Some(element) => element,
                None => self.close_node(value, &at, after),
            }
        });
        Requests::List(handles.collect())
    }

    fn close_node(&mut self, value: &Node, path: &str, after: Open) -> Handle {
        let name = value.text().expect("the tree was checked against its shape");
        match self.handles.get(name) {
            Some((handle, open, _)) if open != Open::No => {
                if open != Open::Prepared {
                    self.handles.mark(name, after);
                }
                handle
            }
            known => {
                let ended = known.is_some();
                let open = self.handles.open();
                let found = if ended { "has ended already" } else { "was never opened" };
                let allowed = if open.is_empty() {
                    "none is open here".to_owned()
                } else {
                    format!("open here are {}", open.join(", "))
                };
                let name = quote(name);
                self.report(Diagnostic::error(
                    &codes::REQUEST,
                    value.span,
                    path,
                    format!("`{name}` {found}"),
                    allowed,
                ));
                Handle(0)
            }
        }
    }
}
