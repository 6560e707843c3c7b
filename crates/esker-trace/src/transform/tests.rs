//! Filters on a few records.

use super::*;
use crate::VolumeIndex;

fn trace() -> (Vec<Record>, Vec<String>) {
    let record = |second: u64, offset, operation, volume| Record {
        at: Nanos::from_secs(1_000 + second),
        offset,
        length: if operation == Operation::Flush { 0 } else { 4096 },
        volume: VolumeIndex(volume),
        operation,
        response: Some(Nanos(5)),
    };
    let records = vec![
        record(0, 100, Operation::Read, 0),
        record(1, 5_000, Operation::Write, 1),
        record(2, 0, Operation::Flush, 0),
        record(3, 9_000, Operation::Trim, 0),
        record(4, 5_000, Operation::Write, 0),
    ];
    (records, vec!["sda".to_string(), "sdb".to_string()])
}

fn kept(settings: FilterSettings) -> Vec<(u64, u64)> {
    let (records, volumes) = trace();
    let mut filter = Filter::new(settings).unwrap();
    let mut kept = Vec::new();
    for record in &records {
        match filter.apply(record, &volumes) {
            Filtered::Keep(record) => kept.push((record.at.0 / 1_000_000 - 1_000_000, record.offset)),
            Filtered::Drop => {}
            Filtered::End => break,
        }
    }
    kept
}

#[test]
fn nothing_set_changes_nothing() {
    assert_eq!(kept(FilterSettings::default()), [(0, 100), (1_000, 5_000), (2_000, 0), (3_000, 9_000), (4_000, 5_000)]);
}

#[test]
fn each_selection_selects() {
    let none = FilterSettings::default();
    let window = FilterSettings { from: Some(Nanos::from_secs(1)), until: Some(Nanos::from_secs(3)), ..none.clone() };
    assert_eq!(kept(window), [(1_000, 5_000), (2_000, 0)]);
    let volumes = FilterSettings { volumes: vec!["sdb".to_string()], ..none.clone() };
    assert_eq!(kept(volumes), [(1_000, 5_000)]);
    let operations = FilterSettings { operations: vec![OperationName::Trim, OperationName::Read], ..none.clone() };
    assert_eq!(kept(operations), [(0, 100), (3_000, 9_000)]);
    let range = FilterSettings { address_from: Some(Bytes(5_000)), address_to: Some(Bytes(9_096)), ..none.clone() };
    assert_eq!(kept(range), [(1_000, 5_000), (2_000, 0), (4_000, 5_000)]);
    assert_eq!(kept(FilterSettings { head: Some(2), ..none }), [(0, 100), (1_000, 5_000)]);
}

#[test]
fn changes_come_after_selection_and_before_counting() {
    let settings = FilterSettings {
        from: Some(Nanos::from_secs(1)),
        shift_bytes: -5_000,
        speed: Some(2.0),
        head: Some(3),
        ..FilterSettings::default()
    };
    assert_eq!(kept(settings), [(500, 0), (1_000, 0), (1_500, 4_000)]);
    let (records, volumes) = trace();
    let mut filter = Filter::new(FilterSettings { shift_bytes: -200, ..FilterSettings::default() }).unwrap();
    assert_eq!(filter.apply(&records[0], &volumes), Filtered::Drop);
    assert_eq!((filter.below_zero(), filter.kept()), (1, 0));
    let mut filter = Filter::new(FilterSettings { shift_bytes: i64::MAX, ..FilterSettings::default() }).unwrap();
    for (offset, is_kept) in [(1 << 63, false), ((1 << 63) - 4095, false), ((1 << 63) - 4096, true)] {
        let filtered = filter.apply(&Record { offset, ..records[0] }, &volumes);
        assert_eq!(matches!(filtered, Filtered::Keep(_)), is_kept, "{offset}");
    }
    assert_eq!((filter.below_zero(), filter.beyond_end()), (0, 2));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let settings = FilterSettings { speed: Some(speed), ..FilterSettings::default() };
        assert!(matches!(Filter::new(settings), Err(FilterError::Speed(_))));
    }
    let settings = FilterSettings { from: Some(Nanos(2)), until: Some(Nanos(2)), ..FilterSettings::default() };
    assert!(matches!(Filter::new(settings), Err(FilterError::Window { .. })));
    let settings =
        FilterSettings { address_from: Some(Bytes(2)), address_to: Some(Bytes(1)), ..FilterSettings::default() };
    assert!(matches!(Filter::new(settings), Err(FilterError::Range { .. })));
}

#[test]
fn an_unknown_volume_is_named_with_the_nearest() {
    let settings = FilterSettings { volumes: vec!["sdaa".to_string()], ..FilterSettings::default() };
    let error = Filter::new(settings).unwrap().check_volumes(&trace().1).unwrap_err();
    assert_eq!(error.to_string(), "the trace has no volume `sdaa`; its volumes are: sda, sdb");
    assert_eq!(error.hint().unwrap(), "did you mean `sda`?");
}

#[test]
fn a_volume_may_come_after_the_end_of_what_was_asked_for() {
    let (records, volumes) = trace();
    let check = |settings: FilterSettings| {
        let names = ["sda", "later"].map(String::from).to_vec();
        let mut filter = Filter::new(FilterSettings { volumes: names, ..settings }).unwrap();
        let ended = records.iter().any(|record| filter.apply(record, &volumes) == Filtered::End);
        let not_seen: Vec<&str> = filter.volumes_not_seen(&volumes).collect();
        assert_eq!(not_seen, if ended { vec!["later"] } else { vec![] });
        filter.check_volumes(&volumes).map_err(|error| error.to_string())
    };
    let none = FilterSettings::default();
    let until = Some(Nanos::from_secs(1));
    assert_eq!(check(FilterSettings { head: Some(2), ..none.clone() }), Ok(()));
    assert_eq!(check(FilterSettings { until, ..none.clone() }), Ok(()));
    let no_trims = FilterSettings { until, operations: vec![OperationName::Trim], ..none.clone() };
    let error = "no volume `later` before the end of what was asked for";
    assert_eq!(check(no_trims), Err(error.to_string()));
    let error = "the trace has no volume `later`; its volumes are: sda, sdb";
    assert_eq!(check(none), Err(error.to_string()), "the whole trace was read");
}

#[test]
fn settings_are_read_from_text() {
    let text = r#"{ "volumes": ["sda"], "from": "1min", "operations": ["write"], "address_from": "1GiB" }"#;
    let settings: FilterSettings = serde_json::from_str(text).unwrap();
    assert_eq!(settings.from, Some(Nanos::from_secs(60)));
    assert!(serde_json::from_str::<FilterSettings>(r#"{ "volume": ["sda"] }"#).is_err());
}
