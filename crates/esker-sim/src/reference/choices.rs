//! What an experiment file chooses by name, from the registries.

use esker_core::registry::{self, Capability, Described, Entry, ParameterSource};

/// Things of one sort that an experiment file chooses by name, such as disk schedulers.
#[derive(Clone, Debug)]
pub struct Choices {
    /// What they are, for headings.
    pub title: &'static str,
    /// The key that names one of them.
    pub key: &'static str,
    /// Whether the name alone will do. Otherwise the key takes a table with it, as those that are read from one do.
    pub by_name: bool,
    /// All of them, in the order in which lists show them.
    pub entries: Vec<ChoiceEntry>,
    /// What only some of them can do.
    pub capabilities: Vec<ChoiceCapability>,
}

/// One thing of [`Choices`].
#[derive(Clone, Debug)]
pub struct ChoiceEntry {
    /// The name in experiment files.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// What can be set of it.
    pub parameters: Vec<Described>,
}

/// Something that only some entries of [`Choices`] can do.
#[derive(Clone, Debug)]
pub struct ChoiceCapability {
    /// Its name.
    pub name: &'static str,
    /// What it is to have it.
    pub meaning: &'static str,
    /// The names of the entries that have it.
    pub able: Vec<&'static str>,
}

/// Everything that is chosen by name, but for kinds of devices and presets.
pub fn choices() -> Vec<Choices> {
    vec![
        of("Translation layers", "ftl", esker_flash::FTLS),
        of("Which block is cleaned", "cleaning.victim", esker_flash::VICTIM_POLICIES),
        of("Write modes of pages", "write_modes.policy", esker_flash::WRITE_MODE_POLICIES),
        of("Disk schedulers", "scheduler", esker_disk::SCHEDULERS),
        of("Replacement policies of caches", "policy", esker_cache::REPLACEMENTS),
        of("Admission policies of caches", "admission", esker_cache::ADMISSIONS),
        of("Routing of hits in caches", "routing", esker_tier::ROUTINGS),
        of("Policies of host-managed caches", "policy", esker_cache::FLASH_POLICIES),
        of("Placement policies", "policy", &crate::device::HYBRID_POLICIES),
    ]
}

fn of<B, C: Capability>(title: &'static str, key: &'static str, entries: &'static [Entry<B, C>]) -> Choices {
    let entry = |entry: &Entry<B, C>| {
        let Entry { name, summary, source, .. } = *entry;
        ChoiceEntry { name, summary, source, parameters: entry.parameters.described() }
    };
    let capability = |capability: &C| ChoiceCapability {
        name: capability.name(),
        meaning: capability.meaning(),
        able: registry::names_with(entries, *capability).collect(),
    };
    Choices {
        title,
        key,
        by_name: entries.iter().all(|entry| matches!(entry.parameters, ParameterSource::Listed(_))),
        entries: entries.iter().map(entry).collect(),
        capabilities: C::ALL.iter().map(capability).collect(),
    }
}
