//! What a rank's process and the simulator say to each other over two pipes.
//!
//! The process asks and waits, and the simulator answers. A request is a head of 24 bytes,
//! `function: u32, words: u32, cpu: u64, caller: u64`, and its words of 8 bytes, all in the byte order of the machine,
//! in one write of at most [`REQUEST_MOST`] bytes; the caller is the address in the program that the function returns
//! to, or 0. An answer is any number of frames: a head of 24 bytes,
//! `kind: u32, unused: u32, value: u64, length: u64`, and `length` bytes. [`RETURN`] is the last frame of an answer;
//! after [`READ`], [`CALL`], [`ALLOCATE`] and [`MAP`] the process speaks, and the answer goes on.

/// The environment variable that names the two descriptors and what they are, as `read,write,pipe:[1],pipe:[2]`: a
/// program that a rank starts may inherit the variable and have something else there.
pub const CHANNEL: &str = "MPISIM_CHANNEL";

/// Which form of the wire this is; it stands in the first request of the process.
pub const VERSION: u64 = 4;

/// Bytes of a request's head.
pub const REQUEST_HEAD: usize = 24;
/// The most words of a request.
pub const WORDS: usize = 14;
/// The most bytes of a request.
pub const REQUEST_MOST: usize = REQUEST_HEAD + 8 * WORDS;
/// Bytes of a frame's head.
pub const FRAME_HEAD: usize = 24;

/// In place of a function: the first request, `VERSION, pid` and the address of two words: the same version, and how
/// often the program has read the system's clocks since.
pub const HELLO: u32 = u32::MAX;
/// In place of a function: what a callback has returned, or the address of what was allocated.
pub const RESULT: u32 = u32::MAX - 1;
/// In place of a function: a thread of the process calls while another one is inside; nothing is answered.
pub const THREADS: u32 = u32::MAX - 2;
/// In place of a function: the process sleeps for so many nanoseconds; they are over when the answer comes.
pub const SLEEPS: u32 = u32::MAX - 3;

/// The exit status of a process whose MPI library does not reach the simulator.
pub const UNREACHABLE: i32 = 70;

/// The function returns `value`.
pub const RETURN: u32 = 0;
/// The bytes belong at address `value`.
pub const WRITE: u32 = 1;
/// The process writes the bytes at `value` into the pipe: as many as the frame's one word says.
pub const READ: u32 = 2;
/// The process calls the function at `value` with six words, and tells what it returns.
pub const CALL: u32 = 3;
/// The process allocates `value` bytes, aligned to 64, and tells where.
pub const ALLOCATE: u32 = 4;
/// The process maps `value` bytes of the file that the frame's bytes name, and tells where.
pub const MAP: u32 = 7;
/// The process unmaps what it has mapped at `value`: as many bytes as the frame's one word says.
pub const UNMAP: u32 = 8;
/// The process frees what it has allocated at `value`.
pub const FREE: u32 = 5;
/// The process ends with exit status `value`.
pub const EXIT: u32 = 6;
