//! Reads of pages without data are counted, since they cost nothing.

use esker_core::{Arrival, Bytes, Control, Device, Lba, Nanos, ReplaySettings, Request, RequestKind};
use esker_flash::{Ssd, SsdSettings, WriteBufferSettings};
use esker_ftl::Choice;

use crate::common::{one_package, report, run};

const PAGE: u64 = 4096;

fn counted(settings: &SsdSettings) -> (u64, u64) {
    let mut ssd = Ssd::new("flash", settings, 1).unwrap();
    let at = |now: Nanos, page: u64, pages: u64, kind: RequestKind| Arrival {
        at: now,
        request: Request { kind, ..Request::read(Lba(page * PAGE / 512), Bytes(pages * PAGE)) },
    };
    let write = Request::write(Lba(0), Bytes(PAGE)).kind;
    let (read, trim, zero) = (RequestKind::Read, RequestKind::Trim, Nanos::ZERO);
    let serial = ReplaySettings::closed(1);
    let first = run(&mut ssd, [at(zero, 0, 4, write), at(zero, 3, 1, trim), at(zero, 9, 2, read)], &serial);
    assert_eq!(report(&ssd).unwritten_page_reads, 2);
    let now = first.last_event;
    ssd.control(now, Control::StartMeasuring).unwrap();
    // Three written pages, one page that was trimmed since, and two that were never written. Then one more written
    // page.
    run(&mut ssd, [at(now, 0, 6, read), at(now, 1, 1, read)], &serial);
    let flash = report(&ssd);
    (flash.host_page_reads, flash.unwritten_page_reads)
}

#[test]
fn pages_without_data_are_counted_in_every_layer_and_with_a_buffer() {
    for layer in ["page", "dftl", "fast", "block"] {
        let mut settings = one_package(2);
        settings.ftl = Choice::named(layer);
        assert_eq!(counted(&settings), (7, 3), "{layer}");
    }
    let mut settings = one_package(2);
    settings.write_buffer = Some(toml::from_str::<WriteBufferSettings>("size = \"64KiB\"\nlatency = \"1us\"").unwrap());
    assert_eq!(counted(&settings), (7, 3), "with a write buffer");
}
