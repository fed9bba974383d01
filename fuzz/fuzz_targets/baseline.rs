//! Any bytes are a baseline or are refused with a report.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpisim::experiment::baseline::parse;
use mpisim::form::diagnostic::Diagnostics;

fuzz_target!(|bytes: &[u8]| {
    let mut diagnostics = Diagnostics::new();
    let baseline = parse(&mut diagnostics, "fuzz.json", bytes);
    assert_eq!(baseline.is_none(), diagnostics.has_errors());
    let _ = diagnostics.human();
});
