//! Named disks.

use esker_core::Preset;

/// Makes the preset of `presets/hdd/NAME.toml` from its name and a one-line summary for lists.
macro_rules! preset {
    ($name:literal, $summary:literal) => {
        Preset {
            name: $name,
            kind: "hdd",
            summary: $summary,
            toml: include_str!(concat!("../presets/hdd/", $name, ".toml")),
        }
    };
}

/// Every preset. Each is one TOML file in `presets/hdd`, with the source of every figure beside it.
pub static PRESETS: &[Preset] = &[
    preset!(
        "ibm-ultrastar-36z15",
        "IBM Ultrastar 36Z15, 36.7 GB, 15,000 rpm (2001): the disk of Kim 2009, table 5.4; zones and seek curve \
         assumed"
    ),
    preset!(
        "ibm-ultrastar-36z15-18g",
        "IBM Ultrastar 36Z15, 18.4 GB, 15,000 rpm (2001): the outer zones of the larger one; zones and seek curve \
         assumed"
    ),
    preset!(
        "seagate-cheetah-15k5-146g",
        "Seagate Cheetah 15K.5, 146 GB, 15,020 rpm (2007): extracted zones, layout and seek curve"
    ),
    preset!(
        "nearline-7200-20t",
        "a 20 TB nearline disk, 7,200 rpm (2022 class): data-sheet rates, zones and seek curve assumed"
    ),
    preset!(
        "dual-actuator-7200-18t",
        "an 18 TB disk with two actuators, 7,200 rpm (2022 class): data-sheet rates and power, zones and seek curve \
         assumed"
    ),
    preset!(
        "shingled-5900-8t",
        "an 8 TB host-aware shingled disk, 5,900 rpm (2015 class): media cache as reported, zones and seek curve \
         assumed"
    ),
    preset!("sas-10k-2400g", "a 2.4 TB disk of 10,000 rpm (2017 class): all but the speed assumed"),
    preset!(
        "fujitsu-mba3073np-73g",
        "a stand-in for Fujitsu's MBA3073NP, 73 GB, 15,000 rpm (2007): fitted to Wu 2011, table V"
    ),
    preset!(
        "samsung-sp2504c-250g",
        "a stand-in for Samsung's SP2504C, 250 GB, 7,200 rpm (2005): the disk of Wu 2011, chapter II; mostly assumed"
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, DiskSettings, Mechanics};

    #[test]
    fn every_preset_builds_and_survives_a_round_trip() {
        for preset in PRESETS {
            let settings: DiskSettings = toml::from_str(preset.toml).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            let disk = crate::build(preset.name, &settings).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            let again: DiskSettings = toml::from_str(&toml::to_string(&settings).unwrap()).unwrap();
            assert_eq!(again, settings);
            assert_eq!(Some(esker_core::Device::capacity(&*disk)), settings.capacity, "{}", preset.name);
        }
    }

    /// Table 5.4 of Kim 2009 gives 36.7 GB.
    #[test]
    fn the_disk_of_kim_has_the_capacity_of_the_table() {
        let preset = PRESETS.iter().find(|preset| preset.name == "ibm-ultrastar-36z15").unwrap();
        let settings: DiskSettings = toml::from_str(preset.toml).unwrap();
        let disk = Disk::new(preset.name, &settings).unwrap();
        let gigabytes = esker_core::Device::capacity(&disk).0 as f64 / 1e9;
        assert!((gigabytes - 36.7).abs() < 0.01, "{gigabytes}");
    }

    /// The mean seeks are those stated in the comments of the presets.
    #[test]
    fn mean_seeks_are_as_stated() {
        for (name, stated_ms) in [
            ("ibm-ultrastar-36z15", 3.4),
            ("ibm-ultrastar-36z15-18g", 3.4),
            ("seagate-cheetah-15k5-146g", 3.8),
            ("nearline-7200-20t", 7.4),
            ("dual-actuator-7200-18t", 7.5),
            ("shingled-5900-8t", 12.0),
            ("sas-10k-2400g", 4.2),
            ("fujitsu-mba3073np-73g", 3.4),
            ("samsung-sp2504c-250g", 8.9),
        ] {
            let preset = PRESETS.iter().find(|preset| preset.name == name).unwrap();
            let settings: DiskSettings = toml::from_str(preset.toml).unwrap();
            let mechanics = Mechanics::new(&settings).unwrap();
            let mean = mechanics.seek_curve().mean(mechanics.geometry().cylinders()).as_micros_f64() / 1e3;
            assert!((mean / stated_ms - 1.0).abs() < 0.01, "{name}: {mean}");
        }
    }
}
