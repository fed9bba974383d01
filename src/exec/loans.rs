//! Memory that a process has handed to MPI and touches again by another call.
//!
//! MPI forbids it, and libraries pass over it: so here it is a note, and the run goes on. What is forbidden stands in
//! the table of [`protocols::uses`], which a written program breaks under pain of the end of its run.
//!
//! Left out: the loads and stores of the process itself, but for the data of a send ([`Sent`]); and data that the
//! simulator holds for a collective, since it lies in pieces.
//!
//! [`Sent`]: super::mpi

use super::functions::Function;
use super::place::{Place, Touched};
use calls::space::{Region, Space};
use protocols::call::{Call, Reply};
use protocols::loans::{Clash, Loans};

/// Memory of a process that is in use by MPI; a place is a function and where it returns to.
#[derive(Debug)]
pub struct Lent(Loans<(Function, u64)>);

impl Default for Lent {
    fn default() -> Self {
        Self(Loans::new(None))
    }
}

impl Lent {
    /// The process calls the library: what is wrong with it, in words.
    pub fn calls(
        &mut self,
        call: &Call,
        is_root: Option<bool>,
        (function, caller): (Function, u64),
        place: &Place,
    ) -> Option<String> {
        let locate = |region: Region| {
            let offset = place.address_of(region)?;
            Some(Region { space: Space::PROCESS, offset, len: region.len })
        };
        let clash = self.0.calls(call, is_root, (function, caller), locate)?;
        if clash.place == (function, caller) && call.begins().is_none() {
            // The blocks of a collective may interleave: it looks at them itself.
            return is_root.is_none().then(|| overlap((function, caller), place));
        }
        Some(touches((function, caller), clash, place))
    }

    /// A function that needs no other rank has read and written: what is wrong with it, in words.
    pub fn touched(&self, touched: &Touched, place: &Place) -> Option<String> {
        let Touched { by, reads, writes } = touched;
        let clash = self.0.meets(writes).or_else(|| self.0.meets(reads));
        match clash {
            Some(clash) => Some(touches(*by, clash, place)),
            None => reads.clashes(writes).then(|| overlap(*by, place)),
        }
    }

    /// The library has answered.
    pub fn returns(&mut self, reply: &Reply) {
        self.0.returns(reply);
    }
}

fn overlap((function, caller): (Function, u64), place: &Place) -> String {
    let own = place.process.called(function, caller);
    format!("the buffers of {own} overlap, which MPI forbids")
}

fn touches(
    (function, caller): (Function, u64),
    clash: Clash<(Function, u64)>,
    place: &Place,
) -> String {
    let Clash { place: (other, from), writes } = clash;
    let own = place.process.called(function, caller);
    let other = place.process.called(other, from);
    let still = if writes { "writes" } else { "reads" };
    format!("{own} touches bytes that {other} still {still}, which MPI forbids")
}
