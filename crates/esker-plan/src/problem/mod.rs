//! What is to be planned: classes of data, types of devices, and the limits that a plan has to keep.

mod constraint;
mod fault;

pub use constraint::Constraint;
pub use fault::ProblemError;

/// Classes of data that need devices, and the types of devices to choose from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// Each class has to be placed whole, on one type or shared out over several.
    pub classes: Vec<DataClass>,
    /// What can be bought, or is there already.
    pub types: Vec<DeviceType>,
    /// Limits over devices of all types, such as slots or the power of a rack.
    pub totals: Vec<TotalLimit>,
    /// Limits that forbid a class on a type, such as a response time.
    pub pair_limits: Vec<PairLimit>,
}

/// A class of data: what is hot or cold, read or written in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct DataClass {
    /// Its name, for messages and reports.
    pub name: String,
    /// Its size in bytes. [`Resource::capacity`] uses it.
    pub bytes: f64,
}

/// A type of device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceType {
    /// Its name, for messages and reports.
    pub name: String,
    /// Cost of one more device over the whole planning period, in any currency.
    pub cost: f64,
    /// Number of devices that are there already and stay: the least count of a plan.
    pub installed: u32,
    /// Cost of each installed device over the planning period, such as its electricity.
    pub installed_cost: f64,
    /// The largest count, installed devices included; `None` for any.
    pub count_max: Option<u32>,
    /// What a device can hold and do.
    pub resources: Vec<Resource>,
}

impl DeviceType {
    /// A type of which nothing is installed and any number can be bought.
    pub fn new(name: impl Into<String>, cost: f64, resources: Vec<Resource>) -> Self {
        Self { name: name.into(), cost, installed: 0, installed_cost: 0.0, count_max: None, resources }
    }

    /// Cost of `count` devices; `count` is at least what is installed.
    pub fn cost_of(&self, count: u32) -> f64 {
        let bought = f64::from(count) - f64::from(self.installed);
        f64::from(self.installed) * self.installed_cost + bought * self.cost
    }
}

/// Something that devices of a type have, and that classes on them use: bytes, operations per second, bytes written
/// over the planning period. Loads and what a device has are in the same unit, whichever that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its name, such as "capacity".
    pub name: String,
    /// What one device has.
    pub per_device: f64,
    /// What each class would use if all of it were on devices of this type, in the order of the classes.
    pub loads: Vec<f64>,
    /// Whether classes add up.
    pub sharing: Sharing,
}

/// Whether the loads of the classes on a type add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// They do: the sum of the loads is limited.
    Summed,
    /// They do not: each class may use all that the devices have, as in Kim 2009, (4.6).
    PerClass,
}

impl Resource {
    /// The name of room for data, which is in bytes.
    pub const CAPACITY: &str = "capacity";

    /// A resource whose loads add up.
    pub fn summed(name: impl Into<String>, per_device: f64, loads: Vec<f64>) -> Self {
        Self { name: name.into(), per_device, loads, sharing: Sharing::Summed }
    }

    /// Room for data: `bytes` per device, of which the share `utilisation` (above 0, at most 1) may be used.
    pub fn capacity(classes: &[DataClass], bytes: f64, utilisation: f64) -> Self {
        Self::summed(Self::CAPACITY, bytes * utilisation, classes.iter().map(|class| class.bytes).collect())
    }
}

/// A limit over the devices of all types.
#[derive(Clone, Debug, PartialEq)]
pub struct TotalLimit {
    /// Its name, such as "slots".
    pub name: String,
    /// What a device of each type uses, in the order of the types.
    pub per_device: Vec<f64>,
    /// What all devices together may use, in the same unit.
    pub limit: f64,
}

/// A limit that each class keeps on every type that holds a share of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PairLimit {
    /// Its name, such as "response time".
    pub name: String,
    /// `values[type][class]`: what the class would see on the type, such as seconds. Infinite if it cannot be there.
    pub values: Vec<Vec<f64>>,
    /// The largest value for each class, in the order of the classes; infinite if any will do.
    pub limits: Vec<f64>,
}

impl PairLimit {
    /// Whether this limit lets `class` be on `device_type`.
    pub fn allows(&self, device_type: usize, class: usize) -> bool {
        let value = self.values[device_type][class];
        value.is_finite() && value <= self.limits[class]
    }
}

impl Problem {
    /// Whether all limits of pairs let `class` be on `device_type`.
    pub fn allows(&self, device_type: usize, class: usize) -> bool {
        self.pair_limits.iter().all(|limit| limit.allows(device_type, class))
    }

    /// The same problem with only those types, in this order. What is installed of others is left out.
    pub fn with_types(&self, types: &[usize]) -> Self {
        let mut problem = self.clone();
        problem.types = types.iter().map(|&at| self.types[at].clone()).collect();
        for total in &mut problem.totals {
            total.per_device = types.iter().map(|&at| total.per_device[at]).collect();
        }
        for limit in &mut problem.pair_limits {
            limit.values = types.iter().map(|&at| limit.values[at].clone()).collect();
        }
        problem
    }
}
