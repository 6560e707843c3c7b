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
        name: "mlc-nvme-512g",
        kind: "ssd",
        summary: "512 GiB of MLC flash on 8 channels: the default drive of MQSim (FAST 2018)",
        toml: include_str!("../presets/ssd/mlc-nvme-512g.toml"),
    },
    Preset {
        name: "tlc-nvme-240g",
        kind: "ssd",
        summary: "a data-centre class drive of 96-layer TLC flash, with the ZN540's array as nvmevirt (FAST 2023) has it",
        toml: include_str!("../presets/ssd/tlc-nvme-240g.toml"),
    },
];
