//! Every preset is a drive that works, and serves an unloaded read in exactly the sum of its parts.

use esker_core::{Arrival, Bytes, Device, Lba, Nanos, ReplaySettings, Request};
use esker_flash::{PRESETS, Ssd, SsdSettings};
use esker_nand::ErrorCount;

#[test]
fn every_preset_serves_an_unloaded_read_in_the_sum_of_its_parts() {
    for preset in PRESETS {
        let mut settings = crate::common::preset(preset.name);
        let buffer = settings.write_buffer.take();
        // At random, a page may have more errors than its first decoding step corrects.
        settings.ecc.iter_mut().for_each(|ecc| ecc.errors = ErrorCount::Expected);
        let decode = settings.ecc.as_ref().map_or(Nanos::ZERO, |ecc| ecc.steps[0].decode);
        let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
        let page = settings.geometry.page_size;
        let (write, read) = (Request::write(Lba(0), page), Request::read(Lba(0), page));
        let now = Nanos::from_secs(1);
        let arrivals = [Arrival { at: Nanos::ZERO, request: write }, Arrival { at: now, request: read }];
        let run = crate::common::run(&mut ssd, arrivals, &ReplaySettings::OPEN);
        let transfer = settings.timing.bus_rate.time(page + settings.geometry.spare_size);
        let link = settings.link.map_or(Nanos::ZERO, |link| link.overhead + link.rate.time(page));
        let expected = link + settings.timing.page_read + transfer + decode;
        assert_eq!(run.last_event - now, expected, "{}", preset.name);
        let written = link + transfer + settings.timing.page_program;
        assert_eq!(run.statistics.write_response().max(), written, "{}", preset.name);
        // The simulator keeps the owner and validity of a page, the place of a host page, and the state of blocks.
        let (report, pages_per_block) = (crate::common::report(&ssd), f64::from(settings.geometry.pages_per_block));
        let host_share = report.pages.host as f64 / report.pages.raw as f64;
        let bytes = report.simulator_bytes_per_page;
        let ecc = if settings.ecc.is_some() { 26.0 / pages_per_block } else { 0.0 };
        assert!(bytes <= 4.125 + 4.0 * host_share + 40.0 / pages_per_block + ecc, "{}: {bytes}", preset.name);
        if let Some(buffer) = buffer {
            settings.write_buffer = Some(buffer);
            let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
            let run = crate::common::run(&mut ssd, arrivals, &ReplaySettings::OPEN);
            assert_eq!(run.last_event - now, link + buffer.latency, "{}", preset.name);
            assert_eq!(run.statistics.write_response().max(), link + buffer.latency, "{}", preset.name);
        }
    }
}

#[test]
fn the_drive_of_agrawal_is_the_one_of_the_paper() {
    let ssd = Ssd::new("flash", &crate::common::preset("samsung-k9xxg08-slc-32g"), 1).unwrap();
    let geometry = ssd.geometry();
    assert_eq!(Bytes(u64::from(geometry.pages()) * geometry.page_size().0), Bytes::gib(32));
    assert!(crate::common::report(&ssd).simulator_bytes_per_page <= 8.0);
    // Section 4.2: "around 27 GB".
    assert_eq!(ssd.capacity().0 >> 30, 27);
    // Below 5 % of 16,384 blocks of a package.
    assert_eq!(ssd.space().reserve, 820);
}

#[test]
fn the_flash_of_kim_takes_what_table_3_2_says() {
    let settings = crate::common::preset("kim-slc-32g");
    let transfer = settings.timing.bus_rate.time(settings.geometry.page_size + settings.geometry.spare_size);
    assert_eq!(settings.timing.page_read + transfer, Nanos(130_900));
    assert_eq!(settings.timing.page_program + transfer, Nanos(405_900));
    let ssd = Ssd::new("flash", &settings, 1).unwrap();
    assert_eq!(u64::from(ssd.geometry().pages()) * 2048, 32 << 30);
}

#[test]
fn presets_have_names_of_their_own_and_can_be_written_back() {
    for (index, preset) in PRESETS.iter().enumerate() {
        assert!(PRESETS[..index].iter().all(|other| other.name != preset.name));
        assert_eq!(preset.kind, "ssd");
        let settings = crate::common::preset(preset.name);
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<SsdSettings>(&text).unwrap(), settings);
    }
}
