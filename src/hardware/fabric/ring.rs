//! The round robin of one shared resource: connections with packets, stand-ins for the flows that
//! it limits, and segments of flows that pass by.

use std::collections::VecDeque;

use super::arena::Queue;

/// The packets of one connection that wait at one resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) resource: u32,
    /// The next lane of the same connection.
    pub(super) next: u32,
    pub(super) packets: Queue,
    pub(super) in_ring: bool,
}

impl Lane {
    pub(super) const fn new(resource: u32, next: u32) -> Self {
        Self { resource, next, packets: Queue::EMPTY, in_ring: false }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Entry {
    Packets {
        lane: u32,
        conn: u32,
        /// When it was appended.
        at: u64,
    },
    StandIns(u32),
    Segments(u32),
}

/// The packets or flows that have the next turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    /// The packets of a lane, which stood in the ring since `at`.
    Lane { lane: u32, at: u64 },
    /// So many flows that are limited here, one MTU each.
    StandIns(u32),
    /// So many segments of flows that pass by.
    Segments(u32),
}

/// Turns to come, first to last.
#[derive(Debug, Default)]
pub(super) struct Ring {
    entries: VecDeque<Entry>,
    lanes: u32,
    stand_ins: u32,
    segments: u32,
}

impl Ring {
    pub(super) const fn has_packets(&self) -> bool {
        self.lanes > 0
    }

    /// The lane whose turn is next and its connection, if it is a lane's turn.
    pub(super) fn front_lane(&self) -> Option<(u32, u32)> {
        match self.entries.front()? {
            Entry::Packets { lane, conn, .. } => Some((*lane, *conn)),
            Entry::StandIns(_) | Entry::Segments(_) => None,
        }
    }

    /// Appends a lane; those of one instant are sorted by connection.
    pub(super) fn push_lane(&mut self, lane: u32, conn: u32, now: u64) {
        let mut at = self.entries.len();
        while at > 0
            && matches!(self.entries[at - 1],
                Entry::Packets { at, conn: other, .. } if at == now && other > conn)
        {
            at -= 1;
        }
        let entry = Entry::Packets { lane, conn, at: now };
        if at == self.entries.len() {
            self.entries.push_back(entry);
        } else {
            self.entries.insert(at, entry);
        }
        self.lanes += 1;
    }

    pub(super) fn push_lane_front(&mut self, lane: u32, conn: u32, at: u64) {
        self.entries.push_front(Entry::Packets { lane, conn, at });
        self.lanes += 1;
    }

    #[inline]
    pub(super) fn push_stand_ins(&mut self, count: u32) {
        if count > 0 {
            self.push_some_stand_ins(count);
        }
    }

    fn push_some_stand_ins(&mut self, count: u32) {
        self.stand_ins += count;
        if let Some(Entry::StandIns(last)) = self.entries.back_mut() {
            *last += count;
        } else {
            self.entries.push_back(Entry::StandIns(count));
        }
    }

    /// Appends `count` segments of flows that pass by, as long as no more than `most` stand here.
    pub(super) fn push_segments(&mut self, count: u32, most: u32) {
        let count = count.min(most.saturating_sub(self.segments));
        if count > 0 {
            self.segments += count;
            self.entries.push_back(Entry::Segments(count));
        }
    }

    /// Adds stand-ins at the tail, or takes the last ones out, until there are `count`.
    #[inline]
    pub(super) fn set_stand_ins(&mut self, count: u32) {
        if self.stand_ins != count {
            self.change_stand_ins(count);
        }
    }

    fn change_stand_ins(&mut self, count: u32) {
        self.push_stand_ins(count.saturating_sub(self.stand_ins));
        let mut at = self.entries.len();
        while self.stand_ins > count {
            at -= 1;
            let Entry::StandIns(here) = &mut self.entries[at] else { continue };
            let taken = (*here).min(self.stand_ins - count);
            *here -= taken;
            self.stand_ins -= taken;
            if *here == 0 {
                self.entries.remove(at);
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<Turn> {
        match self.entries.pop_front()? {
            Entry::Packets { lane, at, .. } => {
                self.lanes -= 1;
                Some(Turn::Lane { lane, at })
            }
            Entry::Segments(count) => {
                self.segments -= count;
                Some(Turn::Segments(count))
            }
            Entry::StandIns(mut count) => {
                while let Some(&Entry::StandIns(more)) = self.entries.front() {
                    self.entries.pop_front();
                    count += more;
                }
                self.stand_ins -= count;
                Some(Turn::StandIns(count))
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.stand_ins = 0;
        self.segments = 0;
        self.lanes = 0;
    }
}

/// Turns of flows under way, after which the packets at the ring's front are served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) turn: u64,
    pub(super) turns: u32,
    /// Turns that have passed and whose stand-ins are back in the ring.
    pub(super) returned: u32,
    pub(super) end: u64,
    /// It began with a packet that found only flows which pass by.
    pub(super) is_first: bool,
}

impl Run {
    /// Each of `turns` stand-ins gets a turn from `start` on.
    pub(super) const fn of_stand_ins(start: u64, turn: u64, turns: u32) -> Self {
        let end = start + turn * turns as u64;
        Self { start, turn, turns, returned: 0, end, is_first: false }
    }

    /// Segments of flows that pass by, which do not return to the ring.
    pub(super) const fn of_segments(start: u64, end: u64) -> Self {
        Self { start, turn: 0, turns: 0, returned: 0, end, is_first: false }
    }

    /// Turns that ended since the last call.
    pub(super) fn newly_passed(&mut self, now: u64) -> u32 {
        // A segment that passes by may go before the first turn.
        let passed = now.saturating_sub(self.start).checked_div(self.turn).unwrap_or(u64::MAX);
        let passed = u32::try_from(passed).unwrap_or(u32::MAX).min(self.turns);
        let new = passed - self.returned;
        self.returned = passed;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(ring: &mut Ring) -> Vec<Turn> {
        std::iter::from_fn(|| ring.pop()).collect()
    }

    /// Of four segments that come two fit, where two flows pass by; one that was served makes room.
    #[test]
    fn a_passing_flow_has_one_segment_in_the_ring() {
        let mut ring = Ring::default();
        ring.push_segments(1, 2);
        ring.push_lane(0, 1, 10);
        ring.push_segments(3, 2);
        assert_eq!(ring.pop(), Some(Turn::Segments(1)));
        ring.push_segments(1, 2);
        let lane = Turn::Lane { lane: 0, at: 10 };
        assert_eq!(all(&mut ring), [lane, Turn::Segments(1), Turn::Segments(1)]);
    }

    #[test]
    fn lanes_of_one_instant_stand_in_the_order_of_connections() {
        let mut ring = Ring::default();
        ring.push_lane(0, 9, 100);
        for (lane, conn) in [(1, 5), (2, 7), (3, 3)] {
            ring.push_lane(lane, conn, 200);
        }
        let lanes: Vec<u32> = all(&mut ring)
            .into_iter()
            .map(|turn| match turn {
                Turn::Lane { lane, .. } => lane,
                Turn::StandIns(_) | Turn::Segments(_) => unreachable!("no flows here"),
            })
            .collect();
        assert_eq!(lanes, [0, 3, 1, 2]);
    }

    #[test]
    fn stand_ins_follow_the_number_of_flows_from_the_tail() {
        let mut ring = Ring::default();
        ring.push_stand_ins(2);
        ring.push_lane(0, 1, 10);
        ring.push_stand_ins(3);
        ring.set_stand_ins(4);
        let lane = Turn::Lane { lane: 0, at: 10 };
        assert_eq!(all(&mut ring), [Turn::StandIns(2), lane, Turn::StandIns(2)]);
        ring.push_lane(0, 1, 10);
        ring.set_stand_ins(1);
        assert_eq!(all(&mut ring), [lane, Turn::StandIns(1)]);
    }

    #[test]
    fn turns_of_a_run_return_one_by_one() {
        let mut run = Run::of_stand_ins(100, 10, 3);
        assert_eq!(run.newly_passed(109), 0);
        assert_eq!(run.newly_passed(125), 2);
        assert_eq!(run.newly_passed(125), 0);
        assert_eq!(run.newly_passed(500), 1);
    }
}
