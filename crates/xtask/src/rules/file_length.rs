//! Checks that files of Rust are short enough to be read in one sitting.

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::workspace::Workspace;

const LINES_MAX: usize = 400;

pub(super) const RULE: Rule =
    Rule { name: "file-length", demands: "at most 400 lines in a file of Rust, or a reason", check };

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let lengths = workspace.rust().map(|(file, _)| (file, file.text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > LINES_MAX);
    let message = |lines| format!("{lines} lines, over {LINES_MAX}; give its second subject a file of its own");
    long.map(|(file, lines)| Finding::new(&file.path, 1, message(lines))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_400_lines() {
        let (good, bad) = ("\n".repeat(400), "\n".repeat(401));
        let workspace = Workspace::of_files(&[("good.rs", &good), ("bad.rs", &bad), ("bad.md", &bad)]);
        let found = check(&workspace, &Settings::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), &found[0].message[..9]), ("bad.rs", "401 lines"));
    }
}
