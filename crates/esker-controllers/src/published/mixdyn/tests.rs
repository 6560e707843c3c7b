use esker_core::{Bytes, Lba, Telemetry};
use esker_tier::{Completed, LogicalExtent, PLACEMENTS, PolicySettings};

use super::super::testing::views;
use super::*;

const PAGE: Bytes = Bytes(4096);

fn policy(table: &str) -> MixDyn {
    MixDyn::new(serde_json::from_str(table).unwrap(), 2)
}

/// Sends a request to `device` at `now`, in microseconds.
fn send(policy: &mut MixDyn, device: u16, now: u64, request: &Request) {
    let sent = Event::Sent { device: DeviceIndex(device), request };
    policy.observe(Nanos::from_micros(now), &sent, &views([9, 9]), &mut Wishes::default());
}

/// Ends, at `at`, a request that was sent to `device` at `sent`.
fn end(policy: &mut MixDyn, device: u16, sent: u64, at: u64, request: &Request) {
    let done = Completed {
        device: DeviceIndex(device),
        first: LogicalExtent(0),
        extents: 1,
        kind: request.kind,
        length: request.length,
        sent: Nanos::from_micros(sent),
        at: Nanos::from_micros(at),
        for_host: true,
        ok: true,
    };
    policy.observe(done.at, &Event::Completed(done), &views([9, 9]), &mut Wishes::default());
}

/// Lets each device answer `count` writes of one to four pages, the flash in 100 us a page, the disk in 500 us. Returns
/// when the last one has ended.
fn train(policy: &mut MixDyn, count: u64) -> u64 {
    let mut now = 0;
    for index in 0..count {
        for (device, takes) in [(0, 100), (1, 500)] {
            let pages = 1 + index % 4;
            let request = Request::write(Lba(8 * index), Bytes(PAGE.0 * pages));
            send(policy, device, now, &request);
            end(policy, device, now, now + takes * pages, &request);
            now += 4_000;
        }
    }
    now
}

/// Tells the policy of the host's request, as the engine does before it asks.
fn ask(policy: &mut MixDyn, request: &Request, views: &[DeviceView]) {
    let request = Event::Request { request, first: LogicalExtent(0), extents: 1 };
    policy.observe(policy.now, &request, views, &mut Wishes::default());
}

fn place(policy: &mut MixDyn, write: Option<&Request>, views: &[DeviceView]) -> u16 {
    write.into_iter().for_each(|write| ask(policy, write, views));
    policy.place(&NewExtent { extent: LogicalExtent(0), start: Bytes(0), write }, views).0
}

fn redirect(policy: &mut MixDyn, from: u16, write: &Request, views: &[DeviceView]) -> Option<u16> {
    redirect_with(policy, from, write, 0, views)
}

/// What becomes of a write that leaves `pages` of its extent.
fn redirect_with(policy: &mut MixDyn, from: u16, write: &Request, pages: u64, views: &[DeviceView]) -> Option<u16> {
    ask(policy, write, views);
    let rest = Bytes(PAGE.0 * pages);
    let rewrite = Rewrite { extent: LogicalExtent(0), from: DeviceIndex(from), write, rest };
    policy.redirect(&rewrite, views).map(|device| device.0)
}

/// Data from before the first request lie as `weights` say, as far as there is room. A write has its turn all the same.
#[test]
fn weights_say_where_data_lie_at_first() {
    let built = |weights: &str| {
        let table = format!(r#"{{"kind":"mixdyn","weights":{weights}}}"#);
        serde_json::from_str::<PolicySettings>(&table).unwrap().build(super::super::PUBLISHED_PLACEMENTS, 2)
    };
    let mut policy = built("[0, 1]").unwrap();
    let mut place = |write: Option<&Request>, free: [u32; 2]| {
        policy.place(&NewExtent { extent: LogicalExtent(0), start: Bytes(0), write }, &views(free)).0
    };
    assert_eq!([0; 3].map(|_| place(None, [9, 9])), [1; 3]);
    assert_eq!(place(None, [9, 0]), 0);
    let write = Request::write(Lba(0), PAGE);
    assert_eq!([place(Some(&write), [9, 9]), place(Some(&Request::write(Lba(8), PAGE)), [9, 9])], [1, 0]);
    let mut redirect = |sector: u64| {
        let write = Request::write(Lba(sector), PAGE);
        let rewrite = Rewrite { extent: LogicalExtent(0), from: DeviceIndex(0), write: &write, rest: Bytes::ZERO };
        policy.redirect(&rewrite, &views([9, 9])).map(|device| device.0)
    };
    assert_eq!([16, 24, 32].map(&mut redirect), [Some(1), None, Some(1)], "they take turns, too");
    assert!(built("[1]").unwrap_err().to_string().starts_with("weights: "));
}

#[test]
fn devices_take_turns_until_all_are_known() {
    let mut policy = policy(r#"{"training": 50}"#);
    let write = Request::write(Lba(0), PAGE);
    let turns = |policy: &mut MixDyn| [0; 4].map(|_| place(policy, Some(&write), &views([9, 9])));
    assert_eq!(turns(&mut policy), [0, 1, 0, 1]);
    train(&mut policy, 49);
    assert_eq!(turns(&mut policy), [0, 1, 0, 1]);
    assert_eq!(redirect(&mut policy, 1, &write, &views([9, 9])), None);
    train(&mut policy, 1);
    assert_eq!(turns(&mut policy), [0; 4]);
    assert_eq!(redirect(&mut policy, 1, &write, &views([9, 9])), Some(0));
    // Data from before the first request are no writes of the host.
    assert_eq!([0; 4].map(|_| place(&mut policy, None, &views([9, 9]))), [0, 1, 0, 1]);
    // Without room the flash takes no new extent; a write to what it holds stays there.
    assert_eq!(place(&mut policy, Some(&write), &views([0, 9])), 1);
    assert_eq!(redirect(&mut policy, 1, &write, &views([0, 9])), None);
    assert_eq!(redirect(&mut policy, 0, &write, &views([0, 9])), None);
}

/// A write of 64 pages takes the flash 6.4 ms by (5.3), more than the disk's mean of 1.25 ms: it goes to the disk,
/// which takes 32 ms. This is the weakness of the mean that the paper names. A model of the disk that sees the size
/// does not do so.
#[test]
fn the_mean_of_a_disk_does_not_see_the_size_of_a_write() {
    let large = Request::write(Lba(0), Bytes(64 * PAGE.0));
    let small = Request::write(Lba(0), PAGE);
    for (disk_model, expected) in [("mean", 1), ("published", 0), ("recursive", 0), ("marginal", 0)] {
        let mut policy = policy(&format!(r#"{{"training": 200, "disk_model": "{disk_model}"}}"#));
        train(&mut policy, 200);
        assert_eq!(place(&mut policy, Some(&large), &views([9, 9])), expected, "{disk_model}");
        assert_eq!(place(&mut policy, Some(&small), &views([9, 9])), 0, "{disk_model}");
    }
}

/// A write of 64 pages would take the flash 6.4 ms, the disk its mean of 1.25 ms. What the write leaves of its extent
/// has to be read first where it is, in 0.1 ms a page: this pays for one page, and not for 60. From the disk nothing
/// comes back by its mean: reading the rest takes as long there as the write.
#[test]
fn what_has_to_be_read_first_counts() {
    let mut policy = policy(r#"{"training": 200, "merges": true}"#);
    train(&mut policy, 200);
    let large = Request::write(Lba(0), Bytes(64 * PAGE.0));
    for (pages, expected) in [(0, Some(1)), (1, Some(1)), (60, None)] {
        assert_eq!(redirect_with(&mut policy, 0, &large, pages, &views([9, 9])), expected, "{pages}");
    }
    let small = Request::write(Lba(0), PAGE);
    for (pages, expected) in [(0, Some(0)), (1, None)] {
        assert_eq!(redirect_with(&mut policy, 1, &small, pages, &views([9, 9])), expected, "{pages}");
    }
}

/// Six writes of 400 us each are under way on the flash. The next would wait 2.4 ms there, and takes the disk 500 us.
#[test]
fn only_the_marginal_cost_sees_what_is_under_way() {
    for (flash_model, expected) in [("published", 0), ("recursive", 0), ("marginal", 1)] {
        let mut policy =
            policy(&format!(r#"{{"training": 200, "flash_model": "{flash_model}", "disk_model": "marginal"}}"#));
        let now = train(&mut policy, 200);
        for index in 0..6 {
            send(&mut policy, 0, now, &Request::write(Lba(64 * index), Bytes(4 * PAGE.0)));
        }
        let write = Request::write(Lba(0), PAGE);
        assert_eq!(redirect(&mut policy, 0, &write, &views([9, 9])), (expected == 1).then_some(1), "{flash_model}");
        assert_eq!(place(&mut policy, Some(&write), &views([9, 9])), expected, "{flash_model}");
    }
}

/// Half of the writes are diverted, each with all extents that it replaces. Where a device is full, the rest stays.
#[test]
fn the_extents_of_a_write_go_together() {
    let mut policy = policy(r#"{"training": 50, "divert": "50%"}"#);
    train(&mut policy, 50);
    let write = Request::write(Lba(0), Bytes(4 * PAGE.0));
    let mut answers = [0; 2];
    for _ in 0..100 {
        ask(&mut policy, &write, &views([9, 9]));
        let mut on_flash = |extent: u32, free: u32| {
            let rewrite =
                Rewrite { extent: LogicalExtent(extent), from: DeviceIndex(0), write: &write, rest: Bytes::ZERO };
            policy.redirect(&rewrite, &views([9, free])).is_some()
        };
        let first = on_flash(0, 9);
        assert!((1..32).all(|extent| on_flash(extent, 9) == first), "one answer for one write");
        assert!(!on_flash(32, 0), "the disk is full");
        answers[usize::from(first)] += 1;
    }
    assert!(answers.iter().all(|&times| times > 30), "{answers:?}");
}

#[test]
fn a_share_of_what_is_meant_for_the_flash_is_diverted() {
    for (divert, least, most) in [("0%", 0, 0), ("25%", 2_350, 2_650), ("50%", 4_800, 5_200), ("100%", 10_000, 10_000)]
    {
        let mut policy = policy(&format!(r#"{{"training": 50, "divert": "{divert}"}}"#));
        train(&mut policy, 50);
        let write = Request::write(Lba(0), PAGE);
        let diverted = (0..10_000).filter(|_| place(&mut policy, Some(&write), &views([9, 9])) == 1).count();
        assert!((least..=most).contains(&diverted), "{divert}: {diverted}");
        // Where no disk has room, the flash takes it.
        assert_eq!(place(&mut policy, Some(&write), &views([9, 0])), 0);
    }
}

/// A write a second, each of which uses 10 billionths of the life: 3.17 years, if all go to the flash. It gets as many
/// as its life allows.
#[test]
fn the_flash_lasts_as_long_as_it_should() {
    for (life, share) in [("2y", 1.0), ("5y", 0.634), ("10y", 0.317), ("500y", 0.006_338)] {
        let mut policy = policy(&format!(r#"{{"training": 50, "life": "{life}"}}"#));
        let begin = train(&mut policy, 50) / 1_000_000 + 1;
        let write = Request::write(Lba(0), PAGE);
        let mut on_flash = 0;
        for second in begin..begin + 20_000 {
            if (second - begin).is_multiple_of(10) {
                let life_used = Ratio::parts_per_billion(500_000_000 + 10 * on_flash);
                let telemetry = Telemetry { life_used, counts_erases: true, ..Telemetry::default() };
                let event = Event::Device { device: DeviceIndex(0), telemetry: &telemetry };
                policy.observe(Nanos::from_secs(second), &event, &views([9, 9]), &mut Wishes::default());
            }
            on_flash += u64::from(place(&mut policy, Some(&write), &views([9, 9])) == 0);
        }
        // Writes between two looks may be too many.
        let expected = 20_000.0 * share;
        assert!((on_flash as f64 - expected).abs() <= 0.002 * expected + 11.0, "{life}: {on_flash}, not {expected}");
        assert_eq!(policy.telemetry_period(), Some(LIFE_PERIOD));
    }
    assert_eq!(policy("{}").telemetry_period(), None);
}

/// Tells the policy that the flash has used up `millionths` of its life, at `second`. Returns what it asks for.
fn worn(policy: &mut MixDyn, second: u64, millionths: u64) -> Vec<(u16, bool)> {
    let life_used = Ratio::parts_per_billion(1_000 * millionths);
    let telemetry = Telemetry { life_used, counts_erases: true, ..Telemetry::default() };
    let mut wishes = Wishes::default();
    // The disk's telemetry comes, too.
    for device in [1, 0] {
        let event = Event::Device { device: DeviceIndex(device), telemetry: &telemetry };
        policy.observe(Nanos::from_secs(second), &event, &views([9, 9]), &mut wishes);
    }
    let control = |(device, DeviceControl::PauseWearLevelling(pause)): (DeviceIndex, _)| (device.0, pause);
    wishes.controls.into_iter().map(control).collect()
}

/// A life of a million seconds: a millionth a second.
#[test]
fn levelling_pauses_while_the_flash_wears_too_fast() {
    for (regulate, levels, diverts) in [("writes", false, true), ("levelling", true, false), ("both", true, true)] {
        let table = format!(r#"{{"training": 50, "life": "1000000s", "prolonged": "10s", "regulate": "{regulate}"}}"#);
        let mut policy = policy(&table);
        train(&mut policy, 50);
        assert_eq!(policy.telemetry_period(), Some(LIFE_PERIOD));
        let asked = |pause: bool| if levels { vec![(0, pause)] } else { Vec::new() };
        assert_eq!(worn(&mut policy, 100, 500), []);
        assert_eq!(worn(&mut policy, 110, 511), asked(true), "{regulate}");
        let write = Request::write(Lba(0), PAGE);
        assert_eq!(place(&mut policy, Some(&write), &views([9, 9])), u16::from(diverts), "{regulate}");
        assert_eq!(worn(&mut policy, 120, 530), [], "{regulate}: it is paused");
        assert_eq!(worn(&mut policy, 130, 539), asked(false), "{regulate}");
    }
}

#[test]
fn flash_that_cannot_pause_levelling_is_not_asked_again() {
    let mut policy = policy(r#"{"life": "1000000s", "prolonged": "10s", "regulate": "levelling"}"#);
    assert_eq!(worn(&mut policy, 100, 500), []);
    assert_eq!(worn(&mut policy, 110, 600), [(0, true)]);
    let control = DeviceControl::PauseWearLevelling(true);
    let answer = Event::Unsupported { device: DeviceIndex(0), control };
    policy.observe(Nanos::from_secs(110), &answer, &views([9, 9]), &mut Wishes::default());
    for (second, millionths) in [(120, 601), (130, 700), (140, 701)] {
        assert_eq!(worn(&mut policy, second, millionths), []);
    }
    assert_eq!(policy.telemetry_period(), None);
}

/// Reads do not count for the response times of writes.
#[test]
fn reads_teach_nothing_about_writes() {
    let mut policy = policy(r#"{"training": 400}"#);
    let mut now = train(&mut policy, 200);
    for index in 0..200 {
        for device in [0, 1] {
            let read = Request::read(Lba(8 * index), PAGE);
            send(&mut policy, device, now, &read);
            end(&mut policy, device, now, now + 50_000, &read);
            now += 60_000;
        }
    }
    let expected = policy.predictors[0].predict(Nanos::from_micros(now), &Request::write(Lba(0), PAGE));
    assert!((0.0..1.0).contains(&expected), "{expected} ms for a write that takes 0.1");
}

/// Beside pinned ranges, too, MixDyn hears where requests go.
#[test]
fn requests_are_followed_beside_pinned_ranges() {
    let choices: Vec<PlacementEntry> = PLACEMENTS.iter().chain(crate::PUBLISHED_PLACEMENTS).copied().collect();
    let follows = |rest: &str| {
        let table =
            format!(r#"{{"kind":"pinned","ranges":[{{"length":"1MiB","device":0}}],"rest":{{"kind":"{rest}"}}}}"#);
        let settings: PolicySettings = serde_json::from_str(&table).unwrap();
        settings.build(&choices, 2).unwrap().follows_requests()
    };
    assert!(follows("mixdyn") && !follows("static-split"));
}

#[test]
fn impossible_settings_are_refused() {
    for (table, devices, key) in [
        (r#"{"kind": "mixdyn"}"#, 1, "at least two devices"),
        (r#"{"kind": "mixdyn", "flash": 2}"#, 2, "there is no device 2"),
        (r#"{"kind": "mixdyn", "window": 0}"#, 2, "`window` is 0"),
        (r#"{"kind": "mixdyn", "divert": "120%"}"#, 2, "at most 100%"),
        (r#"{"kind": "mixdyn", "life": "10ms"}"#, 2, "less than a second"),
        (r#"{"kind": "mixdyn", "regulate": "levelling"}"#, 2, "a life that the flash should have: `life`"),
        (r#"{"kind": "mixdyn", "regulate": "both"}"#, 2, "a life that the flash should have: `life`"),
        (r#"{"kind": "mixdyn", "life": "5y", "prolonged": "9s"}"#, 2, "`prolonged` is 9s; wear is looked at every 10s"),
        (r#"{"kind": "mixdyn", "busting": {"share": "0%"}}"#, 2, "busting.share: `share` is 0%; it has to be"),
        (r#"{"kind": "mixdyn", "busting": {"share": "101%"}}"#, 2, "more than 0% and at most 100%"),
        (r#"{"kind": "mixdyn", "busting": {"idle": "0s"}}"#, 2, "busting.idle: `idle` is 0"),
        (r#"{"kind": "mixdyn", "busting": {"small": "0B"}}"#, 2, "busting.small: `small` is 0"),
    ] {
        let settings: PolicySettings = serde_json::from_str(table).unwrap();
        let error = settings.build(crate::PUBLISHED_PLACEMENTS, devices).unwrap_err().to_string();
        assert!(error.contains(key), "{table}: {error}");
    }
}

/// Two small random writes on the flash are due at 100 %, and what was used least recently goes first. Extents are kept
/// free for moves only with busting.
#[test]
fn pieces_on_the_flash_move_in_an_idle_period() {
    let mut policy = policy(r#"{"busting": {"share": "100%", "idle": "5ms"}}"#);
    let mut wishes = Wishes::default();
    for (extent, at) in [(1, 0), (0, 1_000)] {
        let write = Request::write(Lba(512 * u64::from(extent)), PAGE);
        let first = LogicalExtent(extent);
        let event = Event::Request { request: &write, first, extents: 1 };
        policy.observe(Nanos::from_micros(at), &event, &views([9, 9]), &mut wishes);
        policy.placed(first, Bytes(0), Some(DeviceIndex(0)));
        end(&mut policy, 0, at, at + 100, &write);
    }
    let mut wishes = Wishes::default();
    policy.observe(Nanos::from_micros(5_100), &Event::Timer, &views([9, 9]), &mut wishes);
    assert_eq!((wishes.moves.len(), wishes.wake_at), (0, Some(Nanos::from_micros(6_100))));
    policy.observe(Nanos::from_micros(6_100), &Event::Timer, &views([9, 9]), &mut wishes);
    assert_eq!(wishes.moves, [esker_tier::WishedMove::in_background(LogicalExtent(1), DeviceIndex(1))]);
    assert!(policy.needs_free_extents());
    assert!(!self::policy("{}").needs_free_extents());
}

/// The flash cleans for 5 ms before every fiftieth page, ten times as long as the disk takes for one. A policy that
/// predicts the next response would never send that page to the flash, which would stay unused. A page costs the flash
/// 100 us and a fiftieth of a cleaning, less than the disk's 500 us.
#[test]
fn a_cleaning_that_is_due_does_not_keep_the_flash_from_being_used() {
    let mut policy = policy(r#"{"training": 500, "flash_model": "marginal", "disk_model": "marginal"}"#);
    let (mut now, mut since, mut on_flash) = (0, 0, 0);
    for index in 0..6_000 {
        let write = Request::write(Lba(8 * index), PAGE);
        let device = place(&mut policy, Some(&write), &views([9, 9]));
        let takes = if device == 0 {
            since += 1;
            on_flash += u64::from(index >= 2_000);
            100 + if since % 50 == 0 { 5_000 } else { 0 }
        } else {
            500
        };
        send(&mut policy, device, now, &write);
        end(&mut policy, device, now, now + takes, &write);
        now += 10_000;
    }
    assert_eq!(on_flash, 4_000, "of the last 4,000 writes");
}
