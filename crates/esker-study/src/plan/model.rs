//! From classes of data and types of devices to a problem for the solver.

use std::collections::BTreeMap;

use esker_plan::{
    ClassOfData, DataClass, DataClasses, DeviceType, Load, PairLimit, Plan, Problem, Resource, Sharing, TotalLimit,
};
use esker_results::study::{Budgets, Need};

use super::moments::{Moment, QUANTILE};
use super::service::Direction;
use super::settings::PlanSettings;
use super::types::PlanType;
use crate::models::WholeDrive;
use crate::offers::{Part, Terms};

/// How busy disks may be: half of the time, where the budget allows more (Kim 2009, section 4.5.2).
const DISK_UTILISATION: f64 = 0.5;

/// How the names of limits begin that say how busy devices may be.
pub(super) const TIME: &str = "time";
/// The limit for the writes of a day, which is in bytes.
pub(super) const WRITES: &str = "writes a day";
/// The limit for what devices draw, which is in watts.
pub(super) const POWER: &str = "power";

/// What earlier rounds found out about the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Corrections {
    /// By type: how many times as busy its devices are as measured times say.
    pub(super) busy: Vec<f64>,
    /// By type: how many times as much its flash takes as the host writes there.
    pub(super) writes: Vec<f64>,
    /// Requests of classes that together have no more than this share of all may take longer than the budget.
    pub(super) slow_share: f64,
}

impl Corrections {
    pub(super) fn none(types: usize) -> Self {
        // One of 100 requests may, and chance has a part of it.
        Self { busy: vec![1.0; types], writes: vec![1.0; types], slow_share: 0.008 }
    }
}

/// What a problem is made from.
#[derive(Clone, Copy)]
pub(super) struct Model<'a> {
    pub(super) settings: &'a PlanSettings,
    pub(super) budgets: &'a Budgets,
    pub(super) need: &'a Need,
    pub(super) classes: &'a DataClasses,
    pub(super) types: &'a [PlanType<'a>],
    /// Host bytes written in a day, over those of the trace.
    pub(super) days_of_trace: f64,
}

impl Model<'_> {
    /// Bytes of each class at the end of the budgeted years, and last those of data that are never asked for.
    pub(super) fn bytes(&self) -> Vec<f64> {
        let growth = self.need.growth_factor;
        let touched = |class: &ClassOfData| class.bytes(self.classes.record).0 as f64;
        let mut bytes: Vec<f64> = self.classes.classes.iter().map(|class| touched(class) * growth).collect();
        let all = self.need.data_bytes as f64 * growth;
        bytes.push((all - bytes.iter().sum::<f64>()).max(0.0));
        bytes
    }

    /// The share of the time that devices of a type may be busy.
    pub(super) fn utilisation(&self, device_type: &PlanType<'_>) -> f64 {
        let budget = self.budgets.utilisation.unwrap_or(1.0);
        if device_type.is_flash() { budget } else { budget.min(DISK_UTILISATION) }
    }

    /// The share of a second in which one device of a type would be busy with `load`, which takes `seconds`: for each
    /// direction of its link. Classes of reads and of writes do not add up on the link, and do on all else.
    fn busy(&self, device_type: &PlanType<'_>, load: &Load, seconds: f64) -> [f64; 2] {
        let headroom = self.budgets.headroom.unwrap_or(1.0).max(1.0);
        Direction::ALL.map(|direction| device_type.times.busiest_s(direction, load) / seconds * headroom)
    }

    pub(super) fn problem(&self, names: &[String], moments: &[Moment], corrections: &Corrections) -> Problem {
        let bytes = self.bytes();
        let classes: Vec<DataClass> =
            names.iter().zip(&bytes).map(|(name, &bytes)| DataClass { name: name.clone(), bytes }).collect();
        let types = self.types.iter().enumerate();
        let types: Vec<DeviceType> =
            types.map(|(at, one)| self.device_type(one, &classes, moments, (corrections, at))).collect();
        let mut totals = Vec::new();
        let copies = f64::from(self.need.copies.max(1));
        if let Some(most) = self.budgets.devices {
            let per_device = vec![copies; types.len()];
            totals.push(TotalLimit { name: "number of devices".into(), per_device, limit: f64::from(most) });
        }
        if let Some(most) = self.settings.power {
            let draws = |one: &PlanType<'_>| copies * one.watts().unwrap_or(0.0);
            let per_device = self.types.iter().map(draws).collect();
            totals.push(TotalLimit { name: POWER.into(), per_device, limit: most.0 as f64 / 1e6 });
        }
        let pair_limits = self.response_time(moments, corrections).into_iter().collect();
        Problem { classes, types, totals, pair_limits }
    }

    fn device_type(
        &self,
        one: &PlanType<'_>,
        classes: &[DataClass],
        moments: &[Moment],
        (corrections, at): (&Corrections, usize),
    ) -> DeviceType {
        let part = &one.part;
        let capacity = part.capacity.bytes.0 as f64;
        let mut resources = vec![Resource::capacity(classes, capacity, self.need.fill_limit)];
        resources.extend(self.time(one, moments, corrections.busy[at]));
        resources.iter_mut().for_each(|resource| resource.loads.resize(classes.len(), 0.0));
        if let Some(each) = self.writes_a_day(one) {
            let written =
                |class: &ClassOfData| class.total.written_bytes as f64 * self.days_of_trace * corrections.writes[at];
            let mut loads: Vec<f64> = self.classes.classes.iter().map(written).collect();
            loads.resize(classes.len(), 0.0);
            resources.push(Resource::summed(WRITES, each, loads));
        }
        // Idle devices cost least: so the bound of the problem is one of what is paid, too.
        // Nobody knows whether a device fits whose power is not known.
        let is_unknown = self.settings.power.is_some() && one.watts().is_none();
        let cost =
            |part: &Part<'_>| part.cost(self.need.copies.max(1), 0.0, &self.settings.study.running).total.as_f64();
        DeviceType {
            installed: one.installed,
            installed_cost: cost(&Part { terms: Terms::InUse, ..*part }),
            count_max: (!one.is_on_sale || is_unknown).then_some(one.installed),
            ..DeviceType::new(one.title(), cost(part), resources)
        }
    }

    /// The time of one device of a type that classes may use: in each moment all of them together, or each class by
    /// itself in its own seconds.
    fn time(&self, one: &PlanType<'_>, moments: &[Moment], correction: f64) -> Vec<Resource> {
        let limit = self.utilisation(one);
        if self.settings.sharing == Sharing::PerClass {
            let of_class = |class: &ClassOfData| {
                let busy = class.seconds.iter().map(|(second, load)| (*second, most(self.busy(one, load, 1.0))));
                at_quantile(busy.collect()).map_or(0.0, |(busy, _)| busy * correction)
            };
            let loads = self.classes.classes.iter().map(of_class).collect();
            let name = format!("{TIME} of each class");
            return vec![Resource { sharing: Sharing::PerClass, ..Resource::summed(name, limit, loads) }];
        }
        let of_moment = |moment: &Moment| {
            let of_class = |load: &Load| self.busy(one, load, moment.seconds).map(|busy| busy * correction);
            let busy: Vec<[f64; 2]> = moment.loads.iter().map(of_class).collect();
            by_direction(&format!("{TIME} {}", moment.name), limit, &busy)
        };
        moments.iter().flat_map(of_moment).collect()
    }

    /// Bytes that the host may write to one device in a day: what its maker warrants, and what its flash endures for
    /// the budgeted years if all is written at random. `None` without flash.
    fn writes_a_day(&self, one: &PlanType<'_>) -> Option<f64> {
        let (part, days) = (&one.part, self.budgets.years * 365.0);
        let drive = WholeDrive::of(part.product, part.capacity.bytes)?;
        let cycles = drive.settings().endurance_cycles as f64;
        let worn = drive.raw().0 as f64 * cycles / one.times.random_amplification / days;
        let Some(warranty) = part.warranty() else { return Some(worn.max(1.0)) };
        // Writes that are warranted for fewer years than asked for have to last.
        let warranted = warranty.bytes_per_day * (warranty.years / self.budgets.years).min(1.0);
        let cycles_are_stated = part.product.own_settings.iter().any(|key| key == "endurance_cycles");
        // Where a preset assumes the erases of a block, the warranty tells more.
        Some(if cycles_are_stated { worn.min(warranted) } else { warranted }.max(1.0))
    }

    /// The budget for response times, which classes with few requests need not keep.
    fn response_time(&self, moments: &[Moment], corrections: &Corrections) -> Option<PairLimit> {
        let p99_us = self.budgets.p99_us?;
        let classes = &self.classes.classes;
        let slow = self.may_be_slow(moments, corrections.slow_share);
        // Reads wait for writes before them, so that the slower of the two counts. Nobody waits for data that are never
        // asked for.
        let of_type = |one: &PlanType<'_>| {
            let [reads, writes] = one.times.alone_p99_us;
            std::iter::repeat_n(reads.max(writes), classes.len()).chain([0.0]).collect()
        };
        let limits = slow.into_iter().map(|slow| if slow { f64::MAX } else { p99_us }).chain([f64::MAX]).collect();
        let values = self.types.iter().map(of_type).collect();
        Some(PairLimit { name: "response time".into(), values, limits })
    }

    /// The classes with the fewest requests for their size, which together have no more than the share `allowed` of
    /// the requests, in the whole trace and in each moment.
    pub(super) fn may_be_slow(&self, moments: &[Moment], allowed: f64) -> Vec<bool> {
        let classes = &self.classes.classes;
        let whole: Vec<Load> = classes.iter().map(|class| class.total).collect();
        let times: Vec<&[Load]> =
            std::iter::once(&whole[..]).chain(moments.iter().map(|moment| &moment.loads[..])).collect();
        let requests = |loads: &[Load]| loads.iter().map(Load::requests).sum::<u64>() as f64;
        let density = |class: &ClassOfData| class.total.requests() as f64 / class.records.max(1) as f64;
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by(|&one, &other| density(&classes[one]).total_cmp(&density(&classes[other])));
        let mut slow = vec![false; classes.len()];
        for class in order {
            slow[class] = true;
            let within = |loads: &&[Load]| {
                let of_slow: u64 =
                    loads.iter().zip(&slow).filter(|(_, slow)| **slow).map(|(one, _)| one.requests()).sum();
                of_slow as f64 <= allowed * requests(loads)
            };
            if !times.iter().all(within) {
                slow[class] = false;
            }
        }
        slow
    }

    /// Of each type that a plan uses, how busy its devices are in the second at [`QUANTILE`] of those in which they are
    /// asked for anything, without corrections; and that second.
    pub(super) fn peaks(&self, plan: &Plan) -> Vec<Option<(f64, u32)>> {
        let of_type = |(at, one): (usize, &PlanType<'_>)| {
            let mut seconds: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
            for (class, shares) in self.classes.classes.iter().zip(&plan.shares).filter(|(_, shares)| shares[at] > 0.0)
            {
                for (second, load) in &class.seconds {
                    let sums = seconds.entry(*second).or_default().iter_mut();
                    sums.zip(self.busy(one, load, 1.0)).for_each(|(sum, busy)| *sum += shares[at] * busy);
                }
            }
            let (busy, second) = at_quantile(seconds.into_iter().map(|(second, busy)| (second, most(busy))).collect())?;
            Some((busy / f64::from(plan.counts[at].max(1)), second))
        };
        self.types.iter().enumerate().map(of_type).collect()
    }
}

/// The time of one device as a resource for each direction of its link, of which classes use the shares `busy`. One is
/// enough where no class asks for more in the other direction.
fn by_direction(name: &str, limit: f64, busy: &[[f64; 2]]) -> Vec<Resource> {
    let resource = |place: usize, name: String| {
        Resource::summed(name, limit, busy.iter().map(|directions| directions[place]).collect())
    };
    let is_enough = |place: usize| busy.iter().all(|directions| directions[place] >= directions[1 - place]);
    match [0, 1].into_iter().find(|&place| is_enough(place)) {
        Some(place) => vec![resource(place, name.to_string())],
        None => {
            let named = Direction::ALL.map(|direction| format!("{name}, {}", direction.link()));
            named.into_iter().enumerate().map(|(place, name)| resource(place, name)).collect()
        }
    }
}

/// The busier direction.
fn most([one, other]: [f64; 2]) -> f64 {
    one.max(other)
}

/// Of the busy shares of seconds, the one at [`QUANTILE`], and its second.
fn at_quantile(seconds: Vec<(u32, f64)>) -> Option<(f64, u32)> {
    let mut busy: Vec<(f64, u32)> = seconds.into_iter().map(|(second, busy)| (busy, second)).collect();
    busy.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let rank = ((QUANTILE * busy.len() as f64).ceil() as usize).max(1);
    busy.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads and writes that each take half of the link leave half of each direction; where dies limit both, one
    /// resource says so.
    #[test]
    fn reads_and_writes_add_up_on_dies_and_not_on_the_link() {
        let [to_host, to_drive] = &by_direction("time", 0.7, &[[0.5, 0.1], [0.1, 0.5], [0.2, 0.2]])[..] else {
            panic!("each direction limits");
        };
        assert_eq!((&to_host.name[..], &to_drive.name[..]), ("time, link to the host", "time, link to the drive"));
        assert_eq!((&to_host.loads[..], &to_drive.loads[..]), (&[0.5, 0.1, 0.2][..], &[0.1, 0.5, 0.2][..]));
        for (busy, enough) in [([[0.5, 0.1], [0.2, 0.2]], [0.5, 0.2]), ([[0.1, 0.5], [0.2, 0.2]], [0.5, 0.2])] {
            let [only] = &by_direction("time", 0.7, &busy)[..] else { panic!("{busy:?}") };
            assert_eq!((&only.name[..], &only.loads[..]), ("time", &enough[..]));
        }
    }
}
