//! A catalogue as it is written: what serde reads, before anything is checked.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use esker_core::{ByteRate, Bytes, Nanos, Power, Ratio, parse_quantity};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use crate::money::Amount;
use crate::{Class, Date, Market, Rating};

/// The whole text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCatalogue {
    #[serde(default = "dollars")]
    pub(super) currency: String,
    #[serde(default)]
    pub(super) source: BTreeMap<String, String>,
    pub(super) running: Option<RawRunning>,
    #[serde(default)]
    pub(super) price_class: BTreeMap<Class, RawPrice>,
    #[serde(default)]
    pub(super) product: BTreeMap<String, RawProduct>,
}

fn dollars() -> String {
    "USD".to_string()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRunning {
    pub(super) years: Option<f64>,
    pub(super) electricity_per_kwh: Option<Amount>,
    pub(super) power_usage_effectiveness: Option<f64>,
    pub(super) source: Option<String>,
    pub(super) assumed: Option<Assumed>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProduct {
    pub(super) title: String,
    pub(super) year: u16,
    #[serde(default = "on_premises")]
    pub(super) market: Market,
    pub(super) class: Class,
    pub(super) interface: String,
    pub(super) kind: Option<String>,
    pub(super) preset: String,
    pub(super) device: Option<RawDevice>,
    pub(super) capacities: Option<Brief<Vec<Bytes>, RawCapacities>>,
    pub(super) size: Option<RawSizes>,
    pub(super) die: Option<Brief<Bytes, RawDie>>,
    pub(super) dies: Option<RawDies>,
    pub(super) endurance: Option<Brief<Rating, RawEndurance>>,
    pub(super) warranty: Option<Nanos>,
    pub(super) power: Option<RawPower>,
    pub(super) annual_failure_rate: Option<Brief<Ratio, RawFailureRate>>,
    pub(super) performance: Option<RawPerformance>,
    pub(super) price: Option<RawPrice>,
    pub(super) discontinued: Option<String>,
    pub(super) shared_limits: Option<String>,
    pub(super) source: Option<String>,
}

fn on_premises() -> Market {
    Market::OnPremises
}

/// A figure and where it is from.
macro_rules! figure {
    ($name:ident { $($(#[$attribute:meta])* $key:ident: $type:ty),+ $(,)? }) => {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[$attribute])* pub(super) $key: $type,)+
            pub(super) source: Option<String>,
            pub(super) assumed: Option<Assumed>,
        }
    };
}

figure!(RawCapacities { sizes: Vec<Bytes> });
figure!(RawSizes { min: Bytes, max: Bytes });
figure!(RawDie { size: Bytes });
figure!(RawEndurance { rating: RawRating });
figure!(RawPower { active: Power, idle: Power, #[serde(default)] supplement: Option<Power> });
figure!(RawFailureRate { rate: Ratio });
figure!(RawPerformance {
    sequential_read: Option<ByteRate>,
    sequential_write: Option<ByteRate>,
    random_read: Option<u64>,
    random_write: Option<u64>,
    read_latency: Option<Nanos>,
    write_latency: Option<Nanos>,
    #[serde(default)]
    differs: BTreeMap<String, String>,
});
figure!(RawPrice {
    per_unit: Option<Amount>,
    #[serde(rename = "per_GB")]
    per_gb: Option<Amount>,
    #[serde(rename = "per_TB")]
    per_tb: Option<Amount>,
    each: Option<BTreeMap<Bytes, Amount>>,
    #[serde(rename = "per_GiB_month")]
    per_gib_month: Option<Amount>,
    per_operation_month: Option<RawOperations>,
    #[serde(rename = "per_MiB_month")]
    per_mib_month: Option<Amount>,
    free: Option<RawFree>,
    size_class: Option<BTreeMap<String, RawSizeClass>>,
    as_of: Date,
});

/// What comes with the size of a volume.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFree {
    #[serde(default)]
    pub(super) operations: u64,
    pub(super) throughput: Option<ByteRate>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTier {
    pub(super) up_to: Option<u64>,
    pub(super) price: Amount,
    pub(super) assumed: Option<Assumed>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSizeClass {
    pub(super) size: Bytes,
    pub(super) per_month: Amount,
    pub(super) assumed: Option<Assumed>,
}

/// `assumed = true`, or how a figure was arrived at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Assumed {
    Plainly(bool),
    Because(String),
}

impl<'de> Deserialize<'de> for Assumed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlagOrText;
        impl Visitor<'_> for FlagOrText {
            type Value = Assumed;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, or the reason in quotes")
            }
            fn visit_bool<E: de::Error>(self, assumed: bool) -> Result<Assumed, E> {
                Ok(Assumed::Plainly(assumed))
            }
            fn visit_str<E: de::Error>(self, reason: &str) -> Result<Assumed, E> {
                Ok(Assumed::Because(reason.to_string()))
            }
        }
        deserializer.deserialize_any(FlagOrText)
    }
}

/// A figure alone, or a table with its source.
#[derive(Debug)]
pub(super) enum Brief<S, T> {
    Alone(S),
    Table(T),
}

impl<'de, S: Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for Brief<S, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AloneOrTable<S, T>(PhantomData<(S, T)>);
        impl<'de, S: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for AloneOrTable<S, T> {
            type Value = Brief<S, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a figure with its unit, in quotes, or a table with the figure and its `source`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let text: StrDeserializer<'_, E> = text.into_deserializer();
                S::deserialize(text).map(Brief::Alone)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                S::deserialize(SeqAccessDeserializer::new(list)).map(Brief::Alone)
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(table)).map(Brief::Table)
            }
        }
        deserializer.deserialize_any(AloneOrTable(PhantomData))
    }
}

/// A price for all operations, or one for each tier.
#[derive(Debug)]
pub(super) enum RawOperations {
    All(Amount),
    Tiers(Vec<RawTier>),
}

impl<'de> Deserialize<'de> for RawOperations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PriceOrTiers;
        impl<'de> Visitor<'de> for PriceOrTiers {
            type Value = RawOperations;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a price such as \"0.005 USD\", or a list of { up_to, price }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawOperations, E> {
                text.parse().map(RawOperations::All).map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<RawOperations, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(RawOperations::Tiers)
            }
        }
        deserializer.deserialize_any(PriceOrTiers)
    }
}

/// One rating for all capacities, or one each.
#[derive(Debug)]
pub(super) enum RawRating {
    All(Rating),
    Each(BTreeMap<Bytes, Rating>),
}

impl<'de> Deserialize<'de> for RawRating {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrEach;
        impl<'de> Visitor<'de> for OneOrEach {
            type Value = RawRating;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rating such as \"1 DWPD\", or one for each capacity: { \"960GB\" = \"10 DWPD\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawRating, E> {
                text.parse().map(RawRating::All).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RawRating, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(table)).map(RawRating::Each)
            }
        }
        deserializer.deserialize_any(OneOrEach)
    }
}

impl FromStr for Rating {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const HOW: &str = "write drive writes per day (\"1 DWPD\"), terabytes written (\"1752TBW\") or erases of each \
                           cell (\"3000 cycles\")";
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '_' || c == ' ').trim_end();
        let number = |scale| {
            let read = parse_quantity(text, &[(unit, scale)], "", "the number is too large, or has too many digits");
            read.map_err(|error| error.to_string())
        };
        match unit {
            "DWPD" => number(1_000_000_000).map(|parts| Self::DriveWritesPerDay(Ratio::parts_per_billion(parts))),
            "TBW" => number(1_000_000_000_000).map(|bytes| Self::Written(bytes.into())),
            "PBW" => number(1_000_000_000_000_000).map(|bytes| Self::Written(bytes.into())),
            "cycles" => number(1).map(Self::Cycles),
            _ => Err(format!("`{text}` is no endurance: {HOW}")),
        }
    }
}

impl<'de> Deserialize<'de> for Rating {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Dies by capacity; `source` and `assumed` may stand among the capacities.
#[derive(Debug, Default)]
pub(super) struct RawDies {
    pub(super) counts: BTreeMap<Bytes, u32>,
    pub(super) source: Option<String>,
    pub(super) assumed: Option<Assumed>,
}

impl<'de> Deserialize<'de> for RawDies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByCapacity;
        impl<'de> Visitor<'de> for ByCapacity {
            type Value = RawDies;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of dies by capacity, such as { \"960GB\" = 16 }")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<RawDies, A::Error> {
                let mut dies = RawDies::default();
                while let Some(key) = table.next_key::<String>()? {
                    match key.as_str() {
                        "source" => dies.source = Some(table.next_value()?),
                        "assumed" => dies.assumed = Some(table.next_value()?),
                        capacity => {
                            let capacity = capacity.parse().map_err(de::Error::custom)?;
                            dies.counts.insert(capacity, table.next_value()?);
                        }
                    }
                }
                Ok(dies)
            }
        }
        deserializer.deserialize_map(ByCapacity)
    }
}

/// The device's own settings. Only their origin is read here: the settings themselves are laid over the preset.
#[derive(Debug, Default)]
pub(super) struct RawDevice {
    pub(super) keys: Vec<String>,
    pub(super) source: Option<String>,
    pub(super) assumed: Option<Assumed>,
}

impl<'de> Deserialize<'de> for RawDevice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Settings;
        impl<'de> Visitor<'de> for Settings {
            type Value = RawDevice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of settings, as in an experiment file")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<RawDevice, A::Error> {
                let mut device = RawDevice::default();
                while let Some(key) = table.next_key::<String>()? {
                    match key.as_str() {
                        "source" => device.source = Some(table.next_value()?),
                        "assumed" => device.assumed = Some(table.next_value()?),
                        _ => {
                            table.next_value::<IgnoredAny>()?;
                            device.keys.push(key);
                        }
                    }
                }
                Ok(device)
            }
        }
        deserializer.deserialize_map(Settings)
    }
}
