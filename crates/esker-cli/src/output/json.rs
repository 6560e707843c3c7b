//! Recognises JSON that esker wrote. Each kind of result has fields that nothing else has; anybody else's JSON, such as
//! a `package.json`, is never taken for it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, Read};

use esker_core::Preset;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// How many bytes of a page or table are read, and of anything that follows JSON.
pub(super) const HEAD: u64 = 4096;

/// More fields than any result has at its top.
const FIELDS_MAX: usize = 1_000;

/// The fields of an object, with the text of those that are text.
type Fields = BTreeMap<String, Option<String>>;

/// A kind of results.
pub(crate) struct JsonKind {
    /// What it is, after "is not": "the results of `esker sim`".
    pub(crate) what: &'static str,
    /// Whether an object is of this kind.
    is_one: fn(&Fields) -> bool,
    /// Whether an object may be an item of a list of this kind. All items have to be.
    is_item: fn(&Fields) -> bool,
    /// Of these items a list has one at least.
    is_proof: fn(&Fields) -> bool,
}

/// An object that says of itself which command wrote it.
macro_rules! by_command {
    ($command:literal, $($field:literal),+) => {
        JsonKind {
            what: concat!("the results of `", $command, "`"),
            is_one: |fields| {
                let command = fields.get("command").and_then(Option::as_deref).unwrap_or_default();
                has(fields, &["schema", "version", $($field),+]) && command.starts_with(concat!($command, " "))
            },
            is_item: never,
            is_proof: never,
        }
    };
}

/// A list, or an object where `is_one` says so, that is known by its fields.
const fn by_fields(what: &'static str, is_one: fn(&Fields) -> bool, is_item: fn(&Fields) -> bool) -> JsonKind {
    JsonKind { what, is_one, is_item, is_proof: is_item }
}

pub(crate) static STUDY: JsonKind = by_command!("esker study", "budgets", "workloads", "assumptions");
pub(crate) static PLAN: JsonKind = by_command!("esker plan", "currency", "plans", "assumptions");
pub(crate) static CACHE: JsonKind = by_command!("esker cache", "objects_are", "policies", "results");
pub(crate) static VALIDATION: JsonKind = by_command!("esker validate", "measured", "demerit_ms", "classes");
pub(crate) static FS_BENCH: JsonKind = by_command!("esker fs bench", "places", "transfers", "postmarks");
pub(crate) static FLEET: JsonKind = by_command!("esker cluster sim", "slices", "epoch_ns", "runs");
pub(crate) static ADVICE: JsonKind = by_command!("esker cluster advise", "drives", "exchanges", "verdict");
pub(crate) static RUN: JsonKind = by_fields("the results of `esker sim`", is_run, never);
pub(crate) static CURVE: JsonKind = by_fields("a curve of `esker mrc`", is_curve, never);
pub(crate) static SWEEP: JsonKind = by_fields("the table of a sweep", never, is_point);
pub(crate) static CLAIMS: JsonKind = by_fields("the results of `esker reproduce`", never, is_claim);
pub(crate) static PROFILE: JsonKind = by_fields("the results of `esker trace info`", is_profile, is_profile);
pub(crate) static MODEL: JsonKind = by_fields("a model of `esker model train`", is_model, never);
pub(crate) static EVALUATION: JsonKind = by_fields("the results of `esker model evaluate`", is_evaluation, never);
pub(crate) static PREDICTION: JsonKind = by_fields("the results of `esker model predict`", is_prediction, never);
pub(crate) static DEVICES: JsonKind = JsonKind {
    what: "a list of `esker devices`",
    is_one: |fields| is_product(fields) || is_preset(fields),
    is_item: |fields| has(fields, &["name", "kind", "summary"]),
    // Every list ends with the presets.
    is_proof: |fields| {
        presets().any(|preset| has_text(fields, "name", preset.name) && has_text(fields, "summary", preset.summary))
    },
};

fn never(_: &Fields) -> bool {
    false
}

fn is_run(fields: &Fields) -> bool {
    has(fields, &["schema", "version", "config", "workload", "requests", "throughput", "devices"])
}

fn is_model(fields: &Fields) -> bool {
    has(fields, &["schema", "form", "runs", "left_out", "ranges", "parts"])
}

fn is_evaluation(fields: &Fields) -> bool {
    has(fields, &["form", "left_out", "response", "erases", "runs"])
}

fn is_prediction(fields: &Fields) -> bool {
    has(fields, &["model", "characteristics", "predicted", "outside"])
}

fn is_curve(fields: &Fields) -> bool {
    has(fields, &["method", "objects_are", "accesses", "objects", "seeds", "points"])
}

fn is_point(fields: &Fields) -> bool {
    has(fields, &["index", "file", "error"]) && esker_sim::METRICS.iter().all(|metric| fields.contains_key(metric.name))
}

fn is_claim(fields: &Fields) -> bool {
    has(fields, &["item", "claim", "published", "measured", "ratio", "tolerance", "verdict", "reason"])
}

fn is_profile(fields: &Fields) -> bool {
    has(fields, &["trace", "format", "remarks", "read_requests", "pages_4k", "footprint_bytes", "first_arrival_ns"])
}

fn is_product(fields: &Fields) -> bool {
    has(fields, &["name", "title", "market", "class", "interface", "preset", "capacities", "warranty_years", "price"])
}

fn is_preset(fields: &Fields) -> bool {
    fields.len() == 2 && fields.contains_key("toml") && presets().any(|preset| has_text(fields, "name", preset.name))
}

fn presets() -> impl Iterator<Item = &'static Preset> {
    esker_sim::DEVICE_KINDS.iter().flat_map(|kind| (kind.build.presets)())
}

fn has(fields: &Fields, names: &[&str]) -> bool {
    names.iter().all(|name| fields.contains_key(*name))
}

fn has_text(fields: &Fields, name: &str, text: &str) -> bool {
    fields.get(name).is_some_and(|found| found.as_deref() == Some(text))
}

impl JsonKind {
    /// Whether the text is of this kind, and nothing more. Zeros may follow, as on a disk.
    pub(super) fn is_kind_of(&self, mut text: impl BufRead) -> bool {
        let mut json = serde_json::Deserializer::from_reader(&mut text);
        if !matches!(Top(self).deserialize(&mut json), Ok(true)) {
            return false;
        }
        let mut rest = Vec::new();
        let read = text.take(HEAD).read_to_end(&mut rest);
        read.is_ok() && rest.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace())
    }
}

/// Reads the whole and says whether it is of the kind. What is inside is passed over, however large it is.
struct Top<'a>(&'a JsonKind);

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.what)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<bool, A::Error> {
        Ok((self.0.is_one)(&fields(map)?))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let mut proven = false;
        while let Some(item) = items.next_element_seed(Object)? {
            if !(self.0.is_item)(&item) {
                return Err(A::Error::custom("an item of another kind"));
            }
            proven |= (self.0.is_proof)(&item);
        }
        Ok(proven)
    }
}

/// Reads the fields of an object.
struct Object;

impl<'de> DeserializeSeed<'de> for Object {
    type Value = Fields;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Fields, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fields, A::Error> {
        fields(map)
    }
}

fn fields<'de, A: MapAccess<'de>>(mut map: A) -> Result<Fields, A::Error> {
    let mut fields = Fields::new();
    while let Some(name) = map.next_key()? {
        if fields.len() == FIELDS_MAX {
            return Err(A::Error::custom("more fields than any result has"));
        }
        let Text(text) = map.next_value()?;
        fields.insert(name, text);
    }
    Ok(fields)
}

/// A text; `None` for any other value, which is passed over.
struct Text(Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct AnyValue;
        impl<'de> Visitor<'de> for AnyValue {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(Some(text.to_string())))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
                Ok(Text(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
                Ok(Text(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
                Ok(Text(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
                Ok(Text(None))
            }
            fn visit_unit<E>(self) -> Result<Text, E> {
                Ok(Text(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Text, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Text(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Text(None))
            }
        }
        json.deserialize_any(AnyValue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&JsonKind; 16] = [
        &STUDY,
        &PLAN,
        &CACHE,
        &VALIDATION,
        &FS_BENCH,
        &FLEET,
        &ADVICE,
        &RUN,
        &CURVE,
        &SWEEP,
        &CLAIMS,
        &PROFILE,
        &DEVICES,
        &MODEL,
        &EVALUATION,
        &PREDICTION,
    ];

    #[test]
    fn the_json_of_others_is_of_no_kind() {
        for text in [
            r#"{"name": "left-pad", "version": "1.3.0", "dependencies": {"a": "1"}}"#,
            r#"{"schema": 1, "version": "0.1.0", "devices": {}, "workload": {}}"#,
            r#"{"schema": 1, "version": "1", "command": "make study",
                "budgets": {}, "workloads": [], "assumptions": []}"#,
            r#"[{"name": "a", "kind": "b", "summary": "c"}]"#,
            r#"{"name": "a", "toml": "b"}"#,
            "[]",
            "{}",
            "null",
            "3",
            r#""text""#,
            "",
            "[1, 2]",
        ] {
            for kind in ALL {
                assert!(!kind.is_kind_of(text.as_bytes()), "{text} is not {}", kind.what);
            }
        }
    }

    #[test]
    fn a_run_is_a_run_and_nothing_else() {
        let run = r#"{"schema": 1, "version": "0", "config": {"a": [1, -2, 3.5, null, true, {}]}, "workload": {},
            "requests": {}, "throughput": {}, "devices": {}}"#;
        for kind in ALL {
            assert_eq!(kind.is_kind_of(run.as_bytes()), std::ptr::eq(kind, &RUN), "{}", kind.what);
        }
        assert!(RUN.is_kind_of([run.as_bytes(), b"\n\0\0"].concat().as_slice()));
        assert!(!RUN.is_kind_of([run, run].concat().as_bytes()));
        assert!(!RUN.is_kind_of(&run.as_bytes()[..run.len() - 1]));
    }
}
