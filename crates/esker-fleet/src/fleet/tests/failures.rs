//! Servers fail while slices move.

use esker_cluster::{ClusterShape, FailureDomain, Plan, ServerSpec, SliceId, SliceMove};
use esker_core::Bytes;

use super::super::copies::Cause;
use super::super::place::{HostWrites, Placement};
use super::{Simulation, fifty, named, read};

const EPOCHS: u64 = 40;
/// Bytes that may be copied in an epoch: ten slices or so.
const GRANT: u64 = 1 << 30;
const OBJECT: u64 = 1 << 20;

/// By counts: one of fifty servers fails, at each epoch in turn. Rebuild and balancing together
/// lose nothing, and copies never exceed their rate.
#[test]
fn one_failure_at_any_epoch_loses_nothing_and_keeps_the_rate() {
    let (mut together, mut rebuilt) = (0, 0);
    for epoch in 0..EPOCHS {
        let text = fifty(&format!(
            "[copies]\nrate = \"{}B/s\"\n[run]\nduration = \"{}d\"\n[[event]]\nat = \"{epoch}d\"\nkind = \"fail\"\n\
             server = {}\n",
            GRANT / 86_400,
            EPOCHS + 30,
            epoch * 7 % 50,
        ));
        let settings = read(&text);
        let mut life = named("life");
        life.parameters.insert("warm_up_epochs".into(), esker_core::registry::ParameterValue::Integer(2));
        let mut simulation = Simulation::new(&settings, epoch, &life).unwrap();
        let mut all = 0;
        for step in 1..=EPOCHS + 30 {
            let before = simulation.measures.writes;
            simulation.step().unwrap();
            let now = simulation.measures.writes;
            let copied = |writes: &esker_results::fleet::FleetWrites| {
                writes.rebuild_bytes + writes.member_bytes + writes.balancing_bytes
            };
            let added = copied(&now) - copied(&before);
            all += added;
            assert!(added <= GRANT + OBJECT && all <= step * GRANT, "{added} bytes in epoch {step}");
            simulation.place.check();
            let moving = |cause| simulation.place.moving(cause) > 0;
            together += usize::from(moving(Cause::Rebuild) && moving(Cause::Balance));
        }
        let lost = simulation.place.lost;
        assert!(lost.replicas > 0 && (lost.slices, lost.objects) == (0, 0), "{lost:?}");
        assert_eq!(simulation.place.moving(Cause::Rebuild), 0, "rebuilt in the end");
        rebuilt += simulation.measures.writes.rebuild_bytes;
    }
    assert!(together > 20 && rebuilt > 50 * EPOCHS * OBJECT, "{together}, {rebuilt}");
}

/// What no server has any more is counted: eleven of fifty servers fail at once.
#[test]
fn failures_at_once_lose_what_only_they_held() {
    let text = fifty(
        "[run]\nduration = \"9d\"\n[[event]]\nat = \"3d\"\nkind = \"fail\"\nserver = 1\n\
         [[event]]\nat = \"3d\"\nkind = \"fail\"\ngroup = \"a\"\ncount = 10\n",
    );
    let settings = read(&text);
    let mut lost = 0;
    for seed in 0..6 {
        let mut simulation = Simulation::new(&settings, seed, &named("none")).unwrap();
        (0..3).for_each(|_| simulation.step().unwrap());
        let shared = simulation.place.slices().iter().filter(|slice| {
            let homes = slice.homes[..2].iter().map(|home| home.0).collect::<Vec<u16>>();
            homes.iter().all(|home| *home < 11)
        });
        let shared = shared.count() as u64;
        simulation.step().unwrap();
        simulation.place.check();
        assert_eq!((simulation.place.lost.slices, simulation.place.lost.objects), (shared, shared * 100));
        lost += shared;
    }
    assert!(lost > 0);
}

/// A rebuild that is half done has half of the objects.
#[test]
fn a_failure_during_a_rebuild_loses_what_was_not_copied() {
    let rate = format!("[copies]\nrate = \"{}B/s\"\n", GRANT / 86_400);
    let text = fifty(&format!(
        "written_objects = \"1%\"\n{rate}[run]\nduration = \"9d\"\n\
         [[event]]\nat = \"1d\"\nkind = \"fail\"\nserver = 1\n\
         [[event]]\nat = \"2d\"\nkind = \"fail\"\ngroup = \"a\"\ncount = 49\n"
    ));
    let settings = read(&text);
    let mut simulation = Simulation::new(&settings, 3, &named("none")).unwrap();
    (0..3).for_each(|_| simulation.step().unwrap());
    simulation.place.check();
    let writes = simulation.measures.writes;
    assert!(writes.rebuild_bytes > 900 * OBJECT && writes.rebuild_bytes <= GRANT, "{writes:?}");
    assert_eq!(simulation.place.lost.slices, 1000, "no server is left");
    assert_eq!(simulation.place.homeless(), 2000);
}

/// Of 100 objects, 80 are written, and writes have moved half of those when the destination or the source fails.
#[test]
fn a_replica_that_turns_back_needs_what_had_left_and_one_that_goes_on_the_rest() {
    let shape =
        ClusterShape { slices: 40, objects_per_slice: 100, object: Bytes::kib(256), partitions: 40, replicas: 2 };
    let spec = |at| ServerSpec { domain: FailureDomain(at), room: 40, virtual_nodes: 32 };
    let specs: Vec<ServerSpec> = (0..6).map(spec).collect();
    // Half of 80 objects are missed by 80 ln 2 writes of 64 pages.
    let weights = vec![(80.0 * 2f32.ln()) * 64.0; 40];
    for (fails_destination, left) in [(true, 40.0), (false, 60.0)] {
        let mut place = Placement::new(shape, &specs, weights.clone(), 0.8).unwrap();
        let [from, other] = [0, 1].map(|at| place.slices()[7].homes[at]);
        let to = place.up().into_iter().find(|server| ![from, other].contains(server)).unwrap();
        let wanted = SliceMove { slice: SliceId(7), from, to, copied: Bytes(0) };
        assert_eq!(place.begin_plan(&Plan { moves: vec![wanted], copy_at_once: false }), (1, 0));
        let mut merged = vec![0; 6];
        place.write_to_motions(HostWrites { growth: 1.0, pages: 64.0, rest: 1000.0 }, None, &mut merged);
        assert!((place.left() - 60.0).abs() < 1e-3, "{}", place.left());
        assert_eq!((merged[to.index()] + 50) / 100, 400, "40 objects of which 1,000 bytes were fetched");
        let failed = if fails_destination { to } else { from };
        let whole = place.slices().iter().filter(|slice| slice.homes[..2].contains(&failed)).count() - 1;
        let whole = if fails_destination { whole } else { whole + 1 };
        place.fail(failed);
        place.check();
        assert_eq!(place.lost.replicas as usize, whole, "replicas that are rebuilt as a whole");
        assert!((place.left() - whole as f64 * 100.0 - left).abs() < 1e-3, "{}", place.left());
    }
}
