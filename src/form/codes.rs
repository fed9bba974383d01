//! Every code that a diagnostic can carry, with its exit code and its paragraph for `explain`.

/// The kind of failure of a code: it decides the exit code of the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExitClass {
    /// The command line is wrong.
    Usage,
    /// An input file is wrong.
    Invalid,
    /// The operating system refused.
    Io,
    /// A limit was hit.
    Limit,
    /// A check failed: the simulated program stopped, or a result moved.
    Failed,
    /// A defect of this program.
    Internal,
}

impl ExitClass {
    /// The exit code of the program.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Invalid => 3,
            Self::Io => 4,
            Self::Limit => 5,
            Self::Failed => 1,
            Self::Internal => 70,
        }
    }
}

/// One code of the table.
#[derive(Debug)]
pub struct Entry {
    /// Such as `E0312`; it never changes its meaning.
    pub code: &'static str,
    /// The kind of failure.
    pub exit: ExitClass,
    /// One line.
    pub title: &'static str,
    /// A paragraph: its cause and a remedy.
    pub text: &'static str,
}

/// A code is its entry: one that is not in the table cannot be used.
pub type Code = &'static Entry;

/// The entry of `code`, such as `E0312` (upper or lower case).
pub fn find(code: &str) -> Option<Code> {
    ALL.iter().find(|entry| entry.code.eq_ignore_ascii_case(code)).copied()
}

macro_rules! codes {
    ($($name:ident $code:literal $exit:ident $title:literal $text:literal)*) => {
        $(
            #[doc = $title]
            pub static $name: Entry = Entry {
                code: $code, exit: ExitClass::$exit, title: $title, text: $text,
            };
        )*
        /// The whole table, in the order of the codes.
        pub static ALL: &[Code] = &[$(&$name),*];
    };
}

codes! {
    NO_FILE "E0101" Invalid "the file does not exist"
        "The path was taken as given and nothing is there. For a scenario the name is also looked up among those that ship with the program. The message names the directory that was searched and the nearest name in it."
    DIRECTORY "E0102" Invalid "the path is a directory"
        "A file is needed. The message lists up to five scenario files that lie in the directory; `mpisim check DIR` takes directories."
    IO "E0103" Io "the operating system refused to read"
        "The file is there but could not be read: no permission, or a failing disk. The text of the operating system is part of the message."
    EMPTY "E0104" Invalid "the file is empty"
        "The file holds no bytes, or only blanks. A scenario is one JSON object; the smallest ones lie in `scenarios/examples/`."
    BOM "E0105" Invalid "the file begins with a byte-order mark"
        "UTF-8 needs no byte-order mark. It is skipped and the file is read; save the file as UTF-8 without it to silence the warning."
    ENCODING "E0106" Invalid "the file is UTF-16 or UTF-32"
        "JSON files are read as UTF-8 only, so that a scenario has one form and one digest. Convert it, for example with `iconv -f UTF-16 -t UTF-8`."
    INVALID_UTF8 "E0107" Invalid "the file is not valid UTF-8"
        "A byte sequence is not UTF-8. The message names the offset, the byte and the field in which it lies. Files in Latin-1 are a common cause."
    TOO_LARGE "E0108" Limit "the file is larger than the limit"
        "Scenarios and models are read whole, so their size is limited (64 MiB). Reading stops at the limit, also for pipes and devices that never end."
    COMPRESSED "E0109" Invalid "the file is compressed"
        "The first bytes are those of a compressed file. Unpack it first."
    OTHER_FORMAT "E0110" Invalid "the file is not JSON"
        "The first words are those of another format, such as YAML or TOML. Scenarios and models are JSON."
    DANGLING "E0111" Invalid "the symbolic link leads nowhere"
        "The path is a symbolic link whose target does not exist, or that leads to itself. The message names the target."
    ELSEWHERE "E0112" Invalid "a file that a scenario names lies elsewhere"
        "A scenario names schedules and tables of measurements by paths from its own folder. They lie below that folder, or below the one where the command runs. Links are followed as they are. This is no fence around the workload `exec`: its programs read and write what the user may, and so does its `compute_file`."

    UNCLOSED "E0201" Invalid "the file ends too early"
        "A string, an array or an object is still open at the end of the file. The position is that of its opening character, since that is where to look."
    TRAILING_COMMA "E0202" Invalid "a comma stands before a closing bracket"
        "JSON allows a comma only between two values. Remove it."
    MISSING_COMMA "E0203" Invalid "a comma is missing"
        "Two members of an object or two elements of an array follow each other without a comma."
    COMMENT "E0204" Invalid "the file contains a comment"
        "JSON has no comments. Every object of a scenario or model may carry a key `note` with any text."
    QUOTES "E0205" Invalid "double quotes are needed"
        "Keys and texts stand in double quotes in JSON, not in single ones, and never bare."
    TEXT_AFTER_END "E0206" Invalid "there is text after the end of the document"
        "A file holds one JSON document. Remove the rest, or put a second document into a file of its own."
    DEPTH "E0207" Invalid "the values are nested too deeply"
        "Objects and arrays may be nested 64 deep; no scenario needs more than ten."
    UNEXPECTED "E0208" Invalid "another character was expected here"
        "The text is not JSON at this place. The message says what was found and what JSON allows there."
    DUPLICATE_KEY "E0209" Invalid "a key occurs twice in one object"
        "Both positions are shown. Which of the two was meant cannot be known, so neither is taken."
    NUMBER_FORM "E0210" Invalid "the number is not in JSON form"
        "JSON numbers have no leading zeros, no plus sign, no hexadecimal form, and digits on both sides of the point."
    LONG_NUMBER "E0211" Invalid "the number has too many characters"
        "A number may have 64 characters. Every number is kept exactly as written, so there is no point in more digits than its field can hold."
    BARE_WORD "E0212" Invalid "a bare word stands where a value is expected"
        "JSON knows the bare words true, false and null. NaN and Infinity are no JSON numbers; texts need double quotes."
    CONTROL_CHARACTER "E0213" Invalid "a text contains a control character"
        "Control characters, line ends among them, must be written as escapes such as `\\n` inside a text, and names allow none at all."
    ESCAPE "E0214" Invalid "the escape in a text is unknown"
        "JSON knows the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits."
    SURROGATE "E0215" Invalid "half of a surrogate pair"
        "Characters beyond U+FFFF are written as two \\u escapes, a high one (D800 to DBFF) followed by a low one (DC00 to DFFF). One of them alone is no character."
    TOO_MANY_VALUES "E0216" Limit "the file holds too many values"
        "A file may hold half a million values, each object, list, text and number of it being one: about 100,000 statements of a program over all ranks. A list of values of an axis is better a range, a program that repeats itself a workload kind. A longer program is written as a schedule in GOAL, whose length has no such limit, and replayed by the workload `goal`; `limits.memory` bounds what it takes."

    WRONG_TYPE "E0301" Invalid "the value has the wrong type"
        "The message names what was found and what the field takes."
    NOT_WHOLE "E0302" Invalid "a whole number is needed"
        "The field counts something. A value with a fraction is never rounded in silence; the message shows the whole neighbours."
    RANGE "E0303" Invalid "the number is out of range"
        "The message names the value and the least and greatest value that the field takes, with their unit."
    NULL "E0304" Invalid "null is no value"
        "A field that is not wanted is left out; a required one needs a value."
    UNKNOWN_KEY "E0305" Invalid "the key is unknown here"
        "Unknown keys are errors, so that a misspelled key cannot be ignored in silence. The message lists the keys that are allowed at this place and the nearest one."
    MISSING_KEY "E0306" Invalid "a required key is missing"
        "The position is that of the object which lacks it. The message shows the unit and an example."
    UNKNOWN_WORD "E0307" Invalid "the word is not one of those allowed"
        "The field takes one of a few words. The message lists them all and names the nearest."
    NO_SHAPE "E0308" Invalid "the value fits none of the forms that the field takes"
        "The field can be written in several forms. The message says for each one why the value does not fit."
    LENGTH "E0309" Invalid "the list has the wrong length"
        "The message names the expected and the found number of elements."
    NAME "E0310" Invalid "the name is not allowed"
        "Names are used for files and columns. They are not empty and consist of letters, digits and the characters the message lists; they contain no path going upwards."
    TOO_LONG "E0311" Invalid "the text is too long or empty"
        "Texts such as titles and notes are not empty and have a greatest length, which the message names."
    NO_UNIT "E0312" Invalid "the value has no unit"
        "Every quantity is written with its unit, such as `1.3 us`, `64 KiB`, `12.5 GB/s`. A bare number could mean anything."
    UNIT "E0313" Invalid "the unit is unknown or measures something else"
        "The message lists the units of the field's dimension."
    TOO_FINE "E0314" Invalid "the value is finer than the resolution"
        "Quantities are kept as whole numbers of their smallest step: 1 ps, 1 B, 1 bit/s. A finer value would have to be rounded, and is refused instead."
    TOO_BIG "E0315" Invalid "the value is too large for any run"
        "Times are kept in picoseconds in 64 bits, which is about 213 days; other quantities in 64 bits of their smallest step."
    SCHEMA_MISSING "E0316" Invalid "the version of the file's form is missing"
        "Every scenario begins with `\"schema\": 1`, so that a later program can tell what the file meant."
    SCHEMA_VERSION "E0317" Invalid "the version of the file's form is not supported"
        "The file was written for another version of the program. A newer form needs a newer program; there are no older forms."
    NEGATIVE_ZERO "E0318" Invalid "minus zero"
        "Write 0. A minus zero would be equal to 0 and still give another digest."

    UNKNOWN_MODEL "E0401" Invalid "no machine model of this name"
        "A model is looked up next to the scenario, then in the directories given by `--models`, then among those that ship with the program."
    EXTENDS_CYCLE "E0402" Invalid "machine models extend each other in a circle"
        "A model takes over the numbers of the one it extends. The message shows the circle."
    MODEL_INCOMPLETE "E0403" Invalid "a machine model lacks a parameter"
        "Neither the model nor those it extends give a value to a parameter that the simulator needs. There are no hidden defaults."
    MODEL_VALUE "E0404" Invalid "the numbers of a machine model contradict each other"
        "The value of each is in its range, but together they describe no machine. All places are shown."
    IMPLAUSIBLE "E0405" Invalid "the value is outside the range that its model states"
        "The value is used as it is. Its own model states a lowest and a highest plausible value; a unit that is off by a factor (Gb/s for GB/s) is a common cause."

    NOT_SIMULATED "E0406" Invalid "no mechanism uses the number yet"
        "The parameter describes the machine, but nothing in the simulator reads it so far: a run gives the same result whatever its value is."

    TOO_FEW_CORES "E0501" Invalid "there are more processes than cores"
        "Two processes on one core would run one at a time, which is seldom meant. Use fewer processes or more nodes, or say `\"oversubscribe\": true` under `ranks`."
    PRODUCT "E0502" Invalid "the fields together describe more than can be counted"
        "A product of two or more fields, such as the size of a message and the number of rounds, passes what the simulator can count (64 bits). The check itself uses 128 bits."
    CONTRADICTION "E0503" Invalid "two fields contradict each other"
        "Each of the fields is in its range, but both cannot hold. Both places are shown."
    RANK "E0504" Invalid "the rank is outside the communicator"
        "Ranks are numbered from 0; a program has one list of statements per rank."
    TAG "E0505" Invalid "the tag is out of range"
        "Tags are 0 to 2147483647, the value of MPI_TAG_UB here; over the endpoint library (`\"addressing\": \"xios_ep\"`) 0 to 32767, since its tags also say which endpoints send and receive. The wildcard `any` is for receives and probes only."
    WILDCARD "E0506" Invalid "the wildcard is allowed in receives and probes only"
        "A send needs a receiver and a tag: `any` stands for MPI_ANY_SOURCE or MPI_ANY_TAG, which only a receive or a probe may use."
    REQUEST "E0507" Invalid "the request or message is not open here"
        "A `wait` names a request that no earlier statement of this rank has opened, or a statement opens one that is still open."
    TOPOLOGY "E0508" Invalid "the topology has no place for all nodes"
        "The message names the number of nodes and of ports."
    ONE_NODE "E0509" Invalid "the workload needs another number of nodes or processes"
        "The workload pairs processes of different nodes, or of one node, and the scenario has too few of them."
    COMMUNICATOR "E0510" Invalid "the communicator is not there"
        "A statement names a communicator that no earlier statement of this rank has made, or that was freed, or makes one under a name that is taken."
    DATATYPE "E0511" Invalid "the datatype cannot be made or used so"
        "A datatype is a tree of at most 32 levels; its sizes, bounds and displacements fit into 64 bits, a sub-array lies in its array, lists that go together have one length. Received data must not write a byte twice, and buffers hold all that a type touches. The message names the level of the tree."

    GOAL "E0512" Invalid "the schedule is not in GOAL"
        "A schedule is `num_ranks N` and then a block `rank R { ... }` for each rank, in order, with one operation or dependency a line: `LABEL: send 8b to 1 tag 0`, `recv 8b from 0`, `calc 100`, `LABEL requires LABEL`. docs/guide/exchange.md shows the whole language. The message says what was found and what may stand there."
    GOAL_BLOCK "E0513" Invalid "the block of a rank is missing, or not in its place"
        "Every rank of `num_ranks` has one block, in the order of ranks; a rank that does nothing has an empty one. The message names the ranks."
    GOAL_LABEL "E0514" Invalid "the label is not known, or taken"
        "Dependencies name labels that stand further up in the block of their rank; labels of one rank differ."
    GOAL_CIRCLE "E0515" Invalid "operations wait for each other in a circle"
        "None of the operations of the circle could ever begin. The message names them in order: each requires the next one."
    GOAL_MACHINE "E0516" Invalid "the schedule cannot be replayed on a machine"
        "On a machine a rank is a process of one thread that calls MPI: there is one CPU and one NIC of its own, tags and sizes are those of MPI. `--loggops` replays every schedule."
    NOT_IN_GOAL "E0517" Invalid "the program cannot be written as a schedule"
        "A schedule holds sends, receives, computations and what they wait for. What a program does must not depend on which message came first, and one-sided communication, probes, threads and windows have no words in GOAL."
    UNKNOWN_PLACE "E0518" Invalid "a fault names something that is not there"
        "Faults name links, buses and other resources as results do (the column of `resources`), nodes and processes by their numbers. The message lists what this machine and topology have, and the nearest name."
    LOSSLESS "E0519" Invalid "packets are lost on something that loses none"
        "Only links between nodes lose, repeat and reorder packets: buses, memory and the inside of an HCA are lossless by contract, and the MPI library above reliable connections never sees loss. Set it on a link; anything else can be slowed or stalled."
    WITHOUT_EFFECT "E0520" Invalid "a field does nothing beside another one"
        "Only a warning: the points are computed, and the exit code is that of the rest. Both places are shown; what the one asks for does not happen where the other one holds, so that results are as without it."
    FREED_BY_SOME "E0521" Invalid "not every rank frees the communicator"
        "Only a warning: the program runs, since freeing sends no message here. MPI_Comm_free is collective: a program in which a rank of the communicator never calls it is wrong, and other libraries may wait."
    EXPRESSION "E0522" Invalid "an expression of a program is wrong"
        "A text that begins with `=` is an expression of whole numbers and times over `rank`, `size` and the variables of the program, such as `= (rank + 1) % size`. The message shows the place in the text, and the words that may stand there."
    BUFFER "E0524" Invalid "the buffer is not there, or too small"
        "`workload.buffers` names the buffers of a program, with their bytes. A message or a collective that names one of them stays inside it, and the two buffers of a collective are not the same one."
    WINDOW "E0525" Invalid "the window is not there"
        "A name stands for a window from the statement that makes it (`win_create`, `win_allocate`, `win_allocate_shared`, `win_create_dynamic`) to `win_free`, of one rank. Every window is freed. Loops and conditions use windows, and neither make nor free them. Memory is attached to dynamic windows only."
    TRACE "E0526" Invalid "the trace is not in the form of its format"
        "A trace that is read has a place for each mistake: its line and column. A time-independent trace of SimGrid has a rank, an action and its arguments in each line: `0 send 1 0 1e6`, `0 allreduce 8 0 0`. docs/guide/exchange.md lists the actions and their arguments."
    TRACE_ACTION "E0527" Invalid "the trace has an action that is not read"
        "The format knows the action or the datatype, and it is not replayed here, since the trace does not say enough of it: on which communicator a collective is, or which of several requests a wait is for. The message gives the reason. Run the program itself by `mpisim exec` where that matters."
    TRACE_FORMAT "E0528" Invalid "the trace is in a format that is not read"
        "The file is recognised by its content, and no reader exists for its format. GOAL's text and time-independent traces of SimGrid are read. The message names the way from this format: a converter, or `mpisim exec`, which runs the program itself."

    EMPTY_AXIS "E0601" Invalid "an axis of the sweep has no values"
        "A sweep over an empty list would run nothing, which is never a success. Give values, or remove the axis."
    TOO_MANY_POINTS "E0602" Limit "the sweep has too many points"
        "The axes multiply. The limit is `limits.points`; raise it if so many points are meant."
    RANGE_AXIS "E0603" Invalid "the range of an axis cannot be counted out"
        "`range` is [from, to, step] in one unit with a step that is not zero and leads from `from` towards `to`; `powers_of_two` is [from, to] where `to` is `from` doubled some times."
    UNKNOWN_PATH "E0604" Invalid "the path names no field of the scenario"
        "Axes, figures and claims name fields by their path, such as `workload.size`. Only fields with one value can be swept."
    AXIS_CONFLICT "E0605" Invalid "two axes set one field"
        "An axis sets a field that another axis sets as well, or a part of it."
    FIGURE "E0606" Invalid "the figure or claim names something that the sweep does not have"
        "Figures and claims are about the axes of the sweep and the metrics of the workload. The message lists those that exist."
    NO_POINT "E0607" Invalid "the claim refers to no point of the sweep"
        "The values that a claim names must be values of their axes, each axis must be fixed, ranged over or followed, and only replicas (`seed`) may be left open: they are averaged."
    CLAIM_FORM "E0608" Invalid "the claim cannot be judged"
        "The message says what is missing, such as a direction, or at least three points for a knee."
    CLAIMS_DROPPED "E0609" Invalid "claims are not judged under this change"
        "An option of the command line replaced an axis of the sweep by one value. Claims that need the other values cannot be judged and are left out of the result."
    LOG_AXIS "E0610" Invalid "a logarithmic axis cannot show zero"
        "A figure with a logarithmic axis is asked for, but a value of that axis is zero or negative."
    STACK "E0611" Invalid "the parts of a stacked figure do not add up"
        "A bar shows the sum of its parts: they must have one unit, each may be there once, and none may hold another. `lock_hold` overlaps all other times of the account."

    SET_PATH "E0701" Usage "`--set` names no field of the scenario"
        "The path must name a field that takes one value, such as `workload.size` or `machine.mpi.eager_threshold_inter`."
    SET_FORM "E0702" Usage "`--set` needs `path=value`"
        "The option is written `--set path=value`, with the value as in the file; its quotes may be left out."
    USAGE "E0703" Usage "the command line cannot be understood"
        "An option, a value or a command is unknown, missing, given twice, or contradicts another. `mpisim --help` lists the commands, `mpisim COMMAND --help` the options of one."

    LOGGOPS "E0704" Usage "the parameters of LogGOPS are not complete, or not in form"
        "`--loggops` takes all six as KEY=NUMBER, with commas between them: L (latency), o (CPU a message), g (NIC a message), G (NIC a byte), O (CPU a byte), S (longest eager message in bytes). Times are whole numbers of one unit, that of the computations in the schedule. The defaults of LogGOPSim are L=2500,o=1500,g=1000,G=6,O=0,S=65535."
    SHORT_LIMIT "E0705" Usage "the limit of simulated time ends before anything happens"
        "`--set limits.time=...` leaves no time for the first event of the scenario. The message says when that is due: allow more than this."

    NOT_ALLOWED "E0706" Usage "the scenario runs programs, and the command does not say that it may"
        "A scenario of the workload `exec` runs the command that stands in it, with the rights of the user. `run`, `check`, `diff`, `sensitivity` and `sweep plan` take a file that is named by itself as one that may run. One that the command has found (below a folder, in a list, in kept results, in the plan of a sweep) runs with `--allow-exec` only. What a scenario may do stands in docs/reference/what-a-scenario-may-do.md."

    OUTPUT "E0801" Io "the output cannot be written"
        "The operating system refused to create, write, sync or rename a file or directory. Points that were finished before stay readable, and `--resume` continues after them."
    NOT_OURS "E0802" Io "the directory or file is not one of our results"
        "Results replace only what the manifest of an earlier run of the same scenario lists. Anything else is left untouched: choose another directory by `--out`, or move the files away."
    LOCKED "E0803" Io "another run is at work in the directory"
        "One run may write into a results directory at a time. The message names the process; the lock of a process that has died is taken over."
    OTHER_RUN "E0804" Invalid "the results there are of another version or another scenario"
        "`--resume` continues a run of exactly this scenario, these models, this seed and this version of the program: other points do not mix. Run without `--resume`, or into another directory by `--out`."
    DAMAGED "E0805" Invalid "a file of the results directory is damaged"
        "A manifest or journal was changed from outside or by a failing disk. The message names the byte. Remove the file and run without `--resume`."
    REPORT "E0806" Invalid "the result cannot be put into this form"
        "A table, a figure or a page needs a value that the result does not have, or one that cannot be drawn. The message names it."
    NO_RESULT "E0807" Failed "a figure has nothing to show"
        "No point gave a finite value of the metric, mostly because the simulated program failed. The other files of the results are written."

    NO_BASELINE "E0901" Invalid "there is no baseline"
        "A scenario without a baseline is never treated as unchanged. `mpisim check --save-baseline main` writes one from the present results."
    OTHER_SCENARIO "E0902" Invalid "the baseline is of another scenario"
        "The scenario file was changed since the baseline was saved, so that the numbers mean something else. The message names the first difference. Save the baseline anew if the change is meant."
    OTHER_TOOL "E0903" Invalid "the baseline was saved by another version of the program"
        "Digests may differ between versions by intention. `--any-version` compares nevertheless."
    BASELINE_VALUE "E0904" Invalid "the baseline holds a value that no run can give"
        "Metrics are finite numbers that are not negative, digests are 32 hexadecimal digits, and every point has as many values as the baseline has columns. The file was changed by hand or damaged."
    BASELINE_TOLERANCE "E0905" Invalid "the tolerance of a metric is missing or out of range"
        "A baseline names one tolerance for each of its metrics, a number from 0 (exact) to 1 (100 %)."
    NOTHING_COMPARED "E0906" Invalid "nothing was compared"
        "The baseline and the results have no metric in common. A comparison of nothing is an error, never a success."
    NO_SCENARIOS "E0907" Invalid "there is no scenario to check"
        "A directory without a scenario, or a pattern that matches nothing, is never treated as unchanged."
    VECTORS "E0908" Invalid "the file does not hold vectors"
        "Conformance vectors are recorded from a real MPI library; each line of their file is one case. The message says what is wrong with the first that cannot be read."
    BASELINE_REFUSED "E0909" Failed "the baseline is not saved"
        "A baseline is saved only from scenarios none of whose points failed; `--force` saves a point that failed as such, and keeps a copy of the old file. No file was changed."
    TOKEN "E0910" Invalid "the token does not belong to this job"
        "A replay token names a protocol or a scenario, its size, the version of the program and every choice of one run. It is replayed only where all of that is as it was; the message says what differs. Explore again to get a token of what is there now."
    MEASURED "E0911" Invalid "the file is not a table of the OSU benchmarks"
        "Such a table has lines with `#` at their beginning, one of them `# Size` and the names of the columns, and then lines of numbers: the size in bytes and a number for each column. The message names the line."
    NOTHING_TO_VARY "E0912" Invalid "no number can vary"
        "`mpisim sensitivity` varies numbers that the machine's model, or the scenario, calls assumed and gives a range for. This scenario has none: add `--all` to vary every number that has a range."
    DIFF_SIDES "E0913" Invalid "the two sides cannot be compared"
        "`mpisim diff` pairs the points of A and B by their swept values. A side that sweeps over a field which the other side does not have, or that shares no point with it, cannot be paired: choose one value by `--set-a` or `--set-b`. Finished results and baselines cannot be changed by options."
    FIT_ROW "E0914" Invalid "a measured row cannot be simulated"
        "`mpisim fit` runs the benchmark of every row on the machine. The program of this row did not come to its end there: the message says why. Leave the row out, or choose with `--between` where the processes were."
    TOPOLOGY_FILE "E0915" Invalid "the file is no topology of hwloc"
        "`mpisim fit --hwloc FILE` reads what `lstopo --of xml FILE` of hwloc 2 writes: an element `topology` with objects inside each other. The message has line and column."
    SCENARIO_REFUSED "E0916" Invalid "a scenario was not run"
        "`mpisim check` runs every scenario that can be run. This one, or its baseline, was refused: its errors stand before the verdicts."
    FIT_DOUBTFUL "E0917" Failed "the fitted machine is not to be believed"
        "A number went to the end of what machines have, or a fitted row deviates by more than a third. The usual reason is a machine to begin with that is the wrong one: what binds there is kept. The model is written all the same, and says so in its title and its note. Begin with the machine that the message names, or with numbers of your own."

    POINT_LIMIT "E1001" Limit "a limit was hit while a point ran"
        "A point passed the events, the simulated time or the memory that the scenario allows under `limits`. The message names the point and the limit; of memory also what most of it is, and how a run holds less. Memory is counted by the program itself (docs/guide/limits.md says how), so that a point ends after the same event on every machine, or is not begun where its ranks alone take more. All other points are run, and their results are written."
    INTERNAL "E1002" Internal "a defect of this program"
        "The simulator broke one of its own rules. This is never the fault of an input. The message names the place and the command that shows it again; please report both."
    STOPPED "E1003" Failed "the simulated program failed"
        "The processes of the scenario wait for each other, one of them broke a rule of MPI, or all ended and a law of the monitors was broken on the way, such as bytes that arrived wrong. This is a result: the message says who waits for whom, with the lines of the calls, or names the law."
    NOT_ALL_ORDERS "E1004" Limit "the exploration did not come to its end"
        "There are more states than `--budget states=...` or `--memory` allow, or a run took more than `--budget steps=...`. Nothing wrong was found as far as it went, which says nothing about the rest. Raise the limit, take fewer ranks or operations, leave orders out by `--reduce`, or draw some of them by `--strategy walk`."
    POINTS_MISSING "E1005" Failed "points of a sweep are missing"
        "A sweep that several processes share is gathered only when every point is there: `mpisim sweep point PLAN POINT...` runs those that the message names. A point that is there is never run again, and one whose worker was killed is simply missing."
    ENGINE "E1006" Failed "the engine for tasks failed"
        "`mpisim run --on hq` and `--on slurm` hand the points to a command that must be installed and able to start tasks. The message has what that command said. `--dry-run` prints the commands; points that finished are kept."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_ordered_and_explained() {
        for pair in ALL.windows(2) {
            assert!(pair[0].code < pair[1].code, "{} and {}", pair[0].code, pair[1].code);
        }
        for entry in ALL {
            assert!(entry.text.len() > 40 && entry.text.ends_with('.'), "{}", entry.code);
            assert!(!entry.title.is_empty());
        }
    }

    #[test]
    fn a_code_is_found_in_either_case() {
        assert_eq!(find("e0312").map(|entry| entry.code), Some("E0312"));
        assert!(find("E9999").is_none());
    }
}
