//! The `[sweep]` table: keys, the values to try for each, and how points are made of them.

mod range;

use esker_config::{Finding, Node, Span, Table, Value, join, read};
use esker_core::Rng;
use serde::Deserialize;

use range::Range;

/// More points than this must be a typing error.
pub(crate) const POINTS_MAX: usize = 1_000_000;

/// What `[sweep]` says.
#[derive(Clone, Debug, Default)]
pub(crate) struct SweepPlan {
    /// The keys, in the order of the file.
    pub(crate) dimensions: Vec<Dimension>,
    /// The number of random points: point `n` takes value `n` of each dimension. `None` for all combinations.
    pub(crate) sample: Option<usize>,
}

/// `sample = { points = 900, seed = 1 }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SampleSettings {
    points: usize,
    #[serde(default = "one")]
    seed: u64,
}

const fn one() -> u64 {
    1
}

impl SweepPlan {
    /// Reads the table `[sweep]`.
    pub(crate) fn read(node: &Node) -> Result<Self, Finding> {
        let Some(table) = node.as_table() else {
            return Err(Finding::new(&node.at, "sweep", format!("expected a table, found {}", node.type_name())));
        };
        let mut keys = table.clone();
        let sample = keys.remove("sample").map(|entry| read_sample(&entry.node)).transpose()?;
        Ok(Self { dimensions: read_dimensions(&keys, sample)?, sample: sample.map(|sample| sample.points) })
    }

    /// Returns the number of points; as large as can be if it is larger.
    pub(crate) fn count(&self) -> usize {
        let combinations = || self.dimensions.iter().fold(1usize, |all, of| all.saturating_mul(of.count()));
        self.sample.unwrap_or_else(combinations)
    }

    /// Returns the values of point `index`, one of each dimension by its own index. Of all combinations, the first
    /// dimension varies slowest.
    pub(crate) fn choice(&self, index: usize) -> Vec<usize> {
        if self.sample.is_some() {
            return vec![index; self.dimensions.len()];
        }
        let mut rest = index;
        let value = |dimension: &Dimension| {
            let value = rest % dimension.count();
            rest /= dimension.count();
            value
        };
        let mut choice: Vec<usize> = self.dimensions.iter().rev().map(value).collect();
        choice.reverse();
        choice
    }
}

fn read_sample(node: &Node) -> Result<SampleSettings, Finding> {
    let sample: SampleSettings = read(node, "sweep.sample")?;
    if !(1..=POINTS_MAX).contains(&sample.points) {
        let message = format!("{} points are not between 1 and {POINTS_MAX}", sample.points);
        return Err(Finding::new(&node.at, "sweep.sample.points", message));
    }
    Ok(sample)
}

/// A key to sweep.
#[derive(Clone, Debug)]
pub struct Dimension {
    pub(crate) path: Vec<String>,
    pub(crate) at: Span,
    pub(crate) values: Vec<Node>,
}

impl Dimension {
    /// The dotted key.
    pub fn key(&self) -> String {
        self.path.join(".")
    }

    /// Returns the number of its values.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Returns its values as JSON.
    pub fn values(&self) -> Vec<serde_json::Value> {
        self.values.iter().map(to_json).collect()
    }
}

/// Reads `"device.flash.ftl.kind" = ["page", "dftl"]`, quoted or not, and ranges if points are a `sample` of them.
fn read_dimensions(keys: &Table, sample: Option<SampleSettings>) -> Result<Vec<Dimension>, Finding> {
    let mut dimensions = Vec::new();
    collect(keys, sample, &mut Vec::new(), &mut dimensions)?;
    // As written: the first key of the file varies slowest.
    dimensions.sort_by_key(|dimension| dimension.at.start);
    Ok(dimensions)
}

fn collect(
    keys: &Table,
    sample: Option<SampleSettings>,
    path: &mut Vec<String>,
    into: &mut Vec<Dimension>,
) -> Result<(), Finding> {
    for (key, entry) in keys {
        let (node, depth) = (&entry.node, path.len());
        path.extend(key.split('.').map(str::to_string));
        let shown = join("sweep", &path.join("."));
        let wrong = |message: String| Err(Finding::new(&node.at, shown.clone(), message));
        let values = match (&node.value, sample) {
            (Value::Array(values), _) if values.is_empty() => {
                return wrong("the list is empty; give at least one value".to_string());
            }
            (Value::Array(values), None) => values.clone(),
            (Value::Array(values), Some(sample)) => {
                let draw = |rng: &mut Rng| values[rng.below(values.len() as u64) as usize].clone();
                drawn(sample, &path.join("."), draw)
            }
            (Value::Table(_), None) if Range::is_range(node) => {
                return wrong("a range is for a sweep with `sample = { points = N }`; give a list of values".into());
            }
            (Value::Table(_), Some(sample)) if Range::is_range(node) => {
                let range = Range::read(node, &shown)?;
                let draw = |rng: &mut Rng| Node { at: node.at.clone(), value: range.draw(rng) };
                drawn(sample, range.draw.as_deref().unwrap_or(&path.join(".")), draw)
            }
            (Value::Table(inner), _) => {
                collect(inner, sample, path, into)?;
                path.truncate(depth);
                continue;
            }
            _ => return wrong(format!("expected a list of values, found {}", node.type_name())),
        };
        into.push(Dimension { path: path.clone(), at: entry.key_at.clone(), values });
        path.truncate(depth);
    }
    Ok(())
}

/// A random value for each point. More points keep those that there were, and keys of other names change nothing.
fn drawn(sample: SampleSettings, name: &str, draw: impl Fn(&mut Rng) -> Node) -> Vec<Node> {
    let mut rng = Rng::derive(sample.seed, name);
    (0..sample.points).map(|_| draw(&mut rng)).collect()
}

fn to_json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::String(text) => text.clone().into(),
        Value::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| text.clone().into()),
        Value::Boolean(value) => (*value).into(),
        Value::Datetime(value) => value.to_string().into(),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Table(table) => table
            .iter()
            .map(|(key, entry)| (key.clone(), to_json(&entry.node)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}
