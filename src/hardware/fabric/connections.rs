//! The connections that ever carried something: most of a large job's numbers never do.

use super::arena::NONE;
use super::connection::Connection;

/// The states of connections, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// Where the state of each is.
    places: Vec<u32>,
    states: Vec<Connection>,
}

impl Connections {
    /// Makes the state of a connection, if it has none.
    #[inline]
    pub(super) fn open(&mut self, conn: u32) {
        if self.places.get(conn as usize).is_none_or(|&place| place == NONE) {
            self.open_new(conn as usize);
        }
    }

    /// Something made of the state of a connection, if it has one.
    pub(super) fn touch(&self, conn: u32) -> u64 {
        let state =
            self.places.get(conn as usize).and_then(|&place| self.states.get(place as usize));
        state.map_or(0, |state| state.leaves_at)
    }

    #[cold]
    fn open_new(&mut self, conn: usize) {
        if conn >= self.places.len() {
            self.places.resize(conn + 1, NONE);
        }
        self.places[conn] = u32::try_from(self.states.len()).expect("connections are u32");
        self.states.push(Connection::new());
    }
}

impl std::ops::Index<usize> for Connections {
    type Output = Connection;
    #[inline]
    fn index(&self, conn: usize) -> &Connection {
        &self.states[self.places[conn] as usize]
    }
}

impl std::ops::IndexMut<usize> for Connections {
    #[inline]
    fn index_mut(&mut self, conn: usize) -> &mut Connection {
        &mut self.states[self.places[conn] as usize]
    }
}
