//! Tokens of the HCA's completions: which operation of which window they end.

use crate::contract::Token;

/// Bit of the tokens of the HCA's completions.
/// Encoding: the highest one.
const RMA: u64 = 1 << 63;
/// Most windows. Numbers only grow: the ranks of a window agree on one that none of them has used.
/// Limit: a token names its window by the bits below that one.
pub(super) const MOST_WINDOWS: u32 = 1 << 15;

pub(super) fn token(window: u32, slot: u32, part: u32) -> Token {
    // The part only tells completions of one operation apart.
    Token(RMA | u64::from(window) << 48 | u64::from(slot) << 16 | u64::from(part % (1 << 16)))
}

/// The window and the slot that a token names.
pub(super) fn named_by(token: Token) -> (u32, u32) {
    let low = |raw: u64| u32::try_from(raw & u64::from(u32::MAX)).expect("masked to 32 bits");
    (low((token.0 & !RMA) >> 48), low(token.0 >> 16))
}

/// Whether a completion belongs to a window.
pub(crate) const fn is_ours(token: Token) -> bool {
    token.0 & RMA != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_the_last_window_as_it_names_the_first() {
        for window in [0, 1, MOST_WINDOWS - 1] {
            for slot in [0, 7, u32::MAX] {
                let token = token(window, slot, u32::MAX);
                assert!(is_ours(token));
                assert_eq!(named_by(token), (window, slot));
            }
        }
    }
}
