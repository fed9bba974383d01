//! The form of user input: JSON with places, shapes of objects, and reports of mistakes.
//!
//! | begin with | to |
//! |---|---|
//! | [`json`] | read a text into nodes that know their places |
//! | [`shape`] | say which keys an object has, and check a tree against it |
//! | [`fields`] | find a field that other forms have, too |
//! | [`typed`] | declare an object or words as a type |
//! | [`diagnostic`] | report a mistake with file, line and remedy |
//! | [`codes`] | find the meaning of a code such as `E0302` |
//! | [`machine`] | state a machine: numbers with their sources |

pub mod codes;
pub mod diagnostic;
pub mod expression;
pub mod fields;
pub mod json;
pub mod machine;
pub mod shape;
pub mod typed;
