//! The tag that MPI sees: the user's tag and the in-process ranks of sender and receiver.
//!
//! ```text
//!    30                16 15          8 7           0
//!   ┌────────────────────┬─────────────┬─────────────┐
//!   │ user tag           │ sender      │ receiver    │
//!   └────────────────────┴─────────────┴─────────────┘
//! ```
//!
//! MPI addresses processes, so who in them sends and receives must be in the tag, and with it in
//! the match. A value that its field cannot hold is an error before anything is sent.
//!
//! Source: `xios-ep` Sec. 4 (31 bits); the widths are those of the public library.

/// Bits of the user's tag.
/// Source: the public library.
pub const USER_BITS: u32 = 15;
/// Bits of an in-process rank.
/// Source: the public library.
pub const LOCAL_BITS: u32 = 8;
/// The largest user tag.
pub const USER_MAX: i32 = (1 << USER_BITS) - 1;
/// The largest in-process rank.
pub const LOCAL_MAX: u32 = (1 << LOCAL_BITS) - 1;

/// Fields of a tag.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Fields {
    /// The user's tag, 0 to [`USER_MAX`].
    pub tag: i32,
    /// In-process rank of the sender, 0 to [`LOCAL_MAX`].
    pub sender: u32,
    /// In-process rank of the receiver, 0 to [`LOCAL_MAX`].
    pub receiver: u32,
}

/// Why there is no such tag.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TagError {
    /// The user's tag does not fit.
    #[error(
        "tag {tag} is out of range: the endpoint library has {USER_BITS} bits, 0 to {USER_MAX}"
    )]
    User {
        /// The tag.
        tag: i32,
    },
    /// The sender's rank in its process does not fit.
    #[error("sender is endpoint {local} of its process; a tag can name 0 to {LOCAL_MAX}")]
    Sender {
        /// The rank in the process.
        local: u32,
    },
    /// The receiver's rank in its process does not fit.
    #[error("receiver is endpoint {local} of its process; a tag can name 0 to {LOCAL_MAX}")]
    Receiver {
        /// The rank in the process.
        local: u32,
    },
    /// A tag that was not packed here.
    #[error("tag {packed} is negative; no message has such a tag")]
    Negative {
        /// The tag.
        packed: i32,
    },
}

impl Fields {
    /// The tag that MPI gets.
    ///
    /// # Errors
    ///
    /// The first of tag, sender and receiver that does not fit its field.
    pub fn encode(self) -> Result<i32, TagError> {
        if !(0..=USER_MAX).contains(&self.tag) {
            return Err(TagError::User { tag: self.tag });
        }
        let [sender, receiver] = [self.sender, self.receiver].map(small);
        let sender = sender.ok_or(TagError::Sender { local: self.sender })?;
        let receiver = receiver.ok_or(TagError::Receiver { local: self.receiver })?;
        Ok(self.tag << (2 * LOCAL_BITS) | sender << LOCAL_BITS | receiver)
    }

    /// Fields of the tag of a message.
    ///
    /// # Errors
    ///
    /// [`TagError::Negative`]: every other tag says something.
    pub fn decode(packed: i32) -> Result<Self, TagError> {
        let bits = u32::try_from(packed).map_err(|_| TagError::Negative { packed })?;
        Ok(Self {
            tag: packed >> (2 * LOCAL_BITS),
            sender: bits >> LOCAL_BITS & LOCAL_MAX,
            receiver: bits & LOCAL_MAX,
        })
    }
}

/// An in-process rank as its field holds it; none where it does not fit.
fn small(local: u32) -> Option<i32> {
    i32::try_from(local).ok().filter(|_| local <= LOCAL_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use mpi::envelope::TAG_UB;

    const fn fields(tag: i32, sender: u32, receiver: u32) -> Fields {
        Fields { tag, sender, receiver }
    }

    // claim: xep-tag31
    // claim: xep-tag-layout
    #[test]
    fn three_fields_fill_31_bits() {
        assert_eq!(USER_BITS + 2 * LOCAL_BITS, 31);
        assert_eq!((USER_MAX, LOCAL_MAX), (32767, 255));
        assert_eq!(fields(3, 1, 2).encode(), Ok(3 << 16 | 1 << 8 | 2));
        assert_eq!(fields(USER_MAX, LOCAL_MAX, LOCAL_MAX).encode(), Ok(TAG_UB));
        assert_eq!(Fields::decode(TAG_UB), Ok(fields(USER_MAX, LOCAL_MAX, LOCAL_MAX)));
        assert_eq!(Fields::decode(0), Ok(fields(0, 0, 0)));
    }

    /// Each field below, at and above its limit, in all combinations, and every value of one field.
    // claim: xep-tag-overflow
    #[test]
    fn packing_is_injective_and_what_does_not_fit_is_refused() {
        let tags = [-1, 0, 1, 255, 256, USER_MAX - 1, USER_MAX, USER_MAX + 1, i32::MAX, i32::MIN];
        let locals = [0, 1, 2, 127, 128, LOCAL_MAX, LOCAL_MAX + 1, 1 << 16, u32::MAX];
        let (mut seen, mut fitting) = (BTreeSet::new(), 0);
        for (tag, sender, receiver) in product(&tags, &locals) {
            let fields = fields(tag, sender, receiver);
            let fits = (0..=USER_MAX).contains(&tag) && sender.max(receiver) <= LOCAL_MAX;
            match fields.encode() {
                Ok(packed) => {
                    assert!(fits, "{fields:?} does not fit");
                    assert_eq!(Fields::decode(packed), Ok(fields));
                    assert!(seen.insert(packed), "{fields:?} shares its tag");
                    fitting += 1;
                }
                Err(error) => assert!(!fits, "{fields:?}: {error}"),
            }
        }
        assert_eq!(seen.len(), fitting);
        assert_eq!(fitting, 6 * 6 * 6);
        for local in 0..=LOCAL_MAX {
            assert!(seen.len() < (1 << 31) && fields(7, local, local).encode().is_ok());
            let packed = fields(7, local, LOCAL_MAX - local).encode().expect("all fit");
            assert_eq!(Fields::decode(packed), Ok(fields(7, local, LOCAL_MAX - local)));
        }
    }

    fn product(tags: &[i32], locals: &[u32]) -> Vec<(i32, u32, u32)> {
        let pairs =
            |tag| locals.iter().flat_map(move |s| locals.iter().map(move |r| (tag, *s, *r)));
        tags.iter().flat_map(|tag| pairs(*tag)).collect()
    }

    #[test]
    fn every_tag_of_mpi_decodes_to_fields_that_pack_to_it() {
        for packed in (0..=TAG_UB).step_by(65_521).chain([TAG_UB]) {
            assert_eq!(Fields::decode(packed).and_then(Fields::encode), Ok(packed));
        }
        assert_eq!(Fields::decode(-1), Err(TagError::Negative { packed: -1 }));
    }

    #[test]
    fn an_error_names_the_field_and_its_limit() {
        let error = fields(32768, 0, 0).encode().unwrap_err();
        let expected = "tag 32768 is out of range: the endpoint library has 15 bits, 0 to 32767";
        assert_eq!(error.to_string(), expected);
        let error = fields(0, 0, 256).encode().unwrap_err();
        assert_eq!(
            error.to_string(),
            "receiver is endpoint 256 of its process; a tag can name 0 to 255"
        );
        assert_eq!(fields(0, 256, 0).encode(), Err(TagError::Sender { local: 256 }));
    }
}
