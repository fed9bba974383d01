//! Numbers of machines live in models: what stands in the code has another reason, listed here.
//!
//! A new constant below `experiment` is a time, a rate or a cost of some machine, or it is one of these.
//! The first is a parameter in `src/hardware/parameters.rs`, with a value and a source in each model.

use super::architecture::{Source, check_none, sources};

/// A file, and the constants in it.
type Row = (&'static str, &'static [&'static str]);

/// What the simulator does to be fast or exact: steps, windows, sizes of its own tables. Making one finer
/// changes a result by less than its tests allow, or not at all.
const METHOD: &[Row] = &[
    ("hardware/fabric/hops.rs", &["DEFAULT_CUT_THROUGH", "SIZES"]),
    ("hardware/fabric/reserve.rs", &["BANK", "GIFT", "LEAST", "PAST", "STEP", "WHOLE", "WINDOW"]),
    ("hardware/fabric/solve.rs", &["LARGE"]),
    ("hardware/fabric/spec.rs", &["STILL"]),
    ("hardware/fabric/streams.rs", &["MOST"]),
    ("hardware/fabric/watch.rs", &["TRIES"]),
    ("hardware/gpu/bus.rs", &["GRAIN", "INSTRUCTION", "OWN"]),
    ("hardware/gpu/copy.rs", &["PIECE", "PIECES"]),
    ("hardware/gpu/count.rs", &["LEAD", "WHOLE", "WINDOW", "WINDOWS"]),
    ("hardware/gpu/device.rs", &["ENGINES", "PIECES_AHEAD"]),
    ("hardware/gpu/running.rs", &["GROUPS"]),
    ("hardware/last_level.rs", &["BLOCK"]),
    ("hardware/memory/sets.rs", &["FINE", "WHOLE"]),
    ("runtime/device.rs", &["ROUNDS", "THREADS"]),
    ("runtime/explore/schedule.rs", &["FAULTS"]),
    ("runtime/explore/search.rs", &["MOST_ALONE", "MOST_SPARE"]),
    ("runtime/fingerprint.rs", &["NAMES"]),
    ("runtime/monitors/buffers.rs", &["SMALL"]),
    ("runtime/timed/costs.rs", &["PACKED"]),
    (
        "runtime/timed/livelock.rs",
        &["ASLEEP", "BY_THREAD", "LONG", "REMEMBERED", "RETRIES", "WINDOW", "WINDOW_EACH"],
    ),
    ("runtime/timed/conductor.rs", &["LISTS_AHEAD", "MANY"]),
    ("runtime/timed/observers/critical_path.rs", &["NO_LOG", "WAITS"]),
    ("runtime/timed/locks/steps.rs", &["UNSEARCHED"]),
    ("runtime/timed/usage.rs", &["EACH", "PARTS", "PHANTOM", "REAL"]),
    ("runtime/untimed/memo.rs", &["MOST"]),
    ("runtime/explore/shrink.rs", &["BEYOND"]),
];

/// What it refuses beyond.
const LIMITS: &[Row] = &[
    ("hardware/topology/fat_tree.rs", &["MOST_LEVELS"]),
    ("hardware/topology/wires.rs", &["MOST_LINKS"]),
    ("protocols/call.rs", &["GROUP_TAG_MAX"]),
    ("protocols/contract.rs", &["ASKED"]),
    ("protocols/library/partitions.rs", &["MOST"]),
    ("protocols/library/scratch.rs", &["MOST_BEGUN", "MOST_JOINT"]),
    ("calls/packing/calls.rs", &["MOST_CALLS", "MOST_ROWS"]),
    ("protocols/rma/token.rs", &["MOST_WINDOWS"]),
    ("runtime/loggops/schedule.rs", &["MOST_OPS"]),
    ("workloads/datatypes.rs", &["ENTRIES"]),
    ("workloads/fields.rs", &["MAX_QUEUE"]),
    ("workloads/gpu.rs", &["MOST_REAL"]),
    ("workloads/gpu/ping_pong.rs", &["MOST_CHUNKS", "MOST_PRIMITIVES"]),
    ("workloads/pack.rs", &["MOST_PRIMITIVES", "MOST_REAL"]),
    ("workloads/goal/calls.rs", &["LONGEST_CALC"]),
    ("workloads/goal/labels.rs", &["KEPT", "SLOTS"]),
    (
        "workloads/goal/read.rs",
        &["LONGEST_LINE", "LONGEST_SHOWN", "MOST_ERRORS", "MOST_OF_A_CIRCLE"],
    ),
    ("form/expression.rs", &["DEPTH", "LONGEST"]),
    ("form/expression/parse.rs", &["NESTED"]),
    ("workloads/goal/record.rs", &["MOST_STEPS"]),
    ("workloads/program/stream.rs", &["MOST_SILENT"]),
    ("workloads/statements/variables.rs", &["MOST_VARIABLES"]),
    ("workloads/incast.rs", &["MOST_RECEIVES"]),
    ("workloads/graph500.rs", &["MOST_LEVELS", "MOST_PROCESSES", "MOST_SCALE"]),
    ("workloads/tiles.rs", &["MOST"]),
    ("workloads/statements/form/collectives.rs", &["MOST_RULES"]),
];

/// The whole of which a share is counted.
const PARTS: &[Row] = &[
    ("hardware/fabric/spec.rs", &["SHARE_BITS"]),
    ("hardware/fabric/watch.rs", &["PLACES"]),
    ("hardware/pinning.rs", &["PARTS"]),
    ("hardware/value.rs", &["PPM"]),
    ("hardware/what_if.rs", &["ONE"]),
    ("protocols/rendezvous/coop_hca.rs", &["WHOLE"]),
    ("workloads/tiles.rs", &["EVEN"]),
];

/// What a standard, a document or a program states as part of what it does.
const STATED: &[Row] = &[
    ("hardware/reliable/settings.rs", &["PSN_BITS"]),
    ("collectives/agreement.rs", &["IN_A_WORD"]),
    ("collectives/between.rs", &["PHASES"]),
    ("collectives/algorithms/bcast_chain.rs", &["CHAINS"]),
    ("collectives/algorithms/bcast_knomial.rs", &["RADIX"]),
    ("protocols/library/agreeing.rs", &["ROUNDS", "WORDS"]),
    ("protocols/windows/packet.rs", &["DERIVED_BYTES"]),
    ("xios_ep/tag.rs", &["LOCAL_BITS", "USER_BITS"]),
    ("runtime/device/stencil.rs", &["OPERATIONS", "POINTS"]),
    ("runtime/timed/network/mod.rs", &["RNR_RETRIES"]),
    ("workloads/comd.rs", &["ATOM", "CUTOFF", "FCC", "FORCE"]),
    ("workloads/gpu/stencil.rs", &["FLOPS", "PAD"]),
    ("workloads/graph500.rs", &["BUFFER", "PAIR"]),
    ("workloads/graph500/replica.rs", &["CALLS"]),
    ("workloads/grid.rs", &["AXES", "FACES"]),
    ("workloads/linked_list.rs", &["ELEMENT", "POINTER", "WORD"]),
    ("workloads/minighost.rs", &["REAL"]),
    ("workloads/mutex/steps.rs", &["WORD"]),
];

/// What holds where a scenario does not choose: each has its key, and is shown as assumed.
const DEFAULTS: &[Row] = &[
    ("collectives/algorithms/alltoall_scattered.rs", &["OUTSTANDING"]),
    ("collectives/algorithms/bcast_pipelined_ring.rs", &["SEGMENT"]),
    ("protocols/device.rs", &["AHEAD"]),
];

/// Bits of names, numbers of buffers and marks, places in memory.
const NAMES: &[Row] = &[
    // Of memory of windows.
    ("workloads/statements/windows.rs", &["FIRST_NAMED"]),
    ("hardware/gpu/operation.rs", &["GPU_TOKEN"]),
    ("collectives/agreement.rs", &["CONTEXTS", "COUNTS"]),
    ("collectives/task.rs", &["BEGUN", "BEGUN_AT_ONCE", "PREPARED"]),
    ("protocols/library/agreeing.rs", &["FREES", "GROUPS", "MOST_NUMBERED", "TOLD"]),
    ("protocols/library/device.rs", &["CHUNK_TAG", "DEVICE"]),
    ("protocols/library/partitions.rs", &["TAG"]),
    ("protocols/rma/token.rs", &["RMA"]),
    ("protocols/rma/facts.rs", &["SHARED"]),
    (
        "protocols/wire.rs",
        &[
            "BUFFERED",
            "INNER",
            "JOINT",
            "LATER",
            "OF_JOINT",
            "PART",
            "PARTITION",
            "PARTITIONED",
            "UNDER_WAY",
        ],
    ),
    ("runtime/device/lanes.rs", &["DATA", "FIELD", "FIXED", "LOOKASIDE", "PACKED"]),
    ("runtime/device/stencil.rs", &["NEW", "OLD"]),
    ("runtime/explore/schedule.rs", &["HIGH"]),
    ("runtime/loggops/channels.rs", &["MESSAGE"]),
    ("runtime/loggops/replay.rs", &["ARRIVES", "LEADS"]),
    ("runtime/loggops/schedule.rs", &["ON_START"]),
    ("runtime/timed/network/flight.rs", &["RELIABLE"]),
    ("workloads/agent.rs", &["THREADS"]),
    ("workloads/goal/record.rs", &["OF_COLLECTIVE"]),
    ("workloads/halo.rs", &["FREE"]),
    ("workloads/linked_list.rs", &["SERVED"]),
    ("workloads/marks.rs", &["DRIFTED_START", "HALFWAY", "PARTNER_START", "PARTNER_END"]),
    ("workloads/mutex.rs", &["ENTERED", "LEAVES"]),
    ("workloads/mutex/byte_vector.rs", &["BEFORE", "BEHIND", "MESSAGE"]),
    ("workloads/packing.rs", &["BACK"]),
    ("calls/arguments.rs", &["OWN"]),
    ("workloads/program/control.rs", &["MPI_ROOT", "PROC_NULL"]),
    ("workloads/program/member.rs", &["BUFFERS", "FIRST"]),
    ("workloads/statements/form/buffers.rs", &["MOST_VALUES"]),
    ("workloads/statements/form/collectives.rs", &["MOST_ELEMENTS"]),
    ("workloads/statements/requests.rs", &["BUFFERS", "FIRST_BUFFER"]),
    ("workloads/statements/groups.rs", &["REVERSED"]),
    ("workloads/team.rs", &["BUFFERS"]),
    ("workloads/tiles.rs", &["AFTER", "BEFORE", "EACH"]),
    ("workloads/windowed.rs", &["FIRST_ENDPOINT"]),
    ("protocols/library/work.rs", &["BETWEEN_CHUNKS"]),
    ("protocols/rma/mapped.rs", &["THREADS"]),
    ("workloads/epochs.rs", &["MESSAGE"]),
    ("workloads/mutex/mcs.rs", &["OPERANDS", "FOUND", "SUCCESSOR", "MESSAGE"]),
    ("workloads/mutex/test_and_set.rs", &["OPERANDS", "EMPTY"]),
];

/// Units that are made from a number in the code.
const UNITS: &[Row] = &[
    ("hardware/fabric/spec.rs", &["8_000_000"]),
    // The smallest step of time.
    ("hardware/fabric/hops.rs", &["1"]),
    // Read and written: a copy touches two bytes for each.
    ("hardware/gpu/bus.rs", &["2"]),
    ("runtime/timed/actions.rs", &["2"]),
    ("runtime/timed/costs.rs", &["2"]),
    ("runtime/timed/memory/peer_copy.rs", &["2"]),
    // A default of scenarios, with its source.
    ("runtime/faults.rs", &["4_096"]),
];

/// Values of matches that are numbers.
const CASES: &[Row] = &[
    // A number of an engine.
    ("hardware/gpu/device.rs", &["2"]),
    // Bytes of the simulator's own memory.
    ("runtime/memory_use.rs", &["4096", "1024", "512", "256", "128", "64"]),
    ("workloads/goal/read.rs", &["2"]),
    // Processes of a ping-pong.
    ("workloads/gpu.rs", &["2"]),
];

/// Where a machine's number could hide.
fn looked_at(source: &Source) -> bool {
    let layers =
        ["hardware", "calls", "collectives", "protocols", "xios_ep", "runtime", "workloads"];
    let is_table = source.path == "hardware/parameters.rs";
    layers.contains(&source.layer()) && !source.is_test() && !is_table
}

fn is_listed(rows: &[Row], path: &str, name: &str) -> bool {
    rows.iter().any(|(file, names)| *file == path && names.contains(&name))
}

/// The integers that stand by themselves in some code, other than 0 and 1.
fn integers(code: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let words = code.split(|letter: char| !is_part(letter));
    let numbers = words.filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    numbers.filter(|word| !["0", "1"].contains(word)).collect()
}

/// The name of the constant that a line begins, and its value as far as the line has it.
fn constant(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once("const ").or_else(|| line.split_once("static "))?;
    let (name, rest) = rest.split_once(": ")?;
    let (kind, value) = rest.split_once('=')?;
    let is_name =
        name.chars().all(|letter| letter.is_ascii_uppercase() || "_0123456789".contains(letter));
    // A form says which numbers a field takes.
    let is_form = kind.contains("Shape") || kind.contains("Entry");
    let is_number = !is_form && !kind.contains(['[', '&', '(']) && !kind.contains("Self");
    (is_name && is_number).then_some((name, value))
}

/// The first number that a unit is made of, where it is one.
fn unit(line: &str) -> Option<&str> {
    let makers = ["::from_", "Bytes::new(", "Bytes::kib(", "Bytes::mib(", "Bytes::gib("];
    let maker = makers.iter().find_map(|maker| line.split_once(maker))?.1;
    let (made, given) = maker.split_once('(').unwrap_or(("", maker));
    let given = if made.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
        given
    } else {
        maker
    };
    let end = given.find(|letter: char| !(letter.is_ascii_digit() || letter == '_'));
    let number = &given[..end.unwrap_or(given.len())];
    (!number.is_empty() && number != "0").then_some(number)
}

#[test]
fn constants_are_no_numbers_of_machines() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| looked_at(source)) {
        for (line, text) in source.lines() {
            let Some((name, value)) = constant(text) else { continue };
            let lists = [METHOD, LIMITS, PARTS, STATED, DEFAULTS, NAMES];
            let listed = lists.iter().any(|rows| is_listed(rows, &source.path, name));
            if !listed && !integers(value).is_empty() {
                wrong.push(format!("src/{}:{line}: what is {name}? {HINT}", source.path));
            }
        }
    }
    check_none(&wrong);
}

#[test]
fn no_time_or_rate_is_made_from_a_number_in_the_code() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| looked_at(source)) {
        for (line, text) in source.lines() {
            let cases = text.split_once("=> ").and_then(|(_, value)| value.strip_suffix(','));
            let case = cases.filter(|value| integers(value) == [*value]);
            let found = [(unit(text), UNITS), (case, CASES)];
            for (number, rows) in found {
                let Some(number) = number else { continue };
                if !is_listed(rows, &source.path, number) {
                    wrong.push(format!("src/{}:{line}: what is {number}? {HINT}", source.path));
                }
            }
        }
    }
    check_none(&wrong);
}

/// What to do about it.
const HINT: &str = "A machine's number is a parameter; anything else is listed here, by its reason";

/// A list that names what is gone would hide what comes under its name.
#[test]
fn every_constant_that_is_listed_exists() {
    let all = sources();
    let mut wrong = Vec::new();
    for (file, names) in [METHOD, LIMITS, PARTS, STATED, DEFAULTS, NAMES].into_iter().flatten() {
        let source = all.iter().find(|source| source.path == *file);
        for name in *names {
            let has = |(_, text)| constant(text).is_some_and(|(found, _)| found == *name);
            if !source.is_some_and(|source| source.lines().any(has)) {
                wrong.push(format!("src/{file} has no {name}"));
            }
        }
    }
    check_none(&wrong);
}

#[test]
fn a_number_in_the_code_is_seen() {
    let line = "    pub const CALL: u128 = 48 << 10;";
    assert_eq!(constant(line), Some(("CALL", " 48 << 10;")));
    assert_eq!(integers(" 48 << 10;"), ["48", "10"]);
    assert_eq!(integers("u32::MAX - 1"), Vec::<&str>::new());
    assert_eq!(constant("pub const ALL: [Self; 12] = ["), None);
    assert_eq!(unit("x + TimeDelta::from_ns(250)"), Some("250"));
    assert_eq!(unit("TimeDelta::from_ps(ps)"), None);
    assert_eq!(unit("Bytes::new(2 * width)"), Some("2"));
}
