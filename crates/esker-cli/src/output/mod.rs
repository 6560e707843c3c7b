//! The outputs of commands. Every command registers its inputs and outputs here before it begins to work, so that it
//! replaces no input and no file of another origin. A file appears as a whole or not at all.

mod content;
mod folder;
mod stream;
mod words;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use esker_files::{FileTarget, Identity, identities_of_input};

use crate::args::{JsonArguments, WriteArguments};
use crate::failure::Failure;

pub(crate) use content::Content;
pub(crate) use folder::NewFolders;
pub(crate) use stream::Output;
pub(crate) use words::{print, print_json, remark};

/// The inputs and outputs of a command.
pub(crate) struct Outputs {
    /// Whether the user allows files of another kind to be replaced.
    force: bool,
    inputs: Vec<PathBuf>,
    known: Vec<Known>,
}

/// A file that a command reads or writes.
struct Known {
    name: String,
    is_input: bool,
    identities: Vec<Identity>,
}

impl Known {
    fn is(&self, identities: &[Identity]) -> bool {
        self.identities.iter().any(|one| identities.contains(one))
    }
}

impl Outputs {
    /// The outputs of a command that reads `inputs` (`-` is standard input).
    pub(crate) fn new(force: bool, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let input = |path: &PathBuf| {
            let name = if path == "-" { "standard input".to_string() } else { path.display().to_string() };
            Known { name, is_input: true, identities: identities_of_input(path) }
        };
        let mut known: Vec<Known> = inputs.iter().map(input).collect();
        let mut stdout = FileTarget::find(Path::new("-"))?.identities();
        if let Some(input) = known.iter().find(|input| input.is(&stdout)) {
            return Err(Failure::input(format!("standard output is the input {}", input.name)).with_hint(
                "let the shell write to another file; one that `>` has emptied is to be brought back first",
            ));
        }
        // Descriptors are removed: claims of standard output itself are recognised by them.
        stdout.retain(|identity| !matches!(identity, Identity::Descriptor(_)));
        known.push(Known { name: "standard output".into(), is_input: false, identities: stdout });
        Ok(Self { force, inputs: inputs.to_vec(), known })
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
            self.check_content(path, &target, content)?;
        }
        Ok(Output::new(path, target.prepare()?))
    }

    /// Claims the output of `--json`.
    pub(crate) fn json(&mut self, arguments: &JsonArguments) -> Result<Option<Output>, Failure> {
        arguments.json.as_ref().map(|path| self.claim("--json", path, Content::Json)).transpose()
    }

    /// Claims the output of a trace in `format`.
    pub(crate) fn trace(
        &mut self,
        arguments: &WriteArguments,
        format: &'static esker_trace::FormatEntry,
    ) -> Result<Output, Failure> {
        self.claim("-o", &arguments.output, Content::Trace(format))
    }

    /// Registers the files of `folder` whose names satisfy `ours` as outputs, too.
    pub(crate) fn claim_folder(&mut self, folder: &Path, ours: fn(&str) -> bool) -> Result<(), Failure> {
        // A missing folder has nothing to lose; one that cannot be read fails when it is written to.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(ours) {
                let path = entry.path();
                self.register(&path.display().to_string(), &FileTarget::find(&path)?)?;
            }
        }
        Ok(())
    }

    /// Registers a target. Refuses one that the command already reads or writes.
    fn register(&mut self, given: &str, target: &FileTarget) -> Result<(), Failure> {
        let mut identities = target.identities();
        if identities.contains(&Identity::Descriptor(1)) {
            identities = vec![Identity::Descriptor(1)];
        }
        match self.known.iter().find(|known| known.is(&identities)) {
            Some(input) if input.is_input => {
                Err(Failure::input(format!("`{given}` would replace the input {}", input.name))
                    .with_hint("name another file; an input is never replaced, not with --force either"))
            }
            Some(_) if identities == [Identity::Descriptor(1)] => {
                Err(Failure::input("two results would go to standard output")
                    .with_hint("give one of them a file: `-o FILE`, `--json=FILE`, `--html FILE`"))
            }
            Some(other) => Err(Failure::input(format!("`{given}` is where {} goes, too", other.name))
                .with_hint("give each of them a file of its own")),
            None => {
                self.known.push(Known { name: format!("`{given}`"), is_input: false, identities });
                Ok(())
            }
        }
    }

    fn check_content(&self, path: &Path, target: &FileTarget, content: Content) -> Result<(), Failure> {
        let Some(there) = target.content() else { return Ok(()) };
        let shown = path.display();
        match content.may_replace(there) {
            Ok(true) => {}
            Ok(false) => {
                return Err(Failure::input(format!("{shown} is there already and is not {content}"))
                    .with_hint("name another file; --force replaces it"));
            }
            Err(fault) => {
                return Err(Failure::input(format!(
                    "{shown} is there already, and what it is cannot be seen: {fault}"
                ))
                .with_hint("name another file; --force replaces it"));
            }
        }
        let empty = matches!(std::fs::metadata(there), Ok(found) if found.is_file() && found.len() == 0);
        match self.behind(path) {
            Some(next) if matches!(content, Content::Trace(_)) && !empty => Err(Failure::input(format!(
                "{shown} is a trace and stands in front of the trace {}, as when the shell fills in `-o *`",
                next.display()
            ))
            .with_hint(format!("to write to {shown}, name it last, or say --force"))),
            _ => Ok(()),
        }
    }

    /// The input right after `-o PATH` on the command line. A shell puts the other files of a pattern there.
    fn behind(&self, path: &Path) -> Option<PathBuf> {
        let words: Vec<_> = std::env::args_os().collect();
        let is_option = |word: &OsStr| {
            let word = word.to_string_lossy();
            word == "--output" || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('o'))
        };
        let found = words.windows(3).find(|words| is_option(&words[0]) && Path::new(&words[1]) == path)?;
        self.inputs.iter().find(|input| input.as_os_str() == found[2]).cloned()
    }
}

fn given(option: &str, path: &Path) -> String {
    match option {
        "" => path.display().to_string(),
        "--json" => format!("--json={}", path.display()),
        _ => format!("{option} {}", path.display()),
    }
}
