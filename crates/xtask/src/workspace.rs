//! The repository as the rules see it: its files, each parsed once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::manifest::{self, Package};

/// A text file.
pub(crate) struct File {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The syntax of a Rust file.
    pub(crate) syntax: Option<syn::File>,
}

/// The repository, or a small one made for a test.
pub(crate) struct Workspace {
    /// `None` in tests of rules: their files are not on disk.
    pub(crate) root: Option<PathBuf>,
    pub(crate) files: BTreeMap<String, File>,
    /// The crates of the workspace.
    pub(crate) packages: Vec<Package>,
}

impl Workspace {
    /// Reads all files below `root` that rules look at.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let mut texts = BTreeMap::new();
        read_folder(root, "", &mut texts)?;
        Ok(Self { root: Some(root.to_owned()), ..Self::of(texts)? })
    }

    fn of(texts: BTreeMap<String, String>) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        for (path, text) in texts {
            let syntax = if path.ends_with(".rs") { Some(parsed(&path, &text)?) } else { None };
            files.insert(path.clone(), File { path, text, syntax });
        }
        let manifests = files.values().filter(|file| manifest::is_manifest(&file.path));
        let packages = manifests.map(|file| manifest::package(&file.path, &file.text)).collect::<Result<_, _>>()?;
        Ok(Self { root: None, files, packages })
    }

    /// A repository of these files, given as path and text.
    #[cfg(test)]
    pub(crate) fn of_files(files: &[(&str, &str)]) -> Self {
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Self::of(texts).expect("the files of a test are well formed")
    }

    /// All Rust files with their syntax.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, &syn::File)> {
        self.files.values().filter_map(|file| Some((file, file.syntax.as_ref()?)))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|file| file.text.as_str())
    }
}

fn parsed(path: &str, text: &str) -> Result<syn::File, String> {
    syn::parse_file(text).map_err(|error| {
        let at = error.span().start();
        format!("{path}:{}:{}: no Rust: {error}; make it compile first", at.line, at.column + 1)
    })
}

/// Reads the files of a folder and of those below it. Hidden folders belong to tools and are skipped, except those that
/// a rule checks.
fn read_folder(root: &Path, folder: &str, texts: &mut BTreeMap<String, String>) -> Result<(), String> {
    let broken = |path: &str, error: std::io::Error| format!("{path}: {error}");
    for entry in std::fs::read_dir(root.join(folder)).map_err(|error| broken(folder, error))? {
        let entry = entry.map_err(|error| broken(folder, error))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().map_err(|error| broken(&path, error))?;
        if kind.is_dir() {
            let hidden = name.starts_with('.') && ![".ci", ".cargo"].contains(&name.as_str());
            // Also skips the target folder of a crate outside the workspace, such as the fuzzer's.
            if !hidden && name != "target" {
                read_folder(root, &path, texts)?;
            }
        } else if kind.is_file() && is_looked_at(&path) {
            let text = std::fs::read_to_string(root.join(&path)).map_err(|error| broken(&path, error))?;
            texts.insert(path, text);
        }
    }
    Ok(())
}

fn is_looked_at(path: &str) -> bool {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("rs" | "toml" | "sh" | "md" | "json" | "lock")) || path == "Makefile" || path == ".ci/run"
}
