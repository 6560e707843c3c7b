//! Policies of hybrids, over devices whose times are known.

use esker_core::Rng;
use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, run};

/// 4 KiB requests, four at a time, on a device of 100 µs and one of 1 ms. `requests` and `volume` are more keys of the
/// requests and of the volume.
fn volume(policy: &str, requests: &str, volume: &str) -> RunResults {
    let text = format!(
        "[workload]\n\
         queue_depth = 4\n\
         synthetic = {{ {requests} }}\n\
         [device.fast]\n\
         kind = \"constant\"\n\
         service_time = \"100us\"\n\
         capacity = \"64MiB\"\n\
         [device.slow]\n\
         kind = \"constant\"\n\
         service_time = \"1ms\"\n\
         capacity = \"64MiB\"\n\
         [device.volume]\n\
         kind = \"hybrid\"\n\
         children = [\"fast\", \"slow\"]\n\
         extent = \"64KiB\"\n\
         capacity = \"64MiB\"\n\
         {volume}\n\
         policy = {policy}\n\
         [run]\n\
         target = \"volume\"\n"
    );
    run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap()
}

/// Requests to 32 MiB.
fn results(policy: &str, requests: u32) -> RunResults {
    volume(policy, &format!("requests = {requests}, footprint = \"32MiB\""), "")
}

fn share(results: &RunResults, child: &str) -> f64 {
    results.devices["volume"].children[child].share
}

#[test]
fn migration_moves_what_is_used_to_the_faster_device() {
    let stripes = results(r#"{ kind = "static-split" }"#, 100_000);
    let migrating = results(r#"{ kind = "migration", interval = "1ms" }"#, 100_000);
    let placement = migrating.devices["volume"].placement.as_ref().unwrap();
    assert!((share(&stripes, "fast") - 0.5).abs() < 0.01);
    // The 256 extents that begin on the slow device move once, but for the last ones. Their copies are requests, too.
    assert!((200..300).contains(&placement.moved_extents), "{placement:?}");
    assert!(share(&migrating, "fast") > 0.9, "{}", share(&migrating, "fast"));
    let rates = [&stripes, &migrating].map(|results| results.throughput.requests_per_s);
    assert!(rates[1] > 2.0 * rates[0], "{rates:?}");
}

/// One token an interval: the first moves what is found, the later ones find nothing.
#[test]
fn tokens_are_counted_for_policies_that_have_them() {
    let migrating = results(r#"{ kind = "migration", interval = "1ms" }"#, 100_000);
    let placement = migrating.devices["volume"].placement.unwrap();
    let tokens = placement.tokens.unwrap();
    assert_eq!(tokens.granted, tokens.moves + tokens.lapsed);
    assert_eq!((tokens.new_extents, tokens.redirects), (0, 0));
    assert!(tokens.moves >= placement.moved_extents && tokens.lapsed > 0, "{placement:?}");
    let intervals = migrating.workload.duration_s * 1e3;
    assert!((0.9..=1.0).contains(&(tokens.granted as f64 / intervals)), "{tokens:?} in {intervals} intervals");

    let writes = "requests = 100_000, footprint = \"32MiB\", read_fraction = \"50%\"";
    let published = r#"{ kind = "wardrop-published", period = "10ms" }"#;
    let placement = volume(published, writes, "allocate = \"on-write\"").devices["volume"].placement.unwrap();
    let tokens = placement.tokens.unwrap();
    assert!(tokens.new_extents > 0 && tokens.moves > 0 && tokens.lapsed > 0, "{tokens:?}");
    assert!(
        tokens.moves >= placement.moved_extents + placement.abandoned_moves && tokens.moves < 1000,
        "{placement:?}"
    );
    let gone = tokens.new_extents + tokens.moves + tokens.redirects + tokens.lapsed;
    assert!(
        (gone..=gone + 200).contains(&tokens.granted),
        "a period has at most a hundred for each device: {tokens:?}"
    );
    // Whole extents are replaced.
    let rewrites = "requests = 100_000, footprint = \"32MiB\", read_fraction = \"0%\", size = \"64KiB\"";
    let placement = volume(published, rewrites, "").devices["volume"].placement.unwrap();
    let redirects = placement.tokens.unwrap().redirects;
    assert!(redirects > 0 && redirects >= placement.redirected_writes, "{placement:?}");

    let others = results(r#"{ kind = "wardrop" }"#, 5_000);
    assert_eq!(others.devices["volume"].placement.unwrap().tokens, None);
}

/// The advantage has to be larger than `delta`, and large requests may stay on their stripes.
#[test]
fn migration_moves_nothing_that_gains_too_little() {
    for policy in [r#"{ kind = "migration", delta = "10000%" }"#, r#"{ kind = "migration", request_max = "2KiB" }"#] {
        let results = results(policy, 20_000);
        assert_eq!(results.devices["volume"].placement.as_ref().unwrap().moved_extents, 0, "{policy}");
    }
}

#[test]
fn fast_first_uses_one_device_while_it_has_room() {
    let one = results(r#"{ kind = "fast-first" }"#, 5_000);
    let other = results(r#"{ kind = "fast-first", order = [1] }"#, 5_000);
    assert_eq!((share(&one, "fast"), share(&other, "slow")), (1.0, 1.0));
    let pinned = r#"{ kind = "pinned", ranges = [{ length = "16MiB", device = 1 }], rest = { kind = "fast-first" } }"#;
    let pinned = results(pinned, 5_000);
    assert!((share(&pinned, "slow") - 0.5).abs() < 0.03, "{}", share(&pinned, "slow"));
}

/// With a cache, a read fetches its whole extent, and the next ones to it take no time. A write to it can take the
/// extent to the device that the policy wants it on, without a read.
#[test]
fn cached_extents_answer_reads_and_move_with_writes() {
    let cached = |extents: u32, policy: &str| {
        let requests = "requests = 60_000, footprint = \"16MiB\", read_fraction = \"60%\"";
        volume(policy, requests, &format!("cached_extents = {extents}"))
    };
    // 256 extents fit into 256.
    let all = cached(256, "{ kind = \"static-split\" }");
    let cache = all.devices["volume"].memory_cache.unwrap();
    // A few are written while they are fetched, and so fetched again.
    assert!((256..300).contains(&cache.misses) && cache.fetched_bytes <= cache.misses << 16, "{cache:?}");
    assert!(cache.hit_ratio > 0.99 && all.devices["volume"].placement.unwrap().moved_bytes == 0);
    // Every fourth one fits: uniform reads find one of four there.
    let some = cached(64, "{ kind = \"static-split\" }");
    let cache = some.devices["volume"].memory_cache.unwrap();
    assert!((cache.hit_ratio - 0.25).abs() < 0.05, "{cache:?}");
    assert!(cache.fetched_bytes <= cache.misses << 16 && cache.fetched_bytes > (cache.misses << 16) / 2, "{cache:?}");
    let none = cached(0, "{ kind = \"wardrop\" }");
    assert_eq!(none.devices["volume"].memory_cache, None);
    // Copies alone would move ten extents a second.
    let moving = cached(64, "{ kind = \"wardrop\", interval = \"100ms\" }");
    let (cache, placement) =
        (moving.devices["volume"].memory_cache.unwrap(), moving.devices["volume"].placement.unwrap());
    assert!(cache.widened_writes > 20 && placement.redirected_writes == cache.widened_writes, "{cache:?}");
}

/// A third of 96 MiB is on the fast device, and fills it. Then the first 16 MiB are used, fifty times a second: each
/// device has nothing to do most of the time. The share of the fast device in the second half of the requests, and what
/// was moved.
fn hot_on_the_fast_device(policy: &str) -> (f64, u64) {
    let text = format!(
        "[workload]\n\
         synthetic = {{ requests = 20_000, footprint = \"16MiB\", \
         arrivals = {{ kind = \"poisson\", rate = \"50/s\" }} }}\n\
         [device.fast]\n\
         kind = \"constant\"\n\
         service_time = \"100us\"\n\
         capacity = \"32MiB\"\n\
         [device.slow]\n\
         kind = \"constant\"\n\
         service_time = \"2ms\"\n\
         capacity = \"128MiB\"\n\
         [device.volume]\n\
         kind = \"hybrid\"\n\
         children = [\"fast\", \"slow\"]\n\
         extent = \"64KiB\"\n\
         capacity = \"96MiB\"\n\
         policy = {policy}\n\
         [run]\n\
         target = \"volume\"\n\
         warm_up_requests = 10_000\n"
    );
    let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    (share(&results, "fast"), results.devices["volume"].placement.unwrap().moved_extents)
}

/// When a device is full of cold data, what is hot now finds no room there, unless cold extents leave it in idle time.
#[test]
fn cold_extents_make_room_for_hot_ones() {
    let migration = |more: &str| hot_on_the_fast_device(&format!("{{ kind = \"migration\", weights = [1, 2]{more} }}"));
    let (without, moved) = migration("");
    assert!((without - 1.0 / 3.0).abs() < 0.02 && moved == 0, "{without}, {moved} moved");
    let (with, moved) = migration(", make_room = {}");
    assert!(with > 0.99, "{with}");
    // All was moved in the first half, and stays.
    assert!(moved < 10, "{moved}");
    // Half of the other device is free: it would have to make room itself.
    let (full, moved) = migration(", make_room = { below = \"60%\", until = \"60%\" }");
    assert!((full - without).abs() < 0.02 && moved == 0, "{full}, {moved} moved");
    // A host that leaves no time to devices gets no room.
    let (busy, _) = migration(", make_room = { idle = \"10s\" }");
    assert!((busy - without).abs() < 0.02, "{busy}");
}

/// Requests of 4 KiB to extents of 64 KiB: nineteen of twenty go to 352 hot ones, the others anywhere among 4,096. In
/// the middle of the run, others become hot.
fn hot_set_that_shifts(requests: u32) -> String {
    let (mut rng, mut seconds) = (Rng::new(1), 0.0);
    let lines = (0..requests).map(|request| {
        // Devices are idle for long enough now and then.
        seconds += rng.exponential(1.0 / 400.0);
        let first = if request < requests / 2 { 0 } else { 1024 };
        let extent = if rng.chance(19, 20) { first + rng.below(352) } else { rng.below(4096) };
        let sector = extent * 128 + rng.below(16) * 8;
        let kind = if rng.chance(7, 10) { 'r' } else { 'w' };
        format!("0,{sector},4096,{kind},{seconds:.6}\n")
    });
    lines.collect()
}

/// What becomes hot moves to the fast device, and as much that is cold leaves it: about that many moves suffice.
/// Without a comparison of both, each extent that was used four times in all would come, and another one would leave
/// for it.
#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows what moved")]
fn a_hot_set_that_shifts_moves_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hot.spc"), hot_set_that_shifts(240_000)).unwrap();
    let text = "[workload]\n\
         trace = \"hot.spc\"\n\
         [device.fast]\n\
         kind = \"constant\"\n\
         service_time = \"100us\"\n\
         capacity = \"48MiB\"\n\
         [device.slow]\n\
         kind = \"constant\"\n\
         service_time = \"2ms\"\n\
         capacity = \"512MiB\"\n\
         [device.volume]\n\
         kind = \"hybrid\"\n\
         children = [\"fast\", \"slow\"]\n\
         extent = \"64KiB\"\n\
         capacity = \"256MiB\"\n\
         policy = { kind = \"migration\", weights = [1, 7], make_room = {} }\n\
         [run]\n\
         target = \"volume\"\n\
         series = \"50s\"\n";
    let experiment = Experiment::from_str(text, "x.toml").unwrap().in_folder(folder.path());
    let results = run(&experiment, &RunOptions::default()).unwrap();
    let moved: Vec<u64> = results.series.iter().map(|point| point.placement.unwrap().moved_extents).collect();
    let shares: Vec<f64> = results.series.iter().map(|point| point.children["fast"].share).collect();
    println!("{moved:?} moved; {shares:.3?} of the requests to the fast device");
    // The shift is after about 300 s, in the sixth interval. A device that is nine tenths full takes no more than 768
    // extents.
    for half in [&moved[..6], &moved[6..]] {
        let moved: u64 = half.iter().sum();
        assert!((300..900).contains(&moved), "{half:?}");
        assert!(half[2..].iter().sum::<u64>() < 90, "{half:?}");
    }
    assert!(shares[1] > 0.95 && shares[4] > 0.95 && shares[7] > 0.95 && shares[11] > 0.95, "{shares:?}");
}

/// New data go to the first device again when it has been full.
#[test]
fn fast_first_goes_on_with_the_first_device_when_cold_extents_have_left_it() {
    let written = |room: &str| {
        let text = format!(
            "[workload]\n\
             synthetic = {{ requests = 1_000, read_fraction = \"0%\", size = \"64KiB\", address = \"sequential\", \
             arrivals = {{ kind = \"fixed\", rate = \"20/s\" }} }}\n\
             [device.fast]\n\
             kind = \"constant\"\n\
             service_time = \"100us\"\n\
             capacity = \"16MiB\"\n\
             [device.slow]\n\
             kind = \"constant\"\n\
             service_time = \"2ms\"\n\
             capacity = \"128MiB\"\n\
             [device.volume]\n\
             kind = \"hybrid\"\n\
             children = [\"fast\", \"slow\"]\n\
             extent = \"64KiB\"\n\
             allocate = \"on-write\"\n\
             policy = {{ kind = \"fast-first\"{room} }}\n\
             [run]\n\
             target = \"volume\"\n"
        );
        let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
        (share(&results, "fast"), results.devices["volume"].placement.unwrap().moved_extents)
    };
    // 256 of a thousand extents fit there.
    assert_eq!(written(""), (0.256, 0));
    let (share, moved) = written(", make_room = {}");
    assert_eq!(share, 1.0);
    assert!((1000 - 256..1000 - 256 + 26).contains(&moved), "{moved}");
}

/// Devices of 2,000 and 1,000 requests per second, sixteen requests of an extent at a time, 90 % of them to an eighth
/// of the extents. The fast device has room for `fast`; all are 64 MiB.
fn unequal(policy: &str, fast: &str) -> RunResults {
    let text = format!(
        r#"
        [workload]
        queue_depth = 16
        [workload.synthetic]
        requests = 120_000
        size = "64KiB"
        alignment = "64KiB"
        footprint = "64MiB"
        address = {{ kind = "hot-cold", hot_share = "12.5%", hot_accesses = "90%" }}
        [device.fast]
        kind = "constant"
        service_time = "500us"
        capacity = "{fast}"
        [device.slow]
        kind = "constant"
        service_time = "1ms"
        capacity = "128MiB"
        [device.volume]
        kind = "hybrid"
        children = ["fast", "slow"]
        extent = "64KiB"
        capacity = "64MiB"
        policy = {policy}
        [run]
        target = "volume"
        warm_up_requests = 60_000
        "#
    );
    run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap()
}

/// With room for everything, the fast device alone would answer 2,000 requests per second, both together 3,000. With
/// room for 64 of the 128 hot extents it can have 45 % of the requests, and the slow one, which is always busy, answers
/// the others: 1,000 / 0.55. Once that is so, hardly anything moves: of 120,000 requests 0.2 % move an extent at
/// most; by `collective`, by which hot extents change places that have been hotter by chance, 1 %.
#[test]
fn policies_by_costs_use_both_devices_and_come_to_rest() {
    for (kind, moves_max) in [("cost-benefit", 240), ("collective", 1_200)] {
        for (fast, least, most) in [("128MiB", 2_700.0, 3_000.0), ("4MiB", 1_727.0, 1_818.0)] {
            let results = unequal(&format!("{{ kind = \"{kind}\" }}"), fast);
            let placement = results.devices["volume"].placement.unwrap();
            let rate = results.throughput.requests_per_s;
            assert!((least..=most).contains(&rate), "{kind} {fast}: {rate}");
            assert!(placement.moved_extents < moves_max, "{kind} {fast}: {placement:?}");
        }
    }
}

/// A disk that never gets a request idles all the time: 5.4 W for as long as the run takes.
#[test]
fn a_disk_without_requests_draws_power_all_the_time() {
    let text = "[workload]\n\
                synthetic = { requests = 1000, read_fraction = \"0%\", footprint = \"32MiB\", arrivals = \
                { kind = \"poisson\", rate = \"1/s\" } }\n\
                [device.fast]\n\
                kind = \"constant\"\n\
                service_time = \"100us\"\n\
                capacity = \"64MiB\"\n\
                [device.disk]\n\
                preset = \"nearline-7200-20t\"\n\
                power = { active = \"9.4W\", idle = \"5.4W\", standby = \"1W\" }\n\
                [device.volume]\n\
                kind = \"hybrid\"\n\
                children = [\"fast\", \"disk\"]\n\
                extent = \"1MiB\"\n\
                capacity = \"64MiB\"\n\
                policy = { kind = \"fast-first\" }\n\
                [run]\n\
                target = \"volume\"\n";
    let results = run(&Experiment::from_str(text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    assert_eq!(results.devices["disk"].requests, 0);
    let power = results.devices["disk"].disk.as_ref().unwrap().power.unwrap();
    let took = 1000.0 / results.throughput.requests_per_s;
    assert!((power.idle_s / took - 1.0).abs() < 0.01, "{} s of {took}", power.idle_s);
    assert!((power.energy_j / (5.4 * power.idle_s) - 1.0).abs() < 1e-9, "{} J", power.energy_j);
}
