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
    preset!("xia-cache-3g", "3 GiB of flash as in the read caches of Xia 2017, table 2"),
    preset!("xia-cache-4g", "4 GiB of flash as in the write caches of Xia 2017, table 5"),
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
    preset!(
        "intel-x25m-80g",
        "a stand-in for Intel's X25-M of 80 GB (2008): streams as published, fitted to Wu 2011, table V"
    ),
    preset!(
        "memoright-gt-32g",
        "a stand-in for MemoRight's GT of 32 GB (2008), the faster drive of Wu 2011, chapter II; mostly assumed"
    ),
    preset!(
        "transcend-ts16gssd25s-16g",
        "a stand-in for Transcend's TS16GSSD25S-S of 16 GB (2008), whose random writes are slow; mostly assumed"
    ),
    #[cfg(test)]
    preset!("worked-example", "a made-up drive of 8 GB, in the tests alone"),
];

#[cfg(test)]
mod tests {
    use esker_core::{Completion, Device, Lba, Nanos, Request, Tag};
    use esker_nand::ErrorCount;

    use super::*;
    use crate::{Ssd, SsdSettings};

    fn settings(preset: &Preset) -> SsdSettings {
        toml::from_str(preset.toml).unwrap_or_else(|error| panic!("{}: {error}", preset.name))
    }

    /// Returns how long `request` takes from `now` on, with no other request under way.
    fn serve(ssd: &mut Ssd, now: Nanos, request: Request) -> Nanos {
        let mut done: Vec<Completion> = Vec::new();
        while ssd.next_event() <= now {
            ssd.advance(ssd.next_event(), &mut done);
        }
        assert!(done.is_empty(), "it has no other request");
        ssd.submit(now, Tag::new(0, 0), request);
        while done.is_empty() {
            ssd.advance(ssd.next_event(), &mut done);
        }
        assert_eq!(done[0].result, Ok(()));
        done[0].at - now
    }

    #[test]
    fn every_preset_serves_an_unloaded_read_in_the_sum_of_its_parts() {
        for preset in PRESETS {
            let mut settings = settings(preset);
            let buffer = settings.write_buffer.take();
            // With drawn errors, a page may have more than its first decoding step corrects.
            settings.ecc.iter_mut().for_each(|ecc| ecc.errors = ErrorCount::Expected);
            let decode = settings.ecc.as_ref().map_or(Nanos::ZERO, |ecc| ecc.steps[0].decode);
            let page = settings.geometry.page_size;
            let (write, read) = (Request::write(Lba(0), page), Request::read(Lba(0), page));
            let transfer = settings.timing.bus_rate.time(page + settings.geometry.spare_size);
            let link = settings.link.map_or(Nanos::ZERO, |link| link.overhead + link.rate.time(page));
            let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
            let written = link + transfer + settings.timing.page_program;
            assert_eq!(serve(&mut ssd, Nanos::ZERO, write), written, "{}", preset.name);
            let expected = link + settings.timing.page_read + transfer + decode;
            assert_eq!(serve(&mut ssd, Nanos::from_secs(1), read), expected, "{}", preset.name);
            if let Some(buffer) = buffer {
                settings.write_buffer = Some(buffer);
                let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
                for (second, request) in [(0, write), (1, read)] {
                    let taken = serve(&mut ssd, Nanos::from_secs(second), request);
                    assert_eq!(taken, link + buffer.latency, "{}", preset.name);
                }
            }
        }
    }

    #[test]
    fn presets_have_names_of_their_own_and_can_be_written_back() {
        for (index, preset) in PRESETS.iter().enumerate() {
            assert!(PRESETS[..index].iter().all(|other| other.name != preset.name));
            assert_eq!(preset.kind, "ssd");
            let text = toml::to_string(&settings(preset)).unwrap();
            assert_eq!(toml::from_str::<SsdSettings>(&text).unwrap(), settings(preset));
        }
    }

    #[test]
    fn every_figure_has_its_source_beside_it() {
        for preset in PRESETS {
            assert!(preset.toml.starts_with("# "), "{} does not say what it is", preset.name);
            let known = ["assumed", "Assumed", "[", "table", "section", "Table", "Section"];
            let named = preset.toml.lines().any(|line| {
                line.split_once('#').is_some_and(|(_, comment)| known.iter().any(|word| comment.contains(word)))
            });
            assert!(named, "{} names no source", preset.name);
        }
    }
}
