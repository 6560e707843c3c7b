//! Catalogues of things one can buy: drives, disks and cloud volumes with capacities, prices and sources, each modelled
//! by a preset, and what they cost to own or to rent.
//!
//! ```
//! use esker_core::Bytes;
//! use esker_catalogue::{Catalogue, Running, owned_cost};
//!
//! let catalogue = Catalogue::builtin("kim-2009").unwrap();
//! let disk = catalogue.product("high-end-hdd").unwrap();
//! let cost = owned_cost(disk, Bytes(300_000_000_000), 1, 0.5, &catalogue.running);
//! assert_eq!((cost.purchase.to_string(), cost.power.to_string()), ("450.00".into(), "114.7122".into()));
//! ```

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
