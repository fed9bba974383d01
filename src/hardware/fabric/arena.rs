//! Slots for what is under way: transfers, linked into queues without allocation.

/// "None" among dense ids.
pub(super) const NONE: u32 = u32::MAX;

/// A transfer under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Next in whatever queue holds it.
    pub(super) next: u32,
    /// Events of an older generation are stale.
    pub(super) generation: u32,
    pub(super) conn: u32,
    /// Place in the connection's order.
    pub(super) order: u32,
    /// Index of the next hop in the fabric's table of hops.
    pub(super) hop: u32,
    pub(super) first_hop: u32,
    pub(super) end_hop: u32,
    pub(super) path: u32,
    pub(super) bytes: u64,
    pub(super) token: u64,
    /// When it reached the present hop.
    pub(super) arrived: u64,
    /// When its last byte reaches the present hop.
    pub(super) tail: u64,
    /// When the segment of a flow right before it reached the present hop.
    pub(super) behind: u64,
}

impl Flight {
    /// Whether it goes before `other` where both come in the same instant.
    pub(super) const fn precedes(&self, other: &Self) -> bool {
        if self.conn == other.conn {
            // Fewer than 2^31 transfers of one connection are under way.
            other.order.wrapping_sub(self.order).wrapping_sub(1) < 1 << 31
        } else {
            self.conn < other.conn
        }
    }
}

/// All transfers under way; freed slots are used again.
#[derive(Debug, Default)]
pub(super) struct Flights {
    slots: Vec<Flight>,
    free: Vec<u32>,
    under_way: u64,
}

impl Flights {
    /// Transfers that are under way.
    pub(super) const fn len(&self) -> u64 {
        self.under_way
    }

    pub(super) fn insert(&mut self, flight: Flight) -> u32 {
        self.under_way += 1;
        if let Some(id) = self.free.pop() {
            let generation = self[id].generation;
            self[id] = Flight { generation, ..flight };
            return id;
        }
        let id = u32::try_from(self.slots.len()).expect("fewer than 2^32 transfers under way");
        self.slots.push(flight);
        id
    }

    pub(super) fn remove(&mut self, id: u32) -> Flight {
        self.under_way -= 1;
        self.free.push(id);
        self[id]
    }
}

impl std::ops::Index<u32> for Flights {
    type Output = Flight;
    fn index(&self, id: u32) -> &Flight {
        &self.slots[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Flights {
    fn index_mut(&mut self, id: u32) -> &mut Flight {
        &mut self.slots[id as usize]
    }
}

/// A queue of transfers, linked through `Flight::next`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub(super) head: u32,
    tail: u32,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    pub(super) const fn is_empty(self) -> bool {
        self.head == NONE
    }

    pub(super) fn push_back(&mut self, id: u32, flights: &mut Flights) {
        flights[id].next = NONE;
        if self.is_empty() {
            self.head = id;
        } else {
            flights[self.tail].next = id;
        }
        self.tail = id;
    }

    /// Puts `id` before those that came in its instant although they go after it.
    pub(super) fn push_in_order(&mut self, id: u32, flights: &mut Flights) {
        let arrived = flights[id].arrived;
        let goes_before = |other: u32, flights: &Flights| {
            flights[other].arrived == arrived && flights[id].precedes(&flights[other])
        };
        if self.is_empty() || !goes_before(self.tail, flights) {
            return self.push_back(id, flights);
        }
        if goes_before(self.head, flights) {
            return self.push_front(id, flights);
        }
        let mut at = self.head;
        while !goes_before(flights[at].next, flights) {
            at = flights[at].next;
        }
        flights[id].next = flights[at].next;
        flights[at].next = id;
    }

    pub(super) fn push_front(&mut self, id: u32, flights: &mut Flights) {
        flights[id].next = self.head;
        if self.is_empty() {
            self.tail = id;
        }
        self.head = id;
    }

    pub(super) fn pop_front(&mut self, flights: &Flights) -> Option<u32> {
        let id = self.head;
        if id == NONE {
            return None;
        }
        self.head = flights[id].next;
        Some(id)
    }
}
