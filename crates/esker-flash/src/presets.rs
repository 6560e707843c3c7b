//! Drives by name. The source of every figure stands beside it in the preset's file.

use esker_core::Preset;

/// Every drive, in the order in which lists show them.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "samsung-k9xxg08-slc-32g",
        kind: "ssd",
        summary: "the 32 GB drive of Agrawal et al. 2008: 8 packages of Samsung's K9XXG08 SLC flash",
        toml: include_str!("../presets/ssd/samsung-k9xxg08-slc-32g.toml"),
    },
    Preset {
        name: "mlc-512g",
        kind: "ssd",
        summary: "512 GiB of planar MLC flash around 2015: MQSim's default drive",
        toml: include_str!("../presets/ssd/mlc-512g.toml"),
    },
    Preset {
        name: "tlc-data-centre",
        kind: "ssd",
        summary: "480 GiB of 3D TLC flash around 2021, with the flash times that NVMeVirt measured",
        toml: include_str!("../presets/ssd/tlc-data-centre.toml"),
    },
];
