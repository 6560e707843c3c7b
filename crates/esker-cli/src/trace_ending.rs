//! The format in which a trace is written.

use std::io::IsTerminal;
use std::path::Path;

use esker_trace::{FORMATS, FormatCapability, FormatEntry, format_to_write};

use crate::args::WriteArguments;
use crate::failure::Failure;

/// The default format for standard output, devices and FIFOs.
const OWN: &str = "esker";
/// Endings of compressions that can be read but not written.
const NOT_WRITTEN: &[&str] = &["xz", "bz2", "lz4", "zip", "7z", "lzma", "z"];

/// The format that `--to` names, or that the ending of the output's name stands for.
pub(crate) fn format_of(arguments: &WriteArguments) -> Result<&'static FormatEntry, Failure> {
    format_by(arguments, "--to")
}

/// The format that `option` names, or that the ending of the output's name stands for.
pub(crate) fn format_by(arguments: &WriteArguments, option: &str) -> Result<&'static FormatEntry, Failure> {
    let shown = arguments.output.display();
    let wanted = arguments.to.as_deref().map(format_to_write).transpose()?;
    let ending = ending_of(&arguments.output);
    if NOT_WRITTEN.contains(&&*ending) {
        return Err(Failure::input(format!("{shown} ends in .{ending}, which esker does not write"))
            .with_hint("a name that ends in .zst or .gz is compressed"));
    }
    let named: Vec<&FormatEntry> = FORMATS
        .iter()
        .filter(|format| format.can(FormatCapability::Write) && format.build.endings.contains(&&*ending))
        .collect();
    match (wanted, &named[..]) {
        (Some(format), []) => Ok(format),
        (Some(format), named) if named.iter().any(|one| one.name == format.name) => Ok(format),
        (Some(format), named) => Err(Failure::input(format!(
            "{shown} ends in .{ending}, which says {}, and {option} says {}",
            names(named, " or "),
            format.name
        ))
        .with_hint(format!("names of {} end in .{}", format.name, format.build.endings.join(" or .")))),
        (None, [format]) => Ok(format),
        (None, []) if !is_file(&arguments.output) => format_to_write(OWN).map_err(Failure::from),
        (None, []) => {
            let all: Vec<&FormatEntry> = FORMATS.iter().filter(|format| format.can(FormatCapability::Write)).collect();
            Err(Failure::input(format!("{shown} does not say which format is wanted")).with_hint(format!(
                "say {option} NAME, one of {}; or let the name end in it: .esker",
                names(&all, ", ")
            )))
        }
        (None, named) => Err(Failure::input(format!("{shown} may be any of {}", names(named, ", ")))
            .with_hint(format!("say which: {option} {}", names(named, "|")))),
    }
}

/// Refuses to write a binary format to a terminal, as without `-o`.
pub(crate) fn check_terminal(arguments: &WriteArguments, format: &FormatEntry) -> Result<(), Failure> {
    let is_terminal = ["-", "/dev/stdout"].iter().any(|name| arguments.output.as_os_str() == *name)
        && std::io::stdout().is_terminal();
    if !(is_terminal && format.build.binary) {
        return Ok(());
    }
    Err(Failure::input(format!("the format `{}` is binary: it would fill the terminal with signs", format.name))
        .with_hint("name a file with -o FILE.esker, let `>` or `|` take it, or choose a text: --to spc"))
}

fn names(formats: &[&FormatEntry], between: &str) -> String {
    formats.iter().map(|format| format.name).collect::<Vec<_>>().join(between)
}

/// The ending of the name, in small letters and without that of a compression; empty if there is none.
fn ending_of(path: &Path) -> String {
    let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().to_lowercase());
    let name = name.strip_suffix(".zst").or(name.strip_suffix(".gz")).unwrap_or(&name);
    name.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_string())
}

/// Whether the path is or will be a regular file, not a device, a FIFO or standard output.
fn is_file(path: &Path) -> bool {
    path.as_os_str() != "-" && std::fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(output: &str, to: Option<&str>) -> Result<&'static str, String> {
        let arguments = WriteArguments { output: output.into(), to: to.map(str::to_string), force: false };
        let said = |failure: Failure| [failure.message(), failure.hint().unwrap_or_default()].join("\n");
        format_of(&arguments).map(|format| format.name).map_err(said)
    }

    #[test]
    fn a_clear_ending_picks_the_format() {
        for (name, expected) in [
            ("x.spc", "spc"),
            ("x.SPC", "spc"),
            ("a.b/x.msr.csv.parquet", "parquet"),
            ("x.esker.zst", "esker"),
            ("x.lis.gz", "arc"),
            ("x.mqsim", "ssdsim"),
            ("x.vscsi2", "vscsi2"),
            ("-", "esker"),
            ("/dev/null", "esker"),
        ] {
            assert_eq!(format(name, None).as_deref(), Ok(expected), "{name}");
        }
        for (name, to) in [("x.csv", "msr"), ("x.iolog", "fio-v2"), ("x.log", "nbdkit"), ("x", "spc"), ("-", "spc")] {
            assert_eq!(format(name, Some(to)).as_deref(), Ok(to), "{name}");
        }
    }

    #[test]
    fn what_is_not_clear_or_contradicts_names_the_choices() {
        let csv = FORMATS.iter().filter(|format| format.can(FormatCapability::Write));
        let csv: Vec<&FormatEntry> = csv.filter(|format| format.build.endings.contains(&"csv")).collect();
        assert!(csv.len() > 2, "several formats are called .csv");
        for name in ["x.csv", "x.csv.zst"] {
            let error = format(name, None).unwrap_err();
            assert!(error.ends_with(&["--to ", &names(&csv, "|")].concat()), "{error}");
        }
        for name in ["x", "x.log", "x.zst", ".esker-less/x"] {
            let error = format(name, None).unwrap_err();
            assert!(error.contains("--to NAME") && error.contains("blkparse") && error.contains("arc"), "{error}");
        }
        for (name, to) in [("x.csv", "esker"), ("x.esker", "spc"), ("x.spc.gz", "msr"), ("x.vscsi2", "vscsi")] {
            let error = format(name, Some(to)).unwrap_err();
            assert!(error.contains(name) && error.contains(&format!("--to says {to}")), "{error}");
        }
        assert!(format("x.spc.xz", None).unwrap_err().contains("does not write"));
        assert!(format("x.spc", Some("scp")).unwrap_err().contains("did you mean"));
    }
}
