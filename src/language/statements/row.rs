//! A statement as a row: its word, what it is in MPI, its keys, and the reader of its work.

use super::reader::Item;
use crate::program::Does;
use form::shape::Variant;

/// A statement.
pub(super) struct Row {
    /// Its word and keys.
    pub(super) form: Variant,
    /// Its work as an item of a list says it.
    pub(super) read: fn(&mut Item<'_, '_, '_>) -> Does,
}

/// Rows: a statement is a word, its function of MPI, its keys, and an expression of its call.
macro_rules! rows {
    ($($op:literal $about:literal $fields:expr => |$item:ident| $does:expr;)*) => {
        [$(Row {
            form: ::form::shape::variant($op, $fields, $about),
            read: |$item| crate::program::Does::from($does),
        }),*]
    };
}
pub(super) use rows;

/// The forms of rows.
pub(super) const fn forms<const N: usize>(rows: &[Row; N]) -> [Variant; N] {
    let mut forms = [rows[0].form; N];
    let mut at = 1;
    while at < N {
        forms[at] = rows[at].form;
        at += 1;
    }
    forms
}
