//! Statements about windows, as one-sided calls.
//!
//! How many bytes a target exposes is another rank's affair: the library says at its place in the run that a
//! displacement leaves them.

use super::communicators::{Named, of_processes};
use super::form::windows::{
    OF_ACCUMULATE, OF_ALLOCATE, OF_ATTACH, OF_CREATE, OF_DETACH, OF_DYNAMIC, OF_FENCE, OF_FETCH,
    OF_GET_ACCUMULATE, OF_LOCK, OF_LOCK_ALL, OF_POST, OF_PUT, OF_QUERY, OF_RACCUMULATE,
    OF_RGET_ACCUMULATE, OF_RPUT, OF_SHARED, OF_START, OF_SWAP, OF_TARGET, OF_TEST, OF_WINDOW,
};
use super::reader::Item;
use super::row::{Row, rows};
use super::windows::Window;
use crate::collectives::element_type;
use crate::program::access::Memory;
use crate::program::computed::{Computed, Part, Range};
use calls::typed::Elements;
use form::codes;
use form::diagnostic::Diagnostic;
use form::expression::{Type, text_of};
use form::fields::MAX_MESSAGE;
use form::json::Node;
use mpi::envelope::Rank;
use mpi::operator::{Datatype, Operator, Reduction};
use mpi::rma::synchronisation::RankSet;
use mpi::rma::update::Effect;
use protocols::contract::{Region, Space};
use protocols::rma::call::{
    At, FenceAssert, Flavor, LockKind, Operation, RmaCall, Spacing, address,
};

/// The statements.
pub(super) static ROWS: [Row; 33] = rows! {
    "win_create" "MPI_Win_create, of memory that the program has" &OF_CREATE
        => |it| it.makes(Flavor::Create);
    "win_allocate" "MPI_Win_allocate" &OF_ALLOCATE => |it| it.makes(Flavor::Allocate);
    "win_allocate_shared" "MPI_Win_allocate_shared, over processes of one node" &OF_SHARED
        => |it| it.makes_shared();
    "win_create_dynamic" "MPI_Win_create_dynamic" &OF_DYNAMIC => |it| it.makes(Flavor::Dynamic);
    "win_attach" "MPI_Win_attach to a dynamic window" &OF_ATTACH
        => |it| it.on(Item::attaches);
    "win_detach" "MPI_Win_detach" &OF_DETACH
        => |it| it.on(|it, of| RmaCall::Detach { win: of.win, memory: it.attached(of) });
    "win_free" "MPI_Win_free" &OF_WINDOW => |it| it.on(Item::frees);
    "win_shared_query" "MPI_Win_shared_query; its `count` is the size of the part" &OF_QUERY
        => |it| it.on(Item::queries);
    "put" "MPI_Put" &OF_PUT => |it| it.operates("put");
    "rput" "MPI_Rput" &OF_RPUT => |it| it.operates("put");
    "get" "MPI_Get" &OF_PUT => |it| it.operates("get");
    "rget" "MPI_Rget" &OF_RPUT => |it| it.operates("get");
    "accumulate" "MPI_Accumulate" &OF_ACCUMULATE => |it| it.operates("accumulate");
    "raccumulate" "MPI_Raccumulate" &OF_RACCUMULATE => |it| it.operates("accumulate");
    "get_accumulate" "MPI_Get_accumulate" &OF_GET_ACCUMULATE => |it| it.operates("get_accumulate");
    "rget_accumulate" "MPI_Rget_accumulate" &OF_RGET_ACCUMULATE
        => |it| it.operates("get_accumulate");
    "fetch_and_op" "MPI_Fetch_and_op" &OF_FETCH => |it| it.operates("fetch_and_op");
    "compare_and_swap"
        "MPI_Compare_and_swap; at the origin are two elements, the one that is expected and the new one"
        &OF_SWAP => |it| it.operates("compare_and_swap");
    "win_fence" "MPI_Win_fence" &OF_FENCE
        => |it| it.on(|it, of| RmaCall::Fence { win: of.win, assert: assertions(it.node) });
    "win_post" "MPI_Win_post to a group of origins" &OF_POST
        => |it| it.on(|it, of| RmaCall::Post { win: of.win, group: it.group(of) });
    "win_start" "MPI_Win_start towards a group of targets" &OF_START
        => |it| it.on(|it, of| RmaCall::Start { win: of.win, group: it.group(of) });
    "win_complete" "MPI_Win_complete" &OF_WINDOW
        => |it| it.on(|_, of| RmaCall::Complete { win: of.win });
    "win_wait" "MPI_Win_wait" &OF_WINDOW => |it| it.on(|_, of| RmaCall::Wait { win: of.win });
    "win_test" "MPI_Win_test" &OF_TEST => |it| it.on(|_, of| RmaCall::Test { win: of.win });
    "win_lock" "MPI_Win_lock" &OF_LOCK => |it| it.on(Item::locks);
    "win_unlock" "MPI_Win_unlock" &OF_TARGET
        => |it| it.on(|it, of| RmaCall::Unlock { win: of.win, target: it.rank(of) });
    "win_lock_all" "MPI_Win_lock_all" &OF_LOCK_ALL
        => |it| it.on(|it, of| RmaCall::LockAll { win: of.win, no_check: it.no_check() });
    "win_unlock_all" "MPI_Win_unlock_all" &OF_WINDOW
        => |it| it.on(|_, of| RmaCall::UnlockAll { win: of.win });
    "win_flush" "MPI_Win_flush" &OF_TARGET => |it| it.on(|it, of| it.flushes(of, false));
    "win_flush_local" "MPI_Win_flush_local" &OF_TARGET => |it| it.on(|it, of| it.flushes(of, true));
    "win_flush_all" "MPI_Win_flush_all" &OF_WINDOW
        => |it| it.on(|_, of| RmaCall::FlushAll { win: of.win, local: false });
    "win_flush_local_all" "MPI_Win_flush_local_all" &OF_WINDOW
        => |it| it.on(|_, of| RmaCall::FlushAll { win: of.win, local: true });
    "win_sync" "MPI_Win_sync" &OF_WINDOW => |it| it.on(|_, of| RmaCall::Sync { win: of.win });
};

impl Item<'_, '_, '_> {
    fn makes(&mut self, flavor: Flavor) -> RmaCall {
        let comm = self.named();
        let Self { reader, node, path } = self;
        of_processes(reader.diagnostics, node, path, comm);
        let memory = match node.word("memory") {
            Some(name) => reader.memories.number(name),
            None => reader.windows.unnamed_memory(),
        };
        let unit = node.count("unit").unwrap_or(1);
        let bytes =
            if flavor == Flavor::Dynamic { 0 } else { self.sized("size", Part::Field("bytes")) };
        let Self { reader, node, path } = self;
        let known = node.get("size").is_some_and(|size| text_of(size).is_none());
        let own = Region::new(Space::Window(memory), if known { bytes } else { u64::MAX });
        let win = reader.windows.make(reader.diagnostics, (node, path), (flavor, comm, own));
        let Named { comm, .. } = comm;
        RmaCall::Create { win, comm, flavor, memory, bytes, unit }
    }

    fn makes_shared(&mut self) -> RmaCall {
        let page = self.node.bytes("page").map(|page| Spacing::Pages(page.as_u64()));
        self.makes(Flavor::Shared(page.unwrap_or(Spacing::Contiguous)))
    }

    fn window(&mut self) -> Option<Window> {
        self.reader.windows.named(self.reader.diagnostics, self.node, self.path)
    }

    /// The memory that a load or a store is about: the rank's own part, a part of a shared window, or memory
    /// that is attached.
    pub(super) fn memory(&mut self) -> Option<Memory> {
        let Window { win, flavor, own, .. } = self.window()?;
        let shared = matches!(flavor, Flavor::Shared(_));
        if flavor == Flavor::Dynamic {
            let Some(name) = self.node.word("memory") else {
                let (found, allowed) =
                    ("the key `memory` is missing", "a dynamic window has several");
                self.refuse(&codes::MISSING_KEY, "memory", found, allowed);
                return None;
            };
            let memory = Space::Window(self.reader.memories.number(name));
            return Some(Memory::Region(Region::new(memory, u32::MAX.into())));
        }
        match (shared, self.node.get("target")) {
            (true, Some(_)) => {
                let target =
                    self.reader.value(self.node, "target", Some(Type::Integer), self.path)?;
                Some(Memory::Part { win, target: Some(target) })
            }
            (true, None) => Some(Memory::Part { win, target: None }),
            (false, None) => Some(Memory::Region(own)),
            (false, Some(_)) => {
                let found = "the memory of another rank";
                let allowed =
                    "only a shared window has parts that others read and write: leave it out";
                self.refuse(&codes::CONTRADICTION, "target", found, allowed);
                None
            }
        }
    }

    /// A call on the window of the statement; a report where there is none.
    fn on(&mut self, call: impl Fn(&mut Self, Window) -> RmaCall) -> RmaCall {
        self.window().map_or(PLACEHOLDER, |window| call(self, window))
    }

    fn frees(&mut self, window: Window) -> RmaCall {
        self.reader.windows.free(self.node.required_word("win"));
        RmaCall::Free { win: window.win }
    }

    fn attaches(&mut self, window: Window) -> RmaCall {
        let memory = self.attached(window);
        RmaCall::Attach { win: window.win, memory, bytes: self.sized("size", Part::Field("bytes")) }
    }

    fn locks(&mut self, window: Window) -> RmaCall {
        let exclusive = self.node.word("kind") == Some("exclusive");
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        let (target, no_check) = (self.rank(window), self.no_check());
        RmaCall::Lock { win: window.win, target, kind, no_check }
    }

    fn no_check(&self) -> bool {
        self.node.flag("no_check").unwrap_or(false)
    }

    fn flushes(&mut self, window: Window, local: bool) -> RmaCall {
        RmaCall::Flush { win: window.win, target: self.rank(window), local }
    }

    fn queries(&mut self, window: Window) -> RmaCall {
        if !matches!(window.flavor, Flavor::Shared(_)) {
            let allowed = "a window of `win_allocate_shared` is needed";
            self.refuse(&codes::WINDOW, "win", "the window is not shared", allowed);
        }
        RmaCall::Query { win: window.win, target: self.rank(window) }
    }

    /// The number of the memory that is attached to a dynamic window, or detached from it.
    fn attached(&mut self, window: Window) -> u32 {
        if window.flavor != Flavor::Dynamic {
            let found = "the window has memory from its creation on";
            let allowed = "memory is attached to a window of `win_create_dynamic`";
            self.refuse(&codes::WINDOW, "win", found, allowed);
        }
        self.reader.memories.number(self.node.required_word("memory"))
    }

    /// The greatest rank of a window, where its number of ranks is known.
    fn last_of(&self, window: Window) -> u32 {
        if window.comm.like().is_some() { self.reader.ranks - 1 } else { u32::MAX }
    }

    /// The rank of a process under `target`.
    fn rank(&mut self, window: Window) -> u32 {
        self.target(window, Range::up_to).unwrap_or(0)
    }

    /// The rank under `target`; `None` is `MPI_PROC_NULL`.
    fn target(&mut self, window: Window, range: impl Fn(i64) -> Range) -> Option<u32> {
        let last = self.last_of(window);
        if self.computes(("target", Part::Field("target")), range(last.into())) {
            return Some(0);
        }
        let value = self.node.get("target").expect("the key is required");
        if value.text().is_some() {
            return None;
        }
        Some(self.existing(value, last, "target"))
    }

    /// A rank of the window, which exists.
    fn existing(&mut self, value: &Node, last: u32, key: &str) -> u32 {
        let rank = value.as_count();
        if rank > u64::from(last) {
            let (at, found) =
                (format!("{}.{key}", self.path), format!("rank {rank} does not exist"));
            let allowed = format!("ranks are 0 to {last}");
            let one = Diagnostic::error(&codes::RANK, value.span, at, found, allowed);
            let whose = format!("this is a statement of rank {}", self.reader.rank);
            self.reader.diagnostics.push(one.help(whose));
        }
        u32::try_from(rank).unwrap_or(0)
    }

    /// The group under `ranks`; members that are computed join it when its statement is executed.
    fn group(&mut self, window: Window) -> RankSet {
        let last = self.last_of(window);
        let group = self.node.get("ranks").and_then(Node::elements).unwrap_or(&[]);
        let mut ranks = Vec::new();
        for (index, value) in group.iter().enumerate() {
            let key = format!("ranks[{index}]");
            if text_of(value).is_none() {
                let rank = Rank(self.existing(value, last, &key));
                if ranks.contains(&rank) {
                    let (found, at) =
                        (format!("rank {} again", rank.0), format!("{}.{key}", self.path));
                    let allowed = "a group has a rank once";
                    let one = Diagnostic::error(&codes::RANK, value.span, at, found, allowed);
                    self.reader.report(one);
                }
                ranks.push(rank);
                continue;
            }
            let at = format!("{}.{key}", self.path);
            if let Some(value) = self.reader.typed(value, &at, Type::Integer) {
                let (part, range) = (Part::Field("group"), Range::up_to(last.into()));
                let member = Computed { key: "ranks", part, value, range };
                self.reader.scope.extras.computed.push(member);
            }
        }
        ranks.into_iter().collect()
    }

    /// The call of an operation: a put, a get or one of the accumulate family, by its word without the `r` of an
    /// R-form.
    fn operates(&mut self, op: &str) -> RmaCall {
        self.on(|it, window| {
            let target = it.target(window, Range::ranks);
            let request = it.node.get("req").is_some().then(|| it.open("req"));
            let disp = it.displacement(window.flavor);
            let (bytes, does) = match op {
                "put" | "get" => {
                    let (bytes, width) = it.amount();
                    let region = it.origin(bytes, width);
                    let put = Operation::Put { origin: region };
                    (bytes, if op == "put" { put } else { Operation::Get { into: region } })
                }
                _ => it.update(op),
            };
            let at = it.pieces(At::contiguous(disp, bytes), does.datatype());
            RmaCall::Operate { win: window.win, target, at, does, request }
        })
    }

    /// The bytes of an operation of the accumulate family, and its work.
    fn update(&mut self, op: &str) -> (u64, Operation) {
        let datatype = element_type(self.node);
        let single = matches!(op, "fetch_and_op" | "compare_and_swap");
        let width = datatype.width();
        let bytes = if single { width } else { self.elements(width) };
        let update = if op == "compare_and_swap" {
            if !datatype.is_integer() {
                let found = format!("`{}` is compared and swapped", datatype.name());
                self.refuse(&codes::CONTRADICTION, "type", found, "integers are needed");
            }
            Effect::CompareAndSwap(datatype)
        } else {
            self.effect(datatype)
        };
        let operand = update.operand(bytes);
        let has_origin = !matches!(update, Effect::NoOp(_));
        if !has_origin && self.node.get("origin").is_some() {
            let allowed = "`no_op` has none: leave it out";
            self.refuse(&codes::CONTRADICTION, "origin", "a buffer of the origin", allowed);
        }
        let origin = has_origin.then(|| self.origin(operand, width));
        let result =
            (op != "accumulate").then(|| self.region(("result", "result_at"), width, bytes));
        (bytes, Operation::Update { update, origin, result })
    }

    /// Effect on each element of the target.
    fn effect(&mut self, datatype: Datatype) -> Effect {
        let operator = match self.node.word("operator") {
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
        self.refuse(&codes::CONTRADICTION, "operator", found, allowed);
        Effect::Replace(datatype)
    }

    /// Where in the target's part, or in its attached memory, the operation begins.
    fn displacement(&mut self, flavor: Flavor) -> u64 {
        let dynamic = flavor == Flavor::Dynamic;
        let base = match (dynamic, self.node.word("memory")) {
            (true, Some(name)) => address(self.reader.memories.number(name), 0),
            (false, None) => 0,
            (true, None) => {
                let found = "an operation in a dynamic window without `memory`";
                let allowed = "the memory is needed that the target attaches";
                self.refuse(&codes::MISSING_KEY, "memory", found, allowed);
                0
            }
            (false, Some(_)) => {
                let found = "`memory` in a window that has its memory from its creation on";
                let allowed = "it is for windows of `win_create_dynamic`";
                self.refuse(&codes::CONTRADICTION, "memory", found, allowed);
                0
            }
        };
        let most = if dynamic { i64::from(u32::MAX) } else { i64::MAX };
        if self.computes(("disp", Part::Field("at")), Range::up_to(most)) {
            return base;
        }
        let disp = self.node.count("disp").unwrap_or(0);
        if disp > most.unsigned_abs() {
            let found = format!("displacement {disp}");
            let allowed = format!("at most {most} in attached memory");
            self.refuse(&codes::RANGE, "disp", found, allowed);
            return base;
        }
        base + disp
    }

    /// The bytes of a put or a get, and of its elements: `size`, or elements of a `type`.
    fn amount(&mut self) -> (u64, u64) {
        let has = |key: &str| self.node.get(key).is_some();
        let (size, of_type, count) = (has("size"), has("type"), has("count"));
        if size && of_type {
            let allowed = "elements have their size: leave `size` out";
            self.refuse(&codes::CONTRADICTION, "size", "both `size` and `type`", allowed);
        }
        if of_type {
            let width = element_type(self.node).width();
            return (self.elements(width), width);
        }
        if count {
            let allowed = "it is of elements of a type";
            self.refuse(&codes::CONTRADICTION, "count", "`count` without `type`", allowed);
        }
        if !size {
            let allowed = "`size` or `type` is needed: write `\"size\": \"8 B\"`";
            self.refuse(&codes::MISSING_KEY, "size", "the key `size` is missing", allowed);
        }
        (self.sized("size", Part::Elements { width: 1 }), 1)
    }

    /// The bytes of `count` elements; 0 where their number is computed.
    fn elements(&mut self, width: u64) -> u64 {
        let most = MAX_MESSAGE / width;
        if self.computes(("count", Part::Elements { width }), Range::up_to(signed(most))) {
            return 0;
        }
        let count = self.node.count("count").unwrap_or(1);
        if count > most {
            let allowed = format!("at most {most} are {MAX_MESSAGE} B");
            self.refuse(&codes::RANGE, "count", format!("{count} elements"), allowed);
            return 0;
        }
        count * width
    }

    /// Where the origin gives bytes, or gets them.
    fn origin(&mut self, bytes: u64, width: u64) -> Region {
        self.region(("origin", "origin_at"), width, bytes)
    }

    /// So many bytes of the buffer that `key` names, from the element on that `at` says; or a buffer of the
    /// operation's own.
    fn region(
        &mut self,
        (key, at): (&'static str, &'static str),
        width: u64,
        bytes: u64,
    ) -> Region {
        let node = self.node;
        if node.get(key).is_none() {
            if node.get(at).is_some() {
                let found = format!("`{at}` without `{key}`");
                let allowed = "it is a place in a buffer with a name";
                self.refuse(&codes::CONTRADICTION, at, found, allowed);
            }
            let id = self.reader.buffers;
            self.reader.buffers += 1;
            return Region::new(Space::User(id), bytes);
        }
        let named = self.named_buffer(key);
        let named = named.unwrap_or(Region::new(Space::User(0), u64::MAX));
        let most = signed(MAX_MESSAGE / width);
        let offset = if self.computes((at, Part::Begin { buffer: key, width }), Range::up_to(most))
        {
            0
        } else {
            node.count(at).unwrap_or(0).saturating_mul(width)
        };
        self.must_fit((key, offset.saturating_add(bytes)), named.len);
        Region { offset, len: bytes, ..named }
    }

    /// Where the bytes of an operation lie at the target: in the pieces of its datatype, where it states
    /// one.
    fn pieces(&mut self, at: At, of: Option<Datatype>) -> At {
        const KEY: &str = "target_datatype";
        let node = self.node;
        if node.get(KEY).is_none() {
            if node.get("target_count").is_some() {
                let found = "`target_count` without `target_datatype`";
                let allowed = "it is of the elements of a datatype";
                self.refuse(&codes::CONTRADICTION, "target_count", found, allowed);
            }
            return at;
        }
        let elements = self.elements_of(KEY, "target_count");
        let Some(elements) = elements else { return at };
        let computes = |key: &str| node.get(key).is_some_and(|value| text_of(value).is_some());
        let packed = elements.packed();
        if computes("size") || computes("count") {
            let found = "the bytes of the operation are computed";
            self.refuse(&codes::CONTRADICTION, KEY, found, "a constant is needed");
        } else if packed != at.bytes() {
            let found = format!("the target has {packed} B, and the origin {} B", at.bytes());
            self.refuse(&codes::CONTRADICTION, KEY, found, "both have as many");
        } else if of.is_some_and(|of| elements.primitives() * of.width() != packed) {
            let found = "the datatype has elements of other types";
            self.refuse(&codes::CONTRADICTION, KEY, found, "it has those of `type`");
        }
        if packed == 0 {
            return at;
        }
        if let Some((first, block, count, stride)) = alike(&elements) {
            return At { first: first.cast_signed(), block, count, stride, ..at };
        }
        let found = "pieces that are not alike, or that lie before the displacement";
        self.refuse(&codes::DATATYPE, KEY, found, "pieces of one length at one distance");
        at
    }

    fn computes(&mut self, of: (&'static str, Part), range: Range) -> bool {
        self.reader.computes(self.node, of, range, self.path)
    }
}

/// Placeholder for the call of a statement that is refused.
const PLACEHOLDER: RmaCall = RmaCall::Sync { win: protocols::rma::call::Win(0) };

/// The pieces of elements, where they are of one length and each begins at one distance behind the one
/// before: the byte of the first, their length, their number and that distance.
fn alike(elements: &Elements) -> Option<(u64, u64, u32, u64)> {
    if let Some(rows) = elements.rows() {
        let follow =
            rows.count == 1 || rows.stride > 0 && rows.stride.unsigned_abs() >= rows.length;
        let stride = if rows.count == 1 { rows.length } else { rows.stride.unsigned_abs() };
        let first = rows.first.checked_add(elements.lowest())?;
        let (first, count) = (u64::try_from(first).ok()?, u32::try_from(rows.count).ok()?);
        return follow.then_some((first, rows.length, count, stride));
    }
    let mut runs = elements.runs(0..elements.packed());
    let (first, length) = runs.next()?;
    let (mut last, mut stride, mut count) = (first, None, 1_u32);
    for (start, bytes) in runs {
        let distance = start.checked_sub(last).filter(|distance| *distance >= length)?;
        if bytes != length || *stride.get_or_insert(distance) != distance {
            return None;
        }
        (last, count) = (start, count.checked_add(1)?);
    }
    let first = u64::try_from(i64::try_from(first).ok()?.checked_add(elements.lowest())?).ok()?;
    Some((first, length, count, stride.unwrap_or(length)))
}

fn assertions(node: &Node) -> FenceAssert {
    let list = node.get("assert").and_then(Node::elements).unwrap_or(&[]);
    let has = |word: &str| list.iter().any(|one| one.text() == Some(word));
    FenceAssert { no_precede: has("no_precede"), no_succeed: has("no_succeed") }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("it is far below")
}
