//! Arrays: one device made of several, by RAID level.

use std::fmt;

use esker_core::Bytes;
use esker_core::registry::ParameterSource;
use esker_results::Reporting;
use esker_tier::{StripeEngine, StripeSettings};
use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use super::engine::EngineDevice;
use super::{ChildName, DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, read_settings, schema_of};

/// The `array` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "array",
    summary: "Several devices as one, by RAID level",
    source: "Patterson, Gibson and Katz, SIGMOD 1988 (RAID)",
    parameters: ParameterSource::Schema(schema_of::<ArraySettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || &[],
        read: |table| read_settings::<ArraySettings>(table),
        example: "[device.disk]\nkind = \"hdd\"\npreset = \"nearline-7200-20t\"\n\n\
                  [device.example]\nkind = \"array\"\nlevel = \"0\"\nchild = \"disk\"\ncount = 4\nstripe = \"64KiB\"\n",
    },
};

/// How an array spreads data over its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Level {
    /// RAID-0: stripe units go to the children in turn, without redundancy.
    #[serde(rename = "0")]
    Raid0,
}

/// Reads a level as people write it: `"0"`, `0`, `"raid0"`, `"RAID-0"`.
fn read_level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Level;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a RAID level, which is \"0\"")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Level, E> {
            let lower = text.to_lowercase();
            match lower.trim_start_matches("raid").trim_start_matches(['-', ' ']) {
                "0" => Ok(Level::Raid0),
                _ => {
                    Err(E::custom(format!("there is no array of level `{text}`: the one level is \"0\", stripes only")))
                }
            }
        }
        fn visit_i64<E: de::Error>(self, value: i64) -> Result<Level, E> {
            self.visit_str(&value.to_string())
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<Level, E> {
            self.visit_str(&value.to_string())
        }
    }
    deserializer.deserialize_any(Text)
}

/// Settings of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArraySettings {
    /// RAID level.
    #[serde(deserialize_with = "read_level")]
    pub level: Level,
    /// Its devices, each with a table of its own. Alternative: `child` and `count`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<String>,
    /// The device table of all its devices, if they are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
    /// Number of devices like `child`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Size of a stripe unit: bytes on one child before the next one's turn. Whole sectors.
    #[serde(default = "default_stripe")]
    pub stripe: Bytes,
    /// Most requests under way (default: the sum of the children's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

const fn default_stripe() -> Bytes {
    Bytes::kib(64)
}

impl ArraySettings {
    /// RAID-0 of `count` devices like `child`.
    pub fn alike(child: &str, count: u32) -> Self {
        Self {
            level: Level::Raid0,
            children: Vec::new(),
            child: Some(child.to_string()),
            count: Some(count),
            stripe: default_stripe(),
            queue_depth: None,
        }
    }
}

/// The children of a device that names each of them, or one table and how many there are of it.
pub(super) fn children_of(children: &[String], child: Option<&str>, count: Option<u32>) -> Vec<ChildName> {
    let named = children.iter().enumerate().map(|(index, device)| ChildName {
        key: format!("children[{index}]"),
        device: device.clone(),
        count: None,
    });
    let template = child.map(|device| ChildName {
        key: "child".to_string(),
        device: device.to_string(),
        count: Some(count.unwrap_or(1)),
    });
    named.chain(template).collect()
}

/// Returns an error unless there are children, named in one of the two ways. `what` is the device: "an array".
pub(super) fn check_children(
    children: &[String],
    child: Option<&str>,
    count: Option<u32>,
    what: &str,
) -> Result<(), DeviceFault> {
    let refuse = |keys: &[&str], message: &str| Err(DeviceFault::new(message).at(keys.iter().copied()));
    match (children.is_empty(), child, count) {
        (false, None, None) | (true, Some(_), Some(1..)) => Ok(()),
        (true, Some(_), None) => refuse(&["child"], "`child` needs a `count`"),
        (true, Some(_), Some(0)) => refuse(&["count"], &format!("`count` is 0; {what} has at least one child")),
        (_, None, Some(_)) => refuse(&["count"], "`count` goes with `child`, not with `children`"),
        (false, Some(_), _) => refuse(&["children", "child"], "`children` and `child` exclude each other"),
        (true, None, None) => refuse(&["children"], "it has no devices: give `children`, or `child` and `count`"),
    }
}

impl DeviceSettings for ArraySettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn notices_failures(&self) -> bool {
        true
    }

    fn children(&self) -> Vec<ChildName> {
        children_of(&self.children, self.child.as_deref(), self.count)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        check_children(&self.children, self.child.as_deref(), self.count, "an array")?;
        if self.queue_depth == Some(0) {
            let fault = DeviceFault::new("`queue_depth` is 0; an array takes at least one request");
            return Err(fault.at(["queue_depth"]));
        }
        let devices = instance.children.iter().map(|child| child.device.capacity()).collect();
        let engine = StripeEngine::new(&StripeSettings { unit: self.stripe, devices })
            .map_err(|error| DeviceFault::new(error.to_string()).at(error.key()))?;
        Ok(Box::new(EngineDevice::new(KIND.name, engine, instance, self.queue_depth)))
    }
}

#[cfg(test)]
mod tests;
