//! Errors: their classes and codes, and the handlers that decide what becomes of them.

use std::collections::BTreeMap;

use super::{Answer, Asked, Client, Fault, Step, Table, done, mpi5};

/// What an error is about: the handler of that object decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum On {
    /// No object: the handler of `MPI_COMM_WORLD`.
    Job,
    /// A communicator or a window, by its handle.
    Object(u64),
}

/// Error handlers and what else the program has said of errors.
#[derive(Debug)]
pub(super) struct Errors {
    /// What the call that runs is about.
    pub(super) on: On,
    /// The functions that programs have made handlers of.
    handlers: Table<u64>,
    /// Handlers of communicators and windows, by handle, where they are others than at the start.
    of_objects: BTreeMap<u64, u64>,
    /// Classes and codes that the program has added: their class, and their text.
    added: BTreeMap<i32, (i32, String)>,
    last: i32,
}

impl Errors {
    pub(super) const fn new() -> Self {
        Self {
            on: On::Job,
            handlers: Table::new(1),
            of_objects: BTreeMap::new(),
            added: BTreeMap::new(),
            last: mpi5::ERR_LASTCODE,
        }
    }

    fn of(&self, object: u64) -> u64 {
        self.of_objects.get(&object).copied().unwrap_or(mpi5::ERRORS_ARE_FATAL)
    }

    /// A communicator has the handler of another one.
    pub(super) fn inherit(&mut self, new: u64, old: u64) {
        let handler = self.of(old);
        self.of_objects.insert(new, handler);
    }

    /// An object has this handler.
    pub(super) fn give(&mut self, object: u64, handler: u64) {
        self.of_objects.insert(object, handler);
    }

    /// A communicator is gone.
    pub(super) fn forget(&mut self, comm: u64) {
        self.of_objects.remove(&comm);
    }

    /// The highest code that there is.
    pub(super) const fn last_code(&self) -> i32 {
        self.last
    }

    /// The class of a code.
    fn class(&self, code: i32) -> i32 {
        self.added.get(&code).map_or(code, |(class, _)| *class)
    }

    fn text(&self, code: i32) -> String {
        match (self.added.get(&code), words(code)) {
            (Some((_, text)), _) => text.clone(),
            (None, Some(words)) => words.to_owned(),
            (None, None) => format!("error {code} is none of MPI's"),
        }
    }
}

impl Client {
    /// What becomes of an error: that of its object's handler.
    pub(super) fn handled(&mut self, asked: &mut Asked<'_>, answer: Answer) -> Answer {
        match answer {
            Err(Fault::Error { class, why }) => self.raise(asked, class, why),
            other => other,
        }
    }

    fn raise(&mut self, asked: &mut Asked<'_>, class: i32, why: String) -> Answer {
        let object = match self.errors.on {
            On::Job => mpi5::COMM_WORLD,
            On::Object(object) => object,
        };
        let returned = Ok(Step::Returns(i64::from(class).cast_unsigned()));
        match self.errors.of(object) {
            mpi5::ERRORS_RETURN => {
                self.note_refusal(asked, class, &why);
                returned
            }
            handler => match self.errors.handlers.get(handler).copied() {
                None => Err(Fault::Error { class, why }),
                Some(function) => {
                    self.note_refusal(asked, class, &why);
                    self.call_handler(asked, function, object, class)?;
                    returned
                }
            },
        }
    }

    /// What the simulator does not carry the program may take for an error of its own: its end shall name it.
    fn note_refusal(&mut self, asked: &Asked<'_>, class: i32, why: &str) {
        if class == mpi5::ERR_UNSUPPORTED_OPERATION && self.refusal.is_none() {
            self.refusal = Some(format!("{}: {why}", asked.function.name()));
        }
    }

    /// The process runs an error handler, on an object and a code that it can change.
    fn call_handler(
        &mut self,
        asked: &mut Asked<'_>,
        function: u64,
        object: u64,
        code: i32,
    ) -> Result<(), Fault> {
        let room = asked.place.room(16)?;
        asked.place.process.put(room, &object.to_ne_bytes());
        asked.place.process.put(room + 8, &code.to_ne_bytes());
        self.call_back(asked.place, function, [room, room + 8, 0, 0, 0, 0]).map(drop)
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn error_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Comm_create_errhandler
            | F::Session_create_errhandler
            | F::Win_create_errhandler
            | F::File_create_errhandler => {
                let handler = self.errors.handlers.add(asked.word(0));
                asked.put_word(1, handler);
                done()
            }
            F::Errhandler_free => {
                // Objects that have it go on having it: the function stays known.
                asked.put_word(0, mpi5::ERRHANDLER_NULL);
                done()
            }
            F::Session_set_errhandler => self.session(asked).and_then(|()| self.set_handler(asked)),
            F::Session_get_errhandler => self.session(asked).and_then(|()| self.get_handler(asked)),
            F::Session_call_errhandler => {
                self.session(asked).and_then(|()| self.called_handler(asked))
            }
            F::Comm_set_errhandler => {
                self.comm(asked.word(0)).map(drop).and_then(|()| self.set_handler(asked))
            }
            F::Comm_get_errhandler => {
                self.comm(asked.word(0)).map(drop).and_then(|()| self.get_handler(asked))
            }
            F::Comm_call_errhandler => {
                self.comm(asked.word(0)).map(drop).and_then(|()| self.called_handler(asked))
            }
            F::Win_set_errhandler => {
                self.win(asked.word(0)).map(drop).and_then(|()| self.set_handler(asked))
            }
            F::Win_get_errhandler => {
                self.win(asked.word(0)).map(drop).and_then(|()| self.get_handler(asked))
            }
            F::Win_call_errhandler => {
                self.win(asked.word(0)).map(drop).and_then(|()| self.called_handler(asked))
            }
            F::Error_class => {
                asked.put_int(1, self.errors.class(asked.int(0)));
                done()
            }
            F::Error_string => {
                let text = self.errors.text(asked.int(0));
                asked.put_text(1, &text, 512);
                done()
            }
            F::Add_error_class => {
                let class = self.add_error(None);
                asked.put_int(0, class);
                done()
            }
            F::Add_error_code => {
                let code = self.add_error(Some(asked.int(0)));
                asked.put_int(1, code);
                done()
            }
            F::Add_error_string => self.add_text(asked),
            F::Remove_error_class | F::Remove_error_code => {
                let known = self.errors.added.remove(&asked.int(0)).is_some();
                if known { done() } else { Err(no_code(asked.int(0))) }
            }
            F::Remove_error_string => match self.errors.added.get_mut(&asked.int(0)) {
                Some((_, text)) => {
                    text.clear();
                    done()
                }
                None => Err(no_code(asked.int(0))),
            },
            _ => return None,
        })
    }

    fn add_error(&mut self, class: Option<i32>) -> i32 {
        self.errors.last += 1;
        let code = self.errors.last;
        self.errors.added.insert(code, (class.unwrap_or(code), String::new()));
        code
    }

    fn add_text(&mut self, asked: &mut Asked<'_>) -> Answer {
        let text = asked.text(1)?;
        let Some((_, place)) = self.errors.added.get_mut(&asked.int(0)) else {
            return Err(no_code(asked.int(0)));
        };
        *place = text;
        done()
    }

    fn set_handler(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (object, handler) = (asked.word(0), asked.word(1));
        let predefined = [mpi5::ERRORS_ARE_FATAL, mpi5::ERRORS_ABORT, mpi5::ERRORS_RETURN];
        if !predefined.contains(&handler) && self.errors.handlers.get(handler).is_none() {
            return Err(Fault::new(mpi5::ERR_ERRHANDLER, format!("{handler:#x} is no handler")));
        }
        self.errors.of_objects.insert(object, handler);
        done()
    }

    fn get_handler(&mut self, asked: &mut Asked<'_>) -> Answer {
        let comm = asked.word(0);
        asked.put_word(1, self.errors.of(comm));
        done()
    }

    fn called_handler(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (comm, code) = (asked.word(0), asked.int(1));
        match self.errors.of(comm) {
            mpi5::ERRORS_RETURN => done(),
            handler => match self.errors.handlers.get(handler).copied() {
                Some(function) => {
                    self.call_handler(asked, function, comm, code)?;
                    done()
                }
                None => Err(Fault::new(code, self.errors.text(code))),
            },
        }
    }
}

fn no_code(code: i32) -> Fault {
    Fault::new(mpi5::ERR_ARG, format!("{code} is no class or code that the program has added"))
}

/// What a class says.
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
