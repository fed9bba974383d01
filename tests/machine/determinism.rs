//! Same job, same seed: same bytes. Ties, observers and payload decide nothing that a figure shows.

use crate::common::{job, model, run};
use mpisim::engine::{JournalMode, Options};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::Outcome;
use mpisim::units::{Bytes, Time, TimeDelta};
use mpisim::workloads::job::{AnyProgram, Disturbance, Flow, Job, windowed};
use mpisim::workloads::windowed::{END, START};

fn contended(bytes: u64) -> Job<AnyProgram> {
    let mut job = job(model("knc-qdr", &[]), windowed(4, Flow::BothWays, bytes, 16, 1, 4));
    job.mpi.eager_inter = Some(Bytes::kib(8));
    job.disturbance = Disturbance {
        start_skew: TimeDelta::from_us(20),
        os_noise: Some((TimeDelta::from_us(500), TimeDelta::from_us(5))),
        ..Disturbance::default()
    };
    job
}

fn elapsed(outcome: &Outcome) -> TimeDelta {
    let of =
        |wanted| outcome.marks.iter().filter(move |mark| mark.number == wanted).map(|mark| mark.at);
    of(END).max().unwrap().since(of(START).min().unwrap_or(Time::ZERO))
}

#[test]
fn equal_runs_have_equal_digests_and_other_seeds_other_ones() {
    for bytes in [8, 4_000, 40_000] {
        let digest = |seed| {
            let mut job = contended(bytes);
            job.seed = seed;
            run(job).digest
        };
        assert_eq!(digest(1), digest(1), "{bytes} B");
        assert_ne!(digest(1), digest(2), "{bytes} B: the digest does not see the noise");
    }
}

#[test]
fn observers_change_nothing() {
    for bytes in [8, 40_000] {
        let plain = run(contended(bytes));
        let mut watched = contended(bytes);
        watched.options = Options { journal: Some(JournalMode::All), ..Options::default() };
        watched.record = false;
        assert_eq!(run(watched).digest, plain.digest, "{bytes} B");
    }
}

#[test]
fn payload_changes_no_time() {
    for bytes in [8, 4_000, 40_000] {
        let of = |payload| {
            let mut job = contended(bytes);
            job.mpi.payload = payload;
            run(job)
        };
        let (real, phantom) = (of(Payload::Real), of(Payload::Phantom));
        assert_eq!(real.digest, phantom.digest, "{bytes} B");
        assert_eq!((real.violations, real.end), (vec![], phantom.end), "{bytes} B");
        assert!(real.sometimes.compared > 0 && phantom.sometimes.compared == 0);
    }
}

/// In lockstep most events are ties: their order must not decide what a figure shows.
#[test]
fn ties_do_not_decide_the_message_rate() {
    for bytes in [8, 4_000, 40_000] {
        let of = |tie_seed| {
            let mut job = job(model("knc-qdr", &[]), windowed(4, Flow::BothWays, bytes, 16, 1, 4));
            job.mpi.eager_inter = Some(Bytes::kib(8));
            job.options = Options { tie_seed, ..Options::default() };
            run(job)
        };
        let plain = of(None);
        for seed in 1..4 {
            let shuffled = of(Some(seed));
            assert_ne!(shuffled.digest, plain.digest, "the ties were shuffled");
            let (a, b) = (elapsed(&plain).as_s_f64(), elapsed(&shuffled).as_s_f64());
            assert!((a / b - 1.0).abs() < 0.01, "{bytes} B, seed {seed}: {a} s and {b} s");
        }
    }
}

/// Running ahead saves events, not time: every mark stands where it stood.
#[test]
fn running_ahead_moves_no_mark() {
    for bytes in [8, 4_000, 40_000] {
        let of = |step_by_step| {
            let mut job = contended(bytes);
            job.step_by_step = step_by_step;
            run(job)
        };
        let (ahead, stepped) = (of(false), of(true));
        assert_eq!(ahead.marks, stepped.marks, "{bytes} B");
        assert!(ahead.events < stepped.events, "{bytes} B: nothing ran ahead");
    }
}
