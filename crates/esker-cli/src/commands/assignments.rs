//! The values of `--set KEY=VALUE`.

use crate::failure::Failure;

/// A table of these assignments; the later one of two counts. A key with a point is one of a table: `policy.life` of
/// `policy`, which may have been named before. `example` is a valid assignment.
pub(super) fn assignments(all: &[String], example: &str) -> Result<toml::Table, Failure> {
    let mut table = toml::Table::new();
    for assignment in all {
        let (key, value) = assignment.split_once('=').ok_or_else(|| {
            Failure::input(format!("--set {assignment}: expected KEY=VALUE"))
                .with_hint(format!("such as --set {example}"))
        })?;
        // A value that is not valid TOML, such as 4KiB, is taken as text.
        let value = format!("value = {value}")
            .parse::<toml::Table>()
            .map_or_else(|_| value.into(), |mut table| table.remove("value").expect("it was just written"));
        insert(&mut table, key.trim(), value).map_err(|of| {
            Failure::input(format!("--set {assignment}: `{of}` has a value that is no table"))
                .with_hint(format!("leave out --set {of}=..."))
        })?;
    }
    Ok(table)
}

/// The table of these assignments, in which the option `--policy` may name the policy.
pub(super) fn with_policy(all: &[String], policy: Option<&str>, example: &str) -> Result<toml::Table, Failure> {
    let mut table = assignments(all, example)?;
    match (policy.map(toml::Value::from), table.get_mut("policy")) {
        (Some(kind), None) => drop(table.insert("policy".to_string(), kind)),
        (Some(kind), Some(toml::Value::Table(settings))) if !settings.contains_key("kind") => {
            settings.insert("kind".to_string(), kind);
        }
        (Some(_), Some(_)) => {
            let message = "--policy and --set policy= both say which policy";
            return Err(Failure::input(message).with_hint("leave one out"));
        }
        (None, Some(toml::Value::Table(settings))) if !settings.contains_key("kind") => {
            let message = "--set policy.KEY= sets a key of a policy, but none is named";
            return Err(Failure::input(message).with_hint("say --policy NAME, too; `esker devices` lists them"));
        }
        (None, _) => {}
    }
    Ok(table)
}

/// Sets `key`, which may have points. Fails with the part before a point that has a value of its own.
fn insert(table: &mut toml::Table, key: &str, value: toml::Value) -> Result<(), String> {
    let Some((of, rest)) = key.split_once('.') else {
        table.insert(key.to_string(), value);
        return Ok(());
    };
    let inner = table.entry(of).or_insert_with(|| toml::Table::new().into());
    // A name is short for a table with this `kind`.
    if let toml::Value::String(kind) = inner {
        *inner = toml::Table::from_iter([("kind".to_string(), std::mem::take(kind).into())]).into();
    }
    match inner {
        toml::Value::Table(inner) => insert(inner, rest, value).map_err(|below| format!("{of}.{below}")),
        _ => Err(of.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(all: &[&str]) -> String {
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        assignments(&all, "extent=128KiB").map_or_else(|error| format!("{error:?}"), |table| table.to_string())
    }

    #[test]
    fn keys_with_points_are_those_of_a_table() {
        let long = "[policy]\nkind = \"cost-benefit\"\nlife = \"3y\"\n";
        assert_eq!(table(&["policy=cost-benefit", "policy.life=3y"]), long);
        assert_eq!(table(&["policy.kind=cost-benefit", "policy.life=5y", "policy.life=3y"]), long);
        assert_eq!(table(&["policy.life=5y", "policy={ kind = \"cost-benefit\", life = \"3y\" }"]), long);
        assert_eq!(table(&["extent=64KiB", "reserve=5"]), "extent = \"64KiB\"\nreserve = 5\n");
        let refused = table(&["a.b=5", "a.b.c=6"]);
        assert!(refused.contains("`a.b` has a value that is no table"), "{refused}");
    }
}
