//! What MPI knows of a rank: its handles, what a call's arguments mean, and what the program reads when the library
//! has replied.
//!
//! Files import downwards only:
//!
//! | file | is |
//! |---|---|
//! | `calls` | the functions of MPI by family |
//! | `rank_state` | what MPI knows of a rank: its objects and its stage; and what comes of a call |
//! | `objects` | the objects of each kind, by their handles |
//! | `frame` | a call, and the memory behind its pointers |
//! | `args`, `families` | the arguments of each function by their names, and the calls of each family; made of the table of functions |
//! | `status`, `data`, `arithmetic`, `table`, `fault` | statuses, data and numbers; handles; errors |
//!
//! | family of functions | answers |
//! |---|---|
//! | `environment`, `sessions`, `tools` | start and end, versions, memory |
//! | `conversions` | handles as ints |
//! | `errors` | error handlers, classes, strings |
//! | `types`, `packs` | datatypes |
//! | `messages`, `partitioned` | messages between two ranks |
//! | `requests`, `statuses` | what waits for them |
//! | `comms`, `groups` | communicators |
//! | `attributes`, `infos`, `hints` | what programs keep with objects, and say of them |
//! | `topologies` | grids and graphs of ranks |
//! | `operators`, `collectives` | collective operations |
//! | `windows` | one-sided communication |
//! | `files`, `refused` | what the simulator does not carry |

mod args;
mod arithmetic;
mod calls;
mod data;
mod families;
mod fault;
mod frame;
mod objects;
mod rank_state;
mod status;
mod table;

pub use fault::Fault;
pub use frame::Frame;
pub use rank_state::{Answer, Back, NextStep, RankState, Then};
