//! Wear: pages that are written often change places.

use crate::drive::new_pool;
use esker_core::Rng;
use esker_scm::{Caller, FileSystem, Kind, Mode, Moment, NewFile, Persist, PersistError, ROOT};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Memory that counts the stores to each page, whatever makes them: a reference that does not share the file system's
/// own counts.
struct Counting {
    bytes: Vec<AtomicU8>,
    stores: Vec<AtomicU64>,
}

impl Counting {
    fn new(image: &[u8]) -> Counting {
        let pages = image.len() / 4096;
        Counting {
            bytes: image.iter().map(|&byte| AtomicU8::new(byte)).collect(),
            stores: (0..pages).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Persist for Counting {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) {
        for (byte, place) in into.iter_mut().zip(&self.bytes[at as usize..]) {
            *byte = place.load(Ordering::Relaxed);
        }
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        for (byte, place) in bytes.iter().zip(&self.bytes[at as usize..]) {
            place.store(*byte, Ordering::Relaxed);
        }
        // Whole pages are data, or copies of them.
        if bytes.len() == 4096 {
            self.stores[(at / 4096) as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn write_streaming(&self, at: u64, bytes: &[u8]) {
        self.write(at, bytes);
    }

    fn zero_streaming(&self, at: u64, length: u64) {
        self.write(at, &vec![0; length as usize]);
    }

    fn write_back(&self, _at: u64, _length: u64) {}

    fn fence(&self) -> Result<(), PersistError> {
        Ok(())
    }
}

/// A number below `count`, of a Zipf distribution with exponent 0.99: the inverse of its continuous form.
fn zipf(rng: &mut Rng, count: u64) -> u64 {
    let exponent = 1.0 - 0.99;
    let top = (count as f64).powf(exponent);
    let place = (1.0 + rng.unit() * (top - 1.0)).powf(1.0 / exponent);
    (place as u64).saturating_sub(1).min(count - 1)
}

/// Overwrites of Zipf 0.99 over a file that takes nine tenths of the data, as many that each page is written a
/// thousand times in the mean. A pool of 64 MiB with `ESKER_SOAK`.
#[test]
#[expect(clippy::print_stdout, reason = "`make soak` shows what was found")]
fn the_most_written_page_has_at_most_twice_the_mean() {
    let pages = if std::env::var_os("ESKER_SOAK").is_some() { 16_384_u64 } else { 300 };
    let writes = 1000 * pages;
    let system = FileSystem::mount(Counting::new(&new_pool(pages)), Mode::Data).unwrap();
    let caller = Caller::root(Moment(1));
    let file = NewFile::new(Kind::File, 0o644);
    let handle = system.open(system.make(&caller, ROOT, b"file", &file).unwrap().number).unwrap();
    let free = system.statistics().unwrap().free / 4096;
    let size = free * 9 / 10;
    let mut expected = vec![0_u64; size as usize];
    for page in 0..size {
        system.write(&caller, &handle, page * 4096, &[0; 4096]).unwrap();
    }
    system.persist().stores.iter().for_each(|stores| stores.store(0, Ordering::Relaxed));
    let mut rng = Rng::new(1);
    for number in 1..=writes {
        let page = zipf(&mut rng, size);
        expected[page as usize] = number;
        let mut bytes = [0; 4096];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        system.write(&caller, &handle, page * 4096, &bytes).unwrap();
    }
    let stores: Vec<u64> = system.persist().stores.iter().map(|stores| stores.load(Ordering::Relaxed)).collect();
    let (total, most) = (stores.iter().sum::<u64>(), *stores.iter().max().unwrap());
    let mean = total / free;
    println!("{pages} pages: {total} stores for {writes} writes; {most} to the most-written page, {mean} in the mean");
    assert!(total <= writes * 105 / 100, "{total} stores for {writes} writes");
    assert!(most <= 2 * mean, "the most-written page has {most} stores, the mean is {mean}");
    for (page, number) in expected.iter().enumerate() {
        let mut bytes = [0; 8];
        system.read(&caller, &handle, page as u64 * 4096, &mut bytes).unwrap();
        assert_eq!(u64::from_le_bytes(bytes), *number, "page {page}");
    }
    system.close(handle).unwrap();
    assert!(esker_scm::check(&system.unmount().unwrap()).unwrap().is_sound());
}

/// A file of two runs in a pool of eight, overwritten from its beginning to its end again and again: it moves as runs,
/// and stays in few pieces.
#[test]
fn a_file_that_is_written_evenly_moves_in_runs() {
    let system = FileSystem::mount(Counting::new(&new_pool(8 * 512)), Mode::Data).unwrap();
    let caller = Caller::root(Moment(1));
    let handle =
        system.open(system.make(&caller, ROOT, b"file", &NewFile::new(Kind::File, 0o644)).unwrap().number).unwrap();
    let (size, passes) = (4_u64 << 20, 2800_u64);
    system.write(&caller, &handle, 0, &vec![0; size as usize]).unwrap();
    let stores = || system.persist().stores.iter().map(|stores| stores.load(Ordering::Relaxed));
    for pass in 0..passes {
        for at in (0..size).step_by(4096) {
            system.write(&caller, &handle, at, &[pass as u8; 4096]).unwrap();
        }
    }
    let free = system.statistics().unwrap().capacity / 4096;
    let (total, most, writes) = (stores().sum::<u64>(), stores().max().unwrap(), passes * size / 4096);
    let mean = total / free;
    assert!(total <= writes * 105 / 100, "{total} stores for {writes} writes");
    assert!(most <= 2 * mean, "the most-written page has {most} stores, the mean is {mean}");
    let mut bytes = vec![0; size as usize];
    assert_eq!(system.read(&caller, &handle, 0, &mut bytes), Ok(size as usize));
    assert!(bytes.iter().all(|&byte| byte == (passes - 1) as u8));
    system.close(handle).unwrap();
    let report = esker_scm::check(&system.unmount().unwrap()).unwrap();
    assert!(report.is_sound() && report.pieces <= 2, "{report:?}");
}
