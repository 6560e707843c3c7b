//! Named types of volumes.

use esker_core::Preset;

/// The preset of `presets/cloud-volume/NAME.toml`: its name, and a line for lists.
macro_rules! preset {
    ($name:literal, $summary:literal) => {
        Preset {
            name: $name,
            kind: "cloud-volume",
            summary: $summary,
            toml: include_str!(concat!("../presets/cloud-volume/", $name, ".toml")),
        }
    };
}

/// Every preset. Each is one TOML file in `presets/cloud-volume`, with the source of every figure beside it.
pub static PRESETS: &[Preset] = &[
    preset!(
        "aws-ebs-gp2",
        "Amazon EBS gp2 (2023): operations by size, 3,000 of them while credits last; latency assumed"
    ),
    preset!("aws-ebs-gp3", "Amazon EBS gp3 (late 2025): up to 80,000 operations per second; latency assumed"),
    preset!("aws-ebs-gp3-2023", "Amazon EBS gp3 (2023): up to 16,000 operations per second; latency assumed"),
    preset!(
        "aws-ebs-io2",
        "Amazon EBS io2 Block Express (2023): up to 256,000 operations per second; latency assumed below 0.5 ms"
    ),
    preset!("aws-ebs-st1", "Amazon EBS st1 (2023): hard disks, throughput by size and by credits; latency assumed"),
    preset!("aws-ebs-sc1", "Amazon EBS sc1 (2023): cold hard disks, as st1 but slower; latency assumed"),
    preset!("azure-premium-ssd", "Azure Premium SSD (2023): classes P1 to P80, credits up to P20; latency assumed"),
    preset!("azure-premium-ssd-v2", "Azure Premium SSD v2 (2023): up to 80,000 operations per second; latency assumed"),
    preset!("azure-standard-ssd", "Azure Standard SSD (2022): classes E1 to E80; latency assumed"),
    preset!("gcp-pd-balanced", "Google Cloud Balanced Persistent Disk (2025): limits by size; latency assumed"),
    preset!("gcp-pd-ssd", "Google Cloud SSD Persistent Disk (2025): limits by size; latency assumed"),
    preset!(
        "gcp-hyperdisk-balanced",
        "Google Cloud Hyperdisk Balanced (2025): up to 160,000 operations per second; latency assumed"
    ),
];

#[cfg(test)]
mod tests {
    use esker_core::{Bytes, Nanos};

    use super::*;
    use crate::{CloudVolume, CloudVolumeSettings, LogNormal};

    fn settings(name: &str) -> CloudVolumeSettings {
        let preset = PRESETS.iter().find(|preset| preset.name == name).unwrap_or_else(|| panic!("no {name}"));
        toml::from_str(preset.toml).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[test]
    fn every_preset_builds_at_100_gib_or_its_least_and_survives_a_round_trip() {
        for preset in PRESETS {
            let settings = settings(preset.name);
            let volume = CloudVolume::new(preset.name, &settings, 1).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            let size = if preset.name.ends_with("t1") || preset.name.ends_with("c1") { 125 } else { 100 };
            assert_eq!(esker_core::Device::capacity(&volume), Bytes::gib(size));
            let again: CloudVolumeSettings = toml::from_str(&toml::to_string(&settings).unwrap()).unwrap();
            assert_eq!(again, settings);
        }
    }

    /// What the providers promise, and what the comments of the presets say of the means.
    #[test]
    fn mean_latencies_are_within_what_is_promised() {
        let mean = |name: &str| LogNormal::new(&settings(name).latency.read).mean().as_micros_f64();
        for (name, most_us) in [
            ("aws-ebs-io2", 500.0),
            ("azure-premium-ssd-v2", 1000.0),
            ("gcp-pd-balanced", 1000.0),
            ("gcp-pd-ssd", 1000.0),
            ("gcp-hyperdisk-balanced", 1000.0),
            ("aws-ebs-gp2", 10_000.0),
            ("aws-ebs-gp3", 10_000.0),
            ("azure-premium-ssd", 10_000.0),
            ("azure-standard-ssd", 10_000.0),
        ] {
            assert!(mean(name) < most_us, "{name}: {}", mean(name));
        }
        assert!((mean("aws-ebs-io2") - 370.0).abs() < 5.0, "{}", mean("aws-ebs-io2"));
        assert!((mean("azure-premium-ssd-v2") - 775.0).abs() < 5.0, "{}", mean("azure-premium-ssd-v2"));
        assert!(settings("aws-ebs-st1").latency.read.median > Nanos::from_millis(1));
    }
}
