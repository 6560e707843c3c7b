//! What every registry has to satisfy.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::{Accepted, Capability, Entry, Fallback, Parameter, ParameterSource};

/// All faults of a registry, in words; empty if it is sound. Each registry calls this in one test.
pub fn check<B, C: Capability>(entries: &[Entry<B, C>]) -> Vec<String> {
    let mut wrong = Vec::new();
    if entries.is_empty() {
        wrong.push("there is no entry".to_string());
    }
    wrong.extend(twice(entries.iter().map(|entry| entry.name)).map(|name| format!("`{name}` is there twice")));
    for entry in entries {
        let mut say = |what: String| wrong.push(format!("`{}`: {what}", entry.name));
        if !is_name(entry.name, '-') {
            say("the name is not in kebab-case".to_string());
        }
        for (what, text) in [("summary", entry.summary), ("source", entry.source)] {
            one_line(what, text).into_iter().for_each(&mut say);
        }
        for (index, capability) in entry.capabilities.iter().enumerate() {
            if entry.capabilities[..index].contains(capability) {
                say(format!("it can `{}` twice", capability.name()));
            }
            if !C::ALL.contains(capability) {
                say(format!("`{}` is missing in the list of all capabilities", capability.name()));
            }
        }
        parameters(&entry.parameters).into_iter().for_each(&mut say);
    }
    wrong
}

fn parameters(source: &ParameterSource) -> Vec<String> {
    let described = source.described();
    let mut wrong: Vec<String> = match source {
        ParameterSource::Listed(list) => list.iter().filter_map(bounds).collect(),
        ParameterSource::Schema(_) => Vec::new(),
    };
    for parameter in &described {
        let name = &parameter.name;
        // Keys within a table are dotted, and keys of lists have brackets.
        if !name.split('.').all(|part| is_name(part.trim_end_matches("[]"), '_')) {
            wrong.push(format!("parameter `{name}` is not in snake_case"));
        }
        if parameter.meaning.is_empty() {
            wrong.push(format!("parameter `{name}` has no meaning"));
        }
    }
    if let ParameterSource::Listed(list) = source {
        let names = twice(list.iter().map(|parameter| parameter.name));
        wrong.extend(names.map(|name| format!("parameter `{name}` is there twice")));
    }
    wrong
}

/// What is wrong with the bounds of a parameter, or with its default.
fn bounds(parameter: &Parameter) -> Option<String> {
    let wrong = match &parameter.value {
        Accepted::Count { default, least, most } => outside(fixed(default), least, most),
        Accepted::Integer { default, least, most } => outside(Some(default), least, most),
        Accepted::Share { default, least, most } => outside(Some(default), least, most),
        Accepted::Size { default, least, most } => outside(fixed(default), least, most),
        Accepted::Flag { .. } => None,
        Accepted::OneOf([]) => Some("has no names".to_string()),
        Accepted::OneOf(names) => twice(names.iter().copied()).next().map(|name| format!("has `{name}` twice")),
    };
    wrong.map(|wrong| format!("parameter `{}` {wrong}", parameter.name))
}

fn fixed<T>(default: &Fallback<T>) -> Option<&T> {
    match default {
        Fallback::Value(value) => Some(value),
        Fallback::Derived(_) => None,
    }
}

fn outside<T: Ord + Display>(default: Option<&T>, least: &T, most: &T) -> Option<String> {
    if least > most {
        return Some(format!("has no value from {least} to {most}"));
    }
    let out = default.filter(|default| *default < least || *default > most);
    out.map(|default| format!("has the default {default}, which is not from {least} to {most}"))
}

fn one_line(what: &str, text: &str) -> Option<String> {
    match text {
        "" => Some(format!("the {what} is empty")),
        text if text.contains('\n') || text.trim() != text => Some(format!("the {what} is not one line")),
        text if text.ends_with('.') => Some(format!("the {what} ends in a full stop, which lists add")),
        _ => None,
    }
}

fn twice<'a>(names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let mut seen = BTreeSet::new();
    names.filter(move |name| !seen.insert(*name))
}

/// Whether `name` consists of words of small letters and digits, with `between` between them, and is no number: `2q` is
/// a name.
fn is_name(name: &str, between: char) -> bool {
    let word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.contains(|c: char| c.is_ascii_lowercase()) && name.split(between).all(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ratio;

    const fn entry(name: &'static str, parameters: &'static [Parameter]) -> Entry<()> {
        let parameters = ParameterSource::Listed(parameters);
        Entry { name, summary: "a thing", source: "none", parameters, capabilities: &[], build: () }
    }

    const fn count(name: &'static str, default: u64, least: u64, most: u64) -> Parameter {
        let value = Accepted::Count { default: Fallback::Value(default), least, most };
        Parameter { name, meaning: "how many", value }
    }

    #[test]
    fn a_sound_registry_passes() {
        const LIST: &[Parameter] = &[
            count("open_blocks", 1, 1, 1),
            Parameter { value: Accepted::OneOf(&["lru", "fifo"]), ..count("eviction", 1, 1, 1) },
        ];
        assert_eq!(check(&[entry("d-choices", LIST), entry("2q", &[])]), Vec::<String>::new());
    }

    #[test]
    fn each_fault_is_found() {
        const TWICE: &[Parameter] = &[count("n", 1, 1, 1), count("n", 1, 1, 1)];
        let sound = entry("a", &[]);
        let share = Accepted::Share { default: Ratio::ONE, least: Ratio::ZERO, most: Ratio::percent(50) };
        let parameter = |parameter: Parameter| vec![entry("a", Box::leak(Box::new([parameter])))];
        for (entries, says) in [
            (vec![], "no entry"),
            (vec![sound, sound], "there twice"),
            (vec![entry("A", &[])], "kebab-case"),
            (vec![entry("a_b", &[])], "kebab-case"),
            (vec![entry("2", &[])], "kebab-case"),
            (vec![entry("a--b", &[])], "kebab-case"),
            (vec![Entry { summary: "", ..sound }], "summary is empty"),
            (vec![Entry { source: "", ..sound }], "source is empty"),
            (vec![Entry { summary: "a\nb", ..sound }], "not one line"),
            (vec![Entry { summary: "A thing.", ..sound }], "full stop"),
            (vec![entry("a", TWICE)], "there twice"),
            (parameter(count("n", 3, 4, 5)), "default 3"),
            (parameter(count("n", 6, 4, 5)), "default 6"),
            (parameter(count("n", 5, 6, 5)), "no value"),
            (parameter(count("N", 5, 5, 5)), "snake_case"),
            (parameter(Parameter { meaning: "", ..count("n", 5, 5, 5) }), "no meaning"),
            (parameter(Parameter { value: share, ..count("n", 5, 5, 5) }), "default 100%"),
            (parameter(Parameter { value: Accepted::OneOf(&[]), ..count("n", 5, 5, 5) }), "no names"),
            (parameter(Parameter { value: Accepted::OneOf(&["x", "x"]), ..count("n", 5, 5, 5) }), "twice"),
        ] {
            let wrong = check(&entries);
            assert!(wrong.len() == 1 && wrong[0].contains(says), "{says}: {wrong:?}");
        }
    }
}
