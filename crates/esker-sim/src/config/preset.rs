//! Presets by name, and those in files of one's own.

use std::path::Path;

use esker_config::{ConfigError, Document, Finding, Node, Span};
use esker_core::registry::NotFound;
use esker_core::{Hint, Preset, Problem, Ratio};

use super::system::{DeviceDescription, PreconditionKind};
use crate::device::{DEVICE_KINDS, DeviceKind, device_kind};

/// The parameters that a `preset` key names: those of a registered preset, or of a file that ends in `.toml`.
#[derive(Clone, Debug)]
pub struct NamedPreset {
    kind: &'static DeviceKind,
    node: Node,
}

impl NamedPreset {
    /// Finds the preset `name` of the kind of device `kind`, if that is given. The path of a file starts from `folder`.
    /// A file has the keys of a device's table with its `kind`, and all that have no default.
    ///
    /// # Errors
    /// The name is not known, or the file cannot be read or has mistakes; the message has file, line and column.
    pub fn find(name: &str, kind: Option<&str>, folder: &Path) -> Result<Self, Problem> {
        let found = if is_preset_file(name) { Self::read(&folder.join(name)) } else { Self::registered(name, kind) }?;
        match kind {
            Some(kind) if kind != found.kind.name => {
                let message = format!("`{name}` is a preset of the kind `{}`, not of `{kind}`", found.kind.name);
                let hint = format!("say `kind = \"{}\"`, or name a preset of the kind `{kind}`", found.kind.name);
                Err(Problem::with_hint(message, hint))
            }
            _ => Ok(found),
        }
    }

    /// The kind of device that the preset is for.
    pub fn kind(&self) -> &'static DeviceKind {
        self.kind
    }

    /// A device with these parameters as they are, as from the factory.
    pub fn device(&self) -> DeviceDescription {
        let settings = (self.kind.build.read)(&self.node).expect("they were read before");
        DeviceDescription { settings: settings.into(), precondition: PreconditionKind::None, utilisation: Ratio::ONE }
    }

    /// The parameters, placed where the user named the preset.
    pub(crate) fn node(&self, at: &Span) -> Node {
        self.node.clone().moved_to(at)
    }

    fn registered(name: &str, kind: Option<&str>) -> Result<Self, Problem> {
        let all = || DEVICE_KINDS.iter().flat_map(|kind| (kind.build.presets)().iter());
        let fitting = || all().filter(|preset| kind.is_none_or(|kind| kind == preset.kind)).map(|preset| preset.name);
        match all().find(|preset| preset.name == name) {
            Some(preset) => Ok(Self::from(preset)),
            None => Err(NotFound::new("preset", name, fitting()).into()),
        }
    }

    fn read(path: &Path) -> Result<Self, Problem> {
        let origin = path.display().to_string();
        let text = esker_files::read_to_string(path)
            .map_err(|error| Problem::new(format!("the preset {origin} cannot be read: {error}")))?;
        let document = Document { origin, text };
        let wrong = |error: ConfigError| match error.hint() {
            Some(hint) => Problem::with_hint(error.to_string(), hint),
            None => Problem::new(error.to_string()),
        };
        let mut node = document.parse().map_err(wrong)?;
        let at = node.at.clone();
        let named = node.as_table().and_then(|table| table.get("kind")).map(|entry| entry.node.clone());
        let Some((kind, kind_at)) = named.as_ref().and_then(|node| Some((node.as_str()?, node.at.clone()))) else {
            let kinds = DEVICE_KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
            let problem = Problem::with_hint("a preset needs a `kind`", format!("it is one of: {kinds}"));
            return Err(wrong(document.error(Finding::of(&at, "", problem))));
        };
        let kind =
            device_kind(kind).map_err(|name| wrong(document.error(Finding::of(&kind_at, "kind", name.into()))))?;
        node.move_keys(&["kind"], &mut Node::empty_table(0..0));
        // An error in the preset itself names the preset's own file.
        (kind.build.read)(&node).map_err(|error| wrong(document.error(Finding::read(&node, "", error))))?;
        Ok(Self { kind, node })
    }
}

/// Whether the name of a preset is that of a file.
pub(super) fn is_preset_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
}

impl From<&'static Preset> for NamedPreset {
    fn from(preset: &'static Preset) -> Self {
        let kind = device_kind(preset.kind).expect("a preset is registered with its kind");
        Self { kind, node: preset_node(preset, &(0..0)) }
    }
}

/// A registered preset's parameters as a node. Errors in them point to where the user named the preset.
pub(super) fn preset_node(preset: &Preset, at: &Span) -> Node {
    let node = Node::parse(preset.toml);
    node.unwrap_or_else(|error| panic!("the preset {} is not TOML: {error}", preset.name)).moved_to(at)
}
