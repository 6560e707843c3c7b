//! The crates of the workspace and their dependencies, read from their manifests.

use toml::de::{DeTable, DeValue};

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DependencyKind {
    Normal,
    /// For tests, benchmarks and examples.
    Dev,
    /// For `build.rs`.
    Build,
}

const TABLES: [(&str, DependencyKind); 3] = [
    ("dependencies", DependencyKind::Normal),
    ("dev-dependencies", DependencyKind::Dev),
    ("build-dependencies", DependencyKind::Build),
];

impl DependencyKind {
    /// The name of its table in the manifest.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Self::Normal => "dependencies",
            Self::Dev => "dev-dependencies",
            Self::Build => "build-dependencies",
        }
    }
}

/// One dependency.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: DependencyKind,
    /// Line in the manifest.
    pub(crate) line: usize,
}

impl Dependency {
    /// The name in Rust code. Every library in use has the name of its package.
    pub(crate) fn identifier(&self) -> String {
        self.name.replace('-', "_")
    }
}

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Path from the root: `crates/esker-core`.
    pub(crate) folder: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// Whether cargo looks for tests in the documentation of its library.
    pub(crate) has_doctests: bool,
}

impl Package {
    pub(crate) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// Whether `path` is the manifest of one of the workspace's crates.
pub(crate) fn is_manifest(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(parts[..], ["crates", _, "Cargo.toml"])
}

/// Reads the crate with the manifest `text` at `path`.
pub(crate) fn package(path: &str, text: &str) -> Result<Package, String> {
    let document = DeTable::parse(text).map_err(|error| format!("{path}: {error}"))?;
    let document = document.get_ref();
    let name = document
        .get("package")
        .and_then(|package| package.get_ref().as_table()?.get("name")?.get_ref().as_str())
        .ok_or_else(|| format!("{path}: a crate needs `package.name`"))?;
    let mut dependencies = Vec::new();
    add_tables(document, text, &mut dependencies);
    for target in document.get("target").and_then(|targets| targets.get_ref().as_table()).into_iter().flatten() {
        if let Some(tables) = target.1.get_ref().as_table() {
            add_tables(tables, text, &mut dependencies);
        }
    }
    let library = document.get("lib").and_then(|library| library.get_ref().as_table());
    let doctest = library.and_then(|library| library.get("doctest")?.get_ref().as_bool());
    let folder = path.trim_end_matches("/Cargo.toml").to_owned();
    Ok(Package { name: name.to_owned(), folder, dependencies, has_doctests: doctest != Some(false) })
}

fn add_tables(parent: &DeTable<'_>, text: &str, dependencies: &mut Vec<Dependency>) {
    for (table, kind) in TABLES {
        let Some(DeValue::Table(entries)) = parent.get(table).map(|value| value.get_ref()) else { continue };
        for (name, _) in entries {
            let line = text[..name.span().start].matches('\n').count() + 1;
            dependencies.push(Dependency { name: name.get_ref().to_string(), kind, line });
        }
    }
    dependencies.sort_by_key(|dependency| dependency.line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_are_read_with_their_lines() {
        let manifest = "[package]\nname = \"a\"\n\n[dependencies]\nserde.workspace = true\n\
            [target.'cfg(unix)'.dependencies]\nrustix = { workspace = true }\n[dev-dependencies]\nb = \"1\"\n";
        let package = package("crates/a/Cargo.toml", manifest).unwrap();
        assert_eq!((&*package.name, &*package.folder), ("a", "crates/a"));
        let found: Vec<_> = package.dependencies.iter().map(|it| (&*it.name, it.kind, it.line)).collect();
        assert_eq!(
            found,
            [
                ("serde", DependencyKind::Normal, 5),
                ("rustix", DependencyKind::Normal, 7),
                ("b", DependencyKind::Dev, 9)
            ]
        );
    }
}
