//! Presets: named sets of parameters, with their sources.

/// A named set of parameters for one kind of device. Physical parameters have no default: a configuration names a
/// preset or gives all of them. It may override any key of the preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name in configuration files, such as "samsung-k9xxg08-slc-32g".
    pub name: &'static str,
    /// The kind of device: "ssd", "hdd".
    pub kind: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The parameters as TOML, with the source of every figure in comments beside it.
    pub toml: &'static str,
}
