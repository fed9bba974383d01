//! Windows: memory of processes that others read and write.
//!
//! The library's operations reach blocks at equal distances. A target datatype that has others goes in several
//! operations, one for each run of its bytes. What lies in pieces at the origin the simulator holds until the call that
//! completes the operation.

mod operations;

use std::sync::Arc;

use super::attributes::Kind;
use super::data::Held;
use super::{Answer, Asked, Client, Fault, On, Step, Table, done, mpi5};
use crate::exposed::Exposed;
use ::mpi::envelope::Rank;
use ::mpi::group::Group;
use ::mpi::rma::synchronisation::RankSet;
use protocols::call::{Call, Reply};
use protocols::space::{Region, Space};
use protocols::windows::call::{FenceAssert, Flavor, LockKind, RmaCall, Spacing, Win};

/// The windows of a rank.
#[derive(Debug)]
pub(super) struct Windows {
    made: Table<Window>,
    exposed: Exposed,
}

/// A window as a rank has it.
#[derive(Debug)]
pub(super) struct Window {
    number: Win,
    group: Arc<Group>,
    flavor: i32,
    /// The part of this rank: where it begins, its bytes, and bytes of a unit.
    base: u64,
    bytes: i64,
    unit: i64,
    /// What is mapped for it.
    mapped: Option<(u64, u64)>,
    name: String,
    /// What is held for operations that are not complete, with their targets.
    held: Vec<(u32, Held)>,
}

impl Windows {
    pub(super) fn new(exposed: &Exposed) -> Self {
        Self { made: Table::new(8), exposed: exposed.clone() }
    }

    /// The lowest number that the library has for no window of this rank.
    fn free(&self) -> Win {
        let mut numbers = 0..u16::MAX;
        let taken = |number: u16| self.made.iter().any(|(_, window)| window.number == Win(number));
        Win(numbers.find(|number| !taken(*number)).unwrap_or(u16::MAX))
    }
}

impl Window {
    /// The part of this rank: where it begins, its bytes and bytes of a unit; and the flavour.
    pub(super) const fn part(&self) -> (u64, i64, i64, i32) {
        (self.base, self.bytes, self.unit, self.flavor)
    }
}

/// The part of a window that a rank brings.
#[derive(Clone, Copy, Debug)]
struct Part {
    base: u64,
    bytes: i64,
    unit: i64,
}

impl Client {
    /// The window of a handle: errors are about it from now on.
    pub(super) fn win(&mut self, handle: u64) -> Result<&mut Window, Fault> {
        match self.windows.made.get_mut(handle) {
            Some(window) => {
                self.errors.on = On::Object(handle);
                Ok(window)
            }
            None => Err(Fault::new(mpi5::ERR_WIN, format!("{handle:#x} is no window"))),
        }
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn window_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Win_create => self.create_window(asked),
            F::Win_allocate => self.allocate_window(asked),
            F::Win_allocate_shared => self.share_window(asked),
            F::Win_create_dynamic => self.dynamic_window(asked),
            F::Win_free => self.free_window(asked),
            F::Win_attach => self.attach_memory(asked),
            F::Win_detach => self.detach_memory(asked),
            F::Win_shared_query => self.query_window(asked),
            F::Win_get_group => {
                self.win(asked.word(0)).map(|window| Arc::clone(&window.group)).and_then(|group| {
                    let handle = self.groups.add(group);
                    asked.put_word(1, handle);
                    done()
                })
            }
            F::Win_set_name => asked.text(1).and_then(|name| {
                self.win(asked.word(0))?.name = name;
                done()
            }),
            F::Win_get_name => {
                self.win(asked.word(0)).map(|window| window.name.clone()).and_then(|name| {
                    asked.put_text(1, &name, 128);
                    done()
                })
            }
            F::Win_fence => self.fence(asked),
            F::Win_post => self.post_or_start(asked, |win, group| RmaCall::Post { win, group }),
            F::Win_start => self.post_or_start(asked, |win, group| RmaCall::Start { win, group }),
            F::Win_complete => self.synchronises(asked, 0, None, |win| RmaCall::Complete { win }),
            F::Win_wait => self.synchronises(asked, 0, None, |win| RmaCall::Wait { win }),
            F::Win_test => self.test_window(asked),
            F::Win_lock => self.lock(asked),
            F::Win_lock_all => {
                let no_check = asked.int(0) & mpi5::MODE_NOCHECK != 0;
                self.synchronises(asked, 1, None, |win| RmaCall::LockAll { win, no_check })
            }
            F::Win_unlock => self.targeted(asked, |win, target| RmaCall::Unlock { win, target }),
            F::Win_unlock_all => {
                self.synchronises(asked, 0, None, |win| RmaCall::UnlockAll { win })
            }
            F::Win_flush => {
                self.targeted(asked, |win, target| RmaCall::Flush { win, target, local: false })
            }
            F::Win_flush_local => {
                self.targeted(asked, |win, target| RmaCall::Flush { win, target, local: true })
            }
            F::Win_flush_all => {
                self.synchronises(asked, 0, None, |win| RmaCall::FlushAll { win, local: false })
            }
            F::Win_flush_local_all => {
                self.synchronises(asked, 0, None, |win| RmaCall::FlushAll { win, local: true })
            }
            F::Win_sync => self.synchronises(asked, 0, None, |win| RmaCall::Sync { win }),
            _ => return self.operation_call(asked),
        })
    }

    /// The library makes a window, and argument `at` gets its handle.
    #[allow(clippy::too_many_arguments, reason = "the arguments of MPI, by position")]
    fn makes_window(
        &mut self,
        asked: &mut Asked<'_>,
        (at, comm): (usize, u64),
        (flavor, kind): (Flavor, i32),
        part: Part,
        settle: impl FnOnce(&mut Self, &mut Asked<'_>, Window) -> Answer + Send + 'static,
    ) -> Answer {
        let (comm, group) = {
            let comm = self.comm(comm)?;
            (comm.number, Arc::clone(&comm.group))
        };
        let Part { base, bytes, unit } = part;
        let (Ok(size), Ok(units)) = (u64::try_from(bytes), u64::try_from(unit)) else {
            return Err(Fault::new(mpi5::ERR_SIZE, format!("{bytes} bytes in units of {unit}")));
        };
        let memory = asked.place.buffer(base, size).id;
        let win = self.windows.free();
        let call = RmaCall::Create { win, comm, flavor, memory, bytes: size, unit: units.max(1) };
        let window = Window {
            number: win,
            group,
            flavor: kind,
            base,
            bytes,
            unit,
            mapped: None,
            name: String::new(),
            held: Vec::new(),
        };
        let _ = at;
        Ok(Step::calls(Call::Rma(Arc::new(call)), move |client, asked, _| {
            settle(client, asked, window)
        }))
    }

    /// A window is there.
    fn made_window(&mut self, asked: &mut Asked<'_>, at: usize, window: Window) -> Answer {
        let handle = self.windows.made.add(window);
        asked.put_word(at, handle);
        done()
    }

    fn create_window(&mut self, asked: &mut Asked<'_>) -> Answer {
        let part = Part { base: asked.word(0), bytes: asked.long(1), unit: asked.long(2) };
        let kind = (Flavor::Create, mpi5::WIN_FLAVOR_CREATE);
        let comm = asked.word(4);
        self.makes_window(asked, (5, comm), kind, part, |client, asked, window| {
            client.made_window(asked, 5, window)
        })
    }

    fn allocate_window(&mut self, asked: &mut Asked<'_>) -> Answer {
        let bytes = asked.long(0);
        let base = match u64::try_from(bytes) {
            Ok(0) | Err(_) => 0,
            Ok(bytes) => asked.place.process.allocate(bytes)?,
        };
        if base == 0 && bytes > 0 {
            return Err(Fault::new(mpi5::ERR_NO_MEM, format!("no {bytes} bytes are left")));
        }
        let part = Part { base, bytes, unit: asked.long(1) };
        let kind = (Flavor::Allocate, mpi5::WIN_FLAVOR_ALLOCATE);
        let comm = asked.word(3);
        self.makes_window(asked, (5, comm), kind, part, |client, asked, window| {
            asked.put_word(4, window.base);
            client.made_window(asked, 5, window)
        })
    }

    fn dynamic_window(&mut self, asked: &mut Asked<'_>) -> Answer {
        let part = Part { base: 0, bytes: 0, unit: 1 };
        let kind = (Flavor::Dynamic, mpi5::WIN_FLAVOR_DYNAMIC);
        let comm = asked.word(1);
        self.makes_window(asked, (2, comm), kind, part, |client, asked, window| {
            client.made_window(asked, 2, window)
        })
    }

    /// The library says where this rank's part lies, and how long all parts are together; then the process maps them.
    fn share_window(&mut self, asked: &mut Asked<'_>) -> Answer {
        let part = Part { base: 0, bytes: asked.long(0), unit: asked.long(1) };
        let kind = (Flavor::Shared(Spacing::Contiguous), mpi5::WIN_FLAVOR_SHARED);
        let comm = asked.word(3);
        self.makes_window(asked, (5, comm), kind, part, |client, asked, window| {
            let me = window.group.rank(client.rank).expect("a rank is in its windows").0;
            let (win, last) = (window.number, window.group.size() - 1);
            let _ = asked;
            Ok(query(win, me, move |_, _, own| {
                Ok(query(win, last, move |client, asked, end| {
                    client.map_window(asked, window, own, end)
                }))
            }))
        })
    }

    fn map_window(
        &mut self,
        asked: &mut Asked<'_>,
        mut window: Window,
        own: Region,
        end: Region,
    ) -> Answer {
        let Space::Shared(name) = own.space else { unreachable!("a shared window is shared") };
        let total = (end.offset + end.len).max(1);
        let path = self.windows.exposed.share(name, total).map_err(|error| {
            Fault::new(mpi5::ERR_NO_MEM, format!("the system shares no {total} bytes: {error}"))
        })?;
        let address = asked.place.process.map(&path, total)?;
        if address == 0 {
            return Err(Fault::new(mpi5::ERR_NO_MEM, format!("no {total} bytes can be mapped")));
        }
        asked.place.maps(name, address);
        window.mapped = Some((address, total));
        window.base = address + own.offset;
        asked.put_word(4, window.base);
        self.made_window(asked, 5, window)
    }

    fn query_window(&mut self, asked: &mut Asked<'_>) -> Answer {
        let rank = asked.int(1);
        let window = self.win(asked.word(0))?;
        let (win, size) = (window.number, window.group.size());
        let Some((address, _)) = window.mapped else {
            return Err(Fault::new(mpi5::ERR_RMA_FLAVOR, "the window is not shared"));
        };
        if rank == mpi5::PROC_NULL {
            // The first rank that has some memory.
            return Ok(first_part(win, 0, size, address));
        }
        let target = u32::try_from(rank).ok().filter(|rank| *rank < size);
        let target = target.ok_or_else(|| no_target(rank, size))?;
        Ok(query(win, target, move |client, asked, part| {
            let unit = client.win(asked.word(0))?.unit;
            tell_part(asked, part, unit, address);
            done()
        }))
    }

    fn free_window(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        let win = self.win(handle)?.number;
        self.delete_attributes(asked.place, (Kind::Win, handle))?;
        Ok(Step::calls(Call::Rma(Arc::new(RmaCall::Free { win })), move |client, asked, _| {
            let window = client.windows.made.remove(handle).expect("it was found");
            client.errors.forget(handle);
            client.infos.forget(handle);
            for (_, held) in window.held {
                held.end(asked.place)?;
            }
            if let Some((address, bytes)) = window.mapped {
                asked.place.process.unmap(address, bytes);
            } else if window.flavor == mpi5::WIN_FLAVOR_ALLOCATE {
                asked.place.process.free(window.base);
            }
            asked.put_word(0, mpi5::WIN_NULL);
            done()
        }))
    }

    fn attach_memory(&mut self, asked: &mut Asked<'_>) -> Answer {
        let me = self.rank;
        let (base, size) = (asked.word(1), asked.long(2));
        let window = self.win(asked.word(0))?;
        if window.flavor != mpi5::WIN_FLAVOR_DYNAMIC {
            return Err(Fault::new(mpi5::ERR_RMA_FLAVOR, "the window is not a dynamic one"));
        }
        let win = window.number;
        let Ok(bytes) = u64::try_from(size) else {
            return Err(Fault::new(mpi5::ERR_SIZE, format!("{size} bytes")));
        };
        let memory = asked.place.buffer(base, bytes).id;
        let call = RmaCall::Attach { win, memory, bytes };
        Ok(Step::calls(Call::Rma(Arc::new(call)), move |client, _, _| {
            client.windows.exposed.attach(me, base, bytes, memory);
            done()
        }))
    }

    fn detach_memory(&mut self, asked: &mut Asked<'_>) -> Answer {
        let me = self.rank;
        let base = asked.word(1);
        let win = self.win(asked.word(0))?.number;
        let Some(memory) = self.windows.exposed.detach(me, base) else {
            return Err(Fault::new(mpi5::ERR_ARG, format!("nothing is attached at {base:#x}")));
        };
        Ok(Step::waits(Call::Rma(Arc::new(RmaCall::Detach { win, memory }))))
    }

    /// A synchronisation about a window, which is argument `at`; what is held for its operations to a target, or to
    /// all, goes where it belongs.
    fn synchronises(
        &mut self,
        asked: &mut Asked<'_>,
        at: usize,
        target: Option<u32>,
        call: impl FnOnce(Win) -> RmaCall,
    ) -> Answer {
        let handle = asked.word(at);
        let call = call(self.win(handle)?.number);
        Ok(Step::calls(Call::Rma(Arc::new(call)), move |client, asked, _| {
            client.complete(asked, handle, target)?;
            done()
        }))
    }

    /// The operations of a window to a target, or to all, are complete at the origin.
    fn complete(
        &mut self,
        asked: &mut Asked<'_>,
        handle: u64,
        target: Option<u32>,
    ) -> Result<(), Fault> {
        let window = self.win(handle)?;
        let of_target = |(of, _): &mut (u32, Held)| target.is_none_or(|target| target == *of);
        let complete: Vec<_> = window.held.extract_if(.., of_target).collect();
        for (_, held) in complete {
            held.end(asked.place)?;
        }
        Ok(())
    }

    fn fence(&mut self, asked: &mut Asked<'_>) -> Answer {
        let asserted = asked.int(0);
        let assert = FenceAssert {
            no_precede: asserted & mpi5::MODE_NOPRECEDE != 0,
            no_succeed: asserted & mpi5::MODE_NOSUCCEED != 0,
        };
        self.synchronises(asked, 1, None, |win| RmaCall::Fence { win, assert })
    }

    fn post_or_start(
        &mut self,
        asked: &mut Asked<'_>,
        call: impl FnOnce(Win, RankSet) -> RmaCall,
    ) -> Answer {
        let group = self.group(asked.word(0))?;
        let window = self.win(asked.word(2))?;
        let ranks = group.members().iter().map(|process| window.group.rank(*process));
        let ranks = ranks.collect::<Option<Vec<Rank>>>().ok_or_else(|| {
            Fault::new(mpi5::ERR_GROUP, "a process of the group is not in the window")
        })?;
        self.synchronises(asked, 2, None, |win| call(win, ranks.into_iter().collect()))
    }

    fn test_window(&mut self, asked: &mut Asked<'_>) -> Answer {
        let win = self.win(asked.word(0))?.number;
        Ok(Step::calls(Call::Rma(Arc::new(RmaCall::Test { win })), |_, asked, reply| {
            asked.put_flag(1, matches!(reply, Reply::Flag(true)));
            done()
        }))
    }

    fn lock(&mut self, asked: &mut Asked<'_>) -> Answer {
        let kind = match asked.int(0) {
            mpi5::LOCK_EXCLUSIVE => LockKind::Exclusive,
            mpi5::LOCK_SHARED => LockKind::Shared,
            other => {
                return Err(Fault::new(mpi5::ERR_LOCKTYPE, format!("{other} is no kind of lock")));
            }
        };
        let (rank, no_check) = (asked.int(1), asked.int(2) & mpi5::MODE_NOCHECK != 0);
        let window = self.win(asked.word(3))?;
        if rank == mpi5::PROC_NULL {
            return done();
        }
        let target = window.target(rank)?;
        self.synchronises(asked, 3, Some(target), |win| RmaCall::Lock {
            win,
            target,
            kind,
            no_check,
        })
    }

    /// A synchronisation with one target.
    fn targeted(
        &mut self,
        asked: &mut Asked<'_>,
        call: impl FnOnce(Win, u32) -> RmaCall,
    ) -> Answer {
        let rank = asked.int(0);
        let window = self.win(asked.word(1))?;
        if rank == mpi5::PROC_NULL {
            return done();
        }
        let target = window.target(rank)?;
        self.synchronises(asked, 1, Some(target), |win| call(win, target))
    }
}

impl Window {
    fn target(&self, rank: i32) -> Result<u32, Fault> {
        let size = self.group.size();
        let target = u32::try_from(rank).ok().filter(|rank| *rank < size);
        target.ok_or_else(|| no_target(rank, size))
    }
}

fn no_target(rank: i32, size: u32) -> Fault {
    Fault::new(mpi5::ERR_RANK, format!("target {rank} of {size} does not exist"))
}

/// The library says where the part of a rank lies.
fn query(
    win: Win,
    target: u32,
    then: impl FnOnce(&mut Client, &mut Asked<'_>, Region) -> Answer + Send + 'static,
) -> Step {
    let call = Call::Rma(Arc::new(RmaCall::Query { win, target }));
    Step::calls(call, move |client, asked, reply| {
        let Reply::Part(part) = reply else { unreachable!("a query is answered with a part") };
        then(client, asked, part)
    })
}

/// The first part that has memory, from rank `from` on.
fn first_part(win: Win, from: u32, size: u32, address: u64) -> Step {
    query(win, from, move |client, asked, part| {
        if part.len == 0 && from + 1 < size {
            return Ok(first_part(win, from + 1, size, address));
        }
        let unit = client.win(asked.word(0))?.unit;
        tell_part(asked, part, unit, address);
        done()
    })
}

fn tell_part(asked: &mut Asked<'_>, part: Region, unit: i64, address: u64) {
    asked.put_long(2, part.len.cast_signed());
    asked.put_count(3, Some(unit));
    asked.put_word(4, if part.len == 0 { 0 } else { address + part.offset });
}
