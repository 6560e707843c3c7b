//! Catalogues of things one can buy: drives, disks and cloud volumes with capacities, prices and sources, and what they
//! cost to own or to rent.
//!
//! Nothing here simulates. What a planner needs of a product is on its data sheet, and `None` where the sheet says
//! nothing:
//!
//! - Capacities on sale: [`Product::capacities`], or [`Product::volume_sizes`] of a cloud volume.
//! - Random reads and writes of 4 KiB, in operations per second, and sequential ones, in bytes per second:
//!   [`Product::performance`].
//! - Bytes that the host may write over the warranty: [`Product::endurance_bytes`].
//! - The price of a device: [`Product::purchase`]; the day on which it was seen, its currency and its source:
//!   [`Product::price`]. The cost over years, with electricity or rent: [`owned_cost`], [`cloud_cost`].
//! - The share of devices that fail in a year: [`Product::annual_failure_rate`].
//!
//! A figure without a source is assumed; [`Product::assumptions`] says how it was arrived at. What limits a cloud
//! volume is in its preset, and not here. Here are four drives as one would plan with them:
//!
//! ```
//! use esker_catalogue::{Catalogue, Money};
//! use esker_core::{ByteRate, Bytes};
//!
//! let catalogue = Catalogue::builtin("current").unwrap();
//! let drive = catalogue.product("micron-7450-pro").unwrap();
//! let capacity = Bytes(3_840_000_000_000);
//! assert!(drive.capacities.iter().any(|on_sale| on_sale.bytes == capacity));
//!
//! let price: Money = (0..4).map(|_| drive.purchase(capacity)).sum();
//! assert_eq!((price.to_string(), drive.price.value.currency.as_str()), ("5754.5888".to_string(), "USD"));
//! assert_eq!(drive.price.value.as_of.to_string(), "2026-03-31");
//! assert!(drive.price.source.is_some() && drive.price.value.of_class);
//!
//! // One drive write per day over five years.
//! let endurance = drive.endurance_bytes(capacity).map(|bytes| 4 * bytes);
//! assert_eq!(endurance, Some(4 * 5 * 365 * u128::from(capacity.0)));
//!
//! let sheet = drive.performance.as_ref().unwrap();
//! assert_eq!(sheet.value.sequential_write, Some(ByteRate(5_600_000_000)));
//! assert_eq!(sheet.value.random_write, None);
//! assert!(drive.annual_failure_rate.as_ref().is_some_and(|rate| rate.source.is_none()));
//! ```
//!
//! What simulates products knows more of their settings than a catalogue does: it reads the same text
//! ([`CatalogueText`]), and fills in [`Product::settings`].

mod builtin;
mod catalogue;
mod change;
mod class;
mod cost;
mod date;
mod money;
mod price;
mod product;
mod read;

pub use builtin::{BUILTIN, BuiltinEntry};
pub use catalogue::{Catalogue, CatalogueError};
pub use change::{ChangeError, CurrencyChange, PriceChange, PriceUnit};
pub use class::{Class, Market};
pub use cost::{CloudVolume, Cost, Running, cloud_cost, owned_cost};
pub use date::Date;
pub use money::Money;
pub use price::{OperationTier, Price, PriceRate, SizeClass, VolumePrice};
pub use product::{
    Assumption, Beside, Capacity, Endurance, Figure, Performance, PowerDraw, Product, Rating, Simulated, VolumeSizes,
    capacity_in_words,
};
pub use read::CatalogueText;
