//! The devices of table 4.4.

use esker_catalogue::{Catalogue, Cost, Product, owned_cost};
use esker_core::Bytes;

/// The places of the devices in [`devices`].
pub(in crate::items::kim) const SSD: usize = 0;
pub(in crate::items::kim) const HIGH_END: usize = 1;
pub(in crate::items::kim) const LOW_END: usize = 2;

/// Section 4.5.1: how much of a device is planned to be in use.
const FLASH_IN_USE: f64 = 0.7;
const DISK_IN_USE: f64 = 0.5;
/// Table 4.4 has 10,000 to 1,000,000 erases; section 2.1 is on SLC, which was rated for this many.
const ERASES: f64 = 100_000.0;
/// Dollars of a watt over five years of 8,760 hours, at 10 cents per kilowatt-hour (table 4.4).
const DOLLARS_PER_WATT: f64 = 4.38;

/// A type of device, as the planner sees it.
#[derive(Clone, Debug)]
pub(in crate::items::kim) struct Device {
    pub(in crate::items::kim) name: &'static str,
    pub(in crate::items::kim) gigabytes: f64,
    /// Price of one, dollars.
    pub(in crate::items::kim) purchase: f64,
    /// Its electricity over five years, dollars.
    pub(in crate::items::kim) electricity: f64,
    /// The share of its capacity that may be used.
    pub(in crate::items::kim) in_use: f64,
    /// What comes before each transfer.
    pub(in crate::items::kim) access: Access,
    /// MB/s.
    pub(in crate::items::kim) read_rate: f64,
    pub(in crate::items::kim) write_rate: f64,
}

/// What comes before each transfer of a random request.
#[derive(Clone, Copy, Debug)]
pub(in crate::items::kim) enum Access {
    /// Nothing: the paper's model of its SSD is not published, and data sheets have no more than a rate.
    Flash,
    /// Half a turn and this mean seek, ms (section 4.5.3; the seek is assumed).
    Disk { seek_ms: f64, turns_per_minute: f64 },
}

impl Device {
    fn of(name: &'static str, product: &Product, access: Access, catalogue: &Catalogue) -> Self {
        let cost = cost(product, catalogue);
        let sheet = product.performance.as_ref().expect("the table has rates").value;
        let rate = |rate: Option<esker_core::ByteRate>| rate.expect("the table has both rates").0 as f64 / 1e6;
        Self {
            name,
            gigabytes: capacity(product).0 as f64 / 1e9,
            purchase: cost.purchase.as_f64(),
            electricity: cost.power.as_f64(),
            in_use: if matches!(access, Access::Flash) { FLASH_IN_USE } else { DISK_IN_USE },
            access,
            read_rate: rate(sheet.sequential_read),
            write_rate: rate(sheet.sequential_write),
        }
    }

    /// The same device with another mean seek. Flash has none.
    pub(in crate::items::kim) fn with_seek(mut self, ms: f64) -> Self {
        if let Access::Disk { seek_ms, .. } = &mut self.access {
            *seek_ms = ms;
        }
        self
    }

    /// KB/s of random requests of `request_kb`, of which the share `reads` (0 to 1) is read.
    pub(in crate::items::kim) fn kilobytes_per_s(&self, request_kb: f64, reads: f64) -> f64 {
        let access_ms = match self.access {
            Access::Flash => 0.0,
            Access::Disk { seek_ms, turns_per_minute } => seek_ms + 30_000.0 / turns_per_minute,
        };
        // A MB/s is a KB each millisecond.
        let transfer_ms = request_kb * (reads / self.read_rate + (1.0 - reads) / self.write_rate);
        1e3 * request_kb / (access_ms + transfer_ms)
    }

    /// GB that can be written to it until its flash is worn, by (4.8); `None` for disks.
    pub(in crate::items::kim) fn life_gigabytes(&self) -> Option<f64> {
        matches!(self.access, Access::Flash).then_some(self.gigabytes * ERASES)
    }
}

/// The drive and the disks of table 4.4: the catalogue `kim-2009` with the assumed seeks.
pub(in crate::items::kim) fn devices() -> Vec<Device> {
    let catalogue = catalogue();
    let disk = |seek_ms, turns_per_minute| Access::Disk { seek_ms, turns_per_minute };
    let rows = [
        ("SSD", "ssd", Access::Flash),
        ("high-end disk", "high-end-hdd", disk(3.5, 15_000.0)),
        ("low-end disk", "low-end-hdd", disk(8.9, 5_400.0)),
    ];
    let device = |(name, product, access)| {
        let product = catalogue.product(product).unwrap_or_else(|error| panic!("a row of table 4.4: {error}"));
        Device::of(name, product, access, &catalogue)
    };
    rows.map(device).into()
}

pub(in crate::items::kim) fn catalogue() -> Catalogue {
    Catalogue::builtin("kim-2009").unwrap_or_else(|error| panic!("the devices of table 4.4: {error}"))
}

/// The one capacity on sale.
pub(in crate::items::kim) fn capacity(product: &Product) -> Bytes {
    product.capacities[0].bytes
}

/// What one device costs over five years.
pub(in crate::items::kim) fn cost(product: &Product, catalogue: &Catalogue) -> Cost {
    owned_cost(product, capacity(product), 1, 1.0, &catalogue.running)
}

/// FusionIO's ioDrive, which figure 4.9 has and table 4.4 lacks. All is assumed but its price, which is eight times
/// that of a low-end disk for each GB there: 80 GB, 700 and 500 MB/s; `watts` is its power with the supplement.
pub(in crate::items::kim) fn io_drive(dollars_per_gb: f64, watts: f64) -> Device {
    let gigabytes = 80.0;
    Device {
        name: "ioDrive",
        gigabytes,
        purchase: gigabytes * dollars_per_gb,
        electricity: watts * DOLLARS_PER_WATT,
        in_use: FLASH_IN_USE,
        access: Access::Flash,
        read_rate: 700.0,
        write_rate: 500.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_spends_its_time_on_seeks_and_turns() {
        let devices = devices();
        let rates: Vec<f64> = devices.iter().map(|device| device.kilobytes_per_s(3.42, 0.23).round()).collect();
        // 8.9 + 5.56 + 0.08 ms, and 3.5 + 2 + 0.03 ms.
        assert_eq!(rates[LOW_END..], [235.0]);
        assert_eq!(rates[HIGH_END], 619.0);
        assert!((160_000.0..220_000.0).contains(&rates[SSD]), "{rates:?}");
        let slower = devices[LOW_END].clone().with_seek(15.0);
        assert!(slower.kilobytes_per_s(3.42, 0.23) < 170.0);
    }

    #[test]
    fn costs_are_those_of_a_watt_over_five_years() {
        let by_hand = [(340.0, 2.8), (450.0, 26.19), (120.0, 16.5)];
        for (device, (purchase, watts)) in devices().iter().zip(by_hand) {
            assert!((device.purchase - purchase).abs() < 1e-6, "{}", device.name);
            assert!((device.electricity - watts * DOLLARS_PER_WATT).abs() < 1e-3, "{}", device.name);
        }
    }
}
