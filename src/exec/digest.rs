//! What a process has called and sent, in 64 bits: it is part of the digest of a run.
//!
//! A call counts with its function and its arguments, apart from addresses, which are the system's affair. Sent bytes
//! count when the simulated hardware or the library reads them.

use super::functions::Function;
use super::ranks::Request;
use engine::mix;

/// All that a process has called and sent so far, in order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Digest(u64);

impl Digest {
    /// The process calls a function.
    pub fn calls(&mut self, function: Function, request: &Request) {
        self.add(u64::from(function as u16));
        for at in (0..request.words()).filter(|at| function.addresses() >> at & 1 == 0) {
            self.add(request.word(at));
        }
    }

    /// Bytes of the process are sent, from byte `offset` of their buffer on.
    pub fn sends(&mut self, offset: u64, bytes: &[u8]) {
        self.add(offset);
        self.add(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last));
    }

    /// Its bytes.
    pub const fn bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    fn add(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_count_and_addresses_do_not() {
        let digest = |function, words: [u64; 3]| {
            let mut digest = Digest::default();
            digest.calls(function, &Request::of(function as u32, &words));
            digest
        };
        let rank = digest(Function::Comm_rank, [1, 0x7000, 0]);
        assert_eq!(rank, digest(Function::Comm_rank, [1, 0x8000, 0]));
        assert_ne!(rank, digest(Function::Comm_rank, [2, 0x7000, 0]));
        assert_ne!(rank, digest(Function::Comm_size, [1, 0x7000, 0]));
        let sent = |bytes: &[u8]| {
            let mut digest = Digest::default();
            digest.sends(0, bytes);
            digest
        };
        assert_ne!(sent(&[1; 9]), sent(&[1; 10]));
        assert_ne!(sent(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), sent(&[1, 2, 3, 4, 5, 6, 7, 8, 8]));
    }
}
