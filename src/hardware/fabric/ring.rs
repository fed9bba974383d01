//! The round robin of one shared resource: connections with packets, and stand-ins for its flows.

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
}

/// Who has the next turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    /// The packets of a lane, which stood in the ring since `at`.
    Lane { lane: u32, at: u64 },
    /// So many flows, one MTU each.
    StandIns(u32),
}

/// Turns to come, first to last.
#[derive(Debug, Default)]
pub(super) struct Ring {
    entries: VecDeque<Entry>,
    lanes: u32,
    stand_ins: u32,
}

impl Ring {
    pub(super) const fn has_packets(&self) -> bool {
        self.lanes > 0
    }

    /// The lane whose turn is next and its connection, if it is a lane's turn.
    pub(super) fn front_lane(&self) -> Option<(u32, u32)> {
        match self.entries.front()? {
            Entry::Packets { lane, conn, .. } => Some((*lane, *conn)),
            Entry::StandIns(_) => None,
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
        self.lanes = 0;
    }
}

/// Turns of stand-ins under way, after which the packets at the ring's front are served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) turn: u64,
    pub(super) turns: u32,
    /// Turns that have passed and whose stand-ins are back in the ring.
    pub(super) returned: u32,
    pub(super) end: u64,
}

impl Run {
    /// Turns that ended since the last call.
    pub(super) fn newly_passed(&mut self, now: u64) -> u32 {
        let passed = (now - self.start).checked_div(self.turn).unwrap_or(u64::MAX);
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
                Turn::StandIns(_) => unreachable!("no flows here"),
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
        let mut run = Run { start: 100, turn: 10, turns: 3, returned: 0, end: 130 };
        assert_eq!(run.newly_passed(109), 0);
        assert_eq!(run.newly_passed(125), 2);
        assert_eq!(run.newly_passed(125), 0);
        assert_eq!(run.newly_passed(500), 1);
    }
}
