//! Hand-made cases: what each kind of merge costs, operation by operation.

use esker_core::LogicalPage;
use esker_nand::state::{FlashState, OpList};
use esker_nand::{Geometry, PoolScope};
use esker_results::MergeCounts;

use crate::testing::{DriveSettings, layer, one_plane};
use crate::{
    BuildError, Cells, Choice, Ftl, FtlContext, FtlCounters, ParameterValue, Space, WriteExtent, WriteFrontiers,
};

const PAGES: u32 = 8;
/// Logical blocks of the host.
const LOGICAL: u32 = 16;

/// One die of 32 blocks of 8 pages; the host has 16 logical blocks.
fn settings(kind: &str, parameters: &[(&str, ParameterValue)]) -> DriveSettings {
    let parameters = parameters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let mut layer = layer(kind, 50, PoolScope::Device);
    layer.ftl = Choice { kind: kind.to_string(), parameters };
    layer.write_frontiers = WriteFrontiers::Pool;
    DriveSettings { geometry: one_plane(32, PAGES), block_summary: false, layer }
}

/// The parameter for a log of `blocks` blocks.
fn log(blocks: u32) -> (&'static str, ParameterValue) {
    ("log", ParameterValue::Number(f64::from(blocks) / f64::from(LOGICAL)))
}

/// Cost of writes: reads, programs and erases of merging, and the layer's own counts.
#[derive(Debug, PartialEq)]
struct Cost {
    copies: u64,
    erases: u64,
    merges: (u64, u64, u64),
}

fn cost(copies: u64, erases: u64, merges: (u64, u64, u64)) -> Cost {
    Cost { copies, erases, merges }
}

struct Case {
    ftl: Box<dyn Ftl>,
    flash: FlashState,
    programs: u64,
}

impl Case {
    /// Makes a layer whose host space was written once in full.
    fn new(kind: &str, parameters: &[(&str, ParameterValue)]) -> Self {
        let mut case = Self::empty(kind, parameters);
        case.write(0..LOGICAL * PAGES);
        assert_eq!(case.cost(), cost(0, 0, (0, 0, 0)), "{kind}: first writes need no merge");
        case
    }

    fn empty(kind: &str, parameters: &[(&str, ParameterValue)]) -> Self {
        let settings = settings(kind, parameters);
        let geometry = Geometry::new(&settings.geometry, false).unwrap();
        let space = Space::new(&settings, &geometry).unwrap();
        let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 };
        Self { ftl: crate::build(&context).unwrap(), flash: FlashState::new(&geometry), programs: 0 }
    }

    fn write(&mut self, pages: impl IntoIterator<Item = u32>) {
        for page in pages {
            let mut ops = OpList::default();
            self.ftl.write(LogicalPage(page), WriteExtent::Whole, &mut Cells::new(&mut self.flash, &mut ops)).unwrap();
            self.programs += 1;
        }
    }

    /// Writes `pages` as one request.
    fn request(&mut self, pages: std::ops::Range<u32>) {
        self.ftl.begin_request(pages.len() as u32);
        self.write(pages);
        self.ftl.begin_request(1);
    }

    fn cost(&self) -> Cost {
        self.flash.check();
        self.ftl.check(&self.flash);
        let counts = self.flash.counts();
        assert_eq!(counts.programs().host, self.programs);
        assert_eq!(counts.reads().cleaning, counts.programs().cleaning);
        let MergeCounts { switch, partial, full } = self.ftl.counters().merges.unwrap();
        Cost { copies: counts.programs().cleaning, erases: counts.erases, merges: (switch, partial, full) }
    }

    fn counters(&self) -> FtlCounters {
        self.ftl.counters()
    }
}

/// The first page of a logical block.
fn first(block: u32) -> u32 {
    block * PAGES
}

type Parameters = Vec<(&'static str, ParameterValue)>;

/// Returns the layers that merge logical blocks one by one if these are written in order, each with its smallest log.
fn least() -> [(&'static str, Parameters); 5] {
    [
        ("block", vec![]),
        ("replacement-block", vec![log(1)]),
        ("bast", vec![log(1)]),
        ("fast", vec![log(2)]),
        ("last", vec![log(3)]),
    ]
}

#[test]
fn blocks_rewritten_in_order_need_switch_merges_only() {
    for (kind, parameters) in least() {
        let mut case = Case::new(kind, &parameters);
        for block in 0..LOGICAL {
            case.request(first(block)..first(block + 1));
        }
        // The last log block is merged only when another one is needed.
        let merged = u64::from(LOGICAL) - 1;
        assert_eq!(case.cost(), cost(0, merged, (merged, 0, 0)), "{kind}");
    }
    // The single update block takes all pages of a logical block, so that a block of the superblock has no valid page
    // left.
    let mut case = Case::new("superblock", &[("blocks", ParameterValue::Integer(4)), log(1)]);
    case.write(0..LOGICAL * PAGES);
    let merged = u64::from(LOGICAL) - 1;
    assert_eq!(case.cost(), cost(0, merged, (merged, 0, 0)));
}

#[test]
fn a_sequential_beginning_is_completed_with_copies() {
    for (kind, parameters) in least() {
        let mut case = Case::new(kind, &parameters);
        case.request(first(2)..first(2) + 5);
        assert_eq!(case.cost(), cost(0, 0, (0, 0, 0)), "{kind}");
        // Another stream needs the log block.
        case.request(first(3)..first(4));
        assert_eq!(case.cost(), cost(3, 1, (0, 1, 0)), "{kind}");
    }
}

#[test]
fn a_page_out_of_order_costs_a_copy_of_its_block() {
    // One page is copied before the written page, and the rest when the rewrite is closed.
    let mut case = Case::new("block", &[]);
    case.write([first(2) + 3]);
    assert_eq!(case.cost(), cost(3, 0, (0, 0, 0)));
    // Pages in between are copied, too.
    case.write([first(2) + 5]);
    assert_eq!(case.cost(), cost(4, 0, (0, 0, 0)));
    case.write([first(2) + 3]);
    assert_eq!(case.cost(), cost(4 + 2 + 3, 1, (0, 1, 0)));
}

#[test]
fn two_open_rewrites_do_not_disturb_each_other() {
    let mut case = Case::new("block", &[("open", ParameterValue::Integer(2))]);
    for offset in 0..PAGES {
        case.write([first(2) + offset, first(5) + offset]);
    }
    assert_eq!(case.cost(), cost(0, 0, (0, 0, 0)));
    let mut single = Case::new("block", &[]);
    for offset in 0..PAGES {
        single.write([first(2) + offset, first(5) + offset]);
    }
    // Each write closes the rewrite of the other block, and starts a rewrite of its own with the pages before it. Each
    // of the 15 closed rewrites copied all 7 other pages. The last rewrite, still open, has copied the 7 pages before
    // its page.
    let copies = 15 * u64::from(PAGES - 1) + 7;
    assert_eq!(single.cost(), cost(copies, 15, (0, 15, 0)));
}

#[test]
fn a_chain_of_replacements_is_merged_when_it_is_full() {
    let mut case = Case::new("replacement-block", &[("replacements", ParameterValue::Integer(2)), log(4)]);
    // Each write needs its own replacement block; pages 0..7 stay in the data block.
    case.write([first(2) + 7, first(2) + 7]);
    assert_eq!(case.cost(), cost(0, 0, (0, 0, 0)));
    // The seven others and the last one: a full merge of three blocks. Then the write begins a new chain.
    case.write([first(2) + 7]);
    assert_eq!(case.cost(), cost(8, 3, (0, 0, 1)));
    assert_eq!(case.counters().full_merge_data_blocks, [(1, 1)].into());
    // The pool has four replacement blocks: the longest chain gives up its blocks.
    case.write([first(2) + 7, first(4) + 7, first(5) + 7]);
    assert_eq!(case.cost().merges, (0, 0, 1));
    case.write([first(6) + 7]);
    assert_eq!(case.cost(), cost(16, 6, (0, 0, 2)));
}

#[test]
fn random_writes_of_one_block_fill_its_own_log_block() {
    let mut case = Case::new("bast", &[log(2)]);
    // Eight writes of seven pages, out of order: page 5 twice.
    case.write([3, 5, 5, 1, 0, 6, 2, 4].map(|offset| first(2) + offset));
    assert_eq!(case.cost(), cost(0, 0, (0, 0, 0)));
    // Seven pages from the log block, one from the data block; both are erased.
    case.write([first(2)]);
    assert_eq!(case.cost(), cost(8, 2, (0, 0, 1)));
    // A third logical block needs a log block. With `lru`, that of block 3 is merged, which was written longest ago
    // (page 4 is not at its offset); with `fifo`, that of block 2, which was opened first (pages 0 and 1 are at their
    // offsets).
    let lru = cost(8, 2, (0, 0, 1));
    let fifo = cost(6, 1, (0, 1, 0));
    for (eviction, expected) in [("lru", lru), ("fifo", fifo)] {
        let mut case = Case::new("bast", &[log(2), ("eviction", ParameterValue::Text(eviction.to_string()))]);
        case.write([first(2), first(3) + 4, first(2) + 1]);
        case.write([first(4)]);
        assert_eq!(case.cost(), expected, "{eviction}");
    }
}

#[test]
fn a_shared_log_block_is_merged_with_every_data_block_it_has_pages_of() {
    // One sequential and two shared log blocks.
    let mut case = Case::new("fast", &[log(3)]);
    // Eight pages of four data blocks fill the first one, eight pages of one data block the second.
    case.write((0..8).map(|index| first(2 + index % 4) + 1 + index / 4));
    case.write((0..8).map(|index| first(7) + 1 + index % 7));
    assert_eq!(case.cost(), cost(0, 0, (0, 0, 0)));
    case.write([first(9) + 3]);
    // Four data blocks are gathered whole; they and the log block are erased.
    assert_eq!(case.cost(), cost(32, 5, (0, 0, 1)));
    assert_eq!(case.counters().full_merge_data_blocks, [(4, 1)].into());
    // The next log block holds seven valid pages of one data block.
    case.write((1..8).map(|offset| first(9) + offset));
    case.write([first(9) + 3]);
    assert_eq!(case.cost(), cost(40, 7, (0, 0, 2)));
    assert_eq!(case.counters().full_merge_data_blocks, [(1, 1), (4, 1)].into());
}

#[test]
fn pages_that_were_all_superseded_need_no_merge() {
    let mut case = Case::new("fast", &[log(3)]);
    // The second eight supersede the first eight.
    case.write((0..16).map(|index| first(2 + index % 8) + 1));
    case.write([first(2) + 1]);
    assert_eq!(case.cost(), cost(0, 1, (0, 0, 0)));
    assert_eq!(case.counters().dead_log_blocks, 1);
}

#[test]
fn a_sequential_log_block_gives_up_what_a_full_merge_gathers() {
    // One sequential and one shared log block.
    let mut case = Case::new("fast", &[log(2)]);
    case.write(first(2)..first(2) + 4);
    // This page is out of sequence and goes to the shared log block, together with seven pages of another data block.
    case.write([first(2) + 6]);
    case.write((1..8).map(|offset| first(3) + offset));
    case.write([first(4) + 1]);
    // Both data blocks are gathered whole; two data blocks, the shared and the sequential log block are erased.
    assert_eq!(case.cost(), cost(16, 4, (0, 0, 1)));
    // No sequential log block is left to be merged.
    case.write(first(5)..first(6));
    assert_eq!(case.cost().merges, (0, 0, 1));
}

#[test]
fn small_and_large_writes_are_kept_apart() {
    // One sequential, one hot and one cold log block.
    let mut case = Case::new("last", &[log(3)]);
    case.request(first(2)..first(2) + 4);
    case.write([first(3)]);
    case.request(first(2) + 4..first(3));
    // The small write, though it begins a block, was no reason to merge.
    assert_eq!(case.cost(), cost(0, 0, (0, 0, 0)));
    case.request(first(5)..first(6));
    assert_eq!(case.cost(), cost(0, 1, (1, 0, 0)));
    // A large write that does not begin at the first page leaves pages before it behind: a full merge.
    case.request(first(6) + 3..first(7));
    assert_eq!(case.cost(), cost(0, 2, (2, 0, 0)));
    case.request(first(7)..first(8));
    assert_eq!(case.cost(), cost(8, 4, (2, 0, 1)));
}

#[test]
fn hot_pages_make_dead_log_blocks() {
    // One sequential, two hot and two cold log blocks.
    let mut case = Case::new("last", &[log(5)]);
    // Cold at first, then hot: the same eight pages over and over.
    for _ in 0..11 {
        case.write((0..8).map(|block| first(2 + block) + 1));
    }
    // Of the ten hot rounds two still have their blocks; each of the others left a block without valid pages.
    assert_eq!(case.cost(), cost(0, 8, (0, 0, 0)));
    assert_eq!(case.counters().dead_log_blocks, 8);
    // The first cold log block has been dead all along, and goes first.
    case.write((0..8).map(|offset| first(12 + offset / 7) + 1 + offset % 7));
    assert_eq!(case.cost(), cost(0, 8, (0, 0, 0)));
    case.write([first(11) + 1]);
    assert_eq!(case.cost(), cost(0, 9, (0, 0, 0)));
}

#[test]
fn a_superblock_gathers_what_was_scattered_over_it() {
    // One update block for four superblocks of four.
    let superblock = |cached| {
        Case::new(
            "superblock",
            &[
                ("blocks", ParameterValue::Integer(4)),
                ("cached", ParameterValue::Integer(cached)),
                ("map_reads", ParameterValue::Integer(3)),
                log(1),
            ],
        )
    };
    let mut case = superblock(4);
    // Two pages of each of its blocks.
    case.write((0..8).map(|index| first(index % 4) + index / 4));
    assert_eq!(case.cost(), cost(0, 0, (0, 0, 0)));
    case.write([first(0) + 7]);
    // Four blocks with six valid pages each fit into three; a fifth one is full of the pages written last.
    assert_eq!(case.cost(), cost(24, 4, (0, 0, 1)));
    assert_eq!(case.counters().full_merge_data_blocks, [(4, 1)].into());
    assert_eq!(case.flash.counts().reads().mapping, 0);
    // With one map in memory, each change of superblock reads a map.
    let mut case = superblock(1);
    let before = case.flash.counts().reads().mapping;
    case.write([first(0), first(1), first(4), first(5), first(0)]);
    assert_eq!(case.flash.counts().reads().mapping - before, 3 * 3);
}

#[test]
fn a_trimmed_block_takes_no_copies() {
    // Only pages written since the trim are copied: none in place or in sequence, one page out of an appended log. The
    // other seven copies are those of the next logical block.
    for (kind, parameters, copies) in [("block", vec![], 7), ("bast", vec![log(1)], 1 + 7), ("fast", vec![log(2)], 7)] {
        let mut case = Case::new(kind, &parameters);
        let mut ops = OpList::default();
        for page in first(2)..first(3) {
            case.ftl.trim(LogicalPage(page), &mut Cells::new(&mut case.flash, &mut ops));
        }
        assert!(ops.as_slice().is_empty());
        case.write([first(2) + 1]);
        case.write([first(3), first(4)]);
        assert_eq!(case.cost().copies, copies, "{kind}");
    }
}

#[test]
fn too_few_blocks_are_refused_with_the_numbers_that_clash() {
    let mut settings = settings("fast", &[log(20)]);
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let space = Space::new(&settings, &geometry).unwrap();
    let build = |settings: &DriveSettings, space: &Space| {
        crate::build(&FtlContext { geometry: &geometry, space, settings, seed: 1 }).map(|_| ())
    };
    let error = build(&settings, &space).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`ftl` of kind `fast`: a pool of 32 blocks cannot hold 16 logical blocks of 8 pages, 20 log blocks (`ftl.log`, at \
         least one sequential and one shared) and 1 that stay free"
    );
    let BuildError::NoUpdateBlocks { remedy, .. } = error else { panic!("{error}") };
    settings.over_provisioning = Some(remedy);
    assert_eq!(build(&settings, &Space::new(&settings, &geometry).unwrap()), Ok(()));
}

#[test]
fn controllers_need_memory_by_what_they_map() {
    let bytes = |kind: &str, parameters: &[(&str, ParameterValue)]| Case::empty(kind, parameters).ftl.map_bytes();
    let blocks = 4 * u64::from(LOGICAL);
    assert_eq!(bytes("page", &[]), blocks * u64::from(PAGES));
    assert_eq!(bytes("block", &[]), blocks + 8);
    assert_eq!(bytes("replacement-block", &[log(2)]), blocks + 2 * 8);
    // Two log blocks with a map of eight pages each.
    assert_eq!(bytes("bast", &[log(2)]), blocks + 4 * 2 * (2 + 8));
    // The sequential log block has no such map.
    assert_eq!(bytes("fast", &[log(2)]), blocks + 8 + 4 * (1 + 8));
    assert_eq!(bytes("last", &[log(4)]), blocks + 8 + 4 * 3 * (1 + 8));
    let superblock = [("blocks", ParameterValue::Integer(4)), ("cached", ParameterValue::Integer(1)), log(2)];
    assert_eq!(bytes("superblock", &superblock), blocks + 4 * 2 + 4 * 32);
}
