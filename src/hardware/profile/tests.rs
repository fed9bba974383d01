use std::collections::BTreeSet;

use super::least::{builder as complete, set};
use super::*;

#[test]
fn the_table_is_consistent() {
    let paths: BTreeSet<_> = PARAMETERS.iter().map(|p| p.path).collect();
    assert_eq!(paths.len(), PARAMETERS.len(), "every path once");
    for parameter in PARAMETERS {
        let (low, high) = parameter.plausible();
        assert!(low.steps() <= high.steps(), "{}: {low} to {high}", parameter.path);
        assert!(
            parameter.doc.starts_with(|c: char| c.is_ascii_uppercase())
                && parameter.doc.ends_with('.'),
            "{}",
            parameter.path
        );
        match parameter.fallback {
            Fallback::Default(text) => {
                let value = parameter.kind.parse(text).unwrap();
                assert!(parameter.is_plausible(value), "{}: {value}", parameter.path);
            }
            Fallback::SameAs(other) => {
                assert_eq!(Parameter::find(other).unwrap().kind, parameter.kind);
                assert_ne!(other, parameter.path);
            }
            Fallback::RequiredWith(other) => {
                assert_eq!(Parameter::find(other).unwrap().fallback, Fallback::Absent);
            }
            Fallback::Required | Fallback::Absent => {}
        }
    }
}

#[test]
fn every_required_parameter_that_is_missing_is_named() {
    let errors = ProfileBuilder::new().build().unwrap_err();
    let required = PARAMETERS.iter().filter(|p| p.fallback == Fallback::Required);
    let expected: Vec<_> = required.map(|p| ProfileError::Missing { path: p.path }).collect();
    assert_eq!(errors, expected);
    for parameter in PARAMETERS.iter().filter(|p| p.fallback == Fallback::Required) {
        let mut builder = complete();
        builder.given[position(parameter.path).unwrap()] = None;
        let missing = vec![ProfileError::Missing { path: parameter.path }];
        assert_eq!(builder.build(), Err(missing));
    }
}

#[test]
fn a_value_set_by_path_arrives_in_its_own_field() {
    let low = complete().build().unwrap();
    let mut seen = Vec::new();
    for parameter in PARAMETERS {
        let mut builder = complete();
        let (_, high) = parameter.plausible();
        builder.set(parameter.path, high).unwrap();
        // Rules between two values may refuse the combination; the field is then tested elsewhere.
        let Ok(profile) = builder.build() else { continue };
        assert_eq!(builder.resolve(parameter.path), Some((Some(high), Origin::Given)));
        let text = format!("{profile:?}");
        if profile != low {
            assert!(!seen.contains(&text), "{} fills the field of another path", parameter.path);
            seen.push(text);
        }
    }
    assert!(seen.len() > PARAMETERS.len() - 12, "{} of {}", seen.len(), PARAMETERS.len());

    let mut builder = complete();
    set(&mut builder, "hca.mtu", "2 KiB");
    set(&mut builder, "mpi.shm_cell_count", "64");
    set(&mut builder, "link.data_bw", "32 Gb/s");
    let profile = builder.build().unwrap();
    assert_eq!(profile.hca.mtu, Bytes::kib(2));
    assert_eq!(profile.mpi.shm_cell_count, 64);
    assert_eq!(profile.link.data_bw, Bandwidth::from_gbit_per_s(32));
}

#[test]
fn what_is_not_named_follows_its_rule() {
    let mut builder = complete();
    set(&mut builder, "pcie.tlp_overhead", "24 B");
    set(&mut builder, "mem.core_copy_bw", "2 GB/s");
    let profile = builder.build().unwrap();
    assert_eq!(profile.pcie.completion_overhead, Bytes::new(24));
    assert_eq!(profile.mem.core_copy_bw_remote, Bandwidth::from_mb_per_s(2_000));
    assert_eq!(profile.hca.msg_rate_per_qp, None);
    assert_eq!(profile.hca.loopback_bw, None);
    assert!(profile.hca.rdma && profile.os.cma_available);
    assert_eq!(
        builder.resolve("mem.core_copy_bw_remote").unwrap().1,
        Origin::SameAs("mem.core_copy_bw_dram")
    );
    set(&mut builder, "hca.loopback_bw", "0 GB/s");
    assert_eq!(builder.build().unwrap().hca.loopback_bw, None, "0 is none");
}

#[test]
fn a_wrong_value_is_refused_and_changes_nothing() {
    let mut builder = complete();
    let before = builder.clone();
    let refused = builder.set("hca.mtuu", Value::Count(1)).unwrap_err();
    assert_eq!(refused, ProfileError::UnknownPath { path: "hca.mtuu".into() });
    let refused = builder.set("hca.mtu", Value::Count(1)).unwrap_err();
    assert_eq!(refused.to_string(), "`hca.mtu` is `1`; a number of bytes is needed");
    let refused = builder.set("link.data_bw", Value::Bandwidth(Bandwidth::default())).unwrap_err();
    assert_eq!(refused, ProfileError::Zero { path: "link.data_bw", example: "0.1 GB/s" });
    assert_eq!(builder, before);
}

#[track_caller]
fn check_inconsistent(values: &[(&str, &str)], first: &str, second: &str) {
    let mut builder = complete();
    for (path, text) in values {
        set(&mut builder, path, text);
    }
    let errors = builder.build().unwrap_err();
    assert!(
        matches!(errors.as_slice(),
            [ProfileError::Inconsistent { first: a, second: b, .. }] if *a == first && *b == second),
        "{errors:?}"
    );
}

#[test]
fn values_that_cannot_both_hold_are_refused() {
    check_inconsistent(
        &[("cpu.cores_per_tile", "2")],
        "cpu.cores_per_tile",
        "cpu.cores_per_socket",
    );
    check_inconsistent(&[("cache.l2_size", "4 KiB")], "cache.l1d_size", "cache.l2_size");
    check_inconsistent(&[("cache.l3_size", "4 KiB")], "cache.l2_size", "cache.l3_size");
    check_inconsistent(&[("hca.socket", "1")], "hca.socket", "cpu.sockets");
    check_inconsistent(
        &[("os.noise_period", "1 ms"), ("os.noise_length", "1 ms")],
        "os.noise_length",
        "os.noise_period",
    );
    check_inconsistent(&[("cpu.smt_share", "1.1")], "cpu.smt_share", "cpu.smt_share");
}

#[test]
fn a_value_eight_times_off_is_not_plausible() {
    let mtu = Parameter::find("hca.mtu").unwrap();
    assert!(mtu.is_plausible(Value::Bytes(Bytes::new(4_096))));
    assert!(!mtu.is_plausible(Value::Bytes(Bytes::mib(4))));
    let clock = Parameter::find("cpu.clock").unwrap();
    assert!(!clock.is_plausible(Value::Frequency(Frequency::from_hz(1))));
}

#[test]
fn a_part_is_described_whole_or_not_at_all() {
    let without = complete().build().unwrap();
    assert_eq!((without.gpu.sm_count, without.gpu.clock), (None, None));
    let mut builder = complete();
    set(&mut builder, "gpu.sm_count", "14");
    let errors = builder.build().unwrap_err();
    let with = |p: &&Parameter| p.fallback == Fallback::RequiredWith("gpu.sm_count");
    let needed: Vec<_> = PARAMETERS.iter().filter(with).collect();
    let expected: Vec<_> = needed.iter().map(|p| ProfileError::Missing { path: p.path }).collect();
    assert_eq!(errors, expected);
    for parameter in &needed {
        builder.set(parameter.path, parameter.plausible().0).unwrap();
    }
    let gpu = builder.build().unwrap().gpu;
    assert_eq!((gpu.sm_count, gpu.l2_latency), (Some(14), gpu.mem_latency));
}
