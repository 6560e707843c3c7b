//! Compares the array with a plain scheduler that goes from event to event and computes nothing ahead.

mod reference;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use esker_core::{Bytes, PhysicalPage};
use proptest::prelude::*;

use super::*;
use crate::array::{Decoding, DecodingStep, ModeTiming, Timing};
use crate::state::{Cause, FlashOp, FlashOpKind, OpIndex, OpModes, Transfer, WRITE_MODES, WriteMode};
use crate::{
    BlockIndex, CopyBack, FlashArraySettings, Gang, GangControl, GeometrySettings, MultiPlane, PoolScope, Scheduling,
    SuspendSettings,
};

/// An array of the given shape. Each die has two planes of one block of four pages.
fn shape(channels: u32, packages_per_channel: u32, dies_per_package: u32) -> GeometrySettings {
    GeometrySettings {
        channels,
        packages_per_channel,
        dies_per_package,
        planes_per_die: 2,
        blocks_per_plane: 1,
        pages_per_block: 4,
        page_size: Bytes(512),
        spare_size: Bytes(0),
        units_per_page: 1,
    }
}

struct Settings {
    geometry: GeometrySettings,
    array: FlashArraySettings,
    pool: PoolScope,
}

impl Settings {
    fn wiring(&self) -> Wiring<'_> {
        Wiring { geometry: &self.geometry, array: &self.array, pool: self.pool }
    }
}

fn settings(pool: PoolScope, copy_back: CopyBack) -> Settings {
    Settings {
        geometry: shape(2, 2, 2),
        array: FlashArraySettings { copy_back, ..FlashArraySettings::default() },
        pool,
    }
}

/// Creates an array with the event-by-event scheduler, even if the settings do not need it.
fn by_event(settings: &Settings, timing: &Timing) -> Array {
    let geometry = Geometry::new(&settings.wiring().seen(), false).unwrap();
    Array::by_event(&geometry, timing, &settings.wiring())
}

const PAGES_PER_DIE: u32 = 8;
const PLANES_PER_DIE: u32 = 2;

/// A randomly drawn operation. Dies and ties are made legal later.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    kind: u8,
    die: u32,
    other: u32,
    more_steps: u8,
    host: bool,
    after: Option<prop::sample::Index>,
    /// Whether it is a program on the die of the operation before it, for the same cause, that waits for the end of
    /// that operation.
    chained: bool,
    /// Number of copies in a run.
    count: u32,
    /// The modes of its pages, if the array has several.
    modes: (usize, usize),
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let kind = prop_oneof![
        4 => Just(0u8), 4 => Just(1), 1 => Just(2), 1 => Just(3), 4 => Just(4), 1 => Just(5), 2 => Just(6)
    ];
    let after = prop::option::weighted(0.3, any::<prop::sample::Index>());
    let chained = prop::bool::weighted(0.2);
    let modes = (0..WRITE_MODES, 0..WRITE_MODES);
    (kind, 0..1000u32, 0..1000u32, 0..4u8, any::<bool>(), after, chained, 1..40u32, modes).prop_map(
        |(kind, die, other, more_steps, host, after, chained, count, modes)| Drawn {
            kind,
            die,
            other,
            more_steps,
            host,
            after,
            chained,
            count,
            modes,
        },
    )
}

/// Lists of operations, and the times between them.
fn lists() -> impl Strategy<Value = Vec<(u64, Vec<Drawn>)>> {
    let gap = prop_oneof![8 => 0u64..60, 1 => 0u64..3000];
    let list = prop::collection::vec(drawn(), 1..8).prop_map(|mut list| {
        for index in 1..list.len() {
            if list[index].chained {
                let before = list[index - 1];
                list[index] = Drawn { kind: 1, die: before.die, host: before.host, ..list[index] };
            }
        }
        list
    });
    prop::collection::vec((gap, list), 1..16)
}

fn to_ops(list: &[Drawn], geometry: &Geometry, one_channel: bool) -> Vec<FlashOp> {
    let width = geometry.dies_per_channel();
    let channel = list.first().map_or(0, |op| op.die % geometry.dies() / width * width);
    let page = |die: u32, index: usize| {
        let die = if one_channel { channel + die % width } else { die % geometry.dies() };
        PhysicalPage(die * PAGES_PER_DIE + index as u32 % PAGES_PER_DIE)
    };
    list.iter()
        .enumerate()
        .map(|(index, op)| {
            let at = page(op.die, index);
            let host = op.host && op.kind != 6;
            let kind = match op.kind {
                0 => FlashOpKind::Read { page: at },
                1 => FlashOpKind::Program { page: at, transfer: Transfer::Page },
                2 => FlashOpKind::Program { page: at, transfer: Transfer::Sector },
                3 => FlashOpKind::Erase { block: BlockIndex(at.0 / 4) },
                5 => FlashOpKind::ReadSpare { page: at },
                6 if op.other % 2 == 0 => {
                    FlashOpKind::CopyRun { from: at, to: page(op.die, index + 1), count: op.count }
                }
                6 => FlashOpKind::CopyRun { from: at, to: page(op.other, index + 1), count: op.count },
                // Half of the copies stay on their die, and form runs.
                _ if op.other % 2 == 0 => FlashOpKind::Copy { from: at, to: page(op.die, index + 1) },
                _ => FlashOpKind::Copy { from: at, to: page(op.other, index + 1) },
            };
            let cause = if host { Cause::Host } else { Cause::Cleaning };
            let modes = OpModes::new(WriteMode::ALL[op.modes.0], WriteMode::ALL[op.modes.1]);
            let before = match op.after {
                _ if index == 0 => None,
                _ if op.chained => Some(index - 1),
                after => after.map(|after| after.index(index)),
            };
            let after = before.map(|before| OpIndex(before as u32));
            FlashOp { kind, cause, after, awaited: cause == Cause::Host, modes }
        })
        .collect()
}

/// Splits runs of copies into single copies. Returns each operation with its index in `ops`.
fn one_by_one(ops: &[FlashOp]) -> Vec<(usize, FlashOp)> {
    let mut single = Vec::new();
    let mut last_of = Vec::new();
    for (place, op) in ops.iter().enumerate() {
        let after = op.after.map(|OpIndex(after)| last_of[after as usize]);
        match op.kind {
            FlashOpKind::CopyRun { from, to, count } => {
                single.push((place, FlashOp { kind: FlashOpKind::Copy { from, to }, after, ..*op }));
                let again = FlashOp { kind: FlashOpKind::Copy { from, to }, after: None, ..*op };
                single.extend((1..count).map(|_| (place, again)));
            }
            _ => single.push((place, FlashOp { after, ..*op })),
        }
        last_of.push(OpIndex(single.len() as u32 - 1));
    }
    single
}

/// Returns, per request, when its first operation began and its last one ended.
fn spans(log: &[(u32, u64, u64)]) -> BTreeMap<u32, (u64, u64)> {
    let mut spans = BTreeMap::new();
    for &(request, start, end) in log {
        let span = spans.entry(request).or_insert((start, end));
        *span = (span.0.min(start), span.1.max(end));
    }
    spans
}

/// Decoding steps of reads beyond the first; empty if nothing is decoded.
fn more_steps(list: &[Drawn], ops: &[FlashOp], timing: &Timing) -> Vec<u8> {
    let reads = |op: &FlashOp| matches!(op.kind, FlashOpKind::Read { .. } | FlashOpKind::Copy { .. });
    let decodes = |op: &FlashOp| reads(op) && timing.decoding_of(op.modes.read()).is_on;
    match timing.decodes() {
        true => list.iter().zip(ops).map(|(drawn, op)| if decodes(op) { drawn.more_steps } else { 0 }).collect(),
        false => Vec::new(),
    }
}

/// Runs both schedulers and compares when host operations began and ended, and the busy times of dies and buses.
fn compare(
    mut array: Array,
    lists: &[(u64, Vec<Drawn>)],
    timing: &Timing,
    settings: &Settings,
) -> Result<(), TestCaseError> {
    let (pool, copies) = (settings.pool, settings.array.copy_back);
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let (dies, dies_per_channel) = (geometry.dies() as usize, geometry.dies_per_channel() as usize);
    let dies_per_bus = match settings.array.gang {
        Gang::SharedControl => settings.geometry.dies_per_package as usize,
        _ => dies_per_channel,
    };
    let shares_strobes =
        settings.array.gang == Gang::SharedControl && settings.array.gang_control == GangControl::Strobes;
    let gang = shares_strobes.then_some(dies_per_channel);
    let units = settings.geometry.units_per_page;
    let mut reference = reference::Scheduler::new(timing, dies, dies_per_bus, gang, units > 1);
    let located = |page: PhysicalPage, copies: bool, mode: WriteMode| reference::OpLocation {
        plane: page.0 / 4,
        flash_page: page.0 / units,
        copies,
        mode,
    };
    let mut log = Vec::new();
    let mut ended = Vec::new();
    let mut run_until = |array: &mut Array, reference: &mut reference::Scheduler, limit: u64| {
        while array.next_event().0 <= limit && array.next_event() != Nanos::NEVER {
            let now = array.next_event();
            array.advance(now, &mut ended);
            log.extend(
                ended.drain(..).map(|ended| (ended.waiter.slot().expect("a request waits"), ended.start.0, now.0)),
            );
        }
        while let Some(next) = reference.next().filter(|next| *next <= limit) {
            reference.step(next);
        }
    };
    let mut now = 0;
    let mut told = Vec::new();
    for (request, (gap, list)) in lists.iter().enumerate() {
        now += gap;
        run_until(&mut array, &mut reference, now);
        let mut ops = to_ops(list, &geometry, pool != PoolScope::Device);
        if copies != CopyBack::Off {
            ops.iter_mut().for_each(|op| op.modes = OpModes::default());
        }
        let more_steps = more_steps(list, &ops, timing);
        let single = one_by_one(&ops);
        let host = match array.takes_runs() {
            true => array.push(Nanos(now), &ops, &more_steps, Waiter::request(request as u32), None),
            false => {
                let (places, ops): (Vec<usize>, Vec<FlashOp>) = single.iter().copied().unzip();
                let more: Vec<u8> = places.iter().filter_map(|place| more_steps.get(*place).copied()).collect();
                array.push(Nanos(now), &ops, &more, Waiter::request(request as u32), None)
            }
        };
        told.push(host);
        let mut last_of = Vec::new();
        for (place, op) in &single {
            let more = more_steps.get(*place).copied().unwrap_or(0);
            let die = |page: PhysicalPage| (page.0 / PAGES_PER_DIE) as usize;
            let after = op.after.map(|OpIndex(after)| last_of[after as usize]);
            let request = (op.cause == Cause::Host).then_some(request as u32);
            let mut push = |step: reference::Step, page: PhysicalPage, copies, more, after, request| {
                let mode = if step.is_read() { op.modes.read() } else { op.modes.program() };
                reference.push(now, die(page), step, located(page, copies, mode), more, after, request)
            };
            let last = match op.kind {
                FlashOpKind::Read { page } => push(reference::Step::Read, page, false, more, after, request),
                FlashOpKind::ReadSpare { page } => push(reference::Step::ReadSector, page, false, 0, after, request),
                FlashOpKind::Program { page, transfer: Transfer::Page } => {
                    push(reference::Step::Program, page, false, 0, after, request)
                }
                FlashOpKind::Program { page, transfer: Transfer::Sector } => {
                    push(reference::Step::ProgramSector, page, false, 0, after, request)
                }
                FlashOpKind::Erase { block } => {
                    push(reference::Step::Erase, PhysicalPage(block.0 * 4), false, 0, after, request)
                }
                FlashOpKind::Copy { from, to } if copies != CopyBack::Off && from.0 / 4 == to.0 / 4 => {
                    let checked = copies == CopyBack::Checked;
                    let step = if checked { reference::Step::CopyBackChecked } else { reference::Step::CopyBack };
                    push(step, from, false, 0, after, request)
                }
                FlashOpKind::Copy { from, to } => {
                    let read = push(reference::Step::Read, from, true, more, after, None);
                    push(reference::Step::Program, to, true, 0, Some(read), request)
                }
                FlashOpKind::CopyRun { .. } => unreachable!("runs were taken apart"),
            };
            last_of.push(last);
        }
        reference.step(now);
    }
    run_until(&mut array, &mut reference, u64::MAX - 1);
    log.sort_unstable();
    reference.log.sort_unstable();
    prop_assert_eq!(spans(&log), spans(&reference.log));
    for (request, told) in (0..).zip(told) {
        prop_assert_eq!(log.iter().filter(|(of, ..)| *of == request).count(), told as usize);
    }
    // Not every end is reported, and a reported one may cover earlier operations.
    let ends: BTreeSet<(u32, u64)> = reference.log.iter().map(|(request, _, end)| (*request, *end)).collect();
    let starts: BTreeSet<(u32, u64)> = reference.log.iter().map(|(request, start, _)| (*request, *start)).collect();
    for (request, start, end) in &log {
        prop_assert!(starts.contains(&(*request, *start)) && ends.contains(&(*request, *end)));
    }
    if !array.decides_in_runs() {
        prop_assert_eq!(&log, &reference.log);
    }
    array.settle(Nanos(u64::MAX - 1));
    let busy: Vec<u64> = array.bus_busy().iter().map(|busy| busy.0).collect();
    prop_assert_eq!(&busy, &reference.bus_busy);
    let busy: Vec<u64> = array.die_busy().iter().map(|busy| busy.0).collect();
    prop_assert_eq!(&busy, &reference.die_busy);
    array.check_tally();
    Ok(())
}

/// Short times, so that many of them coincide.
fn timing() -> impl Strategy<Value = Timing> {
    (1u64..12, 1u64..20, 1u64..40, 1u64..10, 1u64..4).prop_map(|(read, program, erase, page, sector)| Timing {
        page_read: Nanos(read),
        page_program: Nanos(program),
        block_erase: Nanos(erase),
        blocks_per_erase: 1,
        page_transfer: Nanos(page.max(sector)),
        sector_transfer: Nanos(sector),
        decoding: Decoding::default(),
        other_modes: Default::default(),
    })
}

/// Times of pages of other modes, some of which may be decoded.
fn other_modes() -> impl Strategy<Value = [ModeTiming; WRITE_MODES - 1]> {
    let mode = (1u64..12, 1u64..20, decoding()).prop_map(|(read, program, decoding)| ModeTiming {
        page_read: Nanos(read),
        page_program: Nanos(program),
        decoding,
    });
    prop::array::uniform3(mode)
}

/// No decoding, or four steps.
fn decoding() -> impl Strategy<Value = Decoding> {
    let step =
        (1u64..20, 1u64..10, 0u64..15).prop_map(|(sense, transfer, decode)| DecodingStep { sense, transfer, decode });
    prop::option::of(prop::array::uniform8(step))
        .prop_map(|steps| steps.map_or_else(Decoding::default, |steps| Decoding { is_on: true, steps }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn both_schedulers_give_the_times_of_a_plain_one(
        lists in lists(),
        timing in timing(),
        decoding in decoding(),
        other_modes in other_modes(),
        device_pool: bool,
        (channels, packages, dies) in (1u32..4, 1u32..4, 1u32..4),
        copies in prop::sample::select(vec![CopyBack::Off, CopyBack::Unchecked, CopyBack::Checked]),
        units_per_page in prop::sample::select(vec![1u32, 1, 2, 4]),
    ) {
        // Pages that are decoded cannot be copied inside a plane, nor can units of a flash page.
        let copies = if decoding.is_on || units_per_page > 1 { CopyBack::Off } else { copies };
        let timing = Timing { decoding, other_modes, ..timing };
        let pool = if device_pool { PoolScope::Device } else { PoolScope::Gang };
        let mut settings = settings(pool, copies);
        settings.geometry = GeometrySettings { units_per_page, ..shape(channels, packages, dies) };
        let geometry = Geometry::new(&settings.geometry, false).unwrap();
        let array = Array::new(&geometry, &timing, &settings.wiring());
        prop_assert!(array.decides_in_runs());
        compare(array, &lists, &timing, &settings)?;
        compare(by_event(&settings, &timing), &lists, &timing, &settings)?;
        settings.array.gang = Gang::SharedControl;
        for control in [GangControl::Strobes, GangControl::Commands] {
            settings.array.gang_control = control;
            compare(by_event(&settings, &timing), &lists, &timing, &settings)?;
        }
    }
}

/// Times that tell the operations apart.
fn small_timing() -> Timing {
    Timing {
        page_read: Nanos(3),
        page_program: Nanos(5),
        block_erase: Nanos(11),
        blocks_per_erase: 1,
        page_transfer: Nanos(2),
        sector_transfer: Nanos(1),
        decoding: Decoding::default(),
        other_modes: Default::default(),
    }
}

/// Runs until everything is done. Returns the start times of host operations by their end times.
fn run_out(array: &mut Array) -> BTreeMap<u64, Vec<u64>> {
    let mut times = BTreeMap::new();
    let mut ended = Vec::new();
    let mut seen = BTreeSet::new();
    while array.next_event() != Nanos::NEVER {
        let now = array.next_event();
        assert!(seen.insert(now) || ended.is_empty(), "an instant came twice");
        array.advance(now, &mut ended);
        for ended in ended.drain(..) {
            times.entry(now.0).or_insert_with(Vec::new).push(ended.start.0);
        }
    }
    times
}

/// Agrawal 2008, section 3.3: while one package does a long erase, the others can read.
#[test]
fn an_erase_does_not_hold_the_control_lines_of_its_gang() {
    let mut settings = settings(PoolScope::Package, CopyBack::Off);
    settings.array.gang = Gang::SharedControl;
    settings.geometry = shape(1, 2, 1);
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let mut array = by_event(&settings, &small_timing());
    let op = |kind| FlashOp { kind, cause: Cause::Host, after: None, awaited: true, modes: OpModes::default() };
    let read = |die: u32| op(FlashOpKind::Read { page: PhysicalPage(die * PAGES_PER_DIE) });
    let erase = op(FlashOpKind::Erase { block: geometry.block_of(PhysicalPage(0)) });
    // The erase in one package ends at 11. Meanwhile the other package reads, then programs. The first package reads
    // while that program is still under way.
    let program = op(FlashOpKind::Program { page: PhysicalPage(PAGES_PER_DIE + 1), transfer: Transfer::Page });
    array.push(Nanos(0), &[erase, read(1), program, read(0)], &[], Waiter::request(9), None);
    assert_eq!(run_out(&mut array), BTreeMap::from([(5, vec![0]), (11, vec![0]), (12, vec![5]), (16, vec![11])]));
}

/// Two pieces of a block share its erase, on both schedulers.
#[test]
fn the_pieces_of_a_block_share_its_erase() {
    let mut settings = settings(PoolScope::Package, CopyBack::Off);
    settings.geometry = shape(1, 1, 1);
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let timing = Timing { blocks_per_erase: 2, ..small_timing() };
    let op = |kind| FlashOp { kind, cause: Cause::Host, after: None, awaited: true, modes: OpModes::default() };
    let erase = |block| op(FlashOpKind::Erase { block: BlockIndex(block) });
    let read = op(FlashOpKind::Read { page: PhysicalPage(0) });
    for mut array in [Array::new(&geometry, &timing, &settings.wiring()), by_event(&settings, &timing)] {
        // Block 1 takes no time, block 0 that of the whole block: 11. A read takes 3 in the cells and 2 over the bus.
        let ops = [erase(1), read, erase(0), read, erase(1), read];
        assert_eq!(array.push(Nanos(0), &ops, &[], Waiter::request(9), None), 4);
        let ends = BTreeMap::from([(5, vec![0]), (16, vec![5]), (21, vec![16]), (26, vec![21])]);
        assert_eq!(run_out(&mut array), ends);
        #[cfg(debug_assertions)]
        array.check_tally();
    }
}

/// Four units per flash page, on both schedulers.
#[test]
fn units_of_one_flash_page_are_sensed_once() {
    let mut settings = settings(PoolScope::Package, CopyBack::Off);
    settings.geometry = GeometrySettings { units_per_page: 4, ..shape(1, 1, 1) };
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let page = PhysicalPage;
    let read = |number| FlashOpKind::Read { page: page(number) };
    let copy = |from, to| FlashOpKind::Copy { from: page(from), to: page(to) };
    let program = FlashOpKind::Program { page: page(3), transfer: Transfer::Page };
    let times = |lists: &[(u64, &[FlashOpKind])]| {
        let run = |mut array: Array| {
            let (mut ended, mut ends) = (Vec::new(), Vec::new());
            let mut run_until = |array: &mut Array, limit: u64| {
                while array.next_event().0 < limit {
                    let now = array.next_event();
                    array.advance(now, &mut ended);
                    ends.extend(ended.drain(..).map(|_| now.0));
                }
            };
            for (at, kinds) in lists {
                run_until(&mut array, *at);
                let op = |kind: &FlashOpKind| FlashOp {
                    kind: *kind,
                    cause: Cause::Host,
                    after: None,
                    awaited: true,
                    modes: OpModes::default(),
                };
                let ops: Vec<FlashOp> = kinds.iter().map(op).collect();
                array.push(Nanos(*at), &ops, &[], Waiter::request(9), None);
            }
            run_until(&mut array, u64::MAX);
            ends
        };
        let in_runs = run(Array::new(&geometry, &small_timing(), &settings.wiring()));
        assert_eq!(in_runs, run(by_event(&settings, &small_timing())));
        in_runs
    };
    // Sensing takes 3, a transfer 2: the second unit is in the register, and that of the other plane is not.
    assert_eq!(times(&[(0, &[read(0), read(1), read(4), read(2)])]), [5, 7, 12, 14]);
    // A read that arrives while the one before it is under way, or as it ends, finds the page in the register; a later
    // one does not.
    assert_eq!(times(&[(0, &[read(0)]), (4, &[read(1)]), (7, &[read(2)]), (10, &[read(3)])]), [5, 7, 9, 15]);
    // A program overwrites the register.
    assert_eq!(times(&[(0, &[read(0), program, read(1)])]), [5, 12, 17]);
    // Copies to the same plane find each other's source page; other reads do not.
    assert_eq!(times(&[(0, &[copy(0, 2), copy(1, 3), read(0)])]), [12, 21, 26]);
    assert_eq!(times(&[(0, &[copy(0, 2), program, copy(1, 3)])]), [12, 19, 28]);
    assert_eq!(times(&[(0, &[copy(0, 4), copy(1, 5), read(2)])]), [12, 21, 23]);
}

#[test]
fn several_operations_may_wait_for_the_same_one() {
    let geometry = Geometry::new(&shape(2, 2, 2), false).unwrap();
    let mut array = Array::new(&geometry, &small_timing(), &settings(PoolScope::Gang, CopyBack::Off).wiring());
    let read = |die: u32, after| FlashOp {
        kind: FlashOpKind::Read { page: PhysicalPage(die * PAGES_PER_DIE) },
        cause: Cause::Host,
        after,
        awaited: true,
        modes: OpModes::default(),
    };
    array.push(
        Nanos(0),
        &[read(0, None), read(1, Some(OpIndex(0))), read(2, Some(OpIndex(0)))],
        &[],
        Waiter::request(9),
        None,
    );
    // The first one ends at 5; those that wait for it report for it.
    assert_eq!(run_out(&mut array), BTreeMap::from([(10, vec![0]), (12, vec![0])]));
}

/// An operation together with all reads of its page.
struct Whole {
    /// The first of them.
    first: Performed,
    /// When the last one ended.
    end: Nanos,
    readings: u32,
}

/// Asserts that every pushed operation is done once, and that none overtakes one that it depends on.
fn check_order(
    lists: &[Vec<FlashOp>],
    performed: &BTreeMap<u64, Whole>,
    settings: &Settings,
    timing: &Timing,
) -> Result<(), TestCaseError> {
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    // The latest time at which the first step of an operation can have begun.
    let begun =
        |op: &Whole| op.first.end.0 - op.first.step.cells(timing, op.first.mode) - op.first.step.transfer(timing);
    let reads = |step: DieStep| step.leaves_page_in_register();
    let mut sequence = 0;
    let mut copies: Vec<(BlockIndex, u64)> = Vec::new();
    for ops in lists {
        let mut places = Vec::new();
        for op in ops {
            let first = sequence;
            match op.kind {
                FlashOpKind::Copy { from, to } if !settings.array.copy_back.applies(&geometry, from, to) => {
                    sequence += 1;
                    prop_assert!(performed[&first].end.0 <= begun(&performed[&sequence]));
                    copies.push((geometry.block_of(from), sequence));
                }
                FlashOpKind::Erase { block } if settings.array.scheduling != Scheduling::Fifo => {
                    for (_, copy) in copies.iter().filter(|(from, _)| *from == block) {
                        prop_assert!(performed[copy].end.0 <= begun(&performed[&first]), "erased before it was copied");
                    }
                }
                _ => {}
            }
            if let Some(OpIndex(after)) = op.after {
                let (_, last) = places[after as usize];
                prop_assert!(performed[&last].end.0 <= begun(&performed[&first]), "{:?}", op);
            }
            places.push((first, sequence));
            sequence += 1;
        }
    }
    prop_assert_eq!(performed.len() as u64, sequence);
    for (sequence, op) in performed {
        for (_, later) in performed.range(sequence + 1..).filter(|(_, later)| later.first.block == op.first.block) {
            let conflict = match (op.first.step, later.first.step) {
                (DieStep::Erase, _) | (_, DieStep::Erase) => true,
                (one, other) if reads(one) && reads(other) => false,
                (one, other) if reads(one) || reads(other) => op.first.page == later.first.page,
                _ => true,
            };
            prop_assert!(!conflict || op.end.0 <= begun(later), "{:?} went ahead of {:?}", later.first, op.first);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_order_does_everything_once_and_keeps_dependencies(
        lists in lists(),
        timing in timing(),
        decoding in decoding(),
        other_modes in other_modes(),
        (channels, packages, dies) in (1u32..3, 1u32..4, 1u32..3),
        scheduling in prop::sample::select(vec![Scheduling::Fifo, Scheduling::ReadsFirst, Scheduling::OutOfOrder]),
        multi_plane in prop::sample::select(vec![MultiPlane::Off, MultiPlane::Pairs, MultiPlane::Any]),
        control in prop::option::of(prop::sample::select(vec![
            GangControl::Strobes,
            GangControl::Strobes,
            GangControl::Commands,
            GangControl::Rounds,
        ])),
        suspend in prop::option::of((0u64..6, 0u64..6, 1u32..3)),
        copies in prop::sample::select(vec![CopyBack::Off, CopyBack::Unchecked, CopyBack::Checked]),
        units_per_page in prop::sample::select(vec![1u32, 2, 4]),
        measured_from in 0usize..20,
    ) {
        let copies = if decoding.is_on || units_per_page > 1 { CopyBack::Off } else { copies };
        let timing = Timing { decoding, other_modes, ..timing };
        let mut settings = settings(PoolScope::Device, copies);
        settings.geometry = GeometrySettings { units_per_page, ..shape(channels, packages, dies) };
        settings.array.scheduling = scheduling;
        settings.array.multi_plane = multi_plane;
        if let Some(control) = control {
            (settings.array.gang, settings.array.gang_control) = (Gang::SharedControl, control);
        }
        if control != Some(GangControl::Rounds) && scheduling != Scheduling::Fifo {
            settings.array.suspend = suspend.map(|(suspend, resume, limit)| SuspendSettings {
                suspend: Nanos(suspend),
                resume: Nanos(resume),
                limit,
            });
        }
        let geometry = Geometry::new(&settings.geometry, false).unwrap();
        let mut array = Array::recording(&geometry, &timing, &settings.wiring());
        let (mut pushed, mut performed, mut ended) = (Vec::new(), BTreeMap::new(), Vec::new());
        let (mut now, mut host, mut readings) = (0, 0, 0);
        let mut run_until = |array: &mut Array, limit: u64| {
            while array.next_event() < Nanos(limit) {
                let at = array.next_event();
                array.advance(at, &mut ended);
                for op in array.performed() {
                    let whole = performed.entry(op.sequence).or_insert(Whole { first: op, end: op.end, readings: 0 });
                    assert_eq!(op.step == DieStep::ReadAgain, whole.readings > 0);
                    (whole.end, whole.readings) = (op.end, whole.readings + 1);
                }
            }
        };
        for (request, (gap, list)) in lists.iter().enumerate() {
            now += gap;
            run_until(&mut array, now);
            if request == measured_from {
                array.reset_busy();
            }
            let mut ops = to_ops(list, &geometry, false);
            if copies != CopyBack::Off {
                ops.iter_mut().for_each(|op| op.modes = OpModes::default());
            }
            let more_steps = more_steps(list, &ops, &timing);
            let single = one_by_one(&ops);
            let more_steps: Vec<u8> = single.iter().filter_map(|(place, _)| more_steps.get(*place).copied()).collect();
            let ops: Vec<FlashOp> = single.into_iter().map(|(_, op)| op).collect();
            readings += more_steps.iter().map(|more| u32::from(*more)).sum::<u32>();
            host += array.push(Nanos(now), &ops, &more_steps, Waiter::request(request as u32), None) as usize;
            pushed.push(ops);
        }
        run_until(&mut array, u64::MAX);
        prop_assert_eq!(ended.len(), host);
        let done: u32 = performed.values().map(|op| op.readings - 1).sum();
        prop_assert_eq!(done, readings, "pages that were not decoded were read again");
        check_order(&pushed, &performed, &settings, &timing)?;
        array.check_tally();
    }
}
