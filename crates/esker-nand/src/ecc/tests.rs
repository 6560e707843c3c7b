use esker_core::Bytes;

use super::*;
use crate::state::{OpList, OpModes, OpSink, Transfer};
use crate::{DecodingStepSettings, EccCode, ErrorCount, GeometrySettings, RawErrorSettings};

const HOUR: Nanos = Nanos::from_secs(3600);

fn geometry() -> Geometry {
    let settings = GeometrySettings {
        channels: 1,
        packages_per_channel: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 2,
        pages_per_block: 8,
        page_size: Bytes::kib(4),
        spare_size: Bytes(448),
        units_per_page: 1,
    };
    Geometry::new(&settings, false).unwrap()
}

/// Each codeword gets a hundred wrong bits per hour of age. The only step corrects 350.
fn settings() -> EccSettings {
    EccSettings {
        code: EccCode::Ldpc,
        codeword: Bytes::kib(4),
        parity: None,
        steps: vec![DecodingStepSettings { corrects: 350, decode: Nanos(5), sensings: 1, transfers: 1 }],
        raw_errors: RawErrorSettings {
            fresh: 0.0,
            wear: 0.0,
            wear_exponent: 0.0,
            retention: 100.0 / (8.0 * 4544.0),
            retention_wear_exponent: 0.0,
            retention_exponent: 1.0,
            retention_unit: HOUR,
            disturb: 0.0,
            disturb_wear_exponent: 0.0,
            disturb_exponent: 0.0,
        },
        errors: ErrorCount::Expected,
        refresh_above: None,
        retention_at_start: Nanos(3 * HOUR.0),
    }
}

fn op(kind: FlashOpKind, cause: Cause, after: Option<OpIndex>) -> FlashOp {
    FlashOp { kind, cause, after, awaited: cause == Cause::Host, modes: OpModes::default() }
}
fn read(page: u32) -> FlashOp {
    op(FlashOpKind::Read { page: PhysicalPage(page) }, Cause::Host, None)
}
fn program(page: u32, after: Option<OpIndex>) -> FlashOp {
    op(FlashOpKind::Program { page: PhysicalPage(page), transfer: Transfer::Page }, Cause::Host, after)
}
fn copy(from: u32, to: u32) -> FlashOp {
    op(FlashOpKind::Copy { from: PhysicalPage(from), to: PhysicalPage(to) }, Cause::Cleaning, None)
}
fn erase(block: u32) -> FlashOp {
    op(FlashOpKind::Erase { block: BlockIndex(block) }, Cause::Cleaning, None)
}

/// An array with two pages that were programmed before the start.
fn begin(settings: &EccSettings) -> Ecc {
    let mut flash = FlashState::new(&geometry());
    let mut ops = OpList::default();
    flash.program(BlockIndex(0), 0, Cause::Host, None, &mut ops);
    flash.program(BlockIndex(0), 1, Cause::Host, None, &mut ops);
    assert_eq!(ops.emit(read(0)), OpIndex(2));
    let mut ecc = Ecc::new(settings, None, &geometry(), &geometry(), 1).unwrap();
    ecc.start(Nanos::ZERO, &flash);
    ecc
}

#[test]
fn data_age_from_the_time_that_they_were_programmed() {
    let mut ecc = begin(&settings());
    let hours = |hours: u64| Nanos(hours * HOUR.0);
    // Three hours old at the start, four an hour later.
    assert!(!ecc.judge(hours(0), &[read(0)], None));
    assert!(ecc.judge(hours(1), &[read(1)], None));
    // Pages programmed later in the same block are new.
    assert!(!ecc.judge(hours(1), &[program(2, None), read(2)], None));
    assert!(!ecc.judge(hours(4), &[read(2)], None));
    assert!(ecc.judge(hours(5), &[read(2)], None));
    // After an erase all pages are new, and their age counts from the first program.
    assert!(!ecc.judge(hours(6), &[erase(0), program(0, None)], None));
    assert!(!ecc.judge(hours(9), &[program(1, None), read(0), read(1)], None));
    assert!(ecc.judge(hours(10), &[read(1)], None));
    let counts = ecc.counts();
    assert_eq!((counts.decoded[0], counts.failed), (5, [3, 0, 0, 0, 0, 0, 0]));
    assert!((counts.worst_rate - 400.0 / (8.0 * 4544.0)).abs() < 1e-9);
}

#[test]
fn what_cannot_be_read_while_it_is_moved_is_lost_until_it_is_erased() {
    let mut ecc = begin(&settings());
    let now = Nanos(2 * HOUR.0);
    // No request waits for the copy.
    assert!(!ecc.judge(now, &[copy(0, 8), erase(0)], None));
    assert_eq!((ecc.counts().lost_pages, ecc.counts().failed[Cause::Cleaning as usize]), (1, 1));
    // Its new page is read without errors, but is known to be lost. So is a copy of it.
    assert!(ecc.judge(now, &[read(8)], None));
    assert!(!ecc.judge(now, &[copy(8, 9)], None));
    assert!(ecc.judge(now, &[read(9)], None));
    assert_eq!((ecc.counts().lost_pages, ecc.counts().reads_of_lost_pages), (1, 3));
    assert!(!ecc.judge(now, &[erase(1), program(8, None), program(9, None), read(8), read(9)], None));
    assert_eq!(ecc.counts().lost_pages, 1);
}

#[test]
fn a_page_is_lost_that_cannot_be_read_to_rewrite_a_part() {
    let mut ecc = begin(&settings());
    let now = Nanos(2 * HOUR.0);
    assert!(ecc.judge(now, &[read(0), program(2, Some(OpIndex(0)))], None));
    assert!(ecc.judge(now, &[read(2)], None));
    assert_eq!((ecc.counts().lost_pages, ecc.counts().reads_of_lost_pages), (1, 1));
    // The data are lost once, however often the page is moved or partly rewritten.
    assert!(ecc.judge(now, &[read(2), program(3, Some(OpIndex(0)))], None));
    assert!(!ecc.judge(now, &[copy(3, 8)], None));
    assert!(ecc.judge(now, &[read(8), program(9, Some(OpIndex(0)))], None));
    assert_eq!(ecc.counts().lost_pages, 1);
    assert!(!ecc.judge(now, &[erase(0)], None));
    // Data that were read without failure are rewritten without loss.
    assert!(!ecc.judge(now, &[program(3, None), read(3), program(4, Some(OpIndex(1))), read(4)], None));
}

#[test]
fn only_unreadable_flash_pages_of_a_logical_page_are_lost() {
    let seen = GeometrySettings { page_size: Bytes::kib(8), spare_size: Bytes(896), ..*geometry().settings() };
    let seen = Geometry::new(&seen, false).unwrap();
    let mut flash = FlashState::new(&seen);
    flash.program(BlockIndex(0), 0, Cause::Host, None, &mut OpList::default());
    let mut ecc = Ecc::new(&settings(), None, &seen, &geometry(), 1).unwrap();
    ecc.start(Nanos::ZERO, &flash);
    let now = Nanos(2 * HOUR.0);
    let half = |half: u32| Cover { needed: [half..half + 1, 0..0] };
    // The second half is written: this needs the first half, which cannot be read.
    assert!(ecc.judge(now, &[read(0), program(1, Some(OpIndex(0)))], Some(&half(0))));
    assert_eq!((ecc.counts().lost_pages, ecc.counts().reads()), (1, 1));
    assert!(!ecc.judge(now, &[read(1)], Some(&half(1))));
    assert!(ecc.judge(now, &[read(1)], Some(&half(0))));
    assert!(ecc.judge(now, &[read(1)], None));
    assert_eq!(ecc.more_steps(), [0, 0]);
    assert!(!ecc.judge(now, &[copy(1, 8)], None));
    assert!(!ecc.judge(now, &[erase(0), read(8)], Some(&half(1))));
    assert!(ecc.judge(now, &[read(8)], Some(&half(0))));
    assert_eq!(ecc.counts().lost_pages, 1);
}

#[test]
fn a_page_of_the_map_is_not_lost_when_it_cannot_be_read() {
    let mut ecc = begin(&settings());
    let now = Nanos(2 * HOUR.0);
    let of_map = |op: FlashOp| FlashOp { cause: Cause::Mapping, ..op };
    assert!(!ecc.judge(now, &[of_map(copy(0, 8)), of_map(erase(0)), of_map(read(8))], None));
    assert_eq!((ecc.counts().lost_pages, ecc.counts().reads_of_lost_pages), (0, 0));
    assert_eq!(ecc.counts().failed[Cause::Mapping as usize], 1);
}

#[test]
fn reads_disturb_their_block_until_it_is_erased() {
    let mut disturbed = settings();
    // A hundred wrong bits after one sensing of each of the block's eight pages.
    disturbed.raw_errors.retention = 0.0;
    disturbed.raw_errors.disturb = 100.0 / (8.0 * 4544.0);
    disturbed.raw_errors.disturb_exponent = 1.0;
    disturbed.steps[0].corrects = 151;
    disturbed.steps.push(DecodingStepSettings { corrects: 349, decode: Nanos(5), sensings: 4, transfers: 2 });
    let mut ecc = begin(&disturbed);
    let steps = |ecc: &mut Ecc, count: usize| {
        let mut steps = Vec::new();
        for _ in 0..count {
            ecc.judge(Nanos::ZERO, &[read(0)], None);
            steps.push(ecc.more_steps()[0]);
        }
        steps
    };
    // Twelve sensings make 150 wrong bits. A read of the second step senses five times, so that three more reads make
    // 350.
    assert_eq!(steps(&mut ecc, 16), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    assert_eq!(ecc.counts().failed[0], 0);
    assert_eq!(steps(&mut ecc, 1), [1]);
    assert_eq!(ecc.counts().failed[0], 1);
    ecc.judge(Nanos::ZERO, &[erase(0), program(0, None)], None);
    assert_eq!(steps(&mut ecc, 1), [0]);
}
