//! Reading a fleet file, with values that were set beside it.

use esker_config::{ConfigError, Document, FileKind, Node, Value, read};
use esker_core::Problem;

use super::FleetSettings;

/// A value that is set beside the file: `load.zipf=1.1`, `group.0.count=20`.
struct Assignment<'a> {
    whole: &'a str,
    /// The key as errors name it: `group[0].count`.
    key: String,
}

impl FleetSettings {
    /// Reads a fleet file. `origin` is its name in errors; `set` are assignments `KEY=VALUE` that replace what it says,
    /// with the parts of a key apart by dots, and items of lists by number from 0.
    pub fn read(text: &str, origin: &str, set: &[String]) -> Result<Self, ConfigError> {
        let document = Document { origin: origin.to_string(), text: text.to_string() };
        let mut node = document.parse()?;
        FileKind::Fleet.check(&document, &node)?;
        let set = set.iter().map(|whole| assign(&mut node, whole)).collect::<Result<Vec<_>, _>>()?;
        let positions = node.positions();
        let settings: Result<Self, ConfigError> = read(&node, "").map_err(|finding| document.error(finding));
        let checked = settings.and_then(|settings| {
            settings.check().map_err(|error| document.located(&positions, error))?;
            Ok(settings)
        });
        checked.map_err(|error| blame(error, &set))
    }
}

/// Sets a value in the tree.
fn assign<'a>(node: &mut Node, whole: &'a str) -> Result<Assignment<'a>, ConfigError> {
    let error = |problem| ConfigError { origin: format!("--set {whole}"), ..ConfigError::new("", problem) };
    let Some((path, value)) = whole.split_once('=') else {
        return Err(error(Problem::with_hint("expected KEY=VALUE", "such as --set load.zipf=1.1")));
    };
    // What is no TOML, such as 4KiB, is text.
    let parsed = Node::parse(&format!("value = {value}")).ok().and_then(|node| match node.value {
        Value::Table(mut table) if table.len() == 1 => table.remove("value").map(|entry| entry.node),
        _ => None,
    });
    let nowhere = 0..0;
    let value = parsed.unwrap_or_else(|| Node::string(nowhere.clone(), value.to_string())).moved_to(&nowhere);
    let parts: Vec<&str> = path.trim().split('.').collect();
    node.set(&parts, &nowhere, value).map_err(|message| error(Problem::new(message)))?;
    let mut key = String::new();
    for part in parts {
        match part.parse::<usize>() {
            Ok(index) => key += &format!("[{index}]"),
            Err(_) => key = esker_config::join(&key, part),
        }
    }
    Ok(Assignment { whole, key })
}

/// An error in what was set beside the file has no place in the file.
fn blame(error: ConfigError, set: &[Assignment<'_>]) -> ConfigError {
    let is_about = |assignment: &&Assignment<'_>| {
        let rest = error.key.strip_prefix(assignment.key.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    match set.iter().rev().find(is_about) {
        Some(Assignment { whole, .. }) => ConfigError { origin: format!("--set {whole}"), position: None, ..error },
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_core::Hint;

    const FLEET: &str = "[data]\nslices = 500\n[[group]]\nname = \"a\"\ncount = 10\ncapacity = \"100GB\"\n\
                         drive_writes_per_day = 1.0\n[load]\nbytes_per_day = \"500GB\"\n[run]\nduration = \"30d\"\n";

    fn refused(text: &str, set: &[&str]) -> String {
        let set: Vec<String> = set.iter().map(ToString::to_string).collect();
        let error = FleetSettings::read(text, "fleet.toml", &set).unwrap_err();
        format!("{error}; {}", error.hint().unwrap_or_default())
    }

    #[test]
    fn a_file_is_read_and_values_are_set() {
        let plain = FleetSettings::read(FLEET, "fleet.toml", &[]).unwrap();
        assert_eq!((plain.group[0].count, plain.load.zipf, plain.run.epochs()), (10, 0.0, 30));
        let set = ["load.zipf=1.1", "group.0.capacity=200GB", "balancers=[\"none\", {kind=\"ewo\", steps=5}]"];
        let set = FleetSettings::read(FLEET, "fleet.toml", &set.map(str::to_string)).unwrap();
        assert_eq!((set.load.zipf, set.group[0].capacity.0, set.balancers.len()), (1.1, 200_000_000_000, 2));
    }

    /// A run lasts whole epochs, and something may happen in the last one.
    #[test]
    fn an_event_may_be_in_an_epoch_that_the_duration_cuts() {
        let event = "[[event]]\nat = \"40h\"\nkind = \"fail\"\nserver = 1\n[run]";
        let text = FLEET.replacen("[run]", event, 1);
        let read = |duration: &str| FleetSettings::read(&text, "fleet.toml", &[format!("run.duration={duration}")]);
        assert_eq!(read("36h").unwrap().run.epochs(), 2);
        assert!(read("24h").unwrap_err().to_string().contains("the run has ended by then, after 1d"));
    }

    #[test]
    fn errors_say_where_and_what_would_do() {
        let mut texts = Vec::new();
        for (from, to) in [
            ("slices = 500", "slice = 500"),
            ("slices = 500", "slices = 0"),
            ("count = 10", "count = 0"),
            ("count = 10", "count = 1\nservers_per_domain = 0"),
            ("capacity = \"100GB\"", "capacity = \"100MB\""),
            ("drive_writes_per_day = 1.0\n", ""),
            ("drive_writes_per_day = 1.0", "drive_writes_per_day = nan"),
            ("drive_writes_per_day = 1.0", "drive_writes_per_day = 1.0\nlife_used = [\"80%\", \"20%\"]"),
            ("[load]", "[load]\nzipf = -1"),
            ("[load]", "[load]\nwrite = \"0B\""),
            ("[run]", "[run]\nepoch = \"0s\""),
            ("[run]", "[run]\nepoch = \"31d\""),
            ("[run]", "[[event]]\nat = \"30d\"\nkind = \"fail\"\nserver = 1\n[run]"),
            ("[run]", "[[event]]\nat = \"3d\"\nkind = \"drain\"\ngroup = \"a\"\ncount = 11\n[run]"),
            ("[run]", "[failures]\nannual_rate = \"100%\"\n[run]"),
            ("[run]", "[[event]]\nat = \"3d\"\nkind = \"fail\"\n[run]"),
            ("[run]", "[[event]]\nat = \"3d\"\nkind = \"drain\"\ngroup = \"b\"\n[run]"),
            ("[run]", "[[event]]\nat = \"3d\"\nkind = \"join\"\nserver = 3\n[run]"),
            ("[run]", "[[event]]\nat = \"3d\"\nkind = \"fail\"\nserver = 10\n[run]"),
            ("[data]", "balancers = [\"lief\"]\n[data]"),
            ("[data]", "balancers = [{ kind = \"life\", gain = 7 }]\n[data]"),
            ("[data]", "wear = \"counters\"\n[data]"),
        ] {
            assert!(FLEET.contains(from), "{from}");
            texts.push(refused(&FLEET.replacen(from, to, 1), &[]));
        }
        texts.push(refused(FLEET, &["load.zipf=x"]));
        texts.push(refused(FLEET, &["group.3.count=1"]));
        texts.push(refused(FLEET, &["run.duration=12h"]));
        texts.push(refused(FLEET, &["load.zipf"]));
        texts.push(refused(FLEET, &["data.replicas=4"]));
        for text in &texts {
            assert!(text.starts_with("fleet.toml:") || text.starts_with("--set "), "{text}");
        }
        assert_eq!(
            texts.join("\n") + "\n",
            include_str!("../tests/refused.txt"),
            "all of them in one place, to be read"
        );
    }
}
