//! Lists of actions go round: most threads wait, and have none.

use protocols::contract::Action;

/// Empty lists, for the next threads that work.
#[derive(Debug)]
pub(crate) struct Lists<P, R>(Vec<Vec<Action<P, R>>>);

impl<P, R> Lists<P, R> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty list gets room, if it has none.
    #[inline]
    pub(crate) fn lend(&mut self, list: &mut Vec<Action<P, R>>) {
        debug_assert!(list.is_empty(), "a list is worked through before the next input");
        if list.capacity() == 0
            && let Some(room) = self.0.pop()
        {
            // What has no room is not freed, which would be a call.
            std::mem::forget(std::mem::replace(list, room));
        }
    }

    /// Takes a list back, without its actions, if it has room for others.
    ///
    /// Most own nothing, and are let go one by one: a list that is cleared asks each of them by a call.
    pub(crate) fn give_back(&mut self, mut list: Vec<Action<P, R>>) {
        while let Some(action) = list.last() {
            if may_own(action) {
                list.truncate(list.len() - 1);
            } else {
                std::mem::forget(list.pop());
            }
        }
        if list.capacity() > 0 {
            self.0.push(list);
        }
    }
}

/// Whether an action may own memory beside its own, which must be freed with it.
#[inline]
const fn may_own<P, R>(action: &Action<P, R>) -> bool {
    match action {
        Action::Send { .. }
        | Action::RdmaWrite { .. }
        | Action::Device { .. }
        | Action::Pack(_)
        | Action::Return { .. } => true,
        Action::Work(_)
        | Action::Walk { .. }
        | Action::Copy { .. }
        | Action::Combine { .. }
        | Action::Update { .. }
        | Action::PeerCopy { .. }
        | Action::Expose { .. }
        | Action::Count { .. }
        | Action::Consult { .. }
        | Action::Watch { .. }
        | Action::Register { .. }
        | Action::RdmaRead { .. }
        | Action::RdmaAtomic { .. }
        | Action::Repost { .. }
        | Action::Release
        | Action::Poll(_)
        | Action::Resume(_)
        | Action::Complete { .. }
        | Action::Observe(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use protocols::contract::{CodePath, Process, Region, Route, Space, Thread, Token, Via};
    use units::Bytes;

    #[test]
    fn what_actions_own_is_freed_with_them() {
        let owned = Arc::new(());
        let (to, region) = (Route::to(Process(1)), Region::new(Space::User(0), 8));
        let (packet, header) = (Arc::clone(&owned), Bytes::new(8));
        let immediate = Some(Box::new(Arc::clone(&owned)));
        let list = vec![
            Action::Work(CodePath::Send),
            Action::Send { to, via: Via::Hca, header, packet, payload: None },
            Action::RdmaWrite { to, from: region, into: region, token: Token(0), immediate },
            Action::Return { thread: Thread(0), reply: Arc::clone(&owned) },
            Action::Release,
        ];
        assert_eq!(Arc::strong_count(&owned), 4);
        let mut lists = Lists::new();
        lists.give_back(list);
        assert_eq!(Arc::strong_count(&owned), 1);
        let mut again = Vec::new();
        lists.lend(&mut again);
        assert!(again.is_empty() && again.capacity() >= 5, "its room is used again");
    }
}
