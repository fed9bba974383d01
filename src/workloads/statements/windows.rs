//! Windows that a program names, and the one-sided calls of its statements.
//!
//! A rank's name of a window holds from the statement that makes it to the one that frees it. How many bytes
//! a target has is another rank's affair: the library says at its place in the run that a displacement leaves
//! them.
//!
//! Memory that is attached to a dynamic window has one name in all ranks, which stands for its address: where
//! an MPI program tells the address by a message, a statement of another rank says the name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::communicators::{Named, of_processes};
use super::reader::Reader;
use super::variables::text_of;
use crate::collectives::element_type;
use crate::program::control::{Computed, Key, PROC_NULL};
use form::codes;
use form::diagnostic::{Diagnostic, Span, quote};
use form::expression::Type;
use form::fields::MAX_MESSAGE;
use form::json::Node;
use mpi::datatype::Rows;
use mpi::envelope::Rank;
use mpi::operator::{Datatype, Operator, Reduction};
use mpi::rma::synchronisation::RankSet;
use mpi::rma::update::Effect;
use protocols::call::Call;
use protocols::contract::{Region, Space};
use protocols::rma::call::{
    At, FenceAssert, Flavor, LockKind, Operation, RmaCall, Spacing, Win, address,
};

/// Statements that make or free windows.
pub(super) const MAKING: [&str; 5] =
    ["win_create", "win_allocate", "win_allocate_shared", "win_create_dynamic", "win_free"];

/// Memory with a name is numbered from here, and memory without one from 0, by each rank for itself.
const NAMED: u32 = 1 << 16;

/// Names of the memory of windows, the same in all ranks.
#[derive(Debug, Default)]
pub(super) struct MemoryNames(Vec<String>);

impl MemoryNames {
    fn number(&mut self, name: &str) -> u32 {
        let known = self.0.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        NAMED + u32::try_from(place).expect("the shape limits the statements")
    }
}

/// A window of one rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    win: Win,
    flavor: Flavor,
    comm: Named,
}

/// The windows that one rank has made so far.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: BTreeMap<String, (Window, Span)>,
    ended: Vec<String>,
    made: u16,
    /// Pieces of memory without a name.
    unnamed: u32,
}

impl Reader<'_> {
    /// The call of a statement about a window; `None` of another statement.
    pub(super) fn one_sided(&mut self, op: &str, node: &Node, path: &str) -> Option<Call> {
        let call = match op {
            "win_create" | "win_allocate" | "win_allocate_shared" | "win_create_dynamic" => {
                self.make_window(op, node, path)
            }
            _ if node.get("win").is_none() => return None,
            _ => self.on_window(op, node, path),
        };
        Some(Call::Rma(Arc::new(call)))
    }

    fn make_window(&mut self, op: &str, node: &Node, path: &str) -> RmaCall {
        let comm = self.communicators.named(self.diagnostics, node, path);
        of_processes(self.diagnostics, node, path, comm);
        let flavor = match op {
            "win_create" => Flavor::Create,
            "win_allocate" => Flavor::Allocate,
            "win_create_dynamic" => Flavor::Dynamic,
            _ => Flavor::Shared(match node.bytes("page") {
                Some(page) => Spacing::Pages(page.as_u64()),
                None => Spacing::Contiguous,
            }),
        };
        let memory = if let Some(name) = node.word("memory") {
            self.memories.number(name)
        } else {
            self.windows.unnamed += 1;
            self.windows.unnamed - 1
        };
        let bytes = if flavor == Flavor::Dynamic { 0 } else { self.own_bytes(node, path) };
        let unit = node.count("unit").unwrap_or(1);
        let win = self.enter_window(node, path, (flavor, comm));
        RmaCall::Create { win, comm: comm.comm, flavor, memory, bytes, unit }
    }

    /// The bytes under `size`; 0 where they are computed.
    fn own_bytes(&mut self, node: &Node, path: &str) -> u64 {
        if self.computes(node, (Key::Size, Type::Integer), (0, signed(MAX_MESSAGE)), path) {
            return 0;
        }
        node.bytes("size").unwrap_or_default().as_u64()
    }

    /// A new name, which is free.
    fn enter_window(&mut self, node: &Node, path: &str, of: (Flavor, Named)) -> Win {
        let value = node.get("new").expect("the key is required");
        let name = value.text().expect("the tree was checked against its shape").to_owned();
        let (win, (flavor, comm)) = (Win(self.windows.made), of);
        if let Some((_, first)) = self.windows.open.get(&name).copied() {
            let found = format!("window `{}` is made again", quote(&name));
            let allowed = "a name may be used again after the free";
            let at = format!("{path}.new");
            let one = Diagnostic::error(&codes::WINDOW, value.span, at, found, allowed);
            self.report(one.related(first, "it was made here"));
        }
        match self.windows.made.checked_add(1) {
            Some(made) => self.windows.made = made,
            None => self.report(Diagnostic::error(
                &codes::WINDOW,
                value.span,
                format!("{path}.new"),
                "a window more than a rank can have",
                format!("{} are made at most, those that are freed among them", u16::MAX),
            )),
        }
        self.windows.open.insert(name, (Window { win, flavor, comm }, value.span));
        win
    }

    /// The window that a statement names.
    fn window(&mut self, node: &Node, path: &str) -> Option<Window> {
        let value = node.get("win").expect("the key is required");
        let name = value.text().expect("the tree was checked against its shape");
        if let Some((window, _)) = self.windows.open.get(name) {
            return Some(*window);
        }
        let ended = self.windows.ended.iter().any(|ended| ended == name);
        let found = if ended { "was freed" } else { "was never made" };
        let names: Vec<&str> = self.windows.open.keys().map(String::as_str).collect();
        let allowed = if names.is_empty() {
            "none is made before".to_owned()
        } else {
            format!("made before are {}", names.join(", "))
        };
        let found = format!("window `{}` {found}", quote(name));
        let at = format!("{path}.win");
        self.report(Diagnostic::error(&codes::WINDOW, value.span, at, found, allowed));
        None
    }

    /// Windows must be freed.
    pub(super) fn end_windows(&mut self, path: &str) {
        for (name, (_, made)) in std::mem::take(&mut self.windows.open) {
            let found = format!("window `{}` is never freed", quote(&name));
            let allowed = "`win_free` must come after it";
            self.report(Diagnostic::error(&codes::WINDOW, made, path, found, allowed));
        }
    }

    fn on_window(&mut self, op: &str, node: &Node, path: &str) -> RmaCall {
        let Some(window) = self.window(node, path) else { return RmaCall::Sync { win: Win(0) } };
        let win = window.win;
        let no_check = node.flag("no_check").unwrap_or(false);
        match op {
            "win_free" => {
                let name = node.required_word("win").to_owned();
                self.windows.open.remove(&name);
                self.windows.ended.push(name);
                RmaCall::Free { win }
            }
            "win_attach" => {
                self.must_be_dynamic(window, node, path);
                let memory = self.memories.number(node.required_word("memory"));
                RmaCall::Attach { win, memory, bytes: self.own_bytes(node, path) }
            }
            "win_detach" => {
                self.must_be_dynamic(window, node, path);
                let memory = self.memories.number(node.required_word("memory"));
                RmaCall::Detach { win, memory }
            }
            "win_fence" => RmaCall::Fence { win, assert: assertions(node) },
            "win_post" => RmaCall::Post { win, group: self.group(window, node, path) },
            "win_start" => RmaCall::Start { win, group: self.group(window, node, path) },
            "win_complete" => RmaCall::Complete { win },
            "win_wait" => RmaCall::Wait { win },
            "win_test" => RmaCall::Test { win },
            "win_lock" => {
                let target = self.target(window, node, path, false).unwrap_or(0);
                let exclusive = node.word("kind") == Some("exclusive");
                let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
                RmaCall::Lock { win, target, kind, no_check }
            }
            "win_shared_query" => {
                let target = self.target(window, node, path, false).unwrap_or(0);
                if !matches!(window.flavor, Flavor::Shared(_)) {
                    let allowed = "a window of `win_allocate_shared` is needed";
                    self.wrong_flavor(node, path, "the window is not shared", allowed);
                }
                RmaCall::Query { win, target }
            }
            "win_unlock" => {
                let target = self.target(window, node, path, false).unwrap_or(0);
                RmaCall::Unlock { win, target }
            }
            "win_lock_all" => RmaCall::LockAll { win, no_check },
            "win_unlock_all" => RmaCall::UnlockAll { win },
            "win_flush" | "win_flush_local" => {
                let target = self.target(window, node, path, false).unwrap_or(0);
                RmaCall::Flush { win, target, local: op == "win_flush_local" }
            }
            "win_flush_all" => RmaCall::FlushAll { win, local: false },
            "win_flush_local_all" => RmaCall::FlushAll { win, local: true },
            "win_sync" => RmaCall::Sync { win },
            _ => self.operation(op, window, node, path),
        }
    }

    fn must_be_dynamic(&mut self, window: Window, node: &Node, path: &str) {
        if window.flavor != Flavor::Dynamic {
            let found = "the window has memory from its creation on";
            let allowed = "memory is attached to a window of `win_create_dynamic`";
            self.wrong_flavor(node, path, found, allowed);
        }
    }

    fn wrong_flavor(&mut self, node: &Node, path: &str, found: &str, allowed: &str) {
        let value = node.get("win").expect("the key is required");
        let at = format!("{path}.win");
        self.report(Diagnostic::error(&codes::WINDOW, value.span, at, found, allowed));
    }

    /// The greatest rank of a window, where its number of ranks is known.
    fn last_of(&self, window: Window) -> u32 {
        if window.comm.like().is_some() { self.ranks - 1 } else { u32::MAX }
    }

    /// The rank under `target`; `None` is `MPI_PROC_NULL`, of an operation only.
    fn target(&mut self, window: Window, node: &Node, path: &str, operates: bool) -> Option<u32> {
        let value = node.get("target").expect("the key is required");
        let last = self.last_of(window);
        let first = if operates { PROC_NULL } else { 0 };
        if self.computes(node, (Key::Target, Type::Integer), (first, i64::from(last)), path) {
            return Some(0);
        }
        if value.text().is_some() {
            return None;
        }
        let rank = value.as_count();
        self.must_exist(rank, last, value, &format!("{path}.target"));
        Some(u32::try_from(rank).unwrap_or(0))
    }

    fn must_exist(&mut self, rank: u64, last: u32, value: &Node, path: &str) {
        if rank <= u64::from(last) {
            return;
        }
        let found = format!("rank {rank} does not exist");
        let allowed = format!("ranks are 0 to {last}");
        let one = Diagnostic::error(&codes::RANK, value.span, path, found, allowed);
        self.report(one.help(format!("this is a statement of rank {}", self.rank)));
    }

    /// The group under `ranks`; members that are computed join it when its statement is executed.
    fn group(&mut self, window: Window, node: &Node, path: &str) -> RankSet {
        let last = self.last_of(window);
        let mut ranks = Vec::new();
        for (index, value) in
            node.get("ranks").and_then(Node::elements).unwrap_or(&[]).iter().enumerate()
        {
            let at = format!("{path}.ranks[{index}]");
            if text_of(value).is_some() {
                if let Some(value) = self.typed(value, &at, Type::Integer) {
                    let range = (0, i64::from(last));
                    self.scope.extras.computed.push(Computed { key: Key::Member, value, range });
                }
                continue;
            }
            let rank = value.as_count();
            self.must_exist(rank, last, value, &at);
            ranks.push(Rank(u32::try_from(rank).unwrap_or(0)));
        }
        ranks.into_iter().collect()
    }

    /// An operation: a put, a get or one of the accumulate family.
    fn operation(&mut self, op: &str, window: Window, node: &Node, path: &str) -> RmaCall {
        let target = self.target(window, node, path, true);
        let Window { win, flavor, .. } = window;
        let request = node.get("req").map(|_| self.open(node, "req", path));
        let disp = self.displacement(flavor, node, path);
        let plain = op.strip_prefix('r').unwrap_or(op);
        let (bytes, does) = match plain {
            "put" | "get" => {
                let bytes = self.amount(node, path);
                let region = self.own_region(bytes);
                let put = plain == "put";
                let does = if put {
                    Operation::Put { origin: region }
                } else {
                    Operation::Get { into: region }
                };
                (bytes, does)
            }
            _ => self.update(plain, node, path),
        };
        let at = self.pieces(node, path, At::contiguous(disp, bytes), does.datatype());
        RmaCall::Operate { win, target, at, does, request }
    }

    /// Where the bytes of an operation lie at the target: in the pieces of its datatype, where it states
    /// one.
    fn pieces(&mut self, node: &Node, path: &str, at: At, of: Option<Datatype>) -> At {
        let Some(tree) = node.get("target_datatype") else {
            if let Some(count) = node.get("target_count") {
                let found = "`target_count` without `target_datatype`";
                let at = format!("{path}.target_count");
                let allowed = "it is of the elements of a datatype";
                self.report(Diagnostic::error(
                    &codes::CONTRADICTION,
                    count.span,
                    at,
                    found,
                    allowed,
                ));
            }
            return at;
        };
        let Some(elements) = self.elements_of(node, path, ("target_datatype", "target_count"))
        else {
            return at;
        };
        let computes = |key: &str| node.get(key).is_some_and(|value| text_of(value).is_some());
        let width = of.map_or(1, Datatype::width);
        let wrong = if computes("size") || computes("count") {
            Some(("the bytes of the operation are computed".to_owned(), "a constant is needed"))
        } else if elements.packed() != at.bytes() {
            let found =
                format!("the target has {} B, and the origin {}", elements.packed(), at.bytes());
            Some((found, "both have as many"))
        } else if of.is_some() && elements.primitives() * width != elements.packed() {
            Some(("the datatype has elements of other types".to_owned(), "it has those of `type`"))
        } else {
            None
        };
        if let Some((found, allowed)) = wrong {
            let at = format!("{path}.target_datatype");
            self.report(Diagnostic::error(&codes::CONTRADICTION, tree.span, at, found, allowed));
        }
        match elements.rows() {
            _ if elements.packed() == 0 => at,
            Some(rows) if rows.first == 0 && follow_each_other(&rows) => At {
                block: rows.length,
                count: u32::try_from(rows.count).unwrap_or(u32::MAX),
                stride: if rows.count == 1 { rows.length } else { rows.stride.unsigned_abs() },
                ..at
            },
            Some(_) | None => {
                let found = "pieces that are not alike, or that do not begin at displacement 0";
                let allowed = "pieces of one length at one distance";
                let path = format!("{path}.target_datatype");
                self.report(Diagnostic::error(&codes::DATATYPE, tree.span, path, found, allowed));
                at
            }
        }
    }

    /// An operation of the accumulate family.
    fn update(&mut self, op: &str, node: &Node, path: &str) -> (u64, Operation) {
        let datatype = element_type(node);
        let single = matches!(op, "fetch_and_op" | "compare_and_swap");
        let width = datatype.width();
        let bytes = if single { width } else { self.elements(node, path, width) };
        let update = if op == "compare_and_swap" {
            if !datatype.is_integer() {
                let found = format!("`{}` is compared and swapped", datatype.name());
                self.refuse_update(node, path, "type", found, "integers are needed".to_owned());
            }
            Effect::CompareAndSwap(datatype)
        } else {
            self.effect(node, path, datatype)
        };
        let operand = update.operand(bytes);
        let origin = (!matches!(update, Effect::NoOp(_))).then(|| self.own_region(operand));
        let result = (op != "accumulate").then(|| self.own_region(bytes));
        (bytes, Operation::Update { update, origin, result })
    }

    /// What becomes of each element of the target.
    fn effect(&mut self, node: &Node, path: &str, datatype: Datatype) -> Effect {
        let operator = match node.word("operator") {
            Some("replace") => return Effect::Replace(datatype),
            Some("no_op") => return Effect::NoOp(datatype),
            word => word.unwrap_or("sum"),
        };
        let operator = Operator::ALL.into_iter().find(|one| one.name() == operator);
        let operator = operator.expect("the tree was checked against its shape");
        if let Some(reduction) = Reduction::new(operator, datatype) {
            return Effect::Reduce(reduction);
        }
        let found = format!("`{operator}` is not defined on `{}`", datatype.name());
        let takes = Datatype::ALL.into_iter().filter(|one| operator.takes(*one));
        let takes: Vec<&str> = takes.map(Datatype::name).collect();
        let allowed = format!("it takes {}", takes.join(", "));
        self.refuse_update(node, path, "operator", found, allowed);
        Effect::Replace(datatype)
    }

    fn refuse_update(
        &mut self,
        node: &Node,
        path: &str,
        key: &str,
        found: String,
        allowed: String,
    ) {
        let span = node.get(key).map_or(node.span, |value| value.span);
        let at = format!("{path}.{key}");
        self.report(Diagnostic::error(&codes::CONTRADICTION, span, at, found, allowed));
    }

    /// Where in the target's part, or in its attached memory, the operation begins.
    fn displacement(&mut self, flavor: Flavor, node: &Node, path: &str) -> u64 {
        let dynamic = flavor == Flavor::Dynamic;
        let base = match (dynamic, node.get("memory")) {
            (true, Some(value)) => {
                let name = value.text().expect("the tree was checked against its shape");
                address(self.memories.number(name), 0)
            }
            (false, None) => 0,
            (true, None) => {
                let found = "an operation in a dynamic window without `memory`";
                let allowed = "the memory is needed that the target attaches";
                let at = format!("{path}.memory");
                self.report(Diagnostic::error(&codes::MISSING_KEY, node.span, at, found, allowed));
                0
            }
            (false, Some(value)) => {
                let found = "`memory` in a window that has its memory from its creation on";
                let allowed = "it is for windows of `win_create_dynamic`";
                let at = format!("{path}.memory");
                self.report(Diagnostic::error(
                    &codes::CONTRADICTION,
                    value.span,
                    at,
                    found,
                    allowed,
                ));
                0
            }
        };
        let most = if dynamic { i64::from(u32::MAX) } else { i64::MAX };
        if self.computes(node, (Key::Disp, Type::Integer), (0, most), path) {
            return base;
        }
        let disp = node.count("disp").unwrap_or(0);
        if disp > most.unsigned_abs() {
            let value = node.get("disp").expect("it has a value");
            let (found, allowed) =
                (format!("displacement {disp}"), format!("at most {most} in attached memory"));
            let at = format!("{path}.disp");
            self.report(Diagnostic::error(&codes::RANGE, value.span, at, found, allowed));
            return base;
        }
        base + disp
    }

    /// The bytes of a put or a get: `size`, or elements of a `type`.
    fn amount(&mut self, node: &Node, path: &str) -> u64 {
        if node.get("type").is_some() {
            let width = element_type(node).width();
            if let Some(size) = node.get("size") {
                let (found, allowed) =
                    ("both `size` and `type`", "elements have their size: leave `size` out");
                let at = format!("{path}.size");
                self.report(Diagnostic::error(
                    &codes::CONTRADICTION,
                    size.span,
                    at,
                    found,
                    allowed,
                ));
            }
            return self.elements(node, path, width);
        }
        if let Some(count) = node.get("count") {
            let (found, allowed) = ("`count` without `type`", "it is of elements of a type");
            let at = format!("{path}.count");
            self.report(Diagnostic::error(&codes::CONTRADICTION, count.span, at, found, allowed));
        }
        if node.get("size").is_none() {
            let (found, allowed) = ("the key `size` is missing", "`size` or `type` is needed");
            let at = format!("{path}.size");
            let one = Diagnostic::error(&codes::MISSING_KEY, node.span, at, found, allowed);
            self.report(one.help("write `\"size\": \"8 B\"`"));
        }
        self.own_bytes(node, path)
    }

    /// The bytes of `count` elements; 0 where their number is computed.
    fn elements(&mut self, node: &Node, path: &str, width: u64) -> u64 {
        let most = MAX_MESSAGE / width;
        let key = Key::Count { width };
        if self.computes(node, (key, Type::Integer), (0, signed(most)), path) {
            return 0;
        }
        let count = node.count("count").unwrap_or(1);
        if count > most {
            let value = node.get("count").expect("it has a value");
            let (found, allowed) =
                (format!("{count} elements"), format!("at most {most} are {MAX_MESSAGE} B"));
            let at = format!("{path}.count");
            self.report(Diagnostic::error(&codes::RANGE, value.span, at, found, allowed));
            return 0;
        }
        count * width
    }

    /// A buffer of the operation's own.
    fn own_region(&mut self, bytes: u64) -> Region {
        let id = self.buffers;
        self.buffers += 1;
        Region::new(Space::User(id), bytes)
    }
}

/// Whether the pieces are one, or each begins behind the one before.
fn follow_each_other(rows: &Rows) -> bool {
    rows.count == 1 || rows.stride > 0 && rows.stride.unsigned_abs() >= rows.length
}

fn assertions(node: &Node) -> FenceAssert {
    let list = node.get("assert").and_then(Node::elements).unwrap_or(&[]);
    let has = |word: &str| list.iter().any(|one| one.text() == Some(word));
    FenceAssert { no_precede: has("no_precede"), no_succeed: has("no_succeed") }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("it is far below")
}
