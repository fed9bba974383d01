//! Cases of datatypes.

use serde_json::{Map, Value};

use mpi::datatype::Datatype;

/// Some elements of a type, and what a library says of them.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    /// The type.
    pub datatype: Datatype,
    /// How many elements.
    pub count: u64,
    /// The answers of the library, by field.
    pub expected: Map<String, Value>,
}

/// Some elements of a type, and what several libraries say of them.
#[derive(Clone, Debug)]
pub struct Disputed {
    /// Its number in the file.
    pub id: u64,
    /// The type.
    pub datatype: Datatype,
    /// How many elements.
    pub count: u64,
    /// The answers of each library; the same fields for all.
    pub results: Vec<(String, Map<String, Value>)>,
}
