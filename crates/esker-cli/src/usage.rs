//! Wrong usage: clap's errors in plainer words, with a hint if we know more than clap.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use crate::args::Arguments;
use crate::failure::Failure;
use crate::output::remark;
use crate::values::BadValue;

/// Prints what is wrong with the arguments of this program (or the help that they ask for). Returns the exit status.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(OsString::into_string).map(|word| word.unwrap_or_default()).collect();
    if let Some(failure) = explain(error, &words) {
        return failure.report();
    }
    // A closed standard error is no further error.
    let _ = error.print();
    if let Some(hint) = json_with_a_blank(std::env::args_os()).filter(|_| error.use_stderr()) {
        remark(&format!("hint: {hint}"));
    }
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// Adds a hint to an error, if `--json FILE` with a blank may be the cause.
pub(crate) fn with_hint_about_json(failure: Failure) -> Failure {
    match json_with_a_blank(std::env::args_os()) {
        Some(hint) if failure.is_about_input() => failure.with_hint(hint),
        _ => failure,
    }
}

/// The hint about `--json FILE`, if FILE looks like a path for JSON.
fn json_with_a_blank(words: impl Iterator<Item = OsString>) -> Option<String> {
    let words: Vec<OsString> = words.collect();
    let behind = words.windows(2).find(|pair| pair[0] == "--json").map(|pair| pair[1].to_string_lossy())?;
    let is_option = behind.starts_with('-') && behind != "-";
    let is_json = behind.to_lowercase().ends_with(".json");
    if is_option || (behind != "-" && !is_json && Path::new(&*behind).exists()) {
        None
    } else if behind == "-" {
        Some("`--json` by itself prints on standard output".into())
    } else if is_command(&Arguments::command(), &behind) {
        Some(format!(
            "`--json` by itself prints on standard output; `{behind}` is a command, which stands in front of options"
        ))
    } else {
        Some(format!("to write JSON to a file say `--json={behind}`, with `=`"))
    }
}

/// Whether a command of the program has this name.
fn is_command(program: &Command, name: &str) -> bool {
    program.get_subcommands().any(|command| command.get_name() == name || is_command(command, name))
}

/// The error in our words; `None` if clap's are good enough.
fn explain(error: &clap::Error, words: &[String]) -> Option<Failure> {
    match error.kind() {
        ErrorKind::ValueValidation => {
            let cause = error.source()?.downcast_ref::<BadValue>()?;
            let option = text(error, ContextKind::InvalidArg)?;
            let option = option.split([' ', '=']).next().unwrap_or(option);
            let value = text(error, ContextKind::InvalidValue)?;
            let failure = Failure::input(format!("{option} {value}: {cause}"));
            Some(match &cause.hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            })
        }
        ErrorKind::UnknownArgument => {
            negative(words).or_else(|| without_option(text(error, ContextKind::InvalidArg)?, words))
        }
        ErrorKind::InvalidSubcommand => subcommand(text(error, ContextKind::InvalidSubcommand)?, words),
        _ => None,
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// Explains `--p99 -5ms`: clap takes a negative value for an option.
fn negative(words: &[String]) -> Option<Failure> {
    let pair = words.windows(2).find(|pair| {
        let begins_a_number = |c: char| c.is_ascii_digit() || c == '.';
        // A number is also `-inf` and `-nan`.
        let is_number = |rest: &str| rest.starts_with(begins_a_number) || rest.parse::<f64>().is_ok();
        pair[0].starts_with("--")
            && pair[1].strip_prefix('-').is_some_and(is_number)
            && takes_a_value(&Arguments::command(), &pair[0])
    })?;
    Some(Failure::input(format!("{} {}: a value below zero makes no sense here", pair[0], pair[1])))
}

/// Explains a file that stands alone where its option was forgotten: `esker sim x.toml run.html`.
fn without_option(found: &str, words: &[String]) -> Option<Failure> {
    let behind_json = words.windows(2).any(|pair| pair[0] == "--json" && pair[1] == found);
    if found.starts_with('-') || behind_json {
        return None;
    }
    let ending = found.rsplit_once('.').map_or("", |(_, ending)| ending);
    let commands: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).take(2).collect();
    let hint = match (&commands[..], ending) {
        (["validate", ..], _) => format!("the measured response times go behind --measured: --measured {found}"),
        (["sim" | "reproduce" | "report" | "sweep", ..], "json") => format!("to write JSON to it say --json={found}"),
        (["sim" | "reproduce", ..], "html") => format!("to write the page to it say --html {found}"),
        (["report" | "sweep", ..], _) => format!("to write to it say -o {found}"),
        (["sim", ..], "toml") => "`esker sim` runs one experiment; `esker sweep` runs a grid of them".to_string(),
        (["trace", "generate"], _) if std::path::Path::new(found).exists() => {
            format!("to make a trace like it say --like {found}")
        }
        (["trace", "generate"], _) if found.contains('.') => format!("to write to it say -o {found}"),
        _ => return None,
    };
    Some(Failure::input(format!("`{found}` stands alone, without an option")).with_hint(hint))
}

/// Whether a command has an option of this name that takes a value.
fn takes_a_value(command: &Command, option: &str) -> bool {
    command
        .get_arguments()
        .any(|known| known.get_long() == option.strip_prefix("--") && known.get_action().takes_values())
        || command.get_subcommands().any(|below| takes_a_value(below, option))
}

/// Explains a command of `esker trace` without its `trace`, or a file in the place of a command.
fn subcommand(found: &str, words: &[String]) -> Option<Failure> {
    let arguments = Arguments::command();
    let of_trace = arguments.find_subcommand("trace")?;
    let under_trace = words.iter().any(|word| word == "trace");
    let looks_like_a_file = found.contains(['.', '/']) || std::path::Path::new(found).exists();
    let hint = if under_trace {
        if looks_like_a_file {
            format!("to look at a trace: esker trace info {found}")
        } else if arguments.find_subcommand(found).is_some() {
            format!("did you mean `esker {found}`?")
        } else {
            return None;
        }
    } else if of_trace.find_subcommand(found).is_some() {
        format!("did you mean `esker trace {found}`?")
    } else if found.ends_with(".toml") {
        format!("to run an experiment: esker sim {found}")
    } else if looks_like_a_file {
        format!("to study a trace: esker study {found}")
    } else {
        return None;
    };
    Some(Failure::input(format!("there is no command `{found}`")).with_hint(hint))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn explained(line: &str) -> Option<(String, String)> {
        let words: Vec<String> = line.split(' ').skip(1).map(str::to_string).collect();
        let error = Arguments::try_parse_from(line.split(' ')).expect_err("it is refused");
        let failure = explain(&error, &words)?;
        Some((failure.message().to_string(), failure.hint().unwrap_or_default().to_string()))
    }

    #[test]
    fn what_people_write_is_answered_in_plain_words() {
        for (line, message, hint) in [
            (
                "esker study t --threads 0",
                "--threads 0: there has to be at least 1 thread",
                "leave --threads out to use",
            ),
            ("esker study t --growth 20", "--growth 20: that is 2000 % a year", "write --growth 20%"),
            ("esker study t --devices 0", "--devices 0: no design has 0 devices", "leave --devices out"),
            ("esker study t --devices -1", "--devices -1: a value below zero makes no sense here", ""),
            ("esker study t --years -inf", "--years -inf: a value below zero makes no sense here", ""),
            ("esker study t --capacity 20", "--capacity 20: a capacity needs its unit", "write 20TB"),
            ("esker study t --discount 100%", "--discount 100%: that is the whole price", "less than 100%"),
            ("esker study t --p99 -5ms", "--p99 -5ms: a value below zero makes no sense here", ""),
            ("esker study t --p99=-5ms", "--p99 -5ms: a time is zero or more", ""),
            ("esker study t --p99 5", "--p99 5: a time needs its unit", "write 5ms"),
            ("esker study t --years soon", "--years soon: that is no number of years", "write --years 5"),
            ("esker study t --utilisation 85", "--utilisation 85: that is 8500 %", "for 85 percent write 85%"),
            ("esker mrc t --sample 10", "--sample 10: that is 1000 %", "for 10 percent write 10%"),
            ("esker mrc t --seeds many", "--seeds many: that is no whole number", "write 5000, 5k"),
            ("esker trace generate --requests 5m", "--requests 5m: that is no whole number", "did you mean 5M?"),
            ("esker trace info --lenient t.csv", "--lenient t.csv: that is no whole number", "write 5000"),
            ("esker validate x.toml t.csv", "`t.csv` stands alone", "--measured t.csv"),
            ("esker sim x.toml run.html", "`run.html` stands alone", "--html run.html"),
            ("esker sim x.toml run.json", "`run.json` stands alone", "--json=run.json"),
            ("esker report s.json page.html", "`page.html` stands alone", "-o page.html"),
            ("esker sweep x.toml grid", "`grid` stands alone", "-o grid"),
            ("esker trace generate new.spc", "`new.spc` stands alone", "-o new.spc"),
            ("esker info t.csv", "there is no command `info`", "did you mean `esker trace info`?"),
            ("esker t.csv", "there is no command `t.csv`", "esker study t.csv"),
            ("esker x.toml", "there is no command `x.toml`", "esker sim x.toml"),
            ("esker trace t.csv", "there is no command `t.csv`", "esker trace info t.csv"),
            ("esker trace study", "there is no command `study`", "did you mean `esker study`?"),
        ] {
            let (found, found_hint) = explained(line).unwrap_or_else(|| panic!("{line} is not explained"));
            assert!(found.starts_with(message), "{line}: {found}");
            assert!(found_hint.contains(hint) && hint.is_empty() == found_hint.is_empty(), "{line}: {found_hint}");
        }
        // What stands behind `--json` is explained beside clap's own error.
        assert!(explained("esker sim x.toml --json trace").is_none());
        // An option without a value, and an error that clap explains well.
        assert!(explained("esker study t --together -5").is_none());
        assert!(explained("esker stduy t").is_none());
    }

    #[test]
    fn counts_and_years_with_units_are_understood() {
        for line in [
            "esker study t --years 5y --growth 20%",
            "esker trace generate --requests 5k --set read_fraction=70%",
            "esker trace filter t --shift -512 --speed 2x --head 1M --address-from 4096",
            "esker sim x.toml --seed 1e6 --threads 2",
        ] {
            if let Err(error) = Arguments::try_parse_from(line.split(' ')) {
                panic!("{line}: {error}");
            }
        }
    }
}
