//! Errors: their classes and codes, and the error handlers of objects.

use std::collections::BTreeMap;

use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;

/// The object of an error: its handler decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum On {
    /// No object: the handler of `MPI_COMM_WORLD`.
    Job,
    /// A communicator, a window, a session, or `MPI_FILE_NULL`, by its handle.
    Object(u64),
}

/// Error handlers and what else the program has said of errors.
#[derive(Debug)]
pub(crate) struct Errors {
    /// The object of the call in progress.
    pub(crate) on: On,
    /// The functions that programs have made handlers of.
    handlers: Table<u64>,
    /// Handlers of communicators and windows, by handle, where they are others than at the start.
    of_objects: BTreeMap<u64, u64>,
    /// Classes and codes that the program has added: their class, and their text.
    added: BTreeMap<i32, (i32, String)>,
    last: i32,
}

impl Errors {
    pub(crate) const fn new() -> Self {
        Self {
            on: On::Job,
            handlers: Table::new(1),
            of_objects: BTreeMap::new(),
            added: BTreeMap::new(),
            last: mpi5::ERR_LASTCODE,
        }
    }

    /// Errors are about this object from now on.
    pub(crate) fn about(&mut self, object: u64) {
        self.on = On::Object(object);
    }

    /// The object that errors are about.
    pub(crate) const fn object(&self) -> u64 {
        match self.on {
            On::Job => mpi5::COMM_WORLD,
            On::Object(object) => object,
        }
    }

    /// A handle for an error handler that is a function of the program.
    pub(crate) fn add_handler(&mut self, function: u64) -> u64 {
        self.handlers.add(function)
    }

    /// The function of an error handler, where it is one of the program.
    pub(crate) fn function(&self, handler: u64) -> Option<u64> {
        self.handlers.get(handler).copied()
    }

    /// The error handler of an object: at the start errors are fatal, of files they return.
    pub(crate) fn handler(&self, object: u64) -> u64 {
        let first = match object {
            mpi5::FILE_NULL => mpi5::ERRORS_RETURN,
            _ => mpi5::ERRORS_ARE_FATAL,
        };
        self.of_objects.get(&object).copied().unwrap_or(first)
    }

    /// A communicator has the handler of another one.
    pub(crate) fn inherit(&mut self, new: u64, old: u64) {
        let handler = self.handler(old);
        self.of_objects.insert(new, handler);
    }

    /// An object has this handler.
    pub(crate) fn give(&mut self, object: u64, handler: handle::Errhandler) {
        self.of_objects.insert(object, handler.0);
    }

    /// The program gives an object a handler.
    pub(crate) fn set_handler(
        &mut self,
        object: u64,
        handler: handle::Errhandler,
    ) -> Result<(), Fault> {
        self.check(handler)?;
        self.give(object, handler);
        Ok(())
    }

    /// Refuses what is no error handler.
    pub(crate) fn check(
        &self,
        handle::Errhandler(handler): handle::Errhandler,
    ) -> Result<(), Fault> {
        let predefined = [mpi5::ERRORS_ARE_FATAL, mpi5::ERRORS_ABORT, mpi5::ERRORS_RETURN];
        if !predefined.contains(&handler) && self.function(handler).is_none() {
            return Err(Fault::new(mpi5::ERR_ERRHANDLER, format!("{handler:#x} is no handler")));
        }
        Ok(())
    }

    /// A communicator, a window or a session is gone.
    pub(crate) fn forget(&mut self, object: u64) {
        self.of_objects.remove(&object);
    }

    /// The highest code that there is.
    pub(crate) const fn last_code(&self) -> i32 {
        self.last
    }

    /// The class of a code.
    pub(crate) fn class(&self, code: i32) -> i32 {
        self.added.get(&code).map_or(code, |(class, _)| *class)
    }

    /// Text of an error code.
    pub(crate) fn text(&self, code: i32) -> String {
        match (self.added.get(&code), words(code)) {
            (Some((_, text)), _) => text.clone(),
            (None, Some(words)) => words.to_owned(),
            (None, None) => format!("error {code} is none of MPI's"),
        }
    }

    /// A new class, or a new code of a class.
    pub(crate) fn add(&mut self, class: Option<i32>) -> i32 {
        self.last += 1;
        let code = self.last;
        self.added.insert(code, (class.unwrap_or(code), String::new()));
        code
    }

    /// A class or a code that the program has added is gone.
    pub(crate) fn remove(&mut self, code: i32) -> Result<(), Fault> {
        if self.added.iter().any(|(other, (class, _))| *other != code && *class == code) {
            return Err(Fault::new(mpi5::ERR_OTHER, format!("class {code} has codes")));
        }
        if self.added.get(&code).is_some_and(|(_, text)| !text.is_empty()) {
            return Err(Fault::new(mpi5::ERR_OTHER, format!("{code} has a text")));
        }
        self.added.remove(&code).map(drop).ok_or_else(|| no_code(code))
    }

    /// A class or a code that the program has added gets a text.
    pub(crate) fn set_text(&mut self, code: i32, text: String) -> Result<(), Fault> {
        self.added.get_mut(&code).ok_or_else(|| no_code(code))?.1 = text;
        Ok(())
    }
}

fn no_code(code: i32) -> Fault {
    Fault::new(mpi5::ERR_ARG, format!("{code} is no class or code that the program has added"))
}

/// Text of an error class.
const fn words(class: i32) -> Option<&'static str> {
    Some(match class {
        mpi5::SUCCESS => "no error",
        mpi5::ERR_BUFFER => "invalid buffer",
        mpi5::ERR_COUNT => "invalid count",
        mpi5::ERR_TYPE => "invalid datatype",
        mpi5::ERR_TAG => "invalid tag",
        mpi5::ERR_COMM => "invalid communicator",
        mpi5::ERR_RANK => "invalid rank",
        mpi5::ERR_REQUEST => "invalid request",
        mpi5::ERR_ROOT => "invalid root",
        mpi5::ERR_GROUP => "invalid group",
        mpi5::ERR_OP => "invalid operator",
        mpi5::ERR_TOPOLOGY => "invalid topology",
        mpi5::ERR_DIMS => "invalid dimensions",
        mpi5::ERR_ARG => "invalid argument",
        mpi5::ERR_UNKNOWN => "unknown error",
        mpi5::ERR_TRUNCATE => "message truncated",
        mpi5::ERR_OTHER => "other error",
        mpi5::ERR_INTERN => "internal error",
        mpi5::ERR_PENDING => "request is pending",
        mpi5::ERR_IN_STATUS => "error is in the status",
        mpi5::ERR_ACCESS => "permission denied",
        mpi5::ERR_AMODE => "invalid access mode",
        mpi5::ERR_ASSERT => "invalid assertion",
        mpi5::ERR_BAD_FILE => "invalid file name",
        mpi5::ERR_BASE => "invalid base address",
        mpi5::ERR_CONVERSION => "error in a data conversion function",
        mpi5::ERR_DISP => "invalid displacement",
        mpi5::ERR_DUP_DATAREP => "data representation is known already",
        mpi5::ERR_FILE_EXISTS => "file exists",
        mpi5::ERR_FILE_IN_USE => "file is in use",
        mpi5::ERR_FILE => "invalid file handle",
        mpi5::ERR_INFO_KEY => "invalid info key",
        mpi5::ERR_INFO_NOKEY => "no such info key",
        mpi5::ERR_INFO_VALUE => "invalid info value",
        mpi5::ERR_INFO => "invalid info object",
        mpi5::ERR_IO => "input or output error",
        mpi5::ERR_KEYVAL => "invalid attribute key",
        mpi5::ERR_LOCKTYPE => "invalid lock type",
        mpi5::ERR_NAME => "no such service name",
        mpi5::ERR_NO_MEM => "no memory left",
        mpi5::ERR_NOT_SAME => "arguments differ between ranks",
        mpi5::ERR_NO_SPACE => "no space left",
        mpi5::ERR_NO_SUCH_FILE => "no such file",
        mpi5::ERR_PORT => "invalid port",
        mpi5::ERR_QUOTA => "quota exceeded",
        mpi5::ERR_READ_ONLY => "file system is read-only",
        mpi5::ERR_RMA_ATTACH => "memory cannot be attached",
        mpi5::ERR_RMA_CONFLICT => "conflicting accesses to a window",
        mpi5::ERR_RMA_RANGE => "target memory is not part of the window",
        mpi5::ERR_RMA_SHARED => "memory cannot be shared",
        mpi5::ERR_RMA_SYNC => "wrong synchronisation of one-sided calls",
        mpi5::ERR_SERVICE => "invalid service name",
        mpi5::ERR_SIZE => "invalid size",
        mpi5::ERR_SPAWN => "processes cannot be spawned",
        mpi5::ERR_UNSUPPORTED_DATAREP => "data representation is not supported",
        mpi5::ERR_UNSUPPORTED_OPERATION => "operation is not supported",
        mpi5::ERR_WIN => "invalid window",
        mpi5::ERR_RMA_FLAVOR => "wrong flavour of window",
        mpi5::ERR_PROC_ABORTED => "a process has aborted",
        mpi5::ERR_VALUE_TOO_LARGE => "value does not fit its type",
        mpi5::ERR_SESSION => "invalid session",
        mpi5::ERR_ERRHANDLER => "invalid error handler",
        mpi5::ERR_ABI => "wrong version of the binary interface",
        mpi5::ERR_LASTCODE => "last error code of MPI",
        _ => return None,
    })
}
