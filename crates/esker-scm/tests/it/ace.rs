//! Sequences of one, two and ten operations, in the style of ACE: bounded black-box crash testing (Mohan et al., OSDI
//! 2018), which tries all short sequences over a few names.

use crate::crash::{Base, Bounds, enumerate, random_sequence};
use crate::drive::Driven;
use crate::operation::Operation::{self, *};
use esker_scm::{Mode, Recording};

/// The tree on which the sequences work.
pub(crate) fn base() -> Base {
    let operations = [
        MakeDirectory("/A".into()),
        MakeDirectory("/B".into()),
        Create("/A/foo".into()),
        Write("/A/foo".into(), 0, 9000, 1),
        Create("/bar".into()),
        Write("/bar".into(), 0, 100, 2),
        // A dead file, whose bytes nobody may see again.
        Create("/dead".into()),
        Write("/dead".into(), 0, 12_000, 3),
        Unlink("/dead".into()),
    ];
    Base::after(80, &operations)
}

/// The 56 operations.
pub(crate) fn operations() -> Vec<Operation> {
    let files = ["/foo", "/bar", "/A/foo", "/A/bar", "/B/foo"];
    let path = |index: usize| files[index].to_string();
    let mut all = Vec::new();
    all.extend((0..5).map(|file| Create(path(file))));
    all.extend(["/C", "/A/C", "/B/C"].map(|directory| MakeDirectory(directory.into())));
    all.extend(
        [("/A/foo", "/foo"), ("/A/foo", "/B/foo"), ("/bar", "/foo"), ("/bar", "/A/bar")]
            .map(|(from, to)| Link(from.into(), to.into())),
    );
    all.extend([Symlink("/foo".into(), "A/foo".into()), Symlink("/B/foo".into(), "x".repeat(200))]);
    all.extend(["/bar", "/A/foo", "/foo", "/A/bar"].map(|file| Unlink(file.into())));
    all.extend(["/A", "/B", "/C"].map(|directory| RemoveDirectory(directory.into())));
    let renames = [
        ("/A/foo", "/A/bar"),
        ("/A/foo", "/bar"),
        ("/bar", "/A/foo"),
        ("/bar", "/foo"),
        ("/A", "/B"),
        ("/B", "/A/C"),
        ("/A", "/C"),
        ("/foo", "/B/foo"),
    ];
    all.extend(renames.map(|(from, to)| Rename(from.into(), to.into())));
    all.extend([("/A", "/bar"), ("/A/foo", "/bar")].map(|(from, to)| Exchange(from.into(), to.into())));
    all.extend(
        [
            ("/A/foo", 0, 4096),
            ("/A/foo", 8000, 6000),
            ("/A/foo", 20_000, 100),
            ("/bar", 50, 20),
            ("/bar", 4090, 12),
            ("/foo", 0, 5000),
        ]
        .into_iter()
        .enumerate()
        .map(|(number, (file, offset, length))| Write(file.into(), offset, length, 100 + number as u64)),
    );
    all.extend(
        [("/A/foo", 3000, 200), ("/bar", 5000, 201), ("/foo", 10, 202)]
            .map(|(file, length, seed)| Append(file.into(), length, seed)),
    );
    all.extend(
        [("/A/foo", 0), ("/A/foo", 5000), ("/A/foo", 14_000), ("/bar", 4100)]
            .map(|(file, size)| Truncate(file.into(), size)),
    );
    all.extend([("/A/foo", 0, 9000), ("/A/foo", 1000, 5000)].map(|(file, at, length)| Punch(file.into(), at, length)));
    all.extend(others());
    all
}

/// Those of which there is one each.
fn others() -> [Operation; 10] {
    [
        Preallocate("/bar".into(), 0, 20_000),
        Extend("/bar".into(), 50, 9000),
        ZeroRange("/A/foo".into(), 4000, 9000),
        SetXattr("/A/foo".into(), "user.a".into(), 4321),
        SetXattr("/A".into(), "user.b".into(), 17),
        RemoveXattr("/A/foo".into(), "user.a".into()),
        Permissions("/A".into(), 0o700),
        SyncData("/A/foo".into()),
        Hold("/bar".into(), 0),
        Fifo("/A/bar".into()),
    ]
}

/// Whether everything is to be tried, which takes a long time.
fn is_soak() -> bool {
    std::env::var_os("ESKER_SOAK").is_some()
}

fn modes(number: usize) -> Mode {
    [Mode::Metadata, Mode::Data][number % 2]
}

#[test]
fn all_sequences_of_one_operation_survive_a_loss_of_power() {
    let (base, operations) = (base(), operations());
    assert_eq!(operations.len(), 56);
    let bounds =
        Bounds { states: if is_soak() { 20_000 } else { 50 }, check_every: 6, again_every: 10, states_again: 30 };
    let mut states = 0;
    for (number, operation) in operations.iter().enumerate() {
        for mode in [Mode::Metadata, Mode::Data] {
            states += enumerate(&base, std::slice::from_ref(operation), mode, bounds, number as u64)
                .unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        }
    }
    println_states("sequences of one", states);
}

#[test]
fn sequences_of_two_operations_survive_a_loss_of_power() {
    let (base, operations) = (base(), operations());
    let every = if is_soak() { 1 } else { 28 };
    let bounds =
        Bounds { states: if is_soak() { 1000 } else { 40 }, check_every: 6, again_every: 25, states_again: 10 };
    let mut states = 0;
    for number in (0..operations.len() * operations.len()).step_by(every) {
        let pair = [operations[number / 56].clone(), operations[number % 56].clone()];
        states += enumerate(&base, &pair, modes(number / every), bounds, number as u64)
            .unwrap_or_else(|error| panic!("{pair:?}: {error}"));
    }
    println_states("sequences of two", states);
}

#[test]
fn random_sequences_of_ten_operations_survive_a_loss_of_power() {
    let base = base();
    let sequences = if is_soak() { 2000 } else { 24 };
    let bounds = Bounds { states: if is_soak() { 300 } else { 40 }, check_every: 6, again_every: 25, states_again: 10 };
    let mut states = 0;
    for seed in 0..sequences {
        let operations = random_sequence(&base, 10, seed);
        states += enumerate(&base, &operations, modes(seed as usize), bounds, seed)
            .unwrap_or_else(|error| panic!("seed {seed}, {operations:?}: {error}"));
    }
    println_states("random sequences of ten", states);
}

/// A page of the mapping table is freed by the transaction that stores to it, and becomes data: recovery makes that
/// store again, and must not find data there.
#[test]
fn pages_of_the_mapping_table_that_become_data_survive_a_loss_of_power() {
    let far = 1 << 20;
    let base = base();
    let mut operations = vec![
        Create("/far".into()),
        Write("/far".into(), far, 4096, 7),
        Unlink("/far".into()),
        // It has its virtual space, and needs no page for the table later.
        Truncate("/bar".into(), 60 * 4096),
        // The null file loses its page, and the table the leaf.
        Clean { is_full: true },
    ];
    // One write takes all free pages.
    let mut driven = Driven::mount(Recording::new(base.image.clone()), Mode::Data);
    operations.iter().for_each(|operation| driven.apply(operation).unwrap());
    let free = driven.system.statistics().unwrap().free;
    operations.push(Write("/bar".into(), 4096, free, 8));
    operations.push(Write("/bar".into(), 50, 10, 9));
    let bounds = Bounds { states: 100, check_every: 6, again_every: 10, states_again: 10 };
    let states = enumerate(&base, &operations, Mode::Data, bounds, 1).unwrap();
    println_states("pages of the table that become data", states);
}

/// The last page of a run becomes its leaf as what lies behind the end of a file is freed. Whatever power leaves of
/// that, nobody sees it when the file grows again.
#[test]
fn a_run_that_is_cut_survives_a_loss_of_power() {
    let page = 4096;
    let operations = [Create("/cut".into()), Write("/cut".into(), 0, 512 * page, 1)];
    let base = Base::after(1400, &operations);
    let operations = [
        Truncate("/cut".into(), 100 * page + 5),
        Clean { is_full: true },
        Truncate("/cut".into(), 512 * page),
        Write("/cut".into(), 400 * page, 112 * page, 2),
    ];
    states_of_bounded(&base, &operations, 4);
}

/// Makes the operations on larger files, and recovers up to `most` states at each fence.
pub(crate) fn states_of_bounded(base: &Base, operations: &[Operation], most: usize) {
    let bounds = Bounds { states: most, check_every: 2, again_every: 4, states_again: 2 };
    let states = enumerate(base, operations, Mode::Data, bounds, 1).unwrap();
    assert!(states > 20, "{states}");
}

/// The cleaner works between operations, and loses power, too.
#[test]
fn the_cleaner_survives_a_loss_of_power() {
    let base = base();
    let bounds =
        Bounds { states: if is_soak() { 1000 } else { 40 }, check_every: 6, again_every: 25, states_again: 10 };
    let mut states = 0;
    for seed in 0..if is_soak() { 200 } else { 10 } {
        let operations = random_sequence(&base, 8, 1000 + seed);
        let cleaned: Vec<Operation> = (0..)
            .zip(operations)
            .flat_map(|(number, operation)| [operation, Clean { is_full: number % 2 == 0 }])
            .collect();
        states += enumerate(&base, &cleaned, modes(seed as usize), bounds, seed)
            .unwrap_or_else(|error| panic!("seed {seed}, {cleaned:?}: {error}"));
    }
    println_states("with the cleaner", states);
}

/// A full pool of files of one page each, of which every second was unlinked, and a file in what they left.
fn scattered() -> Base {
    let mut operations = Vec::new();
    for number in 0..56 {
        operations.push(Create(format!("/{number}")));
        operations.push(Write(format!("/{number}"), 0, 4096, number));
    }
    operations.extend((0..56).filter(|number| number % 3 == 1).map(|number| Unlink(format!("/{number}"))));
    operations.extend(vec![Clean { is_full: true }; 4]);
    operations.push(Create("/large".into()));
    operations.push(Write("/large".into(), 0, 6 * 4096, 100));
    Base::after(80, &operations)
}

/// Blocks are emptied for a scattered file, which then moves there, and power is lost at each fence. The same with
/// other operations before and after.
#[test]
fn evacuations_survive_a_loss_of_power() {
    let base = scattered();
    let mut driven = Driven::mount(Recording::new(base.image.clone()), Mode::Data);
    driven.apply(&Compact).unwrap();
    assert!(driven.evacuated > 0, "a block was emptied");
    let bounds =
        Bounds { states: if is_soak() { 1000 } else { 40 }, check_every: 6, again_every: 25, states_again: 10 };
    let mut states = 0;
    for seed in 0..if is_soak() { 100 } else { 4 } {
        let mut operations = vec![Write("/0".into(), 100, 3000, 200), Write("/large".into(), 5000, 9000, 201), Compact];
        if seed > 0 {
            operations.extend(random_sequence(&base, 4, 2000 + seed));
            operations.push(Compact);
        }
        states += enumerate(&base, &operations, modes(seed as usize), bounds, seed)
            .unwrap_or_else(|error| panic!("seed {seed}, {operations:?}: {error}"));
    }
    println_states("evacuations", states);
}

#[expect(clippy::print_stderr, reason = "how much was tried is part of the result")]
fn println_states(what: &str, states: usize) {
    eprintln!("{what}: {states} states recovered");
    assert!(states > 1000, "{states} states are too few to say anything");
}
