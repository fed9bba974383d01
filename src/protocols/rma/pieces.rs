//! Operations that are longer than a packet: the pieces that they travel in.
//!
//! ```text
//!   put of 5 words, 2 a packet     PUT 2 ─▶ PUT 2 ─▶ PUT 1 + FLUSH …          DONE
//!   get of 5 words, 2 a packet     GET 2 ─▶ GET 2 ─▶ GET 1 + FLUSH …  DATA 2, DATA 2, DATA 1
//! ```
//!
//! Over a messaging network a packet carries at most a segment of payload, there or back
//! ([`Settings::segment`](super::Settings)). Each piece is an operation for the target's handler: whole
//! blocks where they fit, parts of one where they do not, and no element of an update in two of them.
//! What the operation ends, its last piece ends; packets of a pair keep their order, so that all
//! before it have been handled by then. Between two pieces the target may serve others: an operation
//! is atomic for each element, and not as a whole.
//!
//! Source: MPICH of 2014 and later cuts accumulates so (`mpid_rma_issue.h`, stream units), at the size
//! of its send and receive buffers. That puts and gets are cut likewise, and that the size is that of
//! an eager message, is our reading. Left out: an answer of several packets to one request for bytes.
//! Noticeable as a header for each segment of a get.

use super::call::Operation;
use super::packet::Place;
use super::window::Queued;

impl Queued {
    /// The pieces with at most `most` bytes each, in order; with one element at least. The request of
    /// the operation is that of the last.
    pub(super) fn pieces(self, most: u64) -> impl Iterator<Item = Self> {
        let all = self.place.bytes();
        self.place.pieces(element(self.does), most).map(move |(place, start)| {
            let last = start + place.bytes() == all;
            let does =
                if place.bytes() == all { self.does } else { self.does.part(start, place.bytes()) };
            Self { does, place, request: self.request.filter(|_| last) }
        })
    }
}

/// Bytes that stay together.
const fn element(does: Operation) -> u64 {
    match does {
        Operation::Put { .. } | Operation::Get { .. } => 1,
        // One of a compare-and-swap is all that it has.
        Operation::Update { update, .. } => update.datatype().width(),
    }
}

impl Operation {
    /// The part of the operation on so many of its bytes.
    fn part(self, start: u64, bytes: u64) -> Self {
        match self {
            Self::Put { origin } => Self::Put { origin: origin.part(start, bytes) },
            Self::Get { into } => Self::Get { into: into.part(start, bytes) },
            Self::Update { update, origin, result } => {
                let [origin, result] =
                    [origin, result].map(|region| region.map(|region| region.part(start, bytes)));
                Self::Update { update, origin, result }
            }
        }
    }
}

impl Place {
    /// The pieces of at most `most` bytes of whole elements, each with where it stands among the bytes
    /// that move; with one element at least.
    pub(super) fn pieces(self, element: u64, most: u64) -> impl Iterator<Item = (Self, u64)> {
        let most = (most - most % element).max(element);
        let whole = self.bytes() <= most;
        let (block, count, stride) = if whole || self.is_strided() {
            (self.block, self.count, self.stride)
        } else {
            (self.bytes(), 1, self.bytes())
        };
        // Blocks of a piece, and pieces of a block: one of them is 1.
        let blocks =
            if whole { u64::from(count) } else { (most / block).clamp(1, u64::from(count)) };
        let parts = if whole { 1 } else { block.div_ceil(most) };
        let groups = u64::from(count).div_ceil(blocks.max(1)).max(1);
        (0..groups * parts).map(move |piece| {
            let (first, part) = (piece / parts * blocks, piece % parts);
            if parts == 1 {
                let count = u64::from(count) - first;
                let count = u32::try_from(count.min(blocks)).expect("at most all blocks");
                let offset = self.offset + first * stride;
                return (Self { offset, block, count, stride, ..self }, first * block);
            }
            let (skipped, left) = (part * most, block - part * most);
            let offset = self.offset + first * stride + skipped;
            let len = left.min(most);
            let place = Self { offset, block: len, count: 1, stride: len, ..self };
            (place, first * block + skipped)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::streams::Streams;

    /// The bytes that a place has, in the order in which they move.
    fn bytes(place: Place) -> Vec<u64> {
        place.runs().flat_map(|(run, _)| run.offset..run.offset + run.len).collect()
    }

    #[test]
    fn pieces_have_all_bytes_in_their_order_and_none_is_too_long() {
        let mut stream = Streams::new(5).stream("pieces", 0);
        for _ in 0..2_000 {
            let mut below = |n: u64| stream.below(n);
            let (block, count) = (1 + below(40), 1 + below(12));
            let (stride, offset) = (block + below(3) * below(30), below(1_000));
            let count = u32::try_from(count).unwrap();
            let place = Place { memory: 1, shared: false, offset, block, count, stride };
            let most = 1 + below(100);
            let pieces: Vec<(Place, u64)> = place.pieces(1, most).collect();
            let mut start = 0;
            for (piece, at) in &pieces {
                assert_eq!(*at, start, "{place:?} by {most}");
                assert!((1..=most).contains(&piece.bytes()), "{piece:?} of {place:?} by {most}");
                start += piece.bytes();
            }
            let joined: Vec<u64> = pieces.iter().flat_map(|(piece, _)| bytes(*piece)).collect();
            assert_eq!(joined, bytes(place), "{place:?} by {most}");
            if !place.is_strided() {
                assert_eq!(pieces.len() as u64, place.bytes().div_ceil(most));
            }
        }
    }

    #[test]
    fn what_moves_nothing_is_one_piece() {
        let place = Place { memory: 1, shared: false, offset: 8, block: 0, count: 3, stride: 4 };
        assert_eq!(place.pieces(1, 8).collect::<Vec<_>>(), [(place, 0)]);
    }
}
