//! Collectives in a scenario: from checked trees to calls of the library.

pub(crate) mod fit;

use std::sync::Arc;

pub use crate::selection::Over;
use crate::selection::{self, Origin, Table, Written, unknown};
use ::collectives::hierarchy::Units;
use ::collectives::selection::{Bounds, Facts, Rule, Selection};
use ::collectives::{Algorithm, At, Between, Blocks, Collective, Kind, Move, Round};
use calls::typed::Elements;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::expression::text_of;
use form::json::{Node, Value};
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use mpi::operator::{Datatype, Operator, Reduction};
use protocols::call::Comm;
use protocols::contract::{Region, Space};
use units::Bytes;

/// The choices of the scenario for all collectives.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Choices {
    /// How operations choose, those of the scenario before those of its preset.
    chosen: Vec<(Kind, How)>,
    /// Which ranks combine first, where that is said.
    over: Option<Over>,
    /// Bytes of a segment of a broadcast, where that is said.
    bcast_segment: Option<u64>,
    /// Bytes of a segment of a reduction, where that is said.
    reduce_segment: Option<u64>,
    /// Pairs of messages under way at once, where that is said.
    outstanding: Option<u32>,
}

/// How an operation chooses its algorithm.
#[derive(Clone, Debug, Eq, PartialEq)]
enum How {
    /// It always takes this one.
    Always(Algorithm),
    /// By the first rule that fits.
    ByRules(Arc<Table>),
}

/// A call, and who combines first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chosen {
    /// The call, not yet in steps over units.
    pub call: Collective,
    /// The kind of these units.
    pub over: Over,
    /// Whether the scenario says so; else a rule may.
    over_is_stated: bool,
    /// The rules that choose its algorithm.
    table: Option<Arc<Table>>,
}

/// Why a call has its algorithm.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reason {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The rule, counted from 1; `None` where none fits.
    pub rule: Option<(usize, Written)>,
    /// The origin of the rules.
    pub origin: Origin,
    /// The facts that the rules looked at.
    pub facts: Facts,
}

impl Choices {
    /// Reads the checked node `mpi.collectives`; reports rules that no call could follow.
    pub fn read(diagnostics: &mut Diagnostics, node: Option<&Node>) -> Self {
        let Some(node) = node else { return Self::default() };
        let mut how = |kind: Kind| {
            let given = node.get(kind.name())?;
            if let Some(rules) = given.elements() {
                let path = format!("mpi.collectives.{}", kind.name());
                let table = Table::read(diagnostics, (kind, &path), Origin::Scenario, rules);
                return Some(How::ByRules(Arc::new(table)));
            }
            Some(How::Always(Algorithm::named(kind, given.text()?)?))
        };
        let own = Kind::ALL.into_iter().filter_map(|kind| Some((kind, how(kind)?)));
        let tables = node.word("preset").map_or(&[][..], selection::preset).iter();
        let preset = tables.map(|(kind, table)| (*kind, How::ByRules(Arc::clone(table))));
        let segment = |key| node.bytes(key).map(Bytes::as_u64);
        Self {
            chosen: own.chain(preset).collect(),
            over: node.word("over").map(|word| Over::named(Some(word))),
            bcast_segment: segment("bcast_segment"),
            reduce_segment: segment("reduce_segment"),
            outstanding: node.small("alltoall_outstanding"),
        }
    }

    /// The call by the algorithm that was chosen for its kind, where that can do it, or the rules for it.
    fn by_default(&self, call: Collective) -> (Collective, Option<Arc<Table>>) {
        match self.chosen.iter().find(|(kind, _)| *kind == call.kind) {
            Some((_, How::Always(algorithm))) => {
                (call.clone().by(*algorithm).unwrap_or(call), None)
            }
            Some((_, How::ByRules(table))) => (call, Some(Arc::clone(table))),
            None => (call, None),
        }
    }

    /// The call as the scenario chooses it, where nothing is said beside it.
    pub fn chosen(&self, call: Collective) -> Chosen {
        let call = self.parameters(call);
        let stated = self.steps(&call, None);
        Chosen::of(self.by_default(call), stated)
    }

    /// The call with the segments and the number of messages that the scenario says.
    fn parameters(&self, call: Collective) -> Collective {
        let segment =
            if call.kind == Kind::Reduce { self.reduce_segment } else { self.bcast_segment };
        Collective {
            segment: segment.unwrap_or(call.segment),
            outstanding: self.outstanding.unwrap_or(call.outstanding),
            ..call
        }
    }

    /// The units that combine first, where a statement of its `own` or the scenario says so.
    fn steps(&self, call: &Collective, own: Option<Over>) -> Option<Over> {
        let has_steps = matches!(call.kind, Kind::Bcast | Kind::Reduce | Kind::Allreduce)
            || (call.kind == Kind::Barrier && own.is_some());
        own.or(self.over.filter(|_| has_steps))
    }

    /// The call as the statement or workload `node` chooses it.
    ///
    /// # Panics
    ///
    /// When the node was not checked against its shape.
    pub fn choose(
        &self,
        diagnostics: &mut Diagnostics,
        node: &Node,
        path: &str,
        call: Collective,
    ) -> Chosen {
        let call = self.parameters(call);
        let own = node.word("over");
        let stated = self.steps(&call, own.map(|own| Over::named(Some(own))));
        let chosen = |chosen| Chosen::of(chosen, stated);
        let Some(named) = node.get("algorithm") else {
            return chosen(self.by_default(call));
        };
        let name = named.text().expect("the tree was checked against its shape");
        let at = format!("{path}.algorithm");
        let Some(algorithm) = Algorithm::named(call.kind, name) else {
            diagnostics.push(unknown(named.span, at, call.kind, name));
            return chosen((call, None));
        };
        let kept = call.clone();
        let call = call.by(algorithm).unwrap_or_else(|why| {
            diagnostics.push(Diagnostic::error(
                &codes::CONTRADICTION,
                named.span,
                at,
                format!("`{name}` cannot do this `{}`", kept.kind.name()),
                why.to_string(),
            ));
            kept
        });
        chosen((call, None))
    }
}

/// Where the ranks of a call are.
struct Places<N> {
    processes: u32,
    /// Ranks of a process.
    each: u32,
    /// Whether they are counted from the last one.
    reversed: bool,
    /// The node of a process.
    node_of: N,
}

impl<N: Fn(u32) -> u32> Places<N> {
    const fn ranks(&self) -> u32 {
        self.processes * self.each
    }

    const fn process(&self, rank: u32) -> u32 {
        (if self.reversed { self.ranks() - 1 - rank } else { rank }) / self.each
    }

    fn node(&self, rank: u32) -> u32 {
        (self.node_of)(self.process(rank))
    }

    /// The groups of ranks that combine first.
    fn units(&self, over: Over) -> Option<Arc<Units>> {
        let units = match over {
            Over::Ranks => return None,
            Over::Processes => Units::new(self.ranks(), |rank| self.process(rank)),
            Over::Nodes => Units::new(self.ranks(), |rank| self.node(rank)),
        };
        Some(Arc::new(units))
    }
}

impl Chosen {
    fn of((call, table): (Collective, Option<Arc<Table>>), stated: Option<Over>) -> Self {
        let (over, over_is_stated) = (stated.unwrap_or_default(), stated.is_some());
        Self { call, over, over_is_stated, table }
    }

    fn places<N>(&self, processes: u32, each: u16, node_of: N) -> Places<N> {
        let reversed = self.call.comm.0 == Communicators::REVERSED;
        Places { processes, each: each.into(), reversed, node_of }
    }

    /// Whether the scenario, or a rule, sends it in steps over units.
    pub fn may_go_in_steps(&self) -> bool {
        let by_rule = |rule: &Written| rule.over.is_some_and(|over| over != Over::Ranks);
        let rules = self.table.as_ref().filter(|_| !self.over_is_stated);
        self.over != Over::Ranks || rules.is_some_and(|table| table.rules.iter().any(by_rule))
    }

    /// The call with its units, where it is in steps, and with the algorithm that its rules choose: for `processes`
    /// processes of `each` ranks, on the nodes that `node_of` knows.
    ///
    /// # Errors
    ///
    /// Why there is no such version of it, in words.
    pub fn placed(
        &self,
        processes: u32,
        each: u16,
        node_of: impl Fn(u32) -> u32,
    ) -> Result<Collective, String> {
        let places = self.places(processes, each, node_of);
        let call = match places.units(self.over) {
            Some(units) => self.call.clone().over(units).map_err(|why| why.to_string())?,
            None => self.call.clone(),
        };
        Ok(match &self.table {
            Some(table) => call.selecting(Arc::new(self.selection(table, &places))),
            None => call,
        })
    }

    /// The rules where they are used: what fits nowhere takes the default, as the call stands.
    fn selection<N: Fn(u32) -> u32>(&self, table: &Table, places: &Places<N>) -> Selection {
        let call = &self.call;
        let made = [Over::Processes, Over::Nodes].map(|over| (over, places.units(over)));
        let units = |over: Option<Over>| {
            let over = over.filter(|_| !self.over_is_stated).unwrap_or(self.over);
            made.iter().find(|(one, _)| *one == over).and_then(|(_, units)| units.clone())
        };
        let rule = |written: &Written| Rule {
            bounds: written.bounds,
            algorithm: written.algorithm,
            units: units(written.over),
            segment: written.segment.unwrap_or(call.segment),
            outstanding: written.outstanding.unwrap_or(call.outstanding),
        };
        let otherwise = Rule {
            bounds: Bounds::default(),
            algorithm: call.algorithm,
            units: units(None),
            segment: call.segment,
            outstanding: call.outstanding,
        };
        let on_nodes = Units::new(places.ranks(), |rank| places.node(rank));
        Selection {
            rules: table.rules.iter().map(rule).chain([otherwise]).collect(),
            ranks: places.ranks(),
            ranks_per_node: on_nodes.largest(),
        }
    }

    /// Why it has its algorithm there, where rules choose.
    pub fn reason(
        &self,
        processes: u32,
        each: u16,
        node_of: impl Fn(u32) -> u32,
    ) -> Option<Reason> {
        let table = self.table.as_ref()?;
        let selection = self.selection(table, &self.places(processes, each, node_of));
        let (number, call) = self.call.chosen_by(&selection)?;
        Some(Reason {
            algorithm: call.algorithm,
            rule: table.rules.get(number).map(|written| (number + 1, written.clone())),
            origin: table.origin.clone(),
            facts: call.facts(selection.ranks, selection.ranks_per_node),
        })
    }
}

/// The type of the elements of a statement.
///
/// # Panics
///
/// When the node was not checked against its shape.
pub(crate) fn element_type(node: &Node) -> Datatype {
    let name = node.word("type").unwrap_or("int32");
    let datatype = Datatype::ALL.into_iter().find(|one| one.name() == name);
    datatype.expect("the tree was checked against its shape")
}

/// The operator of a statement; a report where it is not defined on the type.
///
/// # Panics
///
/// When the node was not checked against its shape.
pub fn reduction(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Reduction {
    let operator = node.word("operator").unwrap_or("sum");
    let operator = Operator::ALL.into_iter().find(|one| one.name() == operator);
    let operator = operator.expect("the tree was checked against its shape");
    let datatype = element_type(node);
    Reduction::new(operator, datatype).unwrap_or_else(|| {
        let span =
            node.get("operator").or_else(|| node.get("type")).map_or(node.span, |it| it.span);
        let takes = Datatype::ALL.into_iter().filter(|one| operator.takes(*one));
        let takes: Vec<&str> = takes.map(Datatype::name).collect();
        diagnostics.push(Diagnostic::error(
            &codes::CONTRADICTION,
            span,
            format!("{path}.operator"),
            format!("`{operator}` is not defined on `{}`", datatype.name()),
            format!("it takes {}", takes.join(", ")),
        ));
        Reduction::new(Operator::Sum, Datatype::Int32).expect("sums of integers are defined")
    })
}

/// The operator of a statement, which may keep the order of ranks.
fn ordered(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Reduction {
    let reduction = reduction(diagnostics, node, path);
    let Some(commute) = node.get("commute") else { return reduction };
    let commutes = matches!(commute.value, Value::Bool(true));
    if commutes && !reduction.commutes() {
        let found = format!("`{}` does not commute", reduction.operator());
        let allowed = "only `false` is possible";
        let at = format!("{path}.commute");
        let one = Diagnostic::error(&codes::CONTRADICTION, commute.span, at, found, allowed);
        diagnostics.push(one);
    }
    if commutes { reduction } else { reduction.in_order() }
}

/// The reader of a statement: a rank of a program.
pub struct Reader<'a> {
    /// Where reports go.
    pub diagnostics: &'a mut Diagnostics,
    /// The scenario's choices.
    pub choices: &'a Choices,
    /// Number of ranks of the program.
    pub ranks: u32,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Whether every rank executes the statement.
    pub body: bool,
    /// Whether the program asks at run time for its rank and for the number of ranks.
    pub asked: bool,
    /// The next free buffer of the rank; a collective takes two.
    pub buffer: u32,
}

/// Which ranks execute a statement, in words.
pub(crate) fn whose(body: bool, rank: usize) -> String {
    if body {
        "every rank executes this statement".to_owned()
    } else {
        format!("this is a statement of rank {rank}")
    }
}

impl Reader<'_> {
    /// Reads a statement; `None` where it is no collective.
    pub fn read(&mut self, op: &str, node: &Node, comm: Comm, path: &str) -> Option<Chosen> {
        let reversed = comm.0 == Communicators::REVERSED;
        let me = if reversed { self.ranks - 1 - self.rank } else { self.rank };
        let call = match op {
            // The barrier that waits is a call of its own.
            "barrier" => Collective::barrier(comm),
            "bcast" => {
                let root = self.root(node, path);
                Collective::bcast(comm, root, self.region(1, bytes(node)))
            }
            "scatter" | "scatterv" => {
                let (root, blocks) = (self.root(node, path), self.blocks(node, "sizes", path));
                let extent = if root.0 == me { blocks.extent(self.ranks) } else { 0 };
                let output = self.region(1, blocks.at(me).len);
                Collective::scatter(comm, root, self.region(0, extent), blocks, output)
            }
            "gather" | "gatherv" => {
                let (root, blocks) = (self.root(node, path), self.blocks(node, "sizes", path));
                let extent = if root.0 == me { blocks.extent(self.ranks) } else { 0 };
                let input = self.region(0, blocks.at(me).len);
                Collective::gather(comm, root, input, self.region(1, extent), blocks)
            }
            "allgather" | "allgatherv" => {
                let blocks = self.blocks(node, "sizes", path);
                let input = self.region(0, blocks.at(me).len);
                let output = self.region(1, blocks.extent(self.ranks));
                Collective::allgather(comm, input, output, blocks)
            }
            "alltoall" | "alltoallv" => {
                let sends = self.blocks(node, "send_sizes", path);
                let receives = self.blocks(node, "receive_sizes", path);
                let input = self.region(0, sends.extent(self.ranks));
                let output = self.region(1, receives.extent(self.ranks));
                Collective::alltoall(comm, (input, sends), (output, receives))
            }
            _ => self.combining(op, node, comm, (me, path))?,
        };
        self.buffer += 2;
        let mut chosen = self.choices.choose(self.diagnostics, node, path, call);
        if self.asked {
            self.whole_ranks(&mut chosen, node, path);
        }
        Some(chosen)
    }

    /// A collective whose blocks have datatypes.
    pub fn with_datatypes(
        &mut self,
        (op, node): (&str, &Node),
        comm: Comm,
        blocks: &[Arc<[Arc<Elements>]>; 2],
        path: &str,
    ) -> Chosen {
        let spaces = [0, 1].map(|which| self.region(which, 0).space);
        self.buffer += 2;
        let call = Collective::alltoallw(comm, spaces, blocks.clone());
        if op == "neighbor_alltoallw" {
            let call = call.among_neighbours();
            return Chosen { call, over: Over::Ranks, over_is_stated: true, table: None };
        }
        if !self.asked {
            for (key, blocks) in ["sends", "receives"].into_iter().zip(blocks) {
                self.one_for_each(node, key, blocks.len(), path);
            }
        }
        let mut chosen = self.choices.choose(self.diagnostics, node, path, call);
        if self.asked {
            self.whole_ranks(&mut chosen, node, path);
        }
        chosen
    }

    /// Reads a collective among neighbours, of which a rank has so many sources and destinations, where that is
    /// known; `None` where it is none.
    pub fn among_neighbours(
        &mut self,
        op: &str,
        node: &Node,
        (comm, degrees): (Comm, Option<[usize; 2]>),
        path: &str,
    ) -> Option<Chosen> {
        let known = |key: &str, of: usize| match degrees {
            Some(degrees) => degrees[of],
            None => node.get(key).and_then(Node::elements).map_or(0, <[Node]>::len),
        };
        let extent =
            |blocks: &Blocks, count| blocks.extent(u32::try_from(count).unwrap_or(u32::MAX));
        let call = if matches!(op, "neighbor_allgather" | "neighbor_allgatherv") {
            let (sources, destinations) = (known("sizes", 0), known("", 1));
            let receives = self.one_a_neighbour(node, ("sizes", sources), path);
            let input = self.region(0, bytes(node));
            let output = self.region(1, extent(&receives, sources));
            let taken = (output, receives);
            Collective::neighbour_allgather(comm, input, taken, [sources, destinations])
        } else if matches!(op, "neighbor_alltoall" | "neighbor_alltoallv") {
            let (sources, destinations) = (known("receive_sizes", 0), known("send_sizes", 1));
            let sends = self.one_a_neighbour(node, ("send_sizes", destinations), path);
            let receives = self.one_a_neighbour(node, ("receive_sizes", sources), path);
            let given = (self.region(0, extent(&sends, destinations)), sends);
            let taken = (self.region(1, extent(&receives, sources)), receives);
            Collective::neighbour_alltoall(comm, given, taken, [sources, destinations])
        } else {
            return None;
        };
        self.buffer += 2;
        Some(Chosen { call, over: Over::Ranks, over_is_stated: true, table: None })
    }

    /// Blocks of neighbours: one size for all, or a list with an entry for each.
    fn one_a_neighbour(&mut self, node: &Node, (key, count): (&str, usize), path: &str) -> Blocks {
        let Some(list) = node.get(key).and_then(Node::elements) else {
            return Blocks::Equal(bytes(node));
        };
        if list.len() != count {
            let span = node.get(key).map_or(node.span, |list| list.span);
            let found = format!("the list has {} entries", list.len());
            let allowed = format!("one for each of {count} neighbours is needed");
            let at = format!("{path}.{key}");
            let one = Diagnostic::error(&codes::CONTRADICTION, span, at, found, allowed);
            self.diagnostics.push(one);
        }
        let sizes: Vec<u64> = list.iter().map(|size| size.own_bytes().as_u64()).collect();
        Blocks::packed(&sizes)
    }

    /// Units of ranks that combine first are those of all ranks of the job.
    fn whole_ranks(&mut self, chosen: &mut Chosen, node: &Node, path: &str) {
        if let Some(over) = node.get("over").filter(|_| chosen.over != Over::Ranks) {
            let found = "the ranks of the communicator are those of the run";
            let allowed = "only `ranks` is possible there";
            let at = format!("{path}.over");
            let one = Diagnostic::error(&codes::CONTRADICTION, over.span, at, found, allowed);
            self.diagnostics.push(one);
        }
        // Nor do rules choose other ones.
        (chosen.over, chosen.over_is_stated) = (Over::Ranks, true);
        if fit::has_blocks(chosen.call.kind) && chosen.call.typed.is_none() {
            (chosen.call.input.len, chosen.call.output.len) = (0, 0);
        }
    }

    fn combining(
        &mut self,
        op: &str,
        node: &Node,
        comm: Comm,
        (me, path): (u32, &str),
    ) -> Option<Collective> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == op && kind.reduces())?;
        let reduction = ordered(self.diagnostics, node, path);
        let width = reduction.width();
        if matches!(kind, Kind::ReduceScatter | Kind::ReduceScatterBlock) {
            let blocks = match node.get("counts").and_then(Node::elements) {
                Some(list) => {
                    self.one_for_each(node, "counts", list.len(), path);
                    let lens: Vec<u64> = list.iter().map(|it| it.as_count() * width).collect();
                    Blocks::packed(&lens)
                }
                None => Blocks::Equal(elements(node) * width),
            };
            let input = self.region(0, blocks.extent(self.ranks));
            let output = self.region(1, blocks.at(me).len);
            return Some(Collective::reduce_scatter(comm, input, output, blocks, reduction));
        }
        let len = elements(node) * width;
        let (input, output) = (self.region(0, len), self.region(1, len));
        Some(if kind == Kind::Reduce {
            Collective::reduce(comm, self.root(node, path), input, output, reduction)
        } else if kind == Kind::Scan {
            Collective::scan(comm, input, output, reduction)
        } else if kind == Kind::Exscan {
            Collective::exscan(comm, input, output, reduction)
        } else {
            Collective::allreduce(comm, input, output, reduction)
        })
    }

    fn region(&self, which: u32, len: u64) -> Region {
        Region::new(Space::User(self.buffer + which), len)
    }

    fn root(&mut self, node: &Node, path: &str) -> Rank {
        let written = node.get("root").filter(|root| root.text().is_none());
        if let Some(named) = self.named_root(node, path) {
            return named;
        }
        let root = if written.is_some() { node.small("root").unwrap_or(0) } else { 0 };
        if root >= self.ranks && !self.asked {
            let span = node.get("root").map_or(node.span, |root| root.span);
            let last = self.ranks - 1;
            self.diagnostics.push(
                Diagnostic::error(
                    &codes::RANK,
                    span,
                    format!("{path}.root"),
                    format!("rank {root} does not exist"),
                    format!("ranks are 0 to {last}"),
                )
                .help(whose(self.body, self.rank as usize)),
            );
            return Rank(0);
        }
        Rank(root)
    }

    /// `MPI_ROOT` and `MPI_PROC_NULL`, which are for two groups.
    fn named_root(&mut self, node: &Node, path: &str) -> Option<Rank> {
        let root = match node.get("root")?.text()? {
            "mpi_root" => Between::ROOT,
            "proc_null" => Between::NO_ROOT,
            _ => return None,
        };
        if self.asked {
            return Some(root);
        }
        let span = node.get("root").map_or(node.span, |root| root.span);
        let found = "a root of two groups";
        let allowed = "the communicator has one group: the rank of the root is needed";
        let at = format!("{path}.root");
        self.diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, span, at, found, allowed));
        Some(Rank(0))
    }

    /// The blocks of a statement: one size for all, or a list under `key`.
    fn blocks(&mut self, node: &Node, key: &str, path: &str) -> Blocks {
        let Some(list) = node.get(key).and_then(Node::elements) else {
            return Blocks::Equal(bytes(node));
        };
        let size = |node: &Node| node.own_bytes().as_u64();
        let sizes: Vec<u64> = list.iter().map(size).collect();
        self.one_for_each(node, key, sizes.len(), path);
        Blocks::packed(&sizes)
    }

    fn one_for_each(&mut self, node: &Node, key: &str, found: usize, path: &str) {
        if found != self.ranks as usize && !self.asked {
            self.diagnostics.push(Diagnostic::error(
                &codes::CONTRADICTION,
                node.get(key).map_or(node.span, |list| list.span),
                format!("{path}.{key}"),
                format!("the list has {found} entries"),
                format!("one for each of {} ranks is needed", self.ranks),
            ));
        }
    }
}

/// The size of a message or a block; 0 of one that is computed.
fn bytes(node: &Node) -> u64 {
    match node.get("size") {
        Some(size) if text_of(size).is_none() => size.own_bytes().as_u64(),
        Some(_) | None => 0,
    }
}

/// The elements of a vector or a block; 0 of those that are computed.
fn elements(node: &Node) -> u64 {
    node.get("count").filter(|count| count.text().is_none()).map_or(0, Node::as_count)
}

/// An argument of a collective that is computed when it is called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Argument {
    /// The root.
    Root(Rank),
    /// Bytes of the message, of the vector, or of the block of each rank.
    Bytes(u64),
}

/// Puts a computed argument into the call of one rank of `ranks`: its buffers follow from it.
pub(crate) fn put(call: &mut Collective, argument: Argument, (me, ranks): (u32, u32)) {
    match argument {
        Argument::Root(root) => call.root = root,
        Argument::Bytes(len) => resize(call, len, u64::from(ranks)),
    }
    let at_root = |blocks: &Blocks, root: Rank| if root.0 == me { blocks.extent(ranks) } else { 0 };
    match call.kind {
        Kind::Scatter => call.input.len = at_root(&call.sends, call.root),
        Kind::Gather => call.output.len = at_root(&call.receives, call.root),
        Kind::Barrier
        | Kind::Bcast
        | Kind::Allgather
        | Kind::Reduce
        | Kind::Allreduce
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Alltoall
        | Kind::Scan
        | Kind::Exscan => {}
    }
    if call.selection.is_some() {
        *call = call.clone().chosen_again();
    }
}

fn resize(call: &mut Collective, len: u64, ranks: u64) {
    let blocks = Blocks::Equal(len);
    if let Some(neighbours) = &call.neighbours {
        let [sources, destinations] =
            [&neighbours.sources, &neighbours.destinations].map(|all| all.len() as u64);
        if call.receives.are_equal() {
            (call.receives, call.output.len) = (blocks.clone(), len * sources);
        }
        if call.kind == Kind::Alltoall {
            (call.sends, call.input.len) = (blocks, len * destinations);
        } else {
            call.input.len = len;
        }
        return;
    }
    match call.kind {
        Kind::Barrier | Kind::ReduceScatter => {}
        Kind::Bcast => call.output.len = len,
        Kind::Scatter => (call.sends, call.output.len) = (blocks, len),
        Kind::Gather => (call.receives, call.input.len) = (blocks, len),
        Kind::Allgather => {
            (call.receives, call.input.len, call.output.len) = (blocks, len, len * ranks);
        }
        Kind::Alltoall => {
            (call.sends, call.receives) = (blocks.clone(), blocks);
            (call.input.len, call.output.len) = (len * ranks, len * ranks);
        }
        Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => {
            (call.input.len, call.output.len) = (len, len);
        }
        Kind::ReduceScatterBlock => {
            (call.sends, call.input.len, call.output.len) = (blocks, len * ranks, len);
        }
    }
}

/// The call of the workload that measures one operation: every rank has the same one.
pub fn measured(kind: Kind, size: u64, ranks: u32, reduction: Reduction) -> Collective {
    let (comm, root, blocks) = (Comm(0), Rank(0), Blocks::Equal(size));
    let all = blocks.extent(ranks);
    let [one_in, one_out, all_in, all_out] = [(0, size), (1, size), (0, all), (1, all)]
        .map(|(id, len)| Region::new(Space::User(id), len));
    match kind {
        Kind::Barrier => Collective::barrier(comm),
        Kind::Bcast => Collective::bcast(comm, root, one_out),
        Kind::Scatter => Collective::scatter(comm, root, all_in, blocks, one_out),
        Kind::Gather => Collective::gather(comm, root, one_in, all_out, blocks),
        Kind::Allgather => Collective::allgather(comm, one_in, all_out, blocks),
        Kind::Reduce => Collective::reduce(comm, root, one_in, one_out, reduction),
        Kind::Allreduce => Collective::allreduce(comm, one_in, one_out, reduction),
        Kind::ReduceScatter | Kind::ReduceScatterBlock => {
            Collective::reduce_scatter(comm, all_in, one_out, blocks, reduction)
        }
        Kind::Alltoall => Collective::alltoall(comm, (all_in, blocks.clone()), (all_out, blocks)),
        Kind::Scan => Collective::scan(comm, one_in, one_out, reduction),
        Kind::Exscan => Collective::exscan(comm, one_in, one_out, reduction),
    }
}

/// Messages that all ranks of one call send together, by its algorithm.
pub fn messages(call: &Collective, ranks: u32) -> u64 {
    let mut round = Round::default();
    let mut sent = 0;
    for rank in 0..ranks {
        for phase in 0..call.phases() {
            let mut at = At { phase, round: 0 };
            round.clear();
            while call.round((rank, ranks), Space::Scratch(0), at, &mut round) {
                let sends = round.moves.iter().filter(|one| matches!(one, Move::Send { .. }));
                sent += sends.count() as u64;
                round.clear();
                at.round += 1;
            }
        }
    }
    sent
}
