//! Samples of SATA and SAS drives, in the forms that smartctl documents.

use esker_fleet::advice::{Advice, AdviceSettings};
use serde_json::{Value, json};

use super::judge;

/// An advice on one drive with two samples, thirty days apart, of which `counters` are the part by protocol.
fn advice(protocol: &str, counters: fn(u64) -> Value) -> Advice {
    let sample = |day: u64| {
        let mut sample = json!({"json_format_version": [1, 0], "smartctl": {"version": [7, 3]}, "model_name": "ACME S",
            "serial_number": "S1", "local_time": {"time_t": 1_780_000_000 + day * 86_400},
            "device": {"name": "/dev/sda", "protocol": protocol}, "user_capacity": {"bytes": 960_197_124_096u64}});
        sample.as_object_mut().unwrap().extend(counters(day).as_object().unwrap().clone());
        sample
    };
    let both = json!([sample(0), sample(30)]).to_string().into_bytes();
    judge(&[("both.json".to_string(), both)], &AdviceSettings::default()).unwrap()
}

fn attribute(id: u64, name: &str, value: u64, raw: u64) -> Value {
    json!({"ata_smart_attributes": {"table": [{"id": id, "name": name, "value": value, "raw": {"value": raw}}]}})
}

/// What the last sample says was written, and what was written in a day.
fn written(advice: &Advice) -> (Option<u64>, f64) {
    let drive = &advice.drives[0];
    (drive.written_bytes, drive.written_bytes_per_day.map_or(0.0, |rate| rate.likely))
}

#[test]
fn sata_drives_count_in_the_units_that_their_attributes_are_named_after() {
    let lbas = advice("ATA", |day| attribute(241, "Total_LBAs_Written", 99, 3_000_000 + day * 1_000));
    assert_eq!(written(&lbas), (Some(3_030_000 * 512), 512_000.0));
    let micron = advice("ATA", |day| attribute(246, "Total_LBAs_Written", 100, 3_000_000 + day * 1_000));
    assert_eq!(written(&micron), (Some(3_030_000 * 512), 512_000.0));
    let blocks = advice("ATA", |day| {
        let mut sample = attribute(241, "Total_LBAs_Written", 99, 3_000_000 + day * 1_000);
        sample["logical_block_size"] = json!(4096);
        sample
    });
    assert_eq!(written(&blocks), (Some(3_030_000 * 4096), 4_096_000.0));
    let intel = advice("ATA", |day| attribute(241, "Host_Writes_32MiB", 100, 500 + day));
    assert_eq!(written(&intel), (Some(530 << 25), f64::from(1 << 25)));
    let gib = advice("ATA", |day| attribute(241, "Lifetime_Writes_GiB", 100, 500 + day));
    assert_eq!(written(&gib), (Some(530 << 30), f64::from(1 << 30)));
    let unknown = advice("ATA", |day| attribute(241, "Unknown_Attribute", 100, 500 + day));
    let reason = unknown.drives[0].not_judged.as_deref().unwrap();
    assert!(reason.contains("whose unit is known"), "{reason}");
}

#[test]
fn wear_is_what_the_normalised_value_lacks_of_a_hundred() {
    for (id, name) in [
        (177, "Wear_Leveling_Count"),
        (202, "Percent_Lifetime_Remain"),
        (231, "SSD_Life_Left"),
        (233, "Media_Wearout_Indicator"),
    ] {
        let value = json!({"id": id, "name": name, "value": 88, "raw": {"value": 12345}});
        let sample = json!({"json_format_version": [1, 0], "smartctl": {}, "model_name": "m", "serial_number": "s",
            "local_time": {"time_t": 1_780_000_000}, "device": {"protocol": "ATA"},
            "ata_smart_attributes": {"table": [value]}});
        let one = judge(&[("one.json".into(), sample.to_string().into_bytes())], &AdviceSettings::default()).unwrap();
        assert_eq!(one.drives[0].own_wear_percent, Some(12), "{name}");
    }
}

/// The standard's statistics come before attributes of makers.
#[test]
fn statistics_of_the_standard_count_before_attributes() {
    let both = advice("ATA", |day| {
        let mut all = attribute(241, "Total_LBAs_Written", 99, 7);
        all["ata_device_statistics"] = json!({"pages": [
            {"number": 1, "table": [{"name": "Logical Sectors Written", "value": 4_000_000 + day * 2_000,
                "flags": {"valid": true}}]},
            {"number": 7, "table": [{"name": "Percentage Used Endurance Indicator", "value": 25,
                "flags": {"valid": true}}]}]});
        all
    });
    assert_eq!(written(&both), (Some(4_060_000 * 512), 1_024_000.0));
    let drive = &both.drives[0];
    assert_eq!(drive.own_wear_percent, Some(25));
    // A quarter is used: four times as much may be written in all.
    assert_eq!(drive.endurance_bytes.unwrap().likely, 4.0 * 4_060_000.0 * 512.0);
    let invalid = advice("ATA", |day| {
        json!({"ata_device_statistics": {"pages": [{"table": [{"name": "Logical Sectors Written", "value": day,
            "flags": {"valid": false}}]}]}})
    });
    assert_eq!(written(&invalid).0, None);
}

#[test]
fn sas_drives_count_gigabytes_as_text() {
    let sas = advice("SCSI", |day| {
        json!({"scsi_percentage_used_endurance_indicator": 40,
            "scsi_error_counter_log": {"write": {"gigabytes_processed": format!("{}.500", 1_000 + day)}}})
    });
    assert_eq!(written(&sas), (Some(1_030_500_000_000), 1e9));
    assert_eq!(sas.drives[0].own_wear_percent, Some(40));
}

#[test]
fn disks_are_passed_over() {
    let disk = json!({"json_format_version": [1, 0], "smartctl": {}, "model_name": "ST1", "serial_number": "s",
        "local_time": {"time_t": 1_780_000_000}, "rotation_rate": 7200, "device": {"protocol": "ATA"}});
    let error = judge(&[("disk.json".into(), disk.to_string().into_bytes())], &AdviceSettings::default()).unwrap_err();
    assert!(error.message.contains("only disks"), "{error}");
}

/// Data change places within a host. What Ceph has kept may be of many, and so are drives of the same name.
#[test]
fn drives_of_different_hosts_do_not_change_places() {
    let poor = AdviceSettings {
        ratings: vec![("990 PRO".into(), esker_core::Bytes(400_000_000_000_000))],
        ..AdviceSettings::default()
    };
    let mut files = super::files("host");
    assert_eq!(judge(&files, &poor).unwrap().exchanges.len(), 2);
    for (_, bytes) in &mut files {
        *bytes = String::from_utf8(bytes.clone()).unwrap().replace("/dev/nvme3", "/dev/nvme0").into_bytes();
    }
    let advice = judge(&files, &poor).unwrap();
    assert!(
        advice.exchanges.is_empty() && advice.verdict.reasons.iter().any(|reason| reason.contains("same device name"))
    );
    let metrics: Vec<_> = super::files("ceph").into_iter().filter(|(name, _)| name.starts_with("health")).collect();
    let advice = judge(&metrics, &super::settings()).unwrap();
    assert!(advice.exchanges.is_empty() && advice.verdict.reasons[0].contains("no output of `ceph osd dump"));
    assert!(advice.drives.iter().all(|drive| drive.worn_out.is_some()));
}

/// A drive that says that it is failing is said to be so, however little it has written.
#[test]
fn what_drives_warn_of_is_passed_on() {
    let mut counters = 0;
    let failing = advice("NVMe", |day| {
        json!({"smart_status": {"passed": false}, "nvme_smart_health_information_log":
            {"data_units_written": 1_000 + day, "available_spare": 4, "available_spare_threshold": 10,
             "critical_warning": 4}})
    });
    for part in ["spare blocks are at 4 %", "unreliable or read-only", "says that it is failing"] {
        counters += failing.drives[0].warnings.iter().filter(|warning| warning.contains(part)).count();
    }
    assert_eq!(counters, 3, "{:?}", failing.drives[0].warnings);
}
