//! Any configuration either works or is refused with the values that conflict; drives that work keep correct counts.

use std::sync::Arc;

use esker_core::registry::{self, Accepted, Parameter, Parameters};
use esker_core::{
    Arrival, ByteRate, Bytes, Control, Device, Energy, Hint, Lba, Nanos, Power, Precondition, Priority, Ratio,
    ReplaySettings, Request, RequestKind, ResourceKind, Rng, StreamId,
};
use esker_flash::{
    BufferMode, CleaningSettings, ControllerSettings, LinkSettings, PowerFailureSettings, PreconditionedDrives, Ssd,
    SsdError, SsdSettings, WriteBufferSettings,
};
use esker_ftl::{
    BuildError, Choice, EndOfLife, FTLS, LayerCapability, ParameterValue, Separation, VICTIM_POLICIES,
    WRITE_MODE_POLICIES, WearLevelling, WearSettings, WriteFrontiers,
};
use esker_nand::{
    ArrayLevel, CopyBack, DecodingStepSettings, EccCode, EccSettings, EnergySettings, ErrorCount, FlashArraySettings,
    Gang, GangControl, GangData, GeometrySettings, ModeSettings, MultiPlane, Placement, PoolScope, RawErrorSettings,
    Rewrite, Scheduling, Stripe, SuspendSettings, TimingSettings, WriteModeSettings,
};
use esker_results::WriteModeReport;
use proptest::prelude::*;

use crate::common::{report, run};

/// Draws mostly from `range`, sometimes zero.
fn mostly(range: std::ops::Range<u32>) -> impl Strategy<Value = u32> {
    prop_oneof![1 => Just(0), 40 => range]
}

fn geometry() -> impl Strategy<Value = GeometrySettings> {
    let page_size = prop::sample::select(vec![512, 512, 4096, 4096, 4096, 16384, 16384, 0, 5000]);
    let units = prop::sample::select(vec![1, 1, 1, 2, 3, 4]);
    let pages = (mostly(2..70), units, 0..20);
    (mostly(1..4), mostly(1..3), mostly(1..4), mostly(1..3), mostly(4..40), pages, page_size).prop_map(
        |(channels, packages, dies, planes, blocks, (pages, units, odd), page_size): (
            _,
            _,
            _,
            _,
            _,
            (u32, _, _),
            _,
        )| GeometrySettings {
            channels,
            packages_per_channel: packages,
            dies_per_package: dies,
            planes_per_die: planes,
            blocks_per_plane: blocks,
            // Mostly whole flash pages.
            pages_per_block: if odd == 0 { pages } else { pages.next_multiple_of(units) },
            page_size: Bytes(page_size),
            spare_size: Bytes(128),
            units_per_page: units,
        },
    )
}

fn write_buffer() -> impl Strategy<Value = Option<WriteBufferSettings>> {
    let mode = prop::sample::select(vec![BufferMode::WriteBack, BufferMode::WriteThrough]);
    let marks = (0u64..104, 0u64..104);
    prop::option::of((0u64..200_000, mode, 0u64..50_000, marks, any::<bool>(), any::<bool>()).prop_map(
        |(size, mode, latency, marks, keep_reads, power_protected)| WriteBufferSettings {
            size: Bytes(size),
            mode,
            latency: Nanos(latency),
            // Mostly with the low mark below the high one.
            high_water: Ratio::percent(if marks.0 % 10 == 0 { marks.0 } else { marks.0.max(marks.1).min(100) }),
            low_water: Ratio::percent(if marks.0 % 10 == 0 { marks.1 } else { marks.0.min(marks.1) }),
            keep_reads,
            power_protected,
        },
    ))
}

fn wear() -> impl Strategy<Value = Option<WearSettings>> {
    let levelling = prop::sample::select(vec![
        WearLevelling::None,
        WearLevelling::RateLimit,
        WearLevelling::Migration,
        WearLevelling::Static,
    ]);
    let shares = (0u64..102, 0u64..102, 0u64..30, 0u64..200_000).prop_map(|(age, retirement, bad, failures)| {
        let bad = Ratio::percent(if bad > 10 { 0 } else { bad });
        (Ratio::percent(age), Ratio::percent(retirement), bad, Ratio::parts_per_billion(failures))
    });
    let wear =
        (levelling, shares, any::<bool>(), 0u32..1010).prop_map(|(levelling, shares, retire, initial_erases)| {
            let (age_variance, retirement_age, factory_bad_blocks, erase_failures) = shares;
            let end_of_life = if retire { EndOfLife::Retire } else { EndOfLife::Count };
            WearSettings {
                levelling,
                age_variance,
                retirement_age,
                spread: initial_erases % 4,
                end_of_life,
                factory_bad_blocks,
                erase_failures,
                initial_erases,
            }
        });
    prop::option::weighted(0.4, wear)
}

fn cleaning() -> impl Strategy<Value = CleaningSettings> {
    let ahead = || prop::option::of((1u64..50).prop_map(Ratio::percent));
    let separate = prop::sample::select(vec![Separation::None, Separation::Copied, Separation::HotCold]);
    let apart = (separate, 0u64..104);
    (0usize..VICTIM_POLICIES.len(), 0u64..40, ahead(), ahead(), 0u64..3_000_000, apart).prop_map(
        |(victim, threshold, gradual, background, idle, (separate, hot_window))| CleaningSettings {
            victim: Choice::named(VICTIM_POLICIES[victim].name),
            threshold: Ratio::percent(threshold),
            gradual,
            background,
            idle_before_background: Nanos(idle),
            separate,
            hot_window: Ratio::percent(hot_window),
        },
    )
}

/// Makes a value of the parameter's type of a drawn number.
fn value_of(parameter: &Parameter, drawn: u64) -> ParameterValue {
    match parameter.value {
        Accepted::Share { .. } => ParameterValue::Text(format!("{drawn}%")),
        Accepted::Flag { .. } => ParameterValue::Flag(drawn % 2 == 1),
        Accepted::OneOf(names) => ParameterValue::Text(names[drawn as usize % names.len()].to_string()),
        Accepted::Count { .. } | Accepted::Integer { .. } | Accepted::Size { .. } => ParameterValue::Integer(drawn),
    }
}

#[test]
fn every_parameter_of_a_layer_is_drawn_as_its_type() {
    for entry in FTLS {
        for parameter in entry.parameters.listed() {
            let is_accepted = |drawn: u64| {
                let mut choice = Choice::named(entry.name);
                choice.parameters.insert(parameter.name.to_string(), value_of(parameter, drawn));
                Parameters::new(&choice, &entry.parameters).is_ok()
            };
            assert!((0..40).any(is_accepted), "`{}` of {} is never accepted", parameter.name, entry.name);
        }
    }
}

/// Draws a layer, mostly with its defaults, sometimes with a value for one of its parameters.
fn ftl() -> impl Strategy<Value = Choice> {
    (0..FTLS.len(), any::<prop::sample::Index>(), prop::option::weighted(0.4, 0u64..40)).prop_map(
        |(layer, parameter, value)| {
            let entry = &FTLS[layer];
            let list = entry.parameters.listed();
            let mut choice = Choice::named(entry.name);
            if let (Some(value), false) = (value, list.is_empty()) {
                let parameter = parameter.get(list);
                choice.parameters.insert(parameter.name.to_string(), value_of(parameter, value));
            }
            choice
        },
    )
}

/// Draws each policy, sometimes without a mode that it needs, with times far apart.
fn write_modes() -> impl Strategy<Value = Option<WriteModeSettings>> {
    let time = || prop_oneof![1 => Just(0), 60 => 1u64..2_000_000].prop_map(Nanos);
    let mode = (time(), prop::option::of(time()), 0u64..100_000, prop_oneof![9 => Just(1.0), 1 => 0.1..9.0]).prop_map(
        |(page_program, page_read, decode, raw_errors)| {
            let decode = Nanos(if decode % 4 == 0 { decode } else { 0 });
            ModeSettings { page_program, page_read, decode, raw_errors, code: None }
        },
    );
    let modes = prop::array::uniform3(prop::option::weighted(0.95, mode));
    let modes =
        (0..WRITE_MODE_POLICIES.len(), 0u64..4, modes).prop_map(|(policy, n, [low_cost, medium_cost, high_cost])| {
            let entry = &WRITE_MODE_POLICIES[policy];
            let mut policy = Choice::named(entry.name);
            // A few requests are then enough for a policy to change its mind about a page.
            for (name, value) in [("n", n), ("decay", 64)] {
                if entry.parameters.listed().iter().any(|parameter| parameter.name == name) {
                    policy.parameters.insert(name.to_string(), ParameterValue::Integer(value));
                }
            }
            WriteModeSettings { policy, low_cost, medium_cost, high_cost }
        });
    prop::option::weighted(0.4, modes)
}

/// Draws no code, or cells with many errors and a code of a few steps.
fn ecc() -> impl Strategy<Value = Option<EccSettings>> {
    let code = prop::sample::select(vec![EccCode::Bch, EccCode::Ldpc, EccCode::Ldpc]);
    let errors = prop::sample::select(vec![ErrorCount::Drawn, ErrorCount::Drawn, ErrorCount::Expected]);
    let step = (mostly(1..12), 0u64..60_000, mostly(1..4), mostly(1..3));
    let codeword = prop::sample::select(vec![512, 512, 512, 1024, 4096, 700]);
    let rates = (0u32..40, 0u32..40, 0u32..40, 0u32..1000);
    let refresh = prop::option::weighted(0.3, (0u64..103).prop_map(Ratio::percent));
    let sizes = (codeword, prop::option::weighted(0.2, 0u64..40));
    let ecc = (code, sizes, prop::collection::vec(step, 0..5), rates, errors, refresh).prop_map(
        |(code, (codeword, parity), drawn, (fresh, wear, disturb, age), errors, refresh_above)| {
            let mut corrects = 0;
            let step = |(index, (more, decode, sensings, transfers)): (usize, (u32, u64, u32, u32))| {
                corrects += more;
                let again = index > 0;
                DecodingStepSettings {
                    corrects,
                    decode: Nanos(decode),
                    sensings: if again { sensings } else { 1 },
                    transfers: if again { transfers } else { 1 },
                }
            };
            EccSettings {
                code,
                codeword: Bytes(codeword),
                parity: parity.map(Bytes),
                steps: drawn.into_iter().enumerate().map(step).collect(),
                raw_errors: RawErrorSettings {
                    fresh: 1e-4 * f64::from(fresh),
                    wear: 1e-5 * f64::from(wear),
                    wear_exponent: 0.9,
                    retention: 1e-5,
                    retention_wear_exponent: 0.2,
                    retention_exponent: 0.5,
                    retention_unit: Nanos::from_secs(3600),
                    disturb: 1e-5 * f64::from(disturb),
                    disturb_wear_exponent: 0.1,
                    disturb_exponent: 1.5,
                },
                errors,
                refresh_above,
                retention_at_start: Nanos::from_secs(3600 * u64::from(age)),
            }
        },
    );
    prop::option::weighted(0.5, ecc)
}

/// Draws the default array, or any other.
fn array() -> impl Strategy<Value = FlashArraySettings> {
    let copies = prop::sample::select(vec![CopyBack::Off, CopyBack::Off, CopyBack::Unchecked, CopyBack::Checked]);
    let levels = vec![ArrayLevel::Channel, ArrayLevel::Package, ArrayLevel::Die, ArrayLevel::Plane];
    let placement = prop::sample::select(vec![Placement::Turns, Placement::LeastLoaded]);
    let gangs = prop::sample::select(vec![Gang::SharedBus, Gang::SharedBus, Gang::SharedControl, Gang::Synchronous]);
    let controls = prop::sample::select(vec![
        GangControl::Strobes,
        GangControl::Strobes,
        GangControl::Commands,
        GangControl::Rounds,
    ]);
    let data = prop::sample::select(vec![GangData::Own, GangData::Shared]);
    // Sometimes settings of a gang are given without a gang.
    let gang = (gangs, controls, data, 0..10).prop_map(|(gang, control, data, odd)| match gang {
        _ if odd == 0 => (gang, control, data),
        Gang::SharedControl => (gang, control, GangData::default()),
        Gang::Synchronous => (gang, GangControl::default(), data),
        Gang::SharedBus => (gang, GangControl::default(), GangData::default()),
    });
    let rewrite = prop::sample::select(vec![Rewrite::Controller, Rewrite::Controller, Rewrite::InPlane]);
    let planes = prop::sample::select(vec![MultiPlane::Off, MultiPlane::Off, MultiPlane::Pairs, MultiPlane::Any]);
    let order = prop::sample::select(vec![Scheduling::Fifo, Scheduling::ReadsFirst, Scheduling::OutOfOrder]);
    let suspend = prop::option::weighted(
        0.3,
        (0u64..100_000, 0u64..100_000, 0u32..4).prop_map(|(suspend, resume, limit)| SuspendSettings {
            suspend: Nanos(suspend),
            resume: Nanos(resume),
            limit,
        }),
    );
    let span = prop_oneof![3 => Just(Vec::new()), 1 => prop::sample::subsequence(levels.clone(), 0..3)];
    let page = prop::option::weighted(0.2, (9u32..18).prop_map(|shift| Bytes(1 << shift)));
    let drawn = (
        (copies, rewrite),
        Just(levels).prop_shuffle(),
        placement,
        (gang, planes, order),
        (suspend, span, page, any::<[bool; 2]>()),
    )
        .prop_map(
            |(
                (copy_back, rewrite),
                stripe,
                placement,
                ((gang, gang_control, gang_data), multi_plane, scheduling),
                (suspend, span, logical_page, [details, whole_page_reads]),
            )| {
                FlashArraySettings {
                    copy_back,
                    stripe: Stripe(stripe),
                    placement,
                    gang,
                    gang_control,
                    gang_data,
                    multi_plane,
                    scheduling,
                    suspend,
                    span,
                    logical_page,
                    whole_page_reads,
                    rewrite,
                    energy: details.then_some(EnergySettings {
                        page_read: Energy(4_720_000),
                        page_program: Energy(38_040_000),
                        block_erase: Energy(527_680_000),
                        page_transfer: Energy(1_000_001),
                        idle: Power(1_500),
                    }),
                    details,
                }
            },
        );
    prop_oneof![Just(FlashArraySettings::default()), drawn]
}

fn settings() -> impl Strategy<Value = SsdSettings> {
    let share = || prop::option::of((5u64..105).prop_map(Ratio::percent));
    let time = || prop_oneof![1 => Just(Nanos::ZERO), 30 => (1u64..3_000_000).prop_map(Nanos)];
    let pool = prop::sample::select(vec![
        PoolScope::Plane,
        PoolScope::Die,
        PoolScope::Package,
        PoolScope::Gang,
        PoolScope::Device,
    ]);
    let frontiers = prop::sample::select(vec![
        WriteFrontiers::Die,
        WriteFrontiers::Die,
        WriteFrontiers::Plane,
        WriteFrontiers::Pool,
    ]);
    let streams = prop_oneof![20 => Just(1), 12 => 2u32..5, 1 => Just(0), 1 => 5u32..20];
    let link = prop::option::of((prop_oneof![1 => Just(0), 20 => 1_000_000u64..4_000_000_000], 0u64..50_000));
    (
        (share(), share(), geometry(), time(), time(), time()),
        (
            (cleaning(), ftl()),
            pool,
            frontiers,
            any::<bool>(),
            (mostly(1..40), streams),
            link,
            (write_buffer(), wear(), ecc(), write_modes()),
        ),
        array(),
    )
        .prop_map(
            |(
                (over, spare, geometry, read, program, erase),
                ((cleaning, ftl), pool, frontiers, summary, (depth, streams), link, (write_buffer, wear, ecc, modes)),
                array,
            )| {
                let array_is_plain = array.copy_back == CopyBack::Off
                    && array.rewrite == Rewrite::Controller
                    && array.span.is_empty()
                    && array.logical_page.is_none();
                let (mut cleaning, mut ecc) = (cleaning, ecc);
                let layer = registry::find(FTLS, "layer", &ftl.kind).unwrap();
                let asks = |capability| depth % 5 == 0 || layer.can(capability);
                let streams = match asks(LayerCapability::Streams) && cleaning.separate != Separation::HotCold {
                    true => streams,
                    false => 1,
                };
                // Mostly leaves out what the layer would refuse.
                if !asks(LayerCapability::Separate) {
                    cleaning.separate = Separation::None;
                }
                if !asks(LayerCapability::Refresh) {
                    ecc.iter_mut().for_each(|ecc| ecc.refresh_above = None);
                }
                let paced = write_buffer.is_some_and(|buffer| buffer.mode == BufferMode::WriteBack);
                SsdSettings {
                    over_provisioning: over,
                    // Rarely both settings at once, which is refused.
                    spare_factor: if over.is_some_and(|over| over.as_parts_per_billion() % 7 > 0) {
                        None
                    } else {
                        spare
                    },
                    factory_over_provisioning: Some(Ratio::percent(20)),
                    block_summary: summary,
                    cleaning,
                    pool,
                    write_frontiers: frontiers,
                    streams,
                    queue_depth: depth,
                    endurance_cycles: 1000,
                    geometry,
                    timing: TimingSettings {
                        page_read: read,
                        page_program: program,
                        block_erase: erase,
                        blocks_per_erase: 1 + depth % 3,
                        bus_rate: ByteRate(40_000_000),
                    },
                    array,
                    link: link.map(|(rate, overhead)| LinkSettings { rate: ByteRate(rate), overhead: Nanos(overhead) }),
                    // Limits only where there is something to limit, for both a slow and a fast controller.
                    controller: (depth % 3 == 0).then(|| ControllerSettings {
                        commands_per_second: link.map(|_| 20_000),
                        write_rate: paced.then_some(ByteRate(3_000_000)),
                        copy_rate: (paced && depth % 2 == 0).then_some(ByteRate(90_000_000)),
                    }),
                    wear: wear.filter(|_| asks(LayerCapability::Wear)),
                    ftl,
                    write_buffer,
                    // Mostly left out where it would be refused.
                    ecc: ecc.filter(|_| array_is_plain || depth % 4 == 0),
                    write_modes: modes.filter(|_| array_is_plain && asks(LayerCapability::Refresh)),
                    power_failure: None,
                }
            },
        )
}

/// Requests of all kinds, aligned or not, some of them beyond the end of the drive.
fn requests(seed: u64, count: usize, capacity: Bytes) -> impl Iterator<Item = Arrival> {
    let mut rng = Rng::new(seed);
    let sectors = capacity.0 / 512;
    let mut at = Nanos::ZERO;
    (0..count).map(move |_| {
        let kind = match rng.below(20) {
            0 => RequestKind::Trim,
            1 => RequestKind::WriteZeroes { fua: false },
            2 => RequestKind::Flush,
            3..8 => RequestKind::Read,
            _ => RequestKind::Write { fua: false },
        };
        at += Nanos(rng.below(400_000));
        let start = rng.below(sectors);
        let length = match rng.below(10) {
            0 => 0,
            1 => rng.below(200),
            _ => rng.below(20).min(sectors - start) + 1,
        };
        let length = if kind == RequestKind::Flush { 0 } else { length };
        let (priority, stream) = (Priority(rng.below(2) as u8), StreamId(rng.below(5) as u16));
        Arrival { at, request: Request { priority, stream, ..Request::new(kind, Lba(start), Bytes(length * 512)) } }
    })
}

/// Runs a drive and checks its counts: every program has a cause, and erases free what is programmed again.
fn exercise(
    mut ssd: Ssd,
    settings: &SsdSettings,
    seed: u64,
    closed: bool,
    utilisation: Ratio,
) -> Result<String, TestCaseError> {
    let capacity = ssd.capacity();
    let replay = if closed { ReplaySettings::closed(8) } else { ReplaySettings::OPEN };
    let condition = Precondition::Filled { utilisation };
    ssd.control(Nanos::ZERO, Control::Precondition(condition)).unwrap();
    let before = report(&ssd);
    prop_assert_eq!(before.host_page_writes, before.precondition.unwrap().filled_pages);
    let outcome = run(&mut ssd, requests(seed, 1500, capacity), &replay);
    ssd.check();
    let flash = report(&ssd);
    match flash.write_buffer {
        None => prop_assert_eq!(flash.programs.host, flash.host_page_writes),
        // Pages still in memory have not been programmed. On a drive that is worn out, pages may have left the buffer
        // without reaching flash.
        Some(_) if flash.wear.is_some_and(|wear| wear.read_only) => {}
        Some(buffer) if settings.write_buffer.unwrap().mode == BufferMode::WriteBack => {
            let filled = before.host_page_writes;
            prop_assert_eq!(flash.programs.host, filled + buffer.pages_to_flash);
            prop_assert_eq!(flash.host_page_writes, filled + buffer.pages_written);
        }
        Some(_) => prop_assert_eq!(flash.programs.host, flash.host_page_writes),
    }
    prop_assert_eq!(flash.programs.cleaning, flash.reads.cleaning);
    let merges = flash.merges.switch + flash.merges.partial + flash.merges.full + flash.dead_log_blocks;
    match settings.ftl.kind.as_str() {
        "page" | "block" => prop_assert_eq!(merges, flash.erases),
        "bast" => prop_assert_eq!(merges + flash.merges.full, flash.erases),
        _ => prop_assert!(merges <= flash.erases),
    }
    prop_assert_eq!(flash.full_merge_data_blocks.values().sum::<u64>(), flash.merges.full);
    prop_assert!(
        flash.erases * u64::from(ssd.geometry().pages_per_block()) + flash.pages.raw >= flash.programs.total()
    );
    prop_assert!(flash.pages.host <= flash.pages.data - flash.pages.reserve);
    let map = flash.mapping.map_or(0, |map| map.cleaning_map_writes + map.translation_writes + map.update_writes);
    prop_assert!(flash.programs.mapping >= map);
    if !settings.block_summary {
        prop_assert_eq!(flash.programs.mapping, map);
    }
    if let Some(ecc) = &flash.ecc {
        let judged = ecc.reads_by_step.iter().sum::<u64>() + ecc.uncorrectable_reads.total();
        // Preconditioning decodes nothing. Superblocks also read spare areas.
        let reads = flash.reads.total() - before.reads.total();
        // Each flash page that is read is decoded on its own, even if several make a logical page.
        let packages =
            if settings.array.gang == Gang::Synchronous { settings.geometry.packages_per_channel } else { 1 };
        let flash_pages = ssd.geometry().page_size().0 / (settings.geometry.page_size.0 * u64::from(packages));
        prop_assert!(judged <= reads * flash_pages);
        prop_assert!(judged >= reads || settings.ftl.kind == "superblock");
        prop_assert!(
            // The mean of equal rates may be rounded up.
            ecc.mean_raw_bit_error_rate <= ecc.worst_raw_bit_error_rate * (1.0 + 1e-9)
                && ecc.worst_raw_bit_error_rate <= 0.5
        );
    }
    if let Some(modes) = &flash.write_modes {
        let programs = |mode: &WriteModeReport| mode.programs.total();
        let reads = |mode: &WriteModeReport| mode.reads.total();
        let all = flash.programs.total();
        prop_assert_eq!(modes.modes.iter().map(programs).sum::<u64>(), all);
        // Superblocks also read spare areas.
        let read = modes.modes.iter().map(reads).sum::<u64>();
        prop_assert!(read == flash.reads.total() || settings.ftl.kind == "superblock");
    }
    if let Some(array) = &flash.array {
        let dies: u64 = array.steps.iter().map(|step| step.cells_ns + step.transfers_ns + step.interruptions_ns).sum();
        let busy = ssd.telemetry().busy.iter().find(|busy| busy.kind == ResourceKind::Die).unwrap().busy;
        prop_assert_eq!(dies, busy.0);
        let energy = flash.energy.expect("it was asked for, too");
        let parts = [energy.read, energy.program, energy.erase, energy.transfer];
        let sum: u64 = parts.iter().map(|part| part.total_pj()).sum();
        prop_assert_eq!(energy.total_pj, sum + energy.idle_pj);
    }
    for (name, share) in ssd.telemetry().busy.iter().map(|busy| (busy.kind, busy.busiest)) {
        prop_assert!(share <= outcome.last_event + Nanos::from_secs(1), "{:?} was busy longer than the run", name);
    }
    Ok(format!("{:?} {:?}", outcome.statistics.results(), flash))
}

/// Drives that differ in one thing each, and an equal one.
fn others(settings: &SsdSettings, seed: u64, utilisation: Ratio) -> Arc<PreconditionedDrives> {
    let drives = Arc::<PreconditionedDrives>::default();
    let mut larger = settings.clone();
    larger.geometry.blocks_per_plane += 1;
    let half = Ratio::percent(50);
    for (settings, seed, utilisation) in [
        (&larger, seed, utilisation),
        (settings, !seed, utilisation),
        (settings, seed, half),
        (settings, seed, utilisation),
    ] {
        if let Ok(ssd) = Ssd::new("flash", settings, seed) {
            let condition = Precondition::Filled { utilisation };
            ssd.sharing(Arc::clone(&drives)).control(Nanos::ZERO, Control::Precondition(condition)).unwrap();
        }
    }
    drives
}

/// Returns the factor by which to multiply the usual number of cases.
fn soak() -> u32 {
    std::env::var("ESKER_SOAK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400 * soak()))]
    #[test]
    fn a_drive_works_or_says_what_clashes(
        settings in settings(),
        seed: u64,
        closed: bool,
        utilisation in (0u64..=100).prop_map(Ratio::percent),
    ) {
        match Ssd::new("flash", &settings, seed) {
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                prop_assert!(error.hint().is_some(), "{}", error);
                if let SsdError::Layer(BuildError::NotAboveThreshold { key, .. }) = error {
                    prop_assert!(error.hint().unwrap().contains(key));
                }
                if let SsdError::Layer(BuildError::NoUpdateBlocks { remedy, .. }) = error
                    && remedy < Ratio::ONE
                {
                    let settings =
                        SsdSettings { over_provisioning: Some(remedy), spare_factor: None, ..settings.clone() };
                    let again = Ssd::new("flash", &settings, seed);
                    prop_assert!(!matches!(again, Err(SsdError::Layer(BuildError::NoUpdateBlocks { .. }))), "the remedy does not help");
                }
                if let SsdError::Layer(BuildError::NoRoomForMap { remedy, .. }) = error
                    && remedy < Ratio::ONE
                    && settings.cleaning.background.is_none()
                    && settings.cleaning.gradual.is_none()
                {
                    let settings =
                        SsdSettings { over_provisioning: Some(remedy), spare_factor: None, ..settings.clone() };
                    let again = Ssd::new("flash", &settings, seed);
                    // Settings of other parts are judged after the layer has been built, and may clash for reasons of
                    // their own.
                    let clashes = matches!(again, Err(SsdError::Layer(_)));
                    prop_assert!(!clashes, "the remedy does not help: {:?}", again.err());
                }
                if let SsdError::Layer(BuildError::NoSpareSpace { remedy: (key, value), .. }) = error
                    && value < Ratio::ONE
                {
                    let mut settings = settings;
                    let stated = if key == "spare_factor" { &mut settings.spare_factor } else { &mut settings.over_provisioning };
                    *stated = Some(value);
                    let again = Ssd::new("flash", &settings, seed);
                    let clashes = matches!(
                        again,
                        Err(SsdError::Layer(BuildError::NoSpareSpace { .. } | BuildError::NoHostPages { .. }))
                    );
                    prop_assert!(!clashes, "the remedy does not help");
                }
            }
            Ok(_) => {
                let drive = || Ssd::new("flash", &settings, seed).unwrap();
                let outcome = exercise(drive(), &settings, seed, closed, utilisation)?;
                let drives = others(&settings, seed, utilisation);
                let shared = exercise(drive().sharing(drives), &settings, seed, closed, utilisation)?;
                prop_assert_eq!(outcome, shared, "the same seed gave another run");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200 * soak()))]
    #[test]
    fn a_drive_that_loses_power_at_any_moment_goes_on(
        settings in settings(),
        seed: u64,
        (at, operations) in (0u64..600_000_000, prop::option::of(0u64..3000)),
    ) {
        let power_failure = match operations {
            Some(operations) => PowerFailureSettings::after_operations(operations),
            None => PowerFailureSettings::at(Nanos(at)),
        };
        let settings = SsdSettings { power_failure: Some(power_failure), ..settings };
        let Ok(mut ssd) = Ssd::new("flash", &settings, seed) else { return Ok(()) };
        ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Filled { utilisation: Ratio::ONE })).unwrap();
        let capacity = ssd.capacity();
        run(&mut ssd, requests(seed, 1000, capacity), &ReplaySettings::closed(8));
        ssd.check();
        // The run may have ended before power failed.
        if let Some(recovery) = report(&ssd).recovery {
            prop_assert!(recovery.reads > 0 && recovery.interrupted_requests <= u64::from(settings.queue_depth));
        }
    }
}
