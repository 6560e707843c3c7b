//! The kinds of TOML files that esker reads, told apart by their tables.

use esker_core::Problem;

use crate::{ConfigError, Document, Node};

/// What a TOML file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Devices and a workload, to simulate.
    Experiment,
    /// Where the devices of a volume are.
    Volume,
    /// Servers and data of a cluster, to simulate.
    Fleet,
    /// Products and prices.
    Catalogue,
}

impl FileKind {
    const ALL: [Self; 4] = [Self::Experiment, Self::Volume, Self::Fleet, Self::Catalogue];

    /// Tables that no other kind of file has.
    fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Experiment => &["workload", "device", "sweep"],
            Self::Volume => &["devices"],
            Self::Fleet => &["data", "group", "load"],
            Self::Catalogue => &["product", "price_class"],
        }
    }

    /// Refuses a document that is of another kind, by its tables, and says what that is for.
    pub fn check(self, document: &Document, root: &Node) -> Result<(), ConfigError> {
        let Some(found) = self.other(root) else { return Ok(()) };
        let (origin, message) = (document.origin.clone(), format!("this is {}, not {}", found.title(), self.title()));
        let problem = Problem::with_hint(message, found.hint(&origin, root));
        Err(ConfigError { origin, ..ConfigError::new("", problem) })
    }

    /// The kind of a text that has tables of another kind, and none of this one.
    fn other(self, root: &Node) -> Option<Self> {
        let has = |kind: Self| kind.tables().iter().any(|key| root.as_table().is_some_and(|it| it.contains_key(*key)));
        if has(self) { None } else { Self::ALL.into_iter().find(|&kind| has(kind)) }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Experiment => "an experiment",
            Self::Volume => "the file of a volume",
            Self::Fleet => "the description of a cluster",
            Self::Catalogue => "a catalogue",
        }
    }

    fn hint(self, name: &str, root: &Node) -> String {
        let is_sweep = root.as_table().is_some_and(|tables| tables.contains_key("sweep"));
        match self {
            Self::Experiment if is_sweep => format!("`esker sweep {name} -o DIR` runs it"),
            Self::Experiment => format!("`esker sim {name}` runs it"),
            Self::Volume => {
                format!("`esker volume check {name}` looks at the volume, `esker volume serve {name}` serves it")
            }
            Self::Fleet => format!("`esker cluster sim {name}` simulates it"),
            Self::Catalogue => format!("`esker study TRACE --catalogue {name}` adds its products"),
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Hint;

    use super::*;

    #[test]
    fn a_file_of_another_kind_is_called_what_it_is() {
        let experiment = "[workload]\nqueue_depth = 1\n[device.a]\nkind = \"ssd\"\n[run]\n";
        let texts = [
            (FileKind::Experiment, experiment),
            (FileKind::Volume, "[devices]\na = \"a.img\"\n"),
            (FileKind::Fleet, "[data]\nslices = 1\n[run]\n"),
            (FileKind::Catalogue, "currency = \"USD\"\n[product.a]\ntitle = \"A\"\n"),
        ];
        for expected in FileKind::ALL {
            for (kind, text) in texts {
                let document = Document { origin: "x.toml".into(), text: text.into() };
                let checked = expected.check(&document, &document.parse().unwrap());
                let said = checked.map_err(|error| error.to_string());
                let refused = Err(format!("x.toml: this is {}, not {}", kind.title(), expected.title()));
                assert_eq!(said, if kind == expected { Ok(()) } else { refused });
            }
        }
    }

    #[test]
    fn the_command_for_a_sweep_is_another_one() {
        for (text, command) in
            [("[workload]\n[sweep]\n", "`esker sweep x.toml -o DIR`"), ("[workload]\n", "`esker sim x.toml`")]
        {
            let document = Document { origin: "x.toml".into(), text: text.into() };
            let refused = FileKind::Volume.check(&document, &document.parse().unwrap()).unwrap_err();
            assert!(refused.hint().is_some_and(|hint| hint.starts_with(command)), "{refused:?}");
        }
    }

    /// A misspelt table beside others of an experiment is a mistake in an experiment, and an empty file is of any kind.
    #[test]
    fn what_has_a_table_of_its_kind_is_of_that_kind() {
        for text in ["[workload]\n[devices.a]\n", "", "[wrokload]\n"] {
            let document = Document { origin: String::new(), text: text.into() };
            assert_eq!(FileKind::Experiment.check(&document, &document.parse().unwrap()), Ok(()));
        }
    }
}
