//! Named drives. Each figure in a preset's file has its source beside it.

use esker_core::Preset;

/// Makes the preset of `presets/ssd/NAME.toml` from its name and a one-line summary for lists.
macro_rules! preset {
    ($name:literal, $summary:literal) => {
        Preset {
            name: $name,
            kind: "ssd",
            summary: $summary,
            toml: include_str!(concat!("../presets/ssd/", $name, ".toml")),
        }
    };
}

/// All presets of drives, in the order in which lists show them.
pub static PRESETS: &[Preset] = &[
    preset!(
        "samsung-k9xxg08-slc-32g",
        "the 32 GB drive of Agrawal et al. 2008: 8 packages of Samsung's K9XXG08 SLC flash"
    ),
    preset!("kim-slc-32g", "the 32 GB of SLC flash of Kim 2009, chapter 3, one plane"),
    preset!("xia-mlc-32g", "32 GiB of MLC flash with the latencies of Xia 2017, table 7"),
    preset!("mlc-512g", "512 GiB of planar MLC flash around 2015: MQSim's default drive"),
    preset!("tlc-data-centre", "a data-centre drive of 480 GB around 2021: 3D TLC flash, eight dies, PCIe 3.0"),
    preset!(
        "tlc-data-centre-worn",
        "the same drive with 95 % of its rated erases and three months behind it: pages read again, failing blocks"
    ),
    preset!(
        "tlc-data-centre-4t",
        "a data-centre drive of 3.84 TB around 2021: 3D TLC flash, 32 dies with an eighth of their blocks, PCIe 4.0"
    ),
    preset!("mlc-3d-512g", "512 GiB of 3D MLC flash around 2018, as NVMeVirt models Samsung's 970 Pro"),
    preset!("tlc-consumer-512g", "512 GiB of 3D TLC flash around 2020, four channels, once its SLC cache is full"),
    preset!("qlc-data-centre-2t", "a quarter of 8 TiB of 3D QLC flash around 2022, mapped in units of 16 KiB"),
    preset!("z-nand-240g", "288 GiB of low-latency SLC flash around 2018, Z-NAND class"),
];
