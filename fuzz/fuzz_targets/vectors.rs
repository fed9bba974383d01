//! Any text holds recorded vectors or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpisim::conform::Vectors;

fuzz_target!(|text: &str| {
    if let Err(why) = Vectors::read(text) {
        assert!(!why.to_string().is_empty());
    }
});
