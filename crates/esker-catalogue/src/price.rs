//! Prices: of devices by the terabyte or each, of volumes by the month.

use esker_core::Bytes;
use serde::Serialize;

use crate::{Date, Money};

/// What a product costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Price {
    /// The amounts.
    pub rate: PriceRate,
    /// For each device, beside its terabytes: what a controller, a case and a motor cost whatever the capacity. Zero
    /// where devices are priced each, or rented.
    pub per_unit: Money,
    /// The currency: three letters, as in ISO 4217.
    pub currency: String,
    /// When the price was seen.
    pub as_of: Date,
    /// Whether it is the price of the product's class, since that of the model is not known.
    pub of_class: bool,
}

/// How a price is stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriceRate {
    /// For each terabyte (10^12 bytes) of a device.
    PerTerabyte(Money),
    /// For each device, by capacity.
    Each(Vec<(Bytes, Money)>),
    /// For a volume, by the month.
    Monthly(VolumePrice),
}

/// What a cloud volume costs per month.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VolumePrice {
    /// For each GiB of its size.
    pub per_gib_month: Money,
    /// For each operation per second that is provisioned above `free_operations`.
    pub operations: Vec<OperationTier>,
    /// Operations per second that cost nothing.
    pub free_operations: u64,
    /// For each MiB/s that is provisioned above `free_throughput`.
    pub per_mib_month: Money,
    /// Bytes per second that cost nothing.
    pub free_throughput: u64,
    /// Sizes that are billed as a whole, smallest first: a volume costs what the first that holds it costs. Then
    /// `per_gib_month` is zero.
    pub classes: Vec<SizeClass>,
}

/// The price of provisioned operations up to a number of them. Each tier's price is for the operations within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OperationTier {
    /// The last operation per second of the tier; `None` for all the rest.
    pub up_to: Option<u64>,
    /// For each operation per second.
    pub per_month: Money,
    /// Whether this tier's price is assumed, though the product's is not.
    pub assumed: bool,
}

/// A size that is billed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeClass {
    /// Its name: "P30".
    pub name: String,
    /// The largest volume of the class.
    pub size: Bytes,
    /// A month of it.
    pub per_month: Money,
    /// Whether this class's price is assumed, though the product's is not.
    pub assumed: bool,
}

const TERABYTE: u128 = 1_000_000_000_000;

impl Price {
    /// The price of one device of `capacity`. Where devices are priced each, one that is not on sale costs what the
    /// nearest does, by the byte. Zero for what is rented.
    pub fn purchase(&self, capacity: Bytes) -> Money {
        match &self.rate {
            PriceRate::PerTerabyte(price) => self.per_unit + price.times(capacity.0.into(), TERABYTE),
            PriceRate::Each(list) => {
                let nearest = list.iter().min_by_key(|(of, _)| of.0.abs_diff(capacity.0));
                nearest.map_or(Money::ZERO, |(of, price)| price.times(capacity.0.into(), of.0.into()))
            }
            PriceRate::Monthly(_) => Money::ZERO,
        }
    }

    /// Applies `change` to every amount.
    pub(crate) fn map(&mut self, change: impl Fn(Money) -> Money) {
        self.per_unit = change(self.per_unit);
        match &mut self.rate {
            PriceRate::PerTerabyte(price) => *price = change(*price),
            PriceRate::Each(list) => list.iter_mut().for_each(|(_, price)| *price = change(*price)),
            PriceRate::Monthly(price) => {
                price.per_gib_month = change(price.per_gib_month);
                price.per_mib_month = change(price.per_mib_month);
                price.operations.iter_mut().for_each(|tier| tier.per_month = change(tier.per_month));
                price.classes.iter_mut().for_each(|class| class.per_month = change(class.per_month));
            }
        }
    }
}

impl VolumePrice {
    /// A month of a volume of `size`, billed by whole GiB, with these operations and bytes per second; `None` for what
    /// is not provisioned. A volume larger than the largest size class costs by the GiB what that class does.
    pub fn per_month(&self, size: Bytes, operations: Option<u64>, throughput: Option<u64>) -> Money {
        let gib = u128::from(size.0.div_ceil(1 << 30));
        let storage = match self.class_of(size) {
            Some(class) if size <= class.size => class.per_month,
            Some(largest) => largest.per_month.times(size.0.into(), largest.size.0.into()),
            None => self.per_gib_month.times(gib, 1),
        };
        let throughput = throughput.unwrap_or(0).saturating_sub(self.free_throughput);
        storage
            + self.operations_per_month(operations.unwrap_or(0))
            + self.per_mib_month.times(throughput.into(), 1 << 20)
    }

    /// Whether a class or a tier that such a volume is billed by is marked as assumed.
    pub fn rests_on_assumptions(&self, size: Bytes, operations: Option<u64>) -> bool {
        let mut begin = self.free_operations;
        let tiers = self.operations.iter().any(|tier| {
            let used = tier.assumed && operations.is_some_and(|operations| operations > begin);
            begin = begin.max(tier.up_to.unwrap_or(u64::MAX));
            used
        });
        tiers || self.class_of(size).is_some_and(|class| class.assumed)
    }

    /// The size class that holds `size`, or else the largest; `None` if volumes are billed by the GiB.
    fn class_of(&self, size: Bytes) -> Option<&SizeClass> {
        self.classes.iter().find(|class| size <= class.size).or(self.classes.last())
    }

    fn operations_per_month(&self, provisioned: u64) -> Money {
        let mut billed = self.free_operations;
        let mut sum = Money::ZERO;
        for tier in &self.operations {
            let end = tier.up_to.unwrap_or(u64::MAX).min(provisioned);
            sum += tier.per_month.times(end.saturating_sub(billed).into(), 1);
            billed = billed.max(end);
        }
        sum
    }
}
