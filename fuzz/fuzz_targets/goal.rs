//! Any bytes are a schedule in GOAL or are refused; a schedule can be read again as it is written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpisim::workloads::import::goal::{read, write};

fuzz_target!(|bytes: &[u8]| {
    let Ok(schedule) = read(bytes) else { return };
    let mut text = Vec::new();
    write(&schedule, &mut text).expect("memory takes everything");
    let again = read(&text[..]).unwrap_or_else(|why| panic!("what is written is refused: {why:?}"));
    assert_eq!(again.ops().len(), schedule.ops().len());
});
