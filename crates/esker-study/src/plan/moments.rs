//! Times in which the devices have to keep up, with what each class of data is asked for.

use esker_plan::{DataClasses, Load};

use crate::busy::{Busy, Stretch};

/// Of the seconds in which a type of device is asked for anything, this share has to be below its limit: Kim 2009,
/// section 4.5.2, sizes by the 95th percentile.
pub(super) const QUANTILE: f64 = 0.95;

/// A time in which the devices have to keep up.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    /// Such as "in the busiest time".
    pub(super) name: String,
    pub(super) seconds: f64,
    /// What each class is asked for.
    pub(super) loads: Vec<Load>,
}

impl Moment {
    /// The stretches in which budgets hold.
    pub(super) fn of_busy(classes: &DataClasses, busy: &Busy) -> Vec<Self> {
        let named = [
            ("in the busiest time", Some(busy.times.stretch)),
            ("in the busiest time by bytes", busy.times.by_bytes),
            ("in the busiest hour", busy.hour),
        ];
        let stretches = named.into_iter().filter_map(|(name, stretch)| Some((name, stretch?)));
        stretches.map(|(name, stretch)| Self::of_stretch(classes, name, &stretch)).collect()
    }

    /// All whole seconds that a stretch touches.
    fn of_stretch(classes: &DataClasses, name: &str, stretch: &Stretch) -> Self {
        let whole = |at: esker_core::Nanos| at.saturating_sub(classes.begin).as_secs_f64();
        let (from, to) = (whole(stretch.from).floor() as u32, whole(stretch.to).ceil() as u32);
        let to = to.max(from + 1);
        let within = |class: &esker_plan::ClassOfData| {
            let mut sum = Load::default();
            let first = class.seconds.partition_point(|(second, _)| *second < from);
            class.seconds[first..].iter().take_while(|(second, _)| *second < to).for_each(|(_, load)| sum.add(load));
            sum
        };
        let loads = classes.classes.iter().map(within).collect();
        Self { name: name.to_string(), seconds: f64::from(to - from), loads }
    }

    /// One second, counted from the first request.
    pub(super) fn of_second(classes: &DataClasses, second: u32) -> Self {
        let load = |class: &esker_plan::ClassOfData| {
            let found = class.seconds.binary_search_by_key(&second, |(second, _)| *second);
            found.map_or_else(|_| Load::default(), |place| class.seconds[place].1)
        };
        let loads = classes.classes.iter().map(load).collect();
        Self { name: format!("in second {second}"), seconds: 1.0, loads }
    }
}
