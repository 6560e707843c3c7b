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
        name: "kim-slc-32g",
        kind: "ssd",
        summary: "the 32 GB of SLC flash of Kim 2009, chapter 3, one plane",
        toml: include_str!("../presets/ssd/kim-slc-32g.toml"),
    },
    Preset {
        name: "xia-mlc-32g",
        kind: "ssd",
        summary: "32 GiB of MLC flash with the latencies of Xia 2017, table 7",
        toml: include_str!("../presets/ssd/xia-mlc-32g.toml"),
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
        summary: "a data-centre drive of 480 GB around 2021: 3D TLC flash, eight dies, PCIe 3.0",
        toml: include_str!("../presets/ssd/tlc-data-centre.toml"),
    },
    Preset {
        name: "tlc-data-centre-worn",
        kind: "ssd",
        summary: "the same drive with 95 % of its rated erases and three months behind it: pages read again, failing blocks",
        toml: include_str!("../presets/ssd/tlc-data-centre-worn.toml"),
    },
    Preset {
        name: "tlc-data-centre-4t",
        kind: "ssd",
        summary: "a data-centre drive of 3.84 TB around 2021: 3D TLC flash, 32 dies with an eighth of their blocks, PCIe 4.0",
        toml: include_str!("../presets/ssd/tlc-data-centre-4t.toml"),
    },
    Preset {
        name: "mlc-3d-512g",
        kind: "ssd",
        summary: "512 GiB of 3D MLC flash around 2018, as NVMeVirt models Samsung's 970 Pro",
        toml: include_str!("../presets/ssd/mlc-3d-512g.toml"),
    },
    Preset {
        name: "tlc-consumer-512g",
        kind: "ssd",
        summary: "512 GiB of 3D TLC flash around 2020, four channels, once its SLC cache is full",
        toml: include_str!("../presets/ssd/tlc-consumer-512g.toml"),
    },
    Preset {
        name: "qlc-data-centre-2t",
        kind: "ssd",
        summary: "a quarter of 8 TiB of 3D QLC flash around 2022, mapped in units of 16 KiB",
        toml: include_str!("../presets/ssd/qlc-data-centre-2t.toml"),
    },
    Preset {
        name: "z-nand-240g",
        kind: "ssd",
        summary: "288 GiB of low-latency SLC flash around 2018, Z-NAND class",
        toml: include_str!("../presets/ssd/z-nand-240g.toml"),
    },
];
