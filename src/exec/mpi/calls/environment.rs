//! Start and end, versions, memory.

use super::{attributes, refused};
use crate::functions as mpi5;
use crate::mpi::args::{self, To};
use crate::mpi::families::Environment as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::rank_state::{Answer, NextStep, RankState, Stage, done};
use crate::watch::note_once;
use protocols::call::Call;

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Init(_) => initialize(state),
        F::Init_thread(of) => {
            frame.put_int(of.provided, of.required.min(mpi5::THREAD_SERIALIZED));
            initialize(state)
        }
        F::Initialized(of) => flag(frame, of.flag, state.stage != Stage::Before),
        F::Finalized(of) => flag(frame, of.flag, state.stage == Stage::After),
        F::Query_thread(of) => {
            frame.put_int(of.provided, mpi5::THREAD_SERIALIZED);
            done()
        }
        F::Is_thread_main(of) => flag(frame, of.flag, true),
        F::Get_version(of) => {
            frame.put_int(of.version, mpi5::VERSION);
            frame.put_int(of.subversion, mpi5::SUBVERSION);
            done()
        }
        F::Abi_get_version(of) => {
            frame.put_int(of.abi_major, mpi5::ABI_VERSION);
            frame.put_int(of.abi_minor, mpi5::ABI_SUBVERSION);
            done()
        }
        F::Wtime => Ok(NextStep::Clock),
        F::Wtick => Ok(NextStep::Returns(1e-12_f64.to_bits())),
        F::Abort(of) => Ok(NextStep::Aborts(of.errorcode)),
        F::Pcontrol(_) => done(),
        F::Get_processor_name(of) => {
            frame.put_text((of.name, of.resultlen), &format!("node{}", state.node), 256);
            done()
        }
        F::Get_library_version(of) => {
            let version = concat!("mpisim ", env!("CARGO_PKG_VERSION"));
            frame.put_text((of.version, of.resultlen), version, 8192);
            done()
        }
        F::Get_address(of) => {
            frame.put_long(of.address, of.location.0.cast_signed());
            done()
        }
        F::Aint_add(of) => Ok(NextStep::Returns(of.base.wrapping_add(of.disp).cast_unsigned())),
        F::Aint_diff(of) => Ok(NextStep::Returns(of.addr1.wrapping_sub(of.addr2).cast_unsigned())),
        F::Alloc_mem(of) => alloc_mem(frame, of),
        F::Free_mem(of) => {
            frame.place.process.free(of.base.0);
            done()
        }
        F::Finalize if state.stage == Stage::Between => finalize(state, frame),
        F::Finalize => {
            state.check_begun()?;
            refused::call()
        }
    }
}

fn initialize(state: &mut RankState) -> Answer {
    if state.stage != Stage::Before {
        return Err(Fault::new(mpi5::ERR_OTHER, "it is called twice"));
    }
    state.stage = Stage::Between;
    done()
}

/// A program must complete its operations before `MPI_Finalize`. Libraries go on without, and so does the simulator.
fn tell_incomplete(state: &RankState, frame: &Frame<'_>) {
    let incomplete = state.requests.incomplete();
    if incomplete.is_empty() {
        return;
    }
    // Without debug information all calls of a function have one name.
    let mut named: Vec<(String, u32)> = Vec::new();
    for ((function, caller), count) in &incomplete {
        let name = frame.place.process.called(*function, *caller);
        match named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => *all += count,
            None => named.push((name, *count)),
        }
    }
    let all: Vec<String> = named.iter().map(|(name, count)| format!("{count} of {name}")).collect();
    let (rank, count) = (state.rank, incomplete.values().sum::<u32>());
    let all = all.join(", ");
    note_once(&format!(
        "rank {rank} calls MPI_Finalize with requests that it has not completed, {count} in all: {all}"
    ));
}

fn finalize(state: &mut RankState, frame: &mut Frame<'_>) -> Answer {
    tell_incomplete(state, frame);
    frame.place.reads_clocks = frame.place.process.clocks()? > 0;
    // MPI_COMM_SELF comes first: its delete functions may still use MPI.
    let [first, second] = [mpi5::COMM_SELF, mpi5::COMM_WORLD].map(|comm| (Kind::Comm, comm));
    let library = |_: &mut RankState, _: &mut Frame<'_>| {
        Ok(NextStep::calls(Call::Finalize, |state, _, _| {
            state.stage = Stage::After;
            done()
        }))
    };
    let rest = move |state: &mut RankState, frame: &mut Frame<'_>| {
        attributes::delete_all(state, frame, second, Box::new(library))
    };
    attributes::delete_all(state, frame, first, Box::new(rest))
}

fn flag(frame: &mut Frame<'_>, to: To<i32>, value: bool) -> Answer {
    frame.put_flag(to, value);
    done()
}

fn alloc_mem(frame: &mut Frame<'_>, of: args::Alloc_mem) -> Answer {
    let Ok(bytes) = u64::try_from(of.size) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("a size of {}", of.size)));
    };
    let address = frame.place.process.allocate(bytes)?;
    if address == 0 {
        return Err(Fault::new(mpi5::ERR_NO_MEM, format!("the process has no {bytes} bytes left")));
    }
    frame.put_word(of.baseptr, address);
    done()
}
