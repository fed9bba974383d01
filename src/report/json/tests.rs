use super::*;
use crate::sample;
use serde_json::Value;

#[test]
fn run_prints_the_contract_key_by_key() {
    let mut result = sample::message_rate();
    result.points.truncate(1);
    result.claims.truncate(1);
    insta::assert_snapshot!(run_json(&result).unwrap(), @r#"
    {
      "schema": 1,
      "scenario": "endpoints/fig03_message_rate",
      "version": "0.1.0",
      "digest": "0123456789abcdef0123456789abcdef",
      "points": [
        {
          "params": {
            "workload.senders_per_node": "1",
            "workload.size": "1 B"
          },
          "digest": "00000000000000000000000000000000",
          "metrics": {
            "message_rate": {
              "value": 322533.82573497394,
              "unit": "msg/s"
            }
          }
        }
      ],
      "claims": [
        {
          "id": "ep-fig3-13x",
          "status": "pass",
          "measured": "13.06",
          "expected": "13 +-10 %",
          "source": "endpoints Fig. 3",
          "could_fail": true
        }
      ]
    }
    "#);
}

#[test]
fn values_read_back_bit_for_bit() {
    let result = sample::message_rate();
    let text = run_json(&result).unwrap();
    let mut written = text.lines().filter_map(|line| line.trim().strip_prefix("\"value\": "));
    for point in &result.points {
        let number: f64 = written.next().unwrap().trim_end_matches(',').parse().unwrap();
        assert_eq!(number.to_bits(), point.metrics[0].value.to_bits());
    }
    assert_eq!(written.next(), None);
}

#[test]
fn null_and_nan_never_occur() {
    let mut result = sample::ping_pong();
    assert!(!run_json(&result).unwrap().contains("null"));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        result.points[0].metrics[1].value = bad;
        assert!(matches!(run_json(&result), Err(ReportError::NotFinite { point: 0, .. })));
    }
}

#[test]
fn a_failed_point_says_why() {
    let mut result = sample::ping_pong();
    result.points[1].failure = Some("deadlock: 0 waits for 1 waits for 0".into());
    let value: Value = serde_json::from_str(&run_json(&result).unwrap()).unwrap();
    assert_eq!(value["points"][1]["failure"], "deadlock: 0 waits for 1 waits for 0");
    assert!(value["points"][0].get("failure").is_none());
}

fn checked() -> CheckDocument {
    let claims = &sample::message_rate().claims;
    let metric = |value, baseline, status| CheckedMetric {
        point: 3,
        params: Ordered(vec![("workload.size".into(), "8 B".into())]),
        name: "message_rate".into(),
        value,
        baseline,
        unit: "msg/s".into(),
        tolerance: 0.01,
        status,
    };
    CheckDocument {
        schema: SCHEMA_VERSION,
        scenarios: vec![
            CheckedScenario {
                scenario: "endpoints/fig03_message_rate".into(),
                status: CheckStatus::Changed,
                digest: Some("0".repeat(32)),
                baseline_digest: Some("f".repeat(32)),
                inputs: vec![InputDocument {
                    path: "machine.hca.mtu".into(),
                    value: "2 KiB".into(),
                    baseline: "4 KiB".into(),
                }],
                metrics: vec![
                    metric(Some(2.0), Some(1.5), MetricStatus::Changed),
                    metric(None, Some(1.5), MetricStatus::Missing),
                    metric(Some(2.0), None, MetricStatus::New),
                ],
                claims: vec![
                    CheckedClaim::new(&claims[2], Some(ClaimStatus::Pass)),
                    CheckedClaim::new(&claims[0], None),
                ],
            },
            CheckedScenario {
                scenario: "examples/new".into(),
                status: CheckStatus::New,
                digest: Some("1".repeat(32)),
                baseline_digest: None,
                inputs: vec![],
                metrics: vec![],
                claims: vec![],
            },
        ],
    }
}

#[test]
fn check_prints_the_contract_key_by_key() {
    insta::assert_snapshot!(check_json(&checked()).unwrap(), @r#"
    {
      "schema": 1,
      "scenarios": [
        {
          "scenario": "endpoints/fig03_message_rate",
          "status": "changed",
          "digest": "00000000000000000000000000000000",
          "baseline_digest": "ffffffffffffffffffffffffffffffff",
          "inputs": [
            {
              "path": "machine.hca.mtu",
              "value": "2 KiB",
              "baseline": "4 KiB"
            }
          ],
          "metrics": [
            {
              "point": 3,
              "params": {
                "workload.size": "8 B"
              },
              "name": "message_rate",
              "value": 2.0,
              "baseline": 1.5,
              "unit": "msg/s",
              "tolerance": 0.01,
              "status": "changed"
            },
            {
              "point": 3,
              "params": {
                "workload.size": "8 B"
              },
              "name": "message_rate",
              "baseline": 1.5,
              "unit": "msg/s",
              "tolerance": 0.01,
              "status": "missing"
            },
            {
              "point": 3,
              "params": {
                "workload.size": "8 B"
              },
              "name": "message_rate",
              "value": 2.0,
              "unit": "msg/s",
              "tolerance": 0.01,
              "status": "new"
            }
          ],
          "claims": [
            {
              "id": "ep-fig3-dip64",
              "status": "deviates",
              "measured": "0.998",
              "expected": "below 0.968",
              "source": "endpoints Fig. 3",
              "baseline_status": "pass"
            },
            {
              "id": "ep-fig3-13x",
              "status": "pass",
              "measured": "13.06",
              "expected": "13 +-10 %",
              "source": "endpoints Fig. 3"
            }
          ]
        },
        {
          "scenario": "examples/new",
          "status": "new",
          "digest": "11111111111111111111111111111111",
          "inputs": [],
          "metrics": [],
          "claims": []
        }
      ]
    }
    "#);
}

#[test]
fn check_refuses_numbers_that_json_cannot_carry() {
    let mut document = checked();
    document.scenarios[0].metrics[1].baseline = Some(f64::NAN);
    assert!(matches!(check_json(&document), Err(ReportError::NotFinite { point: 3, .. })));
}

/// Whether `value` is what `schema` describes, as far as our schemas go: types, references,
/// required and known properties, items, enumerations.
fn conforms(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let path = reference.strip_prefix('#').ok_or("a reference inside the schema")?;
        return conforms(value, root.pointer(path).ok_or(reference)?, root);
    }
    let variants = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    if let Some(variants) = variants {
        let fits = variants.iter().filter(|variant| conforms(value, variant, root).is_ok()).count();
        return if fits == 1 { Ok(()) } else { Err(format!("{value} fits {fits} variants")) };
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        return if allowed.contains(value) { Ok(()) } else { Err(format!("{value} not listed")) };
    }
    if let Some(constant) = schema.get("const") {
        return if constant == value { Ok(()) } else { Err(format!("{value} is not {constant}")) };
    }
    let kind = schema.get("type").and_then(Value::as_str).ok_or("a type")?;
    match (kind, value) {
        ("object", Value::Object(map)) => {
            let properties = schema.get("properties");
            for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                map.get(name.as_str().unwrap()).ok_or(format!("{name} is missing"))?;
            }
            for (name, member) in map {
                let known = properties.and_then(|known| known.get(name));
                let rest = schema.get("additionalProperties");
                let schema = known.or(rest).ok_or(format!("{name} is not in the schema"))?;
                conforms(member, schema, root)?;
            }
            Ok(())
        }
        ("array", Value::Array(items)) => {
            items.iter().try_for_each(|item| conforms(item, &schema["items"], root))
        }
        ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("boolean", Value::Bool(_)) => Ok(()),
        ("integer", Value::Number(number)) if number.is_u64() => Ok(()),
        _ => Err(format!("{value} is not of type {kind}")),
    }
}

#[test]
fn what_is_printed_conforms_to_its_schema() {
    let mut result = sample::message_rate();
    result.points[7].failure = Some("stopped".into());
    let cases = [(run_json(&result), results_schema()), (check_json(&checked()), check_schema())];
    for (text, schema) in cases {
        let value: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let schema: Value = serde_json::from_str(&schema).unwrap();
        conforms(&value, &schema, &schema).unwrap();

        let mut wrong = value.clone();
        wrong["schema"] = Value::String("1".into());
        conforms(&wrong, &schema, &schema).unwrap_err();
        let mut wrong = value;
        wrong["extra"] = Value::Bool(true);
        conforms(&wrong, &schema, &schema).unwrap_err();
    }
}
