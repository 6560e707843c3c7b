//! Cold slices as an erasure code.

use esker_cluster::{Plan, ServerId, SliceMove};
use esker_core::{ByteRate, Bytes};
use esker_results::fleet::FleetRun;

use super::super::copies::{Cause, CopyGrant};
use super::{CopySettings, Simulation, named, read, run};

/// Forty servers with room for 60 slices of 100 objects of 1 MiB, on which 1,200 replicas lie. The first tenth of the
/// slices gets most of what is written.
fn forty(code: &str, more: &str) -> String {
    format!(
        "[data]\nslices = 400\nreplicas = 3\nobjects_per_slice = 100\nobject = \"1MiB\"\n{code}\n\
         [[group]]\nname = \"a\"\ncount = 40\ncapacity = \"{}\"\ndrive_writes_per_day = 1\n\
         [load]\nbytes_per_day = \"80GiB\"\nzipf = 1.2\n{more}",
        Bytes::mib(7000)
    )
}

const CODE: &str = "erasure_code = { data = 4, below = \"30%\", after = \"3d\" }";
const MIB: u64 = 1 << 20;

fn replicas(run: &FleetRun) -> u64 {
    run.servers.iter().map(|server| server.replicas).sum()
}

/// Without anything else, coding costs its parity, and a slice of four takes one and a half times its size.
#[test]
fn a_code_costs_its_parity_and_takes_less_room_than_copies() {
    let ten_days = "[run]\nduration = \"10d\"\n";
    let (with, without) = (run(&read(&forty(CODE, ten_days)), 3, "none"), run(&read(&forty("", ten_days)), 3, "none"));
    let coded = with.counts.coded;
    assert!(coded > 200 && coded.is_multiple_of(4), "{:?}", with.counts);
    assert_eq!((with.counts.became_coded, with.counts.became_copied), (coded, 0));
    assert_eq!(with.written.code_bytes, coded / 4 * 2 * 100 * MIB);
    assert_eq!(replicas(&with), 1200 - 2 * coded + coded / 2);
    assert_eq!((replicas(&without), without.written.code_bytes, without.counts.coded), (1200, 0, 0));
    // Each write of a slice goes to as many servers as before: its own, and two with parity.
    assert!((with.written.host_bytes / without.written.host_bytes - 1.0).abs() < 1e-5);
}

/// With one server of parity, a write goes to two servers instead of three.
#[test]
fn less_parity_is_written_less() {
    let coded_write = |parity: u8| {
        let code = CODE.replace("data = 4", &format!("data = 4, parity = {parity}"));
        let settings = read(&forty(&code, "[run]\nduration = \"9d\"\n"));
        let mut simulation = Simulation::new(&settings, 3, &named("none")).unwrap();
        (0..8).for_each(|_| simulation.step().unwrap());
        simulation.place.check();
        let loads: f64 = (0..40).map(|server| simulation.place.load(server)).sum();
        let all: f64 = simulation.place.weights().iter().map(|weight| f64::from(*weight)).sum();
        (3.0 * all - loads, simulation.place.coded().0)
    };
    let ((none, coded), (saved, same)) = (coded_write(2), coded_write(1));
    assert!(coded == same && none.abs() < 1.0, "{none}");
    assert!(saved > 100.0, "{saved} pages a day");
}

/// Places, room and loads agree at every step while slices change places, servers fail, join and are drained.
#[test]
fn codes_agree_with_places_at_every_step() {
    let more = "turnover = { every = \"9d\", share = \"40%\" }\nrequests = \"drawn\"\n\
        [copies]\nrate = \"60kB/s\"\nserver_rate = \"20kB/s\"\n[failures]\nannual_rate = \"60%\"\n\
        [replacement]\nafter = \"3d\"\n[run]\nduration = \"300d\"\n\
        [[event]]\nat = \"20d\"\nevery = \"50d\"\nkind = \"join\"\ngroup = \"a\"\ncount = 2\n\
        [[event]]\nat = \"30d\"\nevery = \"45d\"\nkind = \"drain\"\ngroup = \"a\"\n";
    let settings = read(&forty(CODE, more).replace("count = 40", "count = 40\nservers_per_domain = 2"));
    for (seed, name) in [(1, "none"), (2, "life"), (3, "ewo"), (4, "edm-like")] {
        let mut simulation = Simulation::new(&settings, seed, &named(name)).unwrap();
        let (mut left, mut moved) = (0, 0);
        for _ in 0..300 {
            let before = simulation.measures.counts;
            simulation.step().unwrap();
            simulation.place.check();
            left += simulation.place.moving(Cause::Code);
            moved += simulation.place.moving_pieces();
            let counts = simulation.measures.counts;
            // Off-loading that copies nothing is planned without a budget, too, and refused while copies are under way.
            let is_no_round = counts.moves == before.moves && !simulation.place.is_settled();
            assert!(counts.moves_refused == before.moves_refused || is_no_round, "{name} knows where pieces may go");
        }
        let (coded, joined, copied) = simulation.place.coded();
        assert!(coded > 100 && joined > 300 && copied > 50 && left > 50, "{name}: {coded}, {joined}, {copied}, {left}");
        assert!(simulation.place.lost.replicas > 200, "{name}: {:?}", simulation.place.lost);
        assert!(moved > 20 || name == "none", "{name} moves {moved} pieces of codes");
    }
}

/// As many servers of a group may fail at once as it has parity; one more loses data.
#[test]
fn a_group_survives_as_many_failures_as_it_has_parity() {
    let settings = read(&forty(CODE, "[run]\nduration = \"60d\"\n"));
    for (members, parity, lost) in [(1, 0, 0), (2, 0, 0), (1, 1, 0), (0, 2, 0), (3, 0, 3), (2, 1, 2), (1, 2, 1)] {
        let mut simulation = Simulation::new(&settings, 7, &named("none")).unwrap();
        (0..12).for_each(|_| simulation.step().unwrap());
        let servers = simulation.place.servers_of_code(5);
        assert_eq!(servers.len(), 6);
        let failing = servers[..members].iter().chain(&servers[4..4 + parity]);
        failing.for_each(|server| simulation.place.fail(*server));
        simulation.place.check();
        let found = simulation.place.lost;
        assert_eq!((found.slices, found.objects), (lost, lost * 100), "{members} and {parity}");
        (0..3).for_each(|_| simulation.step().unwrap());
        simulation.place.check();
        assert_eq!(simulation.place.moving(Cause::Rebuild), 0, "rebuilt");
    }
}

/// Slices that hosts write again have all their copies in the end, and groups without slices no parity.
#[test]
fn slices_that_are_written_again_get_their_copies_back() {
    let settings = read(&forty(CODE, "turnover = { every = \"12d\" }\n[run]\nduration = \"400d\"\n"));
    let mut simulation = Simulation::new(&settings, 5, &named("none")).unwrap();
    for _ in 0..80 {
        simulation.step().unwrap();
        simulation.place.check();
    }
    let (coded, joined, copied) = simulation.place.coded();
    // A slice that leaves has its copies an epoch later.
    let leave = joined - copied - coded;
    assert!(copied > 100 && leave < 20, "{coded}, {joined}, {copied}");
    let used: u32 = simulation.place.servers().iter().map(|server| server.used).sum();
    assert!(u64::from(used) >= 1200 - 2 * coded + coded / 2 && u64::from(used) < 1200, "{used}");
    assert_eq!((simulation.place.lost.slices, simulation.place.homeless()), (0, 0));
}

/// When a slice has left a code, the parity is written once more, without it.
#[test]
fn parity_is_written_anew_when_a_slice_has_left() {
    let settings = read(&forty(CODE, "[run]\nduration = \"60d\"\n"));
    let mut simulation = Simulation::new(&settings, 2, &named("none")).unwrap();
    (0..10).for_each(|_| simulation.step().unwrap());
    let (coded, joined, _) = simulation.place.coded();
    let before = simulation.measures.writes.code_bytes;
    let slice = simulation.place.slices().iter().position(|slice| slice.replicas == 1).unwrap();
    // Hosts write every object in a day, so that nothing is left to copy to its new replicas. The mean stays the same.
    simulation.place.change_weights(|weights| {
        let hottest = (0..weights.len()).max_by(|one, two| weights[*one].total_cmp(&weights[*two])).unwrap();
        weights[hottest] -= 640_000.0 - weights[slice];
        weights[slice] = 640_000.0;
    });
    for _ in 0..8 {
        simulation.step().unwrap();
        simulation.place.check();
    }
    assert_eq!(simulation.place.coded(), (coded - 1, joined, 1));
    assert_eq!(simulation.measures.writes.code_bytes - before, 2 * 100 * MIB);
    assert_eq!(simulation.place.slices()[slice].replicas, 3);
}

/// Parity that moves before it is written without a slice that has left is written once, where it goes. What is lost
/// with a server on the way is written again.
#[test]
fn parity_that_moves_is_written_anew_once() {
    let settings = read(&forty(CODE, "[run]\nduration = \"60d\"\n"));
    // What moves, and the parity of the other server. What is rebuilt counts by itself.
    for (days, fails, written) in
        [(1, None, (100, 100)), (2, None, (100, 100)), (2, Some(0), (50, 100)), (2, Some(1), (50, 150))]
    {
        let mut simulation = Simulation::new(&settings, 2, &named("none")).unwrap();
        (0..10).for_each(|_| simulation.step().unwrap());
        let (slices, homes) = (simulation.place.slices_of_code(5), simulation.place.servers_of_code(5));
        // Hosts write one slice, which leaves, and nothing to the others. No cold slice is left to take its place.
        let copies: Vec<bool> = simulation.place.slices().iter().map(|slice| slice.replicas == 3).collect();
        simulation.place.change_weights(|weights| {
            let mean = weights.iter().sum::<f32>() / weights.len() as f32;
            (0..weights.len()).filter(|at| copies[*at]).for_each(|at| weights[at] = weights[at].max(4.0 * mean));
            slices[1..4].iter().for_each(|slice| weights[slice.index()] = 0.0);
            weights[slices[0].index()] = 640_000.0;
        });
        let left = simulation.place.coded().2;
        while simulation.place.coded().2 == left {
            simulation.step().unwrap();
        }
        let before = simulation.measures.writes;
        let rate = Some(ByteRate((100 * MIB / days).div_ceil(86_400)));
        let copies = CopySettings { server_rate: rate, ..settings.copies };
        simulation.grant = CopyGrant::new(&copies, settings.run.epoch, settings.data.object);
        let to = (0..40).map(ServerId).find(|server| !homes.contains(server)).unwrap();
        let (slice, from) = (slices[4], homes[4]);
        let moved = SliceMove { slice, from, to, copied: Bytes::mib(100) };
        assert_eq!(simulation.place.begin_plan(&Plan { moves: vec![moved], copy_at_once: true }), (1, 0));
        simulation.step().unwrap();
        if let Some(end) = fails {
            simulation.place.fail([from, to][end]);
        }
        for _ in 0..8 {
            simulation.place.check();
            simulation.step().unwrap();
        }
        let now = simulation.measures.writes;
        let (balancing, code) = (now.balancing_bytes - before.balancing_bytes, now.code_bytes - before.code_bytes);
        assert_eq!((balancing / MIB, code / MIB), written, "{days} days, {fails:?} fails");
    }
}

/// A slice of a code and a server's parity are moved like any replica: what they hold is written once, where they go,
/// as fast as the rate allows.
#[test]
fn a_piece_of_a_code_is_written_once_where_it_goes() {
    let settings = read(&forty(CODE, "[run]\nduration = \"60d\"\n"));
    for (place, days) in [(0, 1), (3, 2), (4, 1), (5, 4)] {
        let mut simulation = Simulation::new(&settings, 2, &named("none")).unwrap();
        (0..10).for_each(|_| simulation.step().unwrap());
        let (slices, homes) = (simulation.place.slices_of_code(5), simulation.place.servers_of_code(5));
        let (slice, from) = (slices[place.min(4)], homes[place]);
        let to = (0..40).map(ServerId).find(|server| !homes.contains(server)).unwrap();
        let (before, used) = (simulation.measures.writes, simulation.place.servers()[from.index()].used);
        // Hosts write nothing to the group, so that all of it has to be copied.
        simulation.place.change_weights(|weights| slices[..4].iter().for_each(|slice| weights[slice.index()] = 0.0));
        let (copied, a_day) = (Bytes::mib(100), 100 * MIB / days);
        let rate = Some(ByteRate(a_day.div_ceil(86_400)));
        let copies = CopySettings { server_rate: rate, ..settings.copies };
        simulation.grant = CopyGrant::new(&copies, settings.run.epoch, settings.data.object);
        let plan = |to| Plan { moves: vec![SliceMove { slice, from, to, copied }], copy_at_once: true };
        let refused = simulation.place.begin_plan(&plan(homes[(place + 1) % 6]));
        assert_eq!((refused, simulation.place.begin_plan(&plan(to))), ((0, 1), (1, 0)));
        for day in 1..=days {
            assert_eq!(simulation.place.moving(Cause::Balance), 1);
            simulation.place.check();
            simulation.step().unwrap();
            let now = simulation.measures.writes;
            assert_eq!(now.balancing_bytes - before.balancing_bytes, a_day * day);
            assert_eq!((now.code_bytes, now.merged_bytes), (before.code_bytes, before.merged_bytes));
            let written = (0..40).map(|server| if server == to.index() { a_day } else { 0 });
            assert_eq!(simulation.copied.to, written.collect::<Vec<u64>>());
        }
        simulation.place.check();
        let mut moved = homes.clone();
        moved[place] = to;
        assert_eq!(simulation.place.servers_of_code(5), moved);
        assert_eq!(simulation.place.servers()[from.index()].used, used - 1);
    }
}

/// What balancers are shown adds up to what hosts write to each server, also where it is parity.
#[test]
fn balancers_see_what_is_written_to_each_server() {
    let more = "turnover = { every = \"9d\", share = \"40%\" }\n[run]\nduration = \"60d\"\n";
    let settings = read(&forty(CODE, more));
    let mut simulation = Simulation::new(&settings, 2, &named("life")).unwrap();
    for day in 0..60 {
        simulation.step().unwrap();
        simulation.place.show_parity();
        let mut pages = vec![0.0; 40];
        for slice in simulation.place.slices() {
            slice.homes().iter().for_each(|home| pages[home.index()] += f64::from(slice.pages));
        }
        for (server, shown) in pages.iter().enumerate() {
            let load = simulation.place.load(server);
            assert!(
                (shown - load).abs() <= 1e-4 * load.max(1.0),
                "day {day}: {shown} of {load} pages of server {server}"
            );
        }
    }
    let coded = simulation.place.slices().iter().filter(|slice| slice.replicas == 1).count() as u64;
    assert!(coded > 100 && coded == simulation.place.coded().0, "{coded}");
}

/// Parity waits for all other copies, and copies of slices that leave count among the rate.
#[test]
fn coding_keeps_the_rate_and_waits_for_rebuilds() {
    let rate = 200 * MIB;
    let rates = format!("[copies]\nrate = \"{}B/s\"\n", rate.div_ceil(86_400));
    let fails = "[run]\nduration = \"60d\"\n[[event]]\nat = \"6d\"\nkind = \"fail\"\nserver = 4\n";
    let settings = read(&forty(CODE, &(rates + fails)));
    let mut simulation = Simulation::new(&settings, 1, &named("none")).unwrap();
    let mut waited = 0;
    for _ in 0..60 {
        let before = simulation.measures.writes;
        simulation.step().unwrap();
        let now = simulation.measures.writes;
        let (code, rebuild) = (now.code_bytes - before.code_bytes, now.rebuild_bytes - before.rebuild_bytes);
        assert!(code + rebuild <= rate + 2 * MIB, "{code} and {rebuild}");
        let covered = simulation.place.coded().0 / 4 * 2 * 100 * MIB;
        assert!(now.code_bytes >= covered, "parity of {covered} bytes is not written");
        if simulation.place.moving(Cause::Rebuild) > 0 {
            assert_eq!(code, 0, "a rebuild is under way");
            waited += 1;
        }
    }
    assert!(waited > 3 && simulation.measures.writes.code_bytes > 1000 * MIB, "{waited}");
}

#[test]
fn codes_that_cannot_be_are_refused() {
    let refused = |code: &str, replicas: &str| {
        let text = forty(&format!("erasure_code = {{ {code} }}"), "[run]\nduration = \"1d\"\n");
        let text = text.replace("replicas = 3", replicas);
        super::FleetSettings::read(&text, "test.toml", &[]).unwrap_err().to_string()
    };
    for (code, replicas, key) in [
        ("", "replicas = 1", "data.erasure_code"),
        ("data = 1", "replicas = 3", "data.erasure_code.data"),
        ("data = 40", "replicas = 3", "data.erasure_code.data"),
        ("parity = 3", "replicas = 2", "data.erasure_code.parity"),
        ("parity = 0", "replicas = 2", "data.erasure_code.parity"),
        ("below = \"101%\"", "replicas = 2", "data.erasure_code.below"),
    ] {
        let error = refused(code, replicas);
        assert!(error.contains(key), "{code}: {error}");
    }
    let few = forty("erasure_code = { data = 8, parity = 2 }", "[run]\nduration = \"1d\"\n");
    let few = few.replace("count = 40", "count = 9").replace("slices = 400", "slices = 20");
    let error = super::FleetSettings::read(&few, "test.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("10 pieces do not fit on 9 failure domains"), "{error}");
}
