//! Start and end, versions, memory.

use super::{attributes, check_begun, refused};
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::rank_state::{Answer, RankState, Stage, Step, done};
use crate::watch::note_once;
use protocols::call::Call;

/// Answers calls of functions that may be called at any time.
#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Init => initialize(state),
        F::Init_thread => {
            asked.put_int(3, asked.int(2).min(mpi5::THREAD_SERIALIZED));
            initialize(state)
        }
        F::Initialized => flag(asked, state.stage != Stage::Before),
        F::Finalized => flag(asked, state.stage == Stage::After),
        F::Query_thread => {
            asked.put_int(0, mpi5::THREAD_SERIALIZED);
            done()
        }
        F::Is_thread_main => flag(asked, true),
        F::Get_version => {
            asked.put_int(0, mpi5::VERSION);
            asked.put_int(1, mpi5::SUBVERSION);
            done()
        }
        F::Abi_get_version => {
            asked.put_int(0, mpi5::ABI_VERSION);
            asked.put_int(1, mpi5::ABI_SUBVERSION);
            done()
        }
        F::Wtime => Ok(Step::Clock),
        F::Wtick => Ok(Step::Returns(1e-12_f64.to_bits())),
        F::Abort => Ok(Step::Aborts(asked.int(1))),
        F::Pcontrol => done(),
        F::Get_processor_name => {
            asked.put_text((0, 1), &format!("node{}", state.node), 256);
            done()
        }
        F::Get_library_version => {
            asked.put_text((0, 1), concat!("mpisim ", env!("CARGO_PKG_VERSION")), 8192);
            done()
        }
        F::Get_address => {
            asked.put_word(1, asked.word(0));
            done()
        }
        F::Aint_add => Ok(Step::Returns(asked.word(0).wrapping_add(asked.word(1)))),
        F::Aint_diff => Ok(Step::Returns(asked.word(0).wrapping_sub(asked.word(1)))),
        F::Alloc_mem => alloc_mem(asked),
        F::Free_mem => {
            let address = asked.word(0);
            asked.place.process.free(address);
            done()
        }
        F::Finalize if state.stage == Stage::Between => finalize(state, asked),
        F::Finalize => check_begun(state).and_then(|()| refused::call()),
        _ => return None,
    })
}

fn initialize(state: &mut RankState) -> Answer {
    if state.stage != Stage::Before {
        return Err(Fault::new(mpi5::ERR_OTHER, "it is called twice"));
    }
    state.stage = Stage::Between;
    done()
}

/// A program must complete its operations before `MPI_Finalize`. Libraries go on without, and so does the simulator.
fn tell_incomplete(state: &RankState, asked: &Asked<'_>) {
    let incomplete = state.requests.incomplete();
    if incomplete.is_empty() {
        return;
    }
    // Without debug information all calls of a function have one name.
    let mut named: Vec<(String, u32)> = Vec::new();
    for ((function, caller), count) in &incomplete {
        let name = asked.place.process.called(*function, *caller);
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

fn finalize(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    tell_incomplete(state, asked);
    asked.place.reads_clocks = asked.place.process.clocks()? > 0;
    // MPI_COMM_SELF comes first: its delete functions may still use MPI.
    let [first, second] = [mpi5::COMM_SELF, mpi5::COMM_WORLD].map(|comm| (Kind::Comm, comm));
    let library = |_: &mut RankState, _: &mut Asked<'_>| {
        Ok(Step::calls(Call::Finalize, |state, _, _| {
            state.stage = Stage::After;
            done()
        }))
    };
    let rest = move |state: &mut RankState, asked: &mut Asked<'_>| {
        attributes::delete_all(state, asked, second, Box::new(library))
    };
    attributes::delete_all(state, asked, first, Box::new(rest))
}

fn flag(asked: &mut Asked<'_>, value: bool) -> Answer {
    asked.put_flag(0, value);
    done()
}

fn alloc_mem(asked: &mut Asked<'_>) -> Answer {
    let Ok(bytes) = u64::try_from(asked.long(0)) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("a size of {}", asked.long(0))));
    };
    let address = asked.place.process.allocate(bytes)?;
    if address == 0 {
        return Err(Fault::new(mpi5::ERR_NO_MEM, format!("the process has no {bytes} bytes left")));
    }
    asked.put_word(2, address);
    done()
}
