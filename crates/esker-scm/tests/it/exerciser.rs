//! Random reads and writes of one file, in all ways, beside its bytes: what fsx does to a file of a mount, done by
//! calls of the library.

use crate::long::new_mapped_pool;
use esker_core::Rng;
use esker_scm::{
    Allocate, Caller, CleanerSettings, FileSystem, Handle, Kind, Mapped, Mode, Moment, NewFile, ROOT, check,
};
use std::path::Path;

/// Most bytes of the file, as fsx has them.
const FILE: u64 = 256 << 10;
/// Most bytes of an operation.
const STEP: u64 = 64 << 10;

struct Exerciser<'a> {
    path: &'a Path,
    mode: Mode,
    /// None only while the pool is mounted again.
    mounted: Option<(FileSystem<Mapped>, Handle)>,
    /// What the file has to have.
    expected: Vec<u8>,
    rng: Rng,
}

impl Exerciser<'_> {
    fn new(path: &Path, mode: Mode, seed: u64) -> Exerciser<'_> {
        let mut exerciser = Exerciser { path, mode, mounted: None, expected: Vec::new(), rng: Rng::new(seed) };
        exerciser.mount();
        exerciser
    }

    fn caller() -> Caller<'static> {
        Caller::root(Moment(1))
    }

    fn mount(&mut self) {
        let system = FileSystem::mount(Mapped::open(self.path).unwrap(), self.mode).unwrap();
        let found = system.lookup(&Self::caller(), ROOT, b"file");
        let new = NewFile::new(Kind::File, 0o644);
        let number = found.or_else(|_| system.make(&Self::caller(), ROOT, b"file", &new)).unwrap().number;
        let handle = system.open(number).unwrap();
        self.mounted = Some((system, handle));
    }

    fn unmount(&mut self) {
        let (system, handle) = self.mounted.take().unwrap();
        system.close(handle).unwrap();
        let report = check(&system.unmount().unwrap()).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
    }

    fn mounted(&self) -> &(FileSystem<Mapped>, Handle) {
        self.mounted.as_ref().unwrap()
    }

    fn size(&self) -> u64 {
        self.expected.len() as u64
    }

    /// A range that may end beyond the file, but not beyond its most bytes.
    fn range(&mut self) -> (u64, u64) {
        let offset = self.rng.below(FILE);
        (offset, 1 + self.rng.below(STEP.min(FILE - offset)))
    }

    fn grow_to(&mut self, end: u64) {
        let size = self.size().max(end);
        self.expected.resize(size as usize, 0);
    }

    fn read(&mut self) {
        let (offset, length) = self.range();
        let mut found = vec![0xa5; length as usize];
        let (system, handle) = self.mounted();
        let read = system.read(&Self::caller(), handle, offset, &mut found).unwrap();
        let within = offset.min(self.size()) as usize..(offset + length).min(self.size()) as usize;
        assert!(found[..read] == self.expected[within], "{length} bytes at {offset}");
    }

    fn write(&mut self, is_append: bool) {
        let (mut offset, mut length) = self.range();
        if is_append {
            (offset, length) = (self.size(), length.min(FILE - self.size()));
        }
        let value = 1 + self.rng.below(255);
        let bytes: Vec<u8> = (0..length).map(|at| (value + at * 7) as u8).collect();
        let (system, handle) = self.mounted();
        let written = match is_append {
            true => system.append(&Self::caller(), handle, &bytes).unwrap(),
            false => (offset, system.write(&Self::caller(), handle, offset, &bytes).unwrap()),
        };
        assert_eq!(written, (offset, length as usize));
        self.grow_to(offset + length);
        self.expected[offset as usize..(offset + length) as usize].copy_from_slice(&bytes);
    }

    fn truncate(&mut self) {
        let size = self.rng.below(FILE);
        let (system, handle) = self.mounted();
        system.set_size(&Self::caller(), handle, size).unwrap();
        self.expected.resize(size as usize, 0);
    }

    fn allocate(&mut self) {
        let (offset, length) = self.range();
        let ways = [
            Allocate::Extend,
            Allocate::KeepSize,
            Allocate::PunchHole,
            Allocate::ZeroRange,
            Allocate::ZeroRangeKeepSize,
        ];
        let way = ways[self.rng.below(5) as usize];
        let (system, handle) = self.mounted();
        system.allocate(&Self::caller(), handle, offset, length, way).unwrap();
        if matches!(way, Allocate::Extend | Allocate::ZeroRange) {
            self.grow_to(offset + length);
        }
        if matches!(way, Allocate::PunchHole | Allocate::ZeroRange | Allocate::ZeroRangeKeepSize) {
            let within = offset.min(self.size())..(offset + length).min(self.size());
            self.expected[within.start as usize..within.end as usize].fill(0);
        }
    }

    /// Holes that are told of have zeroes.
    fn seek(&mut self) {
        let offset = self.rng.below(FILE);
        let (system, handle) = self.mounted();
        let Ok(hole) = system.seek(handle, offset, true) else { return assert!(offset >= self.size()) };
        let data = system.seek(handle, hole, false).unwrap_or(self.size());
        assert!(hole <= data && data <= self.size(), "a hole from {hole} to {data}");
        assert!(self.expected[hole as usize..data as usize].iter().all(|&byte| byte == 0));
    }

    fn clean(&mut self) {
        let free_percent = if self.rng.below(2) == 0 { 100 } else { 10 };
        let settings = CleanerSettings { free_percent, cold_after_seconds: 0, ..CleanerSettings::default() };
        let (system, _) = self.mounted();
        for _ in 0..4 {
            system.clean(&settings, Moment(1)).unwrap();
        }
    }

    fn operate(&mut self) {
        match self.rng.below(60) {
            0..20 => self.read(),
            20..40 => self.write(false),
            40..44 => self.write(true),
            44..46 => self.truncate(),
            46..51 => self.allocate(),
            51..54 => self.seek(),
            54..56 => self.clean(),
            56..59 => {
                let (system, handle) = self.mounted();
                if self.size().is_multiple_of(2) { system.sync(handle) } else { system.sync_data(handle) }.unwrap();
            }
            _ if self.rng.below(20) == 0 => {
                self.unmount();
                self.mount();
            }
            _ => self.compare(),
        }
    }

    fn compare(&self) {
        let (system, handle) = self.mounted();
        let mut found = vec![0xa5; FILE as usize + 1];
        assert_eq!(system.read(&Self::caller(), handle, 0, &mut found), Ok(self.expected.len()));
        assert!(found[..self.expected.len()] == self.expected);
    }
}

/// A million operations with `ESKER_SOAK`.
#[test]
fn a_file_has_what_was_written_to_it() {
    let operations = if std::env::var_os("ESKER_SOAK").is_some() { 1_000_000 } else { 9000 };
    for (seed, mode) in [Mode::None, Mode::Metadata, Mode::Data].into_iter().enumerate() {
        let (_folder, path) = new_mapped_pool(8 << 20);
        let mut exerciser = Exerciser::new(&path, mode, seed as u64);
        (0..operations / 3).for_each(|_| exerciser.operate());
        exerciser.compare();
        exerciser.unmount();
    }
}
