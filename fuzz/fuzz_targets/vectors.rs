//! Any text holds recorded vectors or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpisim::conform::Vectors;
use mpisim::shipped::SHIPPED;

fuzz_target!(|text: &str| {
    if let Err(why) = Vectors::read(text, SHIPPED) {
        assert!(!why.to_string().is_empty());
    }
});
