//! How data get from the devices in use to where they are planned: what moves, in which order, and how long that takes.

use esker_plan::{Load, Plan};
use esker_results::study::plan::{DataMove, Way};

use super::planner::Planner;
use super::solved::Solved;

/// Moves at most: a way that needs more of them has no room to speak of.
const MOVES_MAX: usize = 1_000;
/// Bytes that count as nothing: sums of shares are rounded.
const NOTHING: f64 = 4096.0;
/// The share of a device's time that moves get at least.
const LEFT_MIN: f64 = 0.01;

/// Devices of a type that hold data: those in use, or those to buy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    /// The place of the type in the list of devices.
    device: usize,
    /// The place of the type in the list of types.
    at: usize,
    count: u32,
    is_in_use: bool,
}

/// Bytes of a class that go from one place to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Transfer {
    class: usize,
    from: usize,
    to: usize,
    bytes: f64,
}

impl Planner<'_> {
    /// The way from the devices in use, on which all data lie evenly, to the plan. `None` if nothing is in use, or if
    /// what is in use cannot hold the data of today.
    pub(super) fn way(&self, solved: &Solved, in_plan: &[usize]) -> Option<Way> {
        let plan = &solved.solution.plan;
        let today = self.today();
        let places = self.way_places(plan, in_plan);
        let size = |place: &Place| self.model.types[place.at].part.capacity.bytes.0 as f64 * f64::from(place.count);
        let in_use: Vec<f64> = places.iter().map(|place| if place.is_in_use { size(place) } else { 0.0 }).collect();
        let (all, data) = (in_use.iter().sum::<f64>(), today.iter().sum::<f64>());
        if all == 0.0 || data > all {
            return None;
        }
        let now: Vec<Vec<f64>> =
            today.iter().map(|bytes| in_use.iter().map(|size| bytes * size / all).collect()).collect();
        // Devices of a type are striped: each holds as much as the others.
        let of_type = |place: &Place| f64::from(place.count) / f64::from(plan.counts[place.at]);
        let planned = |(class, bytes): (usize, &f64)| {
            places.iter().map(|place| bytes * plan.shares[class][place.at] * of_type(place)).collect()
        };
        let then: Vec<Vec<f64>> = today.iter().enumerate().map(planned).collect();
        let room: Vec<f64> = places.iter().map(|place| size(place) * self.model.need.fill_limit).collect();
        let (transfers, stuck) = ordered(&now, &then, &room);
        let speed: Vec<[f64; 2]> = places.iter().enumerate().map(|place| self.copying(place, (&now, &then))).collect();
        let copies = f64::from(self.model.need.copies.max(1));
        let moved = |transfer: &Transfer| DataMove {
            class: self.names[transfer.class].clone(),
            from: places[transfer.from].device,
            to: places[transfer.to].device,
            bytes: transfer.bytes * copies,
            hours: transfer.bytes / speed[transfer.from][0].min(speed[transfer.to][1]) / 3_600.0,
        };
        let moves: Vec<DataMove> = transfers.iter().map(moved).collect();
        // From 0 on: `sum` of no numbers is -0, and would be printed so.
        let in_all = |of: fn(&DataMove) -> f64| moves.iter().map(of).fold(0.0, |sum, one| sum + one);
        Some(Way {
            bytes: in_all(|one| one.bytes),
            hours: in_all(|one| one.hours),
            moves,
            stuck_bytes: (stuck > 0.0).then_some(stuck * copies),
        })
    }

    /// The devices of each type in a plan, those in use apart from those to buy: data have to get to these, too.
    fn way_places(&self, plan: &Plan, in_plan: &[usize]) -> Vec<Place> {
        let of_type = |(device, &at): (usize, &usize)| {
            let in_use = self.model.types[at].installed.min(plan.counts[at]);
            let both = [(true, in_use), (false, plan.counts[at] - in_use)];
            both.map(|(is_in_use, count)| Place { device, at, count, is_in_use })
        };
        in_plan.iter().enumerate().flat_map(of_type).filter(|place| place.count > 0).collect()
    }

    /// Bytes of each class today, and last those of data that are never asked for.
    fn today(&self) -> Vec<f64> {
        let classes = &self.model.classes;
        let mut bytes: Vec<f64> = classes.classes.iter().map(|class| class.bytes(classes.record).0 as f64).collect();
        bytes.push((self.model.need.data_bytes as f64 - bytes.iter().sum::<f64>()).max(0.0));
        bytes
    }

    /// Bytes a second at which all devices of a place are read, and at which they are written, in the time that
    /// the load of the trace leaves of what they may be busy, before the moves and after them.
    fn copying(&self, (number, place): (usize, &Place), (now, then): (&[Vec<f64>], &[Vec<f64>])) -> [f64; 2] {
        const MIB: u64 = 1 << 20;
        let (one, count) = (&self.model.types[place.at], place.count);
        let seconds = self.model.classes.time.as_secs_f64().max(1.0) * f64::from(count);
        let busy_with = |bytes: &[Vec<f64>]| {
            let busy = |resource: &str| {
                let classes = self.model.classes.classes.iter().zip(bytes);
                let share = |bytes: &[f64]| bytes[number] / bytes.iter().sum::<f64>().max(1.0);
                classes.map(|(class, bytes)| share(bytes) * one.times.busy_s(resource, &class.total)).sum::<f64>()
            };
            one.times.resources().map(busy).fold(0.0, f64::max) / seconds
        };
        let left = (self.model.utilisation(one) - busy_with(now).max(busy_with(then))).max(LEFT_MIN);
        let [reads, writes] = [
            Load { sequential_reads: 8, read_bytes: MIB, sequential_read_bytes: MIB, ..Load::default() },
            Load { sequential_writes: 8, written_bytes: MIB, sequential_written_bytes: MIB, ..Load::default() },
        ]
        .map(|load| one.times.resources().map(|name| one.times.busy_s(name, &load)).fold(0.0, f64::max));
        [reads, writes].map(|busy_s| MIB as f64 / busy_s.max(1e-9) * left * f64::from(count))
    }
}

/// Moves that lead from `now` to `then` (bytes by class and type), in an order in which no type ever holds more than
/// its `room`: each move goes as far as there is room, and what is left of it comes again once others have made some.
/// Also the bytes that cannot be moved so.
fn ordered(now: &[Vec<f64>], then: &[Vec<f64>], room: &[f64]) -> (Vec<Transfer>, f64) {
    let mut held: Vec<f64> = (0..room.len()).map(|at| now.iter().map(|class| class[at]).sum()).collect();
    let mut left: Vec<Transfer> =
        now.iter().zip(then).enumerate().flat_map(|(class, (now, then))| transfers(class, now, then)).collect();
    let mut moves: Vec<Transfer> = Vec::new();
    while !left.is_empty() && moves.len() < MOVES_MAX {
        let before = moves.len();
        for transfer in &mut left {
            let bytes = transfer.bytes.min((room[transfer.to] - held[transfer.to]).max(0.0));
            // A move of a scrap would be followed by many of scraps.
            if bytes <= NOTHING || bytes < transfer.bytes.min(room[transfer.to] * 0.01) {
                continue;
            }
            transfer.bytes -= bytes;
            held[transfer.to] += bytes;
            held[transfer.from] -= bytes;
            moves.push(Transfer { bytes, ..*transfer });
        }
        left.retain(|transfer| transfer.bytes > NOTHING);
        if moves.len() == before {
            break;
        }
    }
    (moves, left.iter().map(|transfer| transfer.bytes).sum())
}

/// What of a class has to go where.
fn transfers(class: usize, now: &[f64], then: &[f64]) -> Vec<Transfer> {
    let mut surplus: Vec<f64> = now.iter().zip(then).map(|(now, then)| now - then).collect();
    let mut found = Vec::new();
    for to in 0..surplus.len() {
        for from in 0..surplus.len() {
            let bytes = surplus[from].min(-surplus[to]);
            if bytes > NOTHING {
                surplus[from] -= bytes;
                surplus[to] += bytes;
                found.push(Transfer { class, from, to, bytes });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GB: f64 = 1e9;

    proptest! {
        /// With room to spare, all bytes arrive; whatever the room, no type is ever fuller than it may be, and nothing
        /// is lost on the way.
        #[test]
        fn moves_lead_to_the_plan_and_never_overfill(
            now in prop::collection::vec(prop::collection::vec(0.0..100.0, 3), 1..6),
            mix in prop::collection::vec(prop::collection::vec(0.01..1.0, 3), 6),
            spare in 0.0..0.5,
        ) {
            let now: Vec<Vec<f64>> = now.iter().map(|class| class.iter().map(|gb| gb * GB).collect()).collect();
            let then: Vec<Vec<f64>> = now.iter().zip(&mix).map(|(class, mix)| {
                let (all, parts) = (class.iter().sum::<f64>(), mix.iter().sum::<f64>());
                mix.iter().map(|part| all * part / parts).collect()
            }).collect();
            let sum = |held: &[Vec<f64>], at: usize| held.iter().map(|class| class[at]).sum::<f64>();
            let room: Vec<f64> =
                (0..3).map(|at| sum(&now, at).max(sum(&then, at)) * (1.0 + spare) + 1.0).collect();
            let (moves, stuck) = ordered(&now, &then, &room);
            let mut held = now.clone();
            for one in &moves {
                held[one.class][one.from] -= one.bytes;
                held[one.class][one.to] += one.bytes;
                prop_assert!(held[one.class][one.from] > -1.0);
                prop_assert!((0..3).all(|at| sum(&held, at) <= room[at] + 1.0));
            }
            let apart: f64 = held.iter().flatten().zip(then.iter().flatten()).map(|(a, b)| (a - b).max(0.0)).sum();
            prop_assert!((apart - stuck).abs() < 1e6, "{apart} {stuck}");
            prop_assert!(spare < 0.1 || stuck == 0.0, "{spare}: {stuck}");
        }
    }

    #[test]
    fn devices_that_are_full_swap_nothing() {
        let (now, then) = ([vec![GB, 0.0], vec![0.0, GB]], [vec![0.0, GB], vec![GB, 0.0]]);
        assert_eq!(ordered(&now, &then, &[GB, GB]), (Vec::new(), 2.0 * GB));
        let (moves, stuck) = ordered(&now, &then, &[GB, 1.5 * GB]);
        assert_eq!((moves.len(), stuck), (4, 0.0), "half of each at a time");
    }
}
