//! Bugs of operations that are prepared and then started.

use std::sync::Arc;

use super::Mutant;
use super::flawed::LibraryInput;
use crate::call::Call;
use crate::contract::Input;

/// Changes the start of an operation, before the library sees it.
pub(super) fn bend_input(mutant: Mutant, input: &mut LibraryInput) {
    let Input::Call(call) = input else { return };
    let Call::Start { operation, .. } = call else { return };
    match (mutant, Arc::make_mut(operation)) {
        (Mutant::StartsWild, Call::Irecv { tag, .. }) => *tag = None,
        (Mutant::StartsNothing, Call::Isend { .. }) => *call = Call::Prepare(Arc::clone(operation)),
        _ => {}
    }
}
