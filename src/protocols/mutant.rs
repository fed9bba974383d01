//! Planted bugs, and changes that must not matter: what the checks are checked with.
//!
//! Only with the cargo feature `mutants`. A job has at most one
//! ([`SharedJob::with`](super::library::SharedJob::with)). Bugs that drop, double, reorder or
//! redirect actions and packets are in the wrapper [`Flawed`], outside the library; those of what a
//! rank does in a round of a collective in `schedule.rs`. The others change one decision each,
//! where the library makes it.
//!
//! `tests/mutants/library.rs` runs each in the smallest world that shows it and names the law that must
//! find it; a harmless change must be found by none.

#![allow(clippy::wildcard_enum_match_arm, reason = "each place looks for a few bugs of many")]

mod flawed;
mod messages;
mod pieces;
mod prepared;
mod windows;

pub use flawed::Flawed;

/// Generates the enum and its table.
macro_rules! mutants {
    ($($name:ident, $id:literal, $law:literal, $words:literal;)*) => {
        /// One of them.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Mutant {
            $(#[doc = $words] $name,)*
        }

        impl Mutant {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in tables.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// The law that it breaks; empty for a harmless change.
            pub const fn law(self) -> &'static str {
                match self { $(Self::$name => $law,)* }
            }

            /// The difference from the right library, in a sentence.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}

mutants! {
    TwoRails, "two-rails", "M1", "Messages of a pair alternate between two lanes and are matched as they arrive.";
    ExactFirst, "exact-first", "M2", "Receives without wildcards are searched before those with.";
    Tail, "tail", "M3", "A wildcard takes the newest waiting message.";
    Resends, "resends", "M4", "An eager packet is sent twice, and nobody looks at its number.";
    PartOfContext, "part-of-context", "M5", "Only the lowest bit of the context is compared.";
    NoDestination, "no-destination", "M6", "The destination is left out of the match.";
    Unlocks, "unlocks", "M7", "The lock is left between the search for a message and the append of the receive.";
    PastTheEnd, "past-the-end", "M8", "A message that is too long is copied past the end of the buffer.";
    MasksTag, "masks-tag", "M10", "What does not fit its field of a packed tag is cut off.";
    AsPrinted, "as-printed", "M12", "Between two groups the sender is looked up in the other group's map, and the receiver in the own one.";
    EndsPending, "ends-pending", "M11", "A test completes a receive that has no message yet.";
    SplitsMemory, "splits-memory", "W1", "The windows of a server of endpoints show a memory each.";
    GetSender, "get-sender", "V2", "The sender of RGET is complete when its RTS has left.";
    PutReceiver, "put-receiver", "V2", "The receiver of RPUT is complete when its CTS has left.";
    FinFirst, "fin-first", "V2", "The receiver of RGET says FIN before it has read; the sender of RPUT sends it before the write, as a packet.";
    CoopOverlap, "coop-overlap", "V3", "Of an odd number of bytes both halves are the larger one.";
    CoopOnCopy, "coop-on-copy", "V2", "A side of COOP is complete when its own copy has ended.";
    SenderChooses, "sender-chooses", "V3", "The sender copies its half whatever the CTS says.";
    LoadKept, "load-kept", "V5", "The end of a copy is not counted.";
    OffloadUncounted, "offload-uncounted", "V5", "Only the ends of offloads are counted.";
    ChunkLost, "chunk-lost", "V3", "The last chunk of a copy is left out.";
    SharesWorks, "shares-works", "S1", "All threads of a process have one list of work that is begun.";
    LeavesWaiting, "leaves-waiting", "S1", "A call that another thread's work ends does not return.";
    OfferCrosses, "offer-crosses", "V8", "A sender takes an offer that crossed one of its messages.";
    OffersBehind, "offers-behind", "V8", "A receive is offered behind one that could take its message.";
    OffersWildcard, "offers-wildcard", "V10", "A receive of any source is offered to two senders.";
    OwnCount, "own-count", "E1", "A process takes its own number of endpoints for that of every other.";
    SkipsRound, "skips-round", "E3", "The barrier leaves its last round out.";
    FirstPolls, "first-polls", "E4", "Only calls on the first endpoint of a process make progress.";
    FreesFirst, "frees-first", "E5", "The first local free agrees with the other processes.";
    ReadsCounter, "reads-counter", "E6", "Contexts are read from the counter when an agreement begins, and counted when it ends.";
    ContextAgain, "context-again", "E6", "A free gives the newest context back.";
    IdAgain, "id-again", "E6", "A free gives the newest name of an endpoint back.";
    WrongSide, "wrong-side", "C1", "Recursive doubling combines what comes from above on the wrong side.";
    WrongFold, "wrong-fold", "C1", "What is folded into the core is combined on the wrong side.";
    LetsOneOut, "lets-one-out", "C3", "Rank 0 leaves the barrier without hearing of the last round.";
    RingStopsShort, "ring-stops-short", "C1", "The last round of a ring allreduce is left out.";
    BruckKeepsLow, "bruck-keeps-low", "C1", "Bruck's allgather leaves the blocks of lower ranks in scratch space.";
    FirstSegmentOnly, "first-segment-only", "C1", "A reduction along a chain combines its first segment only.";
    TreeHearsOne, "tree-hears-one", "C3", "A rank of a barrier's tree waits for one of its children only.";
    EqualTags, "equal-tags", "C4", "The tag of a collective's message does not tell its kind.";
    OneNumber, "one-number", "C1", "All collectives under way have one number.";
    CountsByProcess, "counts-by-process", "deadlock", "Collectives that are only begun are counted by process, not by communicator.";
    EndsAfterARound, "ends-after-a-round", "C3", "A nonblocking collective does not wait for the messages of its second round.";
    ReplacesAtOnce, "replaces-at-once", "V2", "A send and a receive with one buffer send from it, without a copy.";
    EndsWithFirst, "ends-with-first", "S4", "A send and a receive of one request end with the first of them.";
    FreesAtOnce, "frees-at-once", "S4", "A request that is freed is forgotten, though its operation is under way.";
    NeverAside, "never-aside", "C1", "A collective in place puts nothing aside, though it writes over what it reads later.";
    StartsWild, "starts-wild", "M2", "A receive that was prepared is started for any tag.";
    StartsNothing, "starts-nothing", "S4", "The start of a send that was prepared begins nothing.";
    CountsStarts, "counts-starts", "deadlock", "A collective that was prepared has its number from its start.";
    PreparedAlike, "prepared-alike", "C4", "All collectives that were prepared on a communicator have one number.";
    TurnAgain, "turn-again", "deadlock", "The number of a collective that is freed is given to the next that is prepared.";
    TellsOnly, "tells-only", "C3", "In a barrier between two groups rank 0 of a group does not hear the other one.";
    OwnSum, "own-sum", "C1", "An allreduce between two groups gives each group what it has combined itself.";
    RootInOwn, "root-in-own", "MPI_ERR_ROOT", "The root of an operation between two groups is looked up in the own group.";
    NoDirection, "no-direction", "C1", "Neighbours of a grid do not tell the rank before from the rank behind.";
    SendsToSources, "sends-to-sources", "MPI_ERR_COUNT", "A rank sends to the neighbours from which it receives.";
    ForgetsLast, "forgets-last", "MPI_ERR_COUNT", "A rank does not receive from its last neighbour.";
    CreatesInOrder, "creates-in-order", "deadlock", "A communicator of some ranks has them in the order of its parent.";
    NodesTogether, "nodes-together", "deadlock", "A split by memory leaves the node out.";
    OldOrderAcross, "old-order-across", "deadlock", "A split of two groups has the ranks of the other side in their old order.";
    AnyColorAcross, "any-color-across", "deadlock", "A split of two groups takes the ranks of the other side whose color its first rank has.";
    AloneAcross, "alone-across", "refusal", "A color that the other side does not have makes a communicator all the same.";
    EdgesTurned, "edges-turned", "refusal", "Edges that any rank may name lead the other way.";
    OwnEdges, "own-edges", "refusal", "A rank of a graph knows the edges only that it has named itself.";
    NodeBefore, "node-before", "refusal", "A node of a graph that all know has the neighbours of the node before it.";
    ChoosesAlone, "chooses-alone", "C5", "Rank 1 takes another algorithm for a collective than the other ranks.";
    ForgetsOrder, "forgets-order", "MPI_ERR_OP", "Rank 1 takes an operator of the program's own for one that commutes.";
    ReduceTurned, "reduce-turned", "C1", "A reduction by an operator that does not commute combines on the wrong side.";
    ScanTurned, "scan-turned", "C1", "A scan by an operator that does not commute combines on the wrong side.";
    DupsOneSide, "dups-one-side", "deadlock", "Both groups of a duplicate are the own group of its parent.";
    SendsBeforeReady, "sends-before-ready", "V2", "The first partition that is ready takes all messages of its request along.";
    ArrivesWithAny, "arrives-with-any", "V2", "A partition has arrived with the first message of its request.";
    PairsLast, "pairs-last", "refusal", "A partitioned send matches the receive that was prepared last.";
    HashesByRank, "hashes-by-rank", "deadlock", "The sender of a message adds the number of its receiver to that of the communicator when it looks for the VCI there.";
    PollsFirstVci, "polls-first-vci", "deadlock", "A thread that waits polls the first VCI, whatever it waits for.";
    WildcardsFirst, "wildcards-first", "deadlock", "A receive of any source is posted in the queues of the first VCI.";
    NeverSweeps, "never-sweeps", "deadlock", "A thread that waits never looks at the other VCIs.";
    SharedJoins, "shared-joins", "R10", "A shared lock is granted while an exclusive one is held.";
    GrantsNewest, "grants-newest", "lock-order", "The lock goes to the request that came last.";
    OwnLockAtOnce, "own-lock-at-once", "R10", "A lock of the own part returns before it is granted.";
    EntersWithReaders, "enters-with-readers", "R10", "An exclusive lock of a mapped window waits for the number of shared ones.";
    ForgetsReaders, "forgets-readers", "deadlock", "The end of an exclusive lock of a mapped window does not call a shared one.";
    WaitsForAllLocks, "waits-for-all-locks", "deadlock", "A lock of a mapped window waits for all locks of its process.";
    DoneLost, "done-lost", "R8", "The end of a shared epoch is not told.";
    AnswersFirst, "answers-first", "R8", "The target answers before it touches its memory.";
    IssuesTwice, "issues-twice", "R12", "Queued accumulates leave twice.";
    WrongSlot, "wrong-slot", "R7", "Bytes that come back belong to the newest operation.";
    FenceWithoutBarrier, "fence-without-barrier", "R9", "An eager fence ends when the own operations are done.";
    CountsOneMore, "counts-one-more", "deadlock", "A fence waits for one operation more than its ranks say.";
    CompletesFirst, "completes-first", "R9", "The end of an access epoch is told before its operations.";
    Overtakes, "overtakes", "R4", "Operations called after a post overtake those called before it.";
    CoreReadsFirst, "core-reads-first", "R4", "The core reads an own element that the HCA has not updated yet.";
    FlushWaitsForOthers, "flush-waits-for-others", "R7", "A flush does not send what another thread queues meanwhile.";
    FlushIsLocal, "flush-is-local", "R2", "A flush ends when its operations have gone out, as a local one.";
    RequestAtOnce, "request-at-once", "R7", "The request of an operation completes when it goes out, before its bytes have come.";
    FirstPieceCloses, "first-piece-closes", "R10", "An operation in several packets ends its epoch with the first.";
    NicExactFirst, "nic-exact-first", "M2", "The adapter searches receives without wildcards before those with, its host does not.";
    NicFinFirst, "nic-fin-first", "V2", "The adapter says FIN with the read that it asks for.";
    PacksLate, "packs-late", "V2", "A message in pieces leaves before it is packed.";
    UnpacksLate, "unpacks-late", "V2", "A receive in pieces is complete before it is unpacked.";
    ForgetsUnpack, "forgets-unpack", "V2", "What the HCA or a neighbour has brought is not unpacked.";
    FillsGaps, "fills-gaps", "V2", "Unpacking writes a byte more than the first piece has.";
    FirstPieces, "first-pieces", "V2", "Each part of a message is packed from its first piece on.";
    StagesInUse, "stages-in-use", "V2", "A buffer of the library is free before the thread that empties it is through.";
    ExtraFlush, "extra-flush", "", "A flush asks the target even where nothing is untold.";
    LocksAtOnce, "locks-at-once", "", "A lazy lock is asked for with its call.";
    RailPerPeer, "rail-per-peer", "", "All messages of a pair take the lane of the receiver's number.";
    OtherSource, "other-source", "", "A wildcard prefers the highest rank.";
    ExtraProbe, "extra-probe", "", "A look into the unexpected queue before each receive.";
    HearsFirst, "hears-first", "", "A round of the barrier posts its receive before its send.";
    ChecksTwice, "checks-twice", "", "A receive and a test look into the queue of the process twice.";
    PinsTwice, "pins-twice", "", "Both receivers of a rendezvous pin their buffer twice.";
    ExposesTwice, "exposes-twice", "", "A buffer is declared to the kernel twice.";
    StagesAll, "stages-all", "", "A message in pieces is packed into a buffer of its own, and copied from there.";
    ContextGaps, "context-gaps", "", "Every second pair of contexts is left out.";
}
