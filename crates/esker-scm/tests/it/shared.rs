//! Files whose pages clients have mapped: pages stay where they are, and the record says what is so.

use crate::drive::new_pool;
use esker_scm::{
    Allocate, Caller, Changes, CleanerSettings, FileSystem, Handle, Kind, Mode, Moment, NewFile, PAGE, Persist, ROOT,
    Recording, SharedRecord, check,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

const CALLER: Caller<'static> = Caller { user: 0, group: 0, groups: &[], now: Moment(1_000) };

#[derive(Debug, Default)]
struct Record {
    is_locked: AtomicBool,
    size: AtomicU64,
    modified: AtomicI64,
    accessed: AtomicI64,
    written: AtomicU64,
    is_unread: AtomicBool,
}

impl SharedRecord for Record {
    fn lock(&self) {
        assert!(!self.is_locked.swap(true, Ordering::Relaxed), "locked twice");
    }

    fn unlock(&self) {
        assert!(self.is_locked.swap(false, Ordering::Relaxed), "not locked");
    }

    fn set_size(&self, size: u64) {
        self.size.store(size, Ordering::Relaxed);
    }

    fn set_has_set_id(&self, _: bool) {}

    fn set_unread(&self) {
        self.is_unread.store(true, Ordering::Relaxed);
    }

    fn take_modified(&self) -> Option<Moment> {
        take(&self.modified)
    }

    fn take_written(&self) -> u64 {
        self.written.swap(0, Ordering::Relaxed)
    }

    fn take_accessed(&self) -> Option<Moment> {
        take(&self.accessed)
    }
}

fn take(time: &AtomicI64) -> Option<Moment> {
    Some(time.swap(0, Ordering::Relaxed)).filter(|&moment| moment != 0).map(Moment)
}

fn make(system: &FileSystem<Recording>, name: &str) -> Handle {
    let made = system.make(&CALLER, ROOT, name.as_bytes(), &NewFile::new(Kind::File, 0o600)).unwrap();
    system.open(made.number).unwrap()
}

/// Two files whose pages lie between each other's.
fn scattered(system: &FileSystem<Recording>) -> (Handle, Handle) {
    let (a, b) = (make(system, "a"), make(system, "b"));
    for page in 0..16 {
        for file in [&a, &b] {
            system.write(&CALLER, file, 2 * page * PAGE, &[7; PAGE as usize]).unwrap();
        }
    }
    for page in 0..16 {
        for file in [&b, &a] {
            system.write(&CALLER, file, (2 * page + 1) * PAGE, &[8; PAGE as usize]).unwrap();
        }
    }
    (a, b)
}

#[test]
fn pages_of_a_shared_file_stay_where_they_are() {
    let pool = Recording::new(new_pool(2048));
    let system = FileSystem::mount(pool, Mode::Metadata).unwrap();
    let (shared, other) = scattered(&system);
    let record = Arc::new(Record::default());
    system.share(&shared, record.clone()).unwrap();
    let before = system.stretches(&shared, 0, 64).unwrap();
    let others = system.stretches(&other, 0, 64).unwrap();
    assert!(before.len() > 4 && others.len() > 4, "both are scattered");
    // The cleaner, wear-levelling, holes and a smaller size, each of which moves or frees pages of other files.
    let settings = CleanerSettings { free_percent: 100, ..CleanerSettings::default() };
    for _ in 0..2000 {
        system.clean(&settings, Moment(i64::MAX)).unwrap();
    }
    assert_ne!(system.stretches(&other, 0, 64).unwrap(), others, "the cleaner has moved the other file");
    for _ in 0..3000 {
        system.write(&CALLER, &shared, 0, &[9; PAGE as usize]).unwrap();
    }
    system.allocate(&CALLER, &shared, 2 * PAGE, 4 * PAGE, Allocate::PunchHole).unwrap();
    system.set_size(&CALLER, &shared, PAGE).unwrap();
    assert_eq!(record.size.load(Ordering::Relaxed), PAGE);
    for _ in 0..500 {
        system.clean(&settings, Moment(i64::MAX)).unwrap();
    }
    system.set_size(&CALLER, &shared, 32 * PAGE).unwrap();
    assert_eq!(system.stretches(&shared, 0, 64).unwrap(), before);
    let mut bytes = vec![1; 33 * PAGE as usize];
    assert_eq!(system.read(&CALLER, &shared, 0, &mut bytes).unwrap(), 32 * PAGE as usize);
    assert!(bytes[..PAGE as usize].iter().all(|&byte| byte == 9));
    assert!(bytes[PAGE as usize..32 * PAGE as usize].iter().all(|&byte| byte == 0), "what was cut off is zero");
    system.unshare(&shared).unwrap();
    for _ in 0..500 {
        system.clean(&settings, Moment(i64::MAX)).unwrap();
    }
    assert_ne!(system.stretches(&shared, 0, 64).unwrap(), before, "it is like others again");
    system.close(shared).unwrap();
    system.close(other).unwrap();
    let pool = system.unmount().unwrap();
    assert!(check(&pool).unwrap().is_sound());
}

#[test]
fn what_clients_write_has_a_time_and_the_size_is_told() {
    let pool = Recording::new(new_pool(512));
    let system = FileSystem::mount(pool, Mode::Metadata).unwrap();
    let file = make(&system, "a");
    let record = Arc::new(Record::default());
    system.share(&file, record.clone()).unwrap();
    system.append(&CALLER, &file, b"12345").unwrap();
    assert_eq!(record.size.load(Ordering::Relaxed), 5);
    let place = system.stretches(&file, 0, 1).unwrap()[0];
    // As a client does it.
    system.persist().write(place.physical * PAGE, b"abc");
    record.modified.store(77_000, Ordering::Relaxed);
    assert_eq!(system.attributes(file.number()).unwrap().modified, Moment(77_000));
    system.sync(&file).unwrap();
    system.unshare(&file).unwrap();
    let mut bytes = [0; 9];
    assert_eq!(system.read(&CALLER, &file, 0, &mut bytes).unwrap(), 5);
    assert_eq!(&bytes[..5], b"abc45");
    let number = file.number();
    system.close(file).unwrap();
    let system = FileSystem::mount(system.unmount().unwrap(), Mode::Metadata).unwrap();
    assert_eq!(system.attributes(number).unwrap().modified, Moment(77_000));
    assert_eq!(system.set_size(&CALLER, &system.open(number).unwrap(), u64::MAX).unwrap_err().errno(), 27);
}

#[test]
fn times_of_clients_are_settled_by_fsync_and_end_before_those_of_later_calls() {
    let system = FileSystem::mount(Recording::new(new_pool(512)), Mode::Metadata).unwrap();
    let file = make(&system, "a");
    let record = Arc::new(Record::default());
    system.append(&CALLER, &file, b"12345").unwrap();
    system.share(&file, record.clone()).unwrap();
    let modified = || system.attributes(file.number()).unwrap().modified;
    let calls: [&dyn Fn(&Caller<'_>); 3] = [
        &|caller| assert_eq!(system.set_size(caller, &file, 3).unwrap().size, 3),
        &|caller| assert_eq!(system.write(caller, &file, 0, b"123456").unwrap(), 6),
        &|caller| assert_eq!(system.write(caller, &file, 0, b"1").unwrap(), 1),
    ];
    for (round, call) in (1..).zip(calls) {
        record.modified.store(10_000 * round, Ordering::Relaxed);
        call(&Caller::root(Moment(10_000 * round + 1)));
        assert_eq!(modified(), Moment(10_000 * round + 1), "call {round}");
    }
    record.modified.store(50_000, Ordering::Relaxed);
    system.sync(&file).unwrap();
    let pool = Recording::new(system.persist().image());
    let again = FileSystem::mount(pool, Mode::Metadata).unwrap();
    assert_eq!(again.attributes(file.number()).unwrap().modified, Moment(50_000), "it is durable");
}

/// A call, and whether it changes the file.
type Call<'a> = (&'a dyn Fn(&Caller<'_>), bool);

/// A client notes its first read after each change, whoever made that.
#[test]
fn clients_are_told_of_changes_by_others() {
    let system = FileSystem::mount(Recording::new(new_pool(512)), Mode::Metadata).unwrap();
    let file = make(&system, "a");
    system.append(&CALLER, &file, b"12345").unwrap();
    let record = Arc::new(Record::default());
    system.share(&file, record.clone()).unwrap();
    let permissions = Changes { permissions: Some(0o600), ..Changes::default() };
    let calls: [Call<'_>; 4] = [
        (&|caller| _ = system.set_attributes(caller, file.number(), &permissions).unwrap(), true),
        (&|caller| assert_eq!(system.write(caller, &file, 0, b"1").unwrap(), 1), true),
        (&|caller| assert_eq!(system.read(caller, &file, 0, &mut [0]).unwrap(), 1), false),
        (&|_| system.sync(&file).unwrap(), false),
    ];
    for (round, (call, is_change)) in (1..).zip(calls) {
        record.is_unread.store(false, Ordering::Relaxed);
        call(&Caller::root(Moment(10_000 * round)));
        assert_eq!(record.is_unread.load(Ordering::Relaxed), is_change, "call {round}");
    }
}

/// What a client read before a change is no read of what is there now.
#[test]
fn a_read_after_a_change_is_noted_although_a_client_has_read_before() {
    let system = FileSystem::mount(Recording::new(new_pool(512)), Mode::Metadata).unwrap();
    let file = make(&system, "a");
    system.append(&CALLER, &file, b"12345").unwrap();
    let record = Arc::new(Record::default());
    system.share(&file, record.clone()).unwrap();
    record.modified.store(10_000, Ordering::Relaxed);
    record.accessed.store(20_000, Ordering::Relaxed);
    let linked = system.link(&Caller::root(Moment(30_000)), file.number(), ROOT, b"b").unwrap();
    assert_eq!((linked.modified, linked.accessed), (Moment(10_000), Moment(20_000)));
    let accessed = || system.attributes(file.number()).unwrap().accessed;
    assert_eq!(accessed(), Moment(20_000));
    system.read(&Caller::root(Moment(40_000)), &file, 0, &mut [0]).unwrap();
    assert_eq!(accessed(), Moment(40_000));
}

/// What clients say that they wrote is counted as wear, spread evenly, and no more than they can have written.
#[test]
fn what_clients_write_wears_the_pages_of_the_file() {
    let pool = Recording::without_crashes(new_pool(512));
    let system = FileSystem::mount(pool, Mode::Metadata).unwrap();
    let file = make(&system, "a");
    system.write(&CALLER, &file, 0, &[1; 10 * PAGE as usize]).unwrap();
    let plan = system.header().geometry;
    let place = system.stretches(&file, 0, 10).unwrap();
    let counts = || -> Vec<u64> {
        let pages = place.iter().flat_map(|stretch| stretch.physical..stretch.physical + stretch.pages);
        let count = |page| {
            let mut bytes = [0; 4];
            system.persist().read(plan.wear * PAGE + 64 + page * 4, &mut bytes);
            u64::from(u32::from_le_bytes(bytes))
        };
        pages.map(count).collect()
    };
    let record = Arc::new(Record::default());
    system.share(&file, record.clone()).unwrap();
    record.written.store(10_003, Ordering::Relaxed);
    system.sync_all().unwrap();
    let counted = counts();
    assert_eq!(counted.len(), 10);
    assert_eq!(counted.iter().sum::<u64>(), 10_003);
    assert!(counted.iter().all(|&count| (1000..=1001).contains(&count)), "{counted:?}");
    record.written.store(u64::MAX, Ordering::Relaxed);
    system.unshare(&file).unwrap();
    system.close(file).unwrap();
    system.sync_all().unwrap();
    assert_eq!(counts().iter().sum::<u64>(), 10_003 + (1 << 24), "a wild number has its bound");
}
