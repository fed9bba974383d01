//! The fabric against segments in round robin, workload by workload.
mod fabric_oracle;
use fabric_oracle::compare::compare;
use fabric_oracle::workloads as w;

#[test]
fn explore() {
    let show = |name: &str, work: fabric_oracle::driver::Workload| {
        let t = std::time::Instant::now();
        let (e, o) = compare(&work, if name.starts_with("8 ") {8} else {64});
        println!("{name}: {e:?} solves {:?} msgs {} {:?}", o.fabric.solves(), work.messages.len(), t.elapsed());
    };
    for k in [1, 4, 16] { show(&format!("ping {k}"), w::pings(&[80], k, 200)); }
    for k in [1, 4] { show(&format!("ping4 {k}"), w::pings(&[80; 4], k, 200)); }
    for k in [1, 4] { show(&format!("ping uneq {k}"), w::pings(&[70, 80, 100, 90], k, 200)); }
    for k in [1, 4] { show(&format!("8 ping uneq {k}"), w::pings(&[70, 80, 100, 90], k, 200)); }
    show("8 pairs 8", w::pairs(8, 4));
    show("8 pairs 1", w::pairs(1, 16));
    show("8 crowd 250", w::crowd(250));
    show("8 crowd 1000", w::crowd(1000));
    show("incast 0", w::incast(0));
    for p in [10, 30, 50, 70, 90] { show(&format!("mix {p}"), w::mix(p, 16)); }
    show("70 from 2", w::mix(70, 2));
    for p in [30, 60, 90] { show(&format!("capped {p}"), w::capped_upstream(p)); }
    for p in [5, 30, 50] { show(&format!("inherits {p}"), w::inherits(p)); }
    show("memory", w::memory_bus());
    show("incast 0", w::incast(0));
    show("incast 1us", w::incast(1_000_000));
    show("pairs 8", w::pairs(8, 4));
    show("pairs 1", w::pairs(1, 16));
    show("crowd 250", w::crowd(250));
    for heavy in [false, true] {
        let mut v: Vec<_> = (0..100).map(|s| compare(&w::random(s, heavy), 64).0).collect();
        let over = v.iter().filter(|e| e.overcommit > 0).count();
        let worst = v.iter().map(|e| e.overcommit).max();
        v.sort_by_key(|e| e.bulk_mean);
        let b = [5, 50, 95].map(|q| v[q].bulk_mean);
        v.sort_by_key(|e| e.small_mean);
        let s = [25, 50, 75].map(|q| v[q].small_mean);
        println!("heavy {heavy}: over {over} worst {worst:?} bulk {b:?} small {s:?}");
    }
}
#[test]
fn worlds() {
    for seed in 0..100 {
        let work = w::random(seed, true);
        let (e, o) = compare(&work, 64);
        if e.overcommit > 0 {
            let (_, busy) = fabric_oracle::segments::run(&work, 64);
            let end = o.done.iter().max().unwrap();
            println!("{seed}: {e:?} end {end}");
            let bulk: Vec<_> = work.messages.iter().filter(|m| m.bytes > 4096).collect();
            println!("  {:?} paths {:?}", work.ps_per_byte, work.paths);
            println!("  bulk {bulk:?}");
            println!("  busy {:?} {busy:?}", o.fabric.snapshot().iter().map(|s| s.busy.as_ps()).collect::<Vec<_>>());
        }
    }
}
