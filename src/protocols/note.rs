//! What a machine carries that is no part of its state.

use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// A note: two states that differ in it only are equal. It counts, or helps a diagnosis, or never
/// changes in a run.
#[derive(Clone, Debug, Default)]
pub struct Note<T>(pub T);

impl<T> Deref for Note<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> PartialEq for Note<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Note<T> {}

impl<T> Hash for Note<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
