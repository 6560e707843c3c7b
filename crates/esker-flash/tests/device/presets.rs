//! Compares presets with the papers that they come from, and checks their memory.

use esker_core::{Bytes, Device, Nanos};
use esker_flash::{PRESETS, Ssd};

#[test]
fn every_preset_takes_few_bytes_per_page() {
    for preset in PRESETS {
        let settings = crate::common::preset(preset.name);
        let ssd = Ssd::new("flash", &settings, 1).unwrap();
        // The owner of each page, the location of each host page, a bit for validity, and the data kept per block.
        let (report, pages_per_block) = (crate::common::report(&ssd), f64::from(settings.geometry.pages_per_block));
        let host_share = report.pages.host as f64 / report.pages.raw as f64;
        let bytes = report.simulator_bytes_per_page;
        let ecc = if settings.ecc.is_some() { 26.0 / pages_per_block } else { 0.0 };
        assert!(bytes <= 4.125 + 4.0 * host_share + 40.0 / pages_per_block + ecc, "{}: {bytes}", preset.name);
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
