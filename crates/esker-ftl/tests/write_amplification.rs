//! Checks that write amplification under uniformly random page writes matches theory, for one pool with one write
//! frontier, where copied pages go to the head of the new block. S is the spare factor, b the pages of a block, rho = 1
//! - S.

use esker_core::{Bytes, LogicalPage, Ratio, Rng, StreamId};
use esker_ftl::{Choice, CleaningSettings, FtlContext, FtlSettings, ParameterValue, Separation, Space, WriteFrontiers};
use esker_nand::state::FlashState;
use esker_nand::{Geometry, GeometrySettings, PoolScope};

/// The closed forms of theory.
mod theory {
    /// Returns the root of an increasing function between `low` and `high`.
    fn root(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if function(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low + high) / 2.0
    }

    /// Random policy: a victim has as many valid pages as the mean block.
    pub(super) fn random(spare: f64) -> f64 {
        1.0 / spare
    }

    /// Robinson 1996, Menon 1995; Desnoyers 2012, equation for LRU cleaning: the share x of a block's pages that is
    /// still valid when its turn comes satisfies x = exp(-(1 - x) / rho).
    pub(super) fn fifo(spare: f64) -> f64 {
        let rho = 1.0 - spare;
        let x = root(0.0, 1.0 - 1e-9, |x| x - (-(1.0 - x) / rho).exp());
        1.0 / (1.0 - x)
    }

    /// Blocks by valid pages i in the steady state: m_i = 1 / (c i) for i above the victims' number k, the remaining
    /// blocks at k. `c` is the number of host writes per cleaned block and block.
    pub(super) fn greedy(spare: f64, b: usize) -> f64 {
        let rho = 1.0 - spare;
        let mean = |c: f64| {
            let (mut share, mut pages, mut k) = (0.0, 0.0, b);
            while k > 0 && share + 1.0 / (c * k as f64) < 1.0 {
                share += 1.0 / (c * k as f64);
                pages += 1.0 / c;
                k -= 1;
            }
            pages + (1.0 - share) * k as f64
        };
        // A larger c means a smaller k and mean.
        let c = root(1e-3, 1e3, |c| b as f64 * rho - mean(c));
        1.0 / (c * rho)
    }

    /// After Van Houdt 2013: Q_i, the share of blocks with at least i valid pages, from i
    /// c (Q_i - Q_(i+1)) = 1 - Q_i^d.
    pub(super) fn d_choices(spare: f64, b: usize, d: i32) -> f64 {
        let rho = 1.0 - spare;
        let mean = |c: f64| {
            let (mut above, mut sum) = (0.0, 0.0);
            for i in (1..=b).rev() {
                above = root(above, 1.0, |q: f64| i as f64 * c * (q - above) - (1.0 - q.powi(d)));
                sum += above;
            }
            sum
        };
        let c = root(1e-3, 1e3, |c| b as f64 * rho - mean(c));
        1.0 / (c * rho)
    }
}

/// S, b, and the write amplification of greedy, FIFO, random, and 2, 10 and 30 choices. Computed beforehand, by another
/// method than [`theory`], and confirmed by simulation.
const TABLE: [(f64, usize, [f64; 6]); 8] = [
    (0.07, 64, [6.6155, 7.3177, 14.2857, 9.6354, 6.8939, 6.6733]),
    (0.07, 256, [7.1240, 7.3177, 14.2857, 9.9053, 7.3389, 7.1588]),
    (0.15, 64, [3.3536, 3.5187, 6.6667, 4.6475, 3.4636, 3.3752]),
    (0.15, 256, [3.4759, 3.5187, 6.6667, 4.7093, 3.5668, 3.4891]),
    (0.28, 64, [1.9425, 1.9916, 3.5714, 2.5732, 1.9932, 1.9516]),
    (0.28, 256, [1.9791, 1.9916, 3.5714, 2.5906, 2.0232, 1.9853]),
    (0.50, 64, [1.2389, 1.2550, 2.0000, 1.5262, 1.2612, 1.2428]),
    (0.50, 256, [1.2509, 1.2550, 2.0000, 1.5310, 1.2704, 1.2536]),
];

#[test]
fn the_closed_forms_give_the_table() {
    for (spare, b, published) in TABLE {
        let computed = [
            theory::greedy(spare, b),
            theory::fifo(spare),
            theory::random(spare),
            theory::d_choices(spare, b, 2),
            theory::d_choices(spare, b, 10),
            theory::d_choices(spare, b, 30),
        ];
        for (computed, published) in computed.into_iter().zip(published) {
            // The table has four decimals.
            assert!((computed - published).abs() < 5.1e-5, "S {spare}, b {b}: {computed} against {published}");
        }
    }
}

/// A drive reduced to its pages and its translation layer.
struct Drive {
    geometry: GeometrySettings,
    layer: FtlSettings,
}

/// One pool on one die.
fn drive(spare: f64, b: usize, blocks: u32, victim: Choice) -> Drive {
    let layer = FtlSettings {
        over_provisioning: None,
        spare_factor: Some(Ratio::from_f64(spare)),
        factory_over_provisioning: None,
        ftl: Choice::named("page"),
        cleaning: CleaningSettings { victim, threshold: Ratio::ZERO, ..CleaningSettings::default() },
        pool: PoolScope::Device,
        write_frontiers: WriteFrontiers::Pool,
        least_loaded: false,
        streams: 1,
        endurance_cycles: 100_000,
        wear: None,
        refresh: false,
        re_encode: false,
        power_fails: false,
    };
    let geometry = GeometrySettings {
        channels: 1,
        packages_per_channel: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: blocks,
        pages_per_block: b as u32,
        page_size: Bytes::kib(4),
        spare_size: Bytes(128),
        units_per_page: 1,
    };
    Drive { geometry, layer }
}

/// Returns programs per uniform write: first overwrites the host space `warm_up` times, then measures while it
/// overwrites it `measured` times.
fn simulate(drive: &Drive, warm_up: u64, measured: u64) -> f64 {
    simulate_with(drive, warm_up, measured, |rng, host| rng.below(host))
}

/// Does the same as [`simulate`]; `page` draws the page to write, given the number of pages.
fn simulate_with(drive: &Drive, warm_up: u64, measured: u64, page: impl Fn(&mut Rng, u64) -> u64) -> f64 {
    let geometry = Geometry::new(&drive.geometry, false).unwrap();
    let space = Space::new(&drive.layer, &geometry).unwrap();
    let context = FtlContext { geometry: &geometry, space: &space, settings: &drive.layer, seed: 1 };
    let mut ftl = esker_ftl::build(&context).unwrap();
    let mut flash = FlashState::new(&geometry);
    let host = u64::from(space.host_pages);
    let fill: Vec<LogicalPage> = (0..space.host_pages).map(LogicalPage).collect();
    ftl.write_untimed(&fill, &mut flash).unwrap();
    let mut rng = Rng::new(11);
    let mut overwrite = |passes: u64, flash: &mut FlashState| {
        for _ in 0..passes {
            let pages: Vec<LogicalPage> = (0..host).map(|_| LogicalPage(page(&mut rng, host) as u32)).collect();
            ftl.write_untimed(&pages, flash).unwrap();
        }
    };
    overwrite(warm_up, &mut flash);
    let before = flash.counts().programs().total();
    overwrite(measured, &mut flash);
    let programs = flash.counts().programs().total() - before;
    flash.check();
    programs as f64 / (measured * host) as f64
}

#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn compare(victim: &Choice, column: usize, tolerance: f64, blocks: [u32; 2]) {
    for (spare, b, expected) in TABLE {
        let blocks = if b == 64 { blocks[0] } else { blocks[1] };
        let measured = simulate(&drive(spare, b, blocks, victim.clone()), 4, 4);
        let expected = expected[column];
        let off = measured / expected - 1.0;
        println!(
            "{:<9} {:?} S {spare} b {b}: {measured:.4}, theory {expected}: {:+.2} %",
            victim.kind,
            victim.parameters.values(),
            off * 100.0
        );
        assert!(off.abs() < tolerance, "{victim:?}, S {spare}, b {b}: {measured:.4} against {expected}: {off:+.4}");
    }
}

fn choices(d: u64) -> Choice {
    Choice { kind: "d-choices".into(), parameters: [("d".to_string(), ParameterValue::Integer(d))].into() }
}

#[test]
fn greedy_is_within_half_a_percent() {
    compare(&Choice::named("greedy"), 0, 0.005, [4096, 2048]);
}

#[test]
fn fifo_is_within_half_a_percent() {
    compare(&Choice::named("fifo"), 1, 0.005, [4096, 2048]);
}

#[test]
fn random_is_within_two_percent() {
    compare(&Choice::named("random"), 2, 0.02, [4096, 1024]);
}

#[test]
fn d_choices_are_within_two_percent() {
    compare(&choices(2), 3, 0.02, [4096, 1024]);
    compare(&choices(10), 4, 0.02, [4096, 1024]);
    compare(&choices(30), 5, 0.02, [4096, 1024]);
}

/// Nine of ten writes go to a tenth of the pages, uniformly within both parts (Rosenblum and Ousterhout 1992).
const HOT_PAGES: f64 = 0.1;
const HOT_WRITES: f64 = 0.9;

fn two_temperatures(rng: &mut Rng, host: u64) -> u64 {
    let hot = (host as f64 * HOT_PAGES) as u64;
    // Spread hot pages among the others: nothing may depend on their addresses.
    let place = |index: u64| index * 7919 % host;
    place(if rng.chance(9, 10) { rng.below(hot) } else { hot + rng.below(host - hot) })
}

/// Returns the least write amplification if both parts were separate drives, uniformly written and cleaned greedily,
/// with the best division of the spare space (Desnoyers 2012, section 6; Stoica and Ailamaki 2013).
fn best_apart(spare: f64, b: usize) -> f64 {
    let host = 1.0 - spare;
    let amplification = |hot_share: f64| {
        let part = |pages: f64, share: f64| {
            let space = pages * host + share * spare;
            theory::greedy(1.0 - pages * host / space, b)
        };
        HOT_WRITES * part(HOT_PAGES, hot_share) + (1.0 - HOT_WRITES) * part(1.0 - HOT_PAGES, 1.0 - hot_share)
    };
    (1..200).map(|share| amplification(f64::from(share) / 200.0)).fold(f64::INFINITY, f64::min)
}

/// Returns write amplification with one frontier, with separate copies, and with separate hot and cold pages.
fn separated(victim: &str, spare: f64, page: impl Fn(&mut Rng, u64) -> u64 + Copy) -> [f64; 3] {
    [Separation::None, Separation::Copied, Separation::HotCold].map(|separate| {
        let mut drive = drive(spare, 64, 1024, Choice::named(victim));
        drive.layer.cleaning.separate = separate;
        simulate_with(&drive, 10, 4, page)
    })
}

#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn hot_and_cold_pages_apart_cost_less_where_there_are_such() {
    for spare in [0.15, 0.28] {
        let bound = best_apart(spare, 64);
        // Greedy cleaning keeps victims of both parts equally full, whatever that costs. So each part has the spare
        // factor of the whole drive, and the write amplification of uniform writes.
        let equal = theory::greedy(spare, 64);
        let [together, copied, apart] = separated("greedy", spare, two_temperatures);
        println!("greedy S {spare}: {together:.4} {copied:.4} {apart:.4}, uniform {equal:.4}, best {bound:.4}");
        assert!(copied < 0.93 * together && apart < 0.82 * together, "{together:.4} {copied:.4} {apart:.4}");
        assert!((apart / equal - 1.0).abs() < 0.04, "{apart:.4} against {equal:.4}");
        // Weighing age against gain leaves more space to the hot part, as the bound does.
        let [together, copied, apart] = separated("cost-benefit", spare, two_temperatures);
        println!("cost-benefit S {spare}: {together:.4} {copied:.4} {apart:.4}");
        assert!(copied < together && apart < copied, "{together:.4} {copied:.4} {apart:.4}");
        assert!(bound < apart && apart < 1.12 * bound, "{apart:.4} against {bound:.4}");
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn separation_changes_nothing_where_all_pages_are_alike() {
    for spare in [0.15, 0.28] {
        let [together, copied, apart] = separated("greedy", spare, |rng, host| rng.below(host));
        println!("uniform S {spare}: {together:.4} {copied:.4} {apart:.4}");
        for apart in [copied, apart] {
            assert!((apart / together - 1.0).abs() < 0.01, "S {spare}: {apart:.4} against {together:.4}");
        }
    }
}

/// Returns write amplification with two streams, one of hot and one of cold pages, which the drive separates as
/// `streams` and `separate` say. Nine of ten writes go to hot pages. With `told`, each write names its stream to the
/// drive.
fn two_streams(streams: u32, separate: Separation, told: bool) -> f64 {
    let mut drive = drive(0.15, 64, 1024, Choice::named("greedy"));
    drive.layer.cleaning.threshold = Ratio::percent(1);
    drive.layer.cleaning.separate = separate;
    drive.layer.streams = streams;
    let geometry = Geometry::new(&drive.geometry, false).unwrap();
    let space = Space::new(&drive.layer, &geometry).unwrap();
    let context = FtlContext { geometry: &geometry, space: &space, settings: &drive.layer, seed: 1 };
    let mut ftl = esker_ftl::build(&context).unwrap();
    let mut flash = FlashState::new(&geometry);
    let host = u64::from(space.host_pages);
    let hot = (host as f64 * HOT_PAGES) as u64;
    let place = |index: u64| LogicalPage((index * 7919 % host) as u32);
    let mut rng = Rng::new(11);
    let mut write = |index: u64, flash: &mut FlashState| {
        ftl.begin_stream(StreamId(if told { u16::from(index >= hot) } else { 0 }));
        ftl.write_untimed(&[place(index)], flash).unwrap();
    };
    (0..host).for_each(|index| write(index, &mut flash));
    let mut overwrite = |passes: u64, flash: &mut FlashState| {
        for _ in 0..passes * host {
            write(if rng.chance(9, 10) { rng.below(hot) } else { hot + rng.below(host - hot) }, flash);
        }
    };
    overwrite(10, &mut flash);
    let before = flash.counts().programs().total();
    overwrite(4, &mut flash);
    flash.check();
    (flash.counts().programs().total() - before) as f64 / (4 * host) as f64
}

#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn a_hot_and_a_cold_stream_apart_cost_less() {
    let together = two_streams(1, Separation::None, true);
    let apart = two_streams(2, Separation::None, true);
    let copied = two_streams(1, Separation::Copied, true);
    let copied_apart = two_streams(2, Separation::Copied, true);
    // As with hot and cold pages separate, greedy cleaning keeps victims of both streams equally full.
    let equal = theory::greedy(0.15, 64);
    println!("{together:.4}, streams apart {apart:.4}, copies apart {copied:.4}, both {copied_apart:.4}, {equal:.4}");
    assert!(apart < 0.82 * together && copied_apart < 0.93 * together, "{together:.4} {apart:.4} {copied_apart:.4}");
    assert!((apart / equal - 1.0).abs() < 0.04, "{apart:.4} against {equal:.4}");
}

/// Frontiers of unused streams take nothing from the others.
#[test]
fn one_stream_is_written_as_if_there_were_no_others() {
    for separate in [Separation::None, Separation::Copied] {
        let without = two_streams(1, separate, false);
        assert_eq!(without.to_bits(), two_streams(4, separate, false).to_bits(), "{separate:?}");
    }
}
