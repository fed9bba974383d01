//! Which protocol moves a large message: the names of the protocols, and who chooses among them.

pub mod coop_coll;
pub mod coop_hybrid;
pub mod coop_load;
pub mod protocol;
pub mod scheme;
