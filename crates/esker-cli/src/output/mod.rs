//! The outputs of commands. Every command registers its outputs here before it begins to work, so that it replaces no
//! input and no file of another origin. A file appears as a whole or not at all. What a command reads is known to
//! `esker_files`, which opens it; inputs that are read only after the outputs were registered are named here, so that
//! they are refused before the work and not after it.

mod content;
mod folder;
pub(crate) mod json;
mod stream;
mod words;

use std::io;
use std::path::{Path, PathBuf};

use esker_files::{FileError, FileTarget, Identity, TargetKind};

use crate::args::{JsonArguments, WriteArguments};
use crate::failure::Failure;

use json::JsonKind;

pub(crate) use content::Content;
pub(crate) use folder::NewFolders;
pub(crate) use stream::{Output, compression_of};
pub(crate) use words::{print, print_json, remark, tell};

/// The inputs and outputs of a command.
pub(crate) struct Outputs {
    /// Whether the user allows files of another kind to be replaced.
    force: bool,
    known: Vec<Known>,
}

/// A file that a command writes.
struct Known {
    name: String,
    identities: Vec<Identity>,
}

impl Known {
    fn is(&self, identities: &[Identity]) -> bool {
        self.identities.iter().any(|one| identities.iter().any(|other| one.overlaps(other)))
    }
}

impl Outputs {
    /// The outputs of a command that reads `inputs` (`-` is standard input), beside what it has read already.
    pub(crate) fn new(force: bool, inputs: &[PathBuf]) -> Result<Self, Failure> {
        inputs.iter().for_each(|path| esker_files::protect(path));
        let stdout = FileTarget::find(Path::new("-"))?;
        stdout.check_is_no_input()?;
        let mut identities = stdout.identities();
        // Descriptors are removed: claims of standard output itself are recognised by them.
        identities.retain(|identity| !matches!(identity, Identity::Descriptor(_)));
        Ok(Self { force, known: vec![Known { name: "standard output".into(), identities }] })
    }

    /// The outputs of a command that reads `traces`, which have to exist, and writes where `-o` says. A missing trace
    /// behind others may be an output whose `-o` was forgotten.
    pub(crate) fn of_traces_with_o(force: bool, traces: &[PathBuf]) -> Result<Self, Failure> {
        let missing = |path: &PathBuf| path.as_os_str() != "-" && std::fs::metadata(path).is_err();
        Self::of_traces(force, traces).map_err(|failure| match traces {
            [.., last] if traces.iter().position(missing) == Some(traces.len() - 1) && traces.len() > 1 => {
                failure.with_hint(format!("to write to {0}, say -o {0}", last.display()))
            }
            _ => failure,
        })
    }

    /// The outputs of a command that reads `traces`, which have to exist.
    pub(crate) fn of_traces(force: bool, traces: &[PathBuf]) -> Result<Self, Failure> {
        let missing = |path: &&PathBuf| path.as_os_str() != "-" && std::fs::metadata(path).is_err();
        if let Some(path) = traces.iter().find(missing) {
            let fault = std::fs::metadata(path).err().map_or(String::new(), |fault| fault.to_string());
            return Err(Failure::input(format!("{}: cannot be opened: {fault}", path.display())));
        }
        let words: Vec<_> = std::env::args_os().collect();
        if traces.len() > 1 && words.windows(2).any(|pair| pair[0] == "--json" && pair[1] == "-") {
            return Err(Failure::input("`-` behind `--json` is one more trace, standard input"));
        }
        Self::new(force, traces)
    }

    /// Prepares to write `content` to `path` (`-` is standard output), the value of `option`.
    pub(crate) fn claim(&mut self, option: &str, path: &Path, content: Content) -> Result<Output, Failure> {
        let target = FileTarget::find(path)?;
        let given = given(option, path);
        self.register(&given, &target)?;
        if !self.force {
            check_content(path, &target, content)?;
        }
        Ok(Output::new(path, target.prepare()?))
    }

    /// Claims the output of `--json`.
    pub(crate) fn json(
        &mut self,
        arguments: &JsonArguments,
        kind: &'static JsonKind,
    ) -> Result<Option<Output>, Failure> {
        arguments.json.as_ref().map(|path| self.claim("--json", path, Content::Json(kind))).transpose()
    }

    /// Claims the output of a trace.
    pub(crate) fn trace(&mut self, arguments: &WriteArguments) -> Result<Output, Failure> {
        self.claim("-o", &arguments.output, Content::Trace)
    }

    /// Registers the files of `folder` whose names satisfy `ours` as outputs, too. Each of them has to have such
    /// content.
    pub(crate) fn claim_folder(
        &mut self,
        folder: &Path,
        ours: fn(&str) -> bool,
        content: Content,
    ) -> Result<(), Failure> {
        // A missing folder has nothing to lose; one that cannot be read fails when it is written to.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(ours) {
                let path = entry.path();
                let target = FileTarget::find(&path)?;
                self.register(&path.display().to_string(), &target)?;
                if !self.force {
                    check_content(&path, &target, content)?;
                }
            }
        }
        Ok(())
    }

    /// Makes `folder`, the value of `option`, for files of its own. Only an empty one may be there.
    pub(crate) fn claim_new_folder(&mut self, option: &str, folder: &Path) -> Result<NewFolders, Failure> {
        let shown = folder.display();
        if folder.as_os_str() == "-" {
            return Err(Failure::input("several files are written: they do not go to standard output")
                .with_hint(format!("name a folder for them: {option} FOLDER")));
        }
        if folder.symlink_metadata().is_ok() && !folder.is_dir() {
            // That it is an input says more.
            self.register(&given(option, folder), &FileTarget::find(folder)?)?;
            let message = format!("{option} {shown}: {shown} is there already, and is no folder");
            return Err(Failure::input(message).with_hint("name a new folder, which is made"));
        }
        let new = NewFolders::of(folder);
        let no_folder = |fault: io::Error| Failure::input(format!("{shown}: is no folder to write to: {fault}"));
        std::fs::create_dir_all(folder).map_err(no_folder)?;
        let mut is_empty = true;
        for entry in std::fs::read_dir(folder).map_err(no_folder)? {
            is_empty = false;
            let path = entry.map_err(no_folder)?.path();
            if path.is_file() {
                self.register(&path.display().to_string(), &FileTarget::find(&path)?)?;
            }
        }
        match is_empty {
            true => Ok(new),
            false => Err(Failure::input(format!("{shown} is there already, and is not empty"))
                .with_hint("name a new folder; nothing that is there is replaced")),
        }
    }

    /// Registers a target. Refuses one that the command already reads or writes.
    fn register(&mut self, given: &str, target: &FileTarget) -> Result<(), Failure> {
        target.check_is_no_input().map_err(|error| match error {
            // The option is named, too.
            FileError::Input { input, .. } => FileError::Input { path: given.into(), input },
            error => error,
        })?;
        let mut identities = target.identities();
        if identities.contains(&Identity::Descriptor(1)) {
            identities = vec![Identity::Descriptor(1)];
        }
        match self.known.iter().find(|known| known.is(&identities)) {
            Some(_) if identities == [Identity::Descriptor(1)] => {
                Err(Failure::input("two results would go to standard output")
                    .with_hint("give one of them a file: `-o FILE`, `--json=FILE`"))
            }
            Some(other) => Err(Failure::input(format!("`{given}` is where {} goes, too", other.name))
                .with_hint("give each of them a file of its own")),
            None => {
                self.known.push(Known { name: format!("`{given}`"), identities });
                Ok(())
            }
        }
    }
}

/// Refuses to replace what is of another kind.
fn check_content(path: &Path, target: &FileTarget, content: Content) -> Result<(), Failure> {
    let Some(there) = target.content() else { return Ok(()) };
    let shown = path.display();
    let message = match content.may_replace(there) {
        Ok(true) => return Ok(()),
        Ok(false) if matches!(target.kind, TargetKind::Block(_)) => {
            return Err(Failure::input(format!("{shown} is a disk, and what is on it would be lost"))
                .with_hint("name a file; --force writes to the disk, unless it is in use"));
        }
        Ok(false) if matches!(content, Content::Trace) => {
            format!("{shown} is there already, and a trace that was recorded cannot be made again")
        }
        Ok(false) => format!("{shown} is there already and is not {content}"),
        Err(fault) => format!("{shown} is there already, and what it is cannot be seen: {fault}"),
    };
    Err(Failure::input(message).with_hint("name another file; --force replaces it"))
}

fn given(option: &str, path: &Path) -> String {
    match option {
        "" => path.display().to_string(),
        "--json" => format!("--json={}", path.display()),
        _ => format!("{option} {}", path.display()),
    }
}
