//! `esker cluster advise`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use esker_catalogue::{BUILTIN, Catalogue};
use esker_fleet::advice::{Advice, AdviceInputs, AdviceSettings, advise};
use esker_results::advice::{ADVICE_SCHEMA, AdviceResults};

use super::advise_text::{WrittenScripts, render};
use crate::args::{ClusterAdviseArguments, Common};
use crate::commands::study::quote;
use crate::failure::Failure;
use crate::output::{self, Content, Output, Outputs, json};

/// Reads samples and dumps, and says what follows.
pub(super) fn run(arguments: &ClusterAdviseArguments, common: &Common) -> Result<ExitCode, Failure> {
    let files = files(&arguments.paths)?;
    let mut outputs = Outputs::of_traces(arguments.json.force, &files)?;
    let json = outputs.json(&arguments.json, &json::ADVICE)?;
    let scripts = match &arguments.script {
        Some(script) => {
            let undo = arguments.undo.clone().unwrap_or_else(|| beside(script));
            Some((claim(&mut outputs, "--script", script)?, claim(&mut outputs, "--undo", &undo)?))
        }
        None => None,
    };
    let mut inputs = AdviceInputs::default();
    for file in &files {
        inputs.read(&file.display().to_string(), &read(file)?)?;
    }
    let catalogue = Catalogue::builtin(BUILTIN[0].name)?;
    let settings = AdviceSettings {
        horizon_years: arguments.horizon,
        budget: arguments.budget,
        ratings: arguments.rated.clone(),
        prices: arguments.price.clone(),
    };
    let advice = advise(&inputs, &settings, &catalogue)?;
    let written = write_scripts(&advice, scripts)?;
    let disks = advice.disks;
    let unwritten = (arguments.script.is_some() && written.is_none()).then(|| why_no_script(&advice));
    let results = results(arguments, advice, &catalogue);
    match json {
        Some(json) => json.write_json(&results)?,
        None => output::print(&render(&results, written.as_ref()))?,
    }
    if let Some(why) = unwritten.filter(|_| !common.quiet) {
        output::remark(&format!("--script: no script was written: {why}"));
    }
    if disks > 0 && !common.quiet {
        output::remark(&format!("{disks} samples are of disks, which writes do not wear; they were passed over"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The files that paths name: of folders those that end in .json, by name.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let shown = path.display();
        let refused = |error: std::io::Error| Failure::input(format!("{shown}: cannot be read: {error}"));
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(refused)? {
            let file = entry.map_err(refused)?.path();
            if file.extension().is_some_and(|extension| extension == "json") && file.is_file() {
                found.push(file);
            }
        }
        if found.is_empty() {
            return Err(Failure::input(format!("{shown}: has no .json files"))
                .with_hint("put samples and dumps there, with names that end in .json"));
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| Failure::input(format!("{}: cannot be read: {error}", path.display()));
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        esker_files::stdin().read_to_end(&mut bytes).map_err(failed)?;
        return Ok(bytes);
    }
    esker_files::read(path).map_err(failed)
}

fn beside(script: &Path) -> PathBuf {
    let mut name = script.as_os_str().to_owned();
    name.push(".undo");
    name.into()
}

/// Prepares to write a script. What is there may have been run, and is needed to take it back: it is never replaced.
fn claim(outputs: &mut Outputs, option: &str, path: &Path) -> Result<Output, Failure> {
    let is_there = path.symlink_metadata().is_ok_and(|found| found.is_file() || found.is_symlink());
    // That it is an input, or another output, says more.
    let output = outputs.claim(option, path, Content::Script)?;
    match is_there {
        true => Err(Failure::input(format!("{option} {0}: {0} is there already", path.display()))
            .with_hint("name a new file; a script that was written before is never replaced")),
        false => Ok(output),
    }
}

/// Writes the scripts, the one that takes back first, so that there is never one without the other.
fn write_scripts(advice: &Advice, outputs: Option<(Output, Output)>) -> Result<Option<WrittenScripts>, Failure> {
    let (Some(scripts), Some((apply, undo))) = (&advice.scripts, outputs) else { return Ok(None) };
    let shown = |output: &Output| quote(&output.path().display().to_string());
    let written = WrittenScripts { apply: shown(&apply), undo: shown(&undo) };
    undo.write_text(&scripts.undo)?;
    apply.write_text(&scripts.apply)?;
    Ok(Some(written))
}

/// Why there is no script although one was asked for, and what to do instead.
fn why_no_script(advice: &Advice) -> &'static str {
    match advice.exchanges.is_empty() {
        true => "it would move placement groups of Ceph, and no such move is advised",
        false => {
            "it would move placement groups of Ceph, and these are drives of a host; exchange what they hold with what \
             uses them, such as a volume manager"
        }
    }
}

fn results(arguments: &ClusterAdviseArguments, advice: Advice, catalogue: &Catalogue) -> AdviceResults {
    AdviceResults {
        schema: ADVICE_SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: command_line(arguments),
        horizon_years: arguments.horizon,
        currency: catalogue.currency.clone(),
        drives: advice.drives,
        exchanges: advice.exchanges,
        cluster: advice.cluster,
        verdict: advice.verdict,
    }
}

/// The command that repeats it, without options that only name outputs.
fn command_line(arguments: &ClusterAdviseArguments) -> String {
    let mut line = "esker cluster advise".to_string();
    arguments.paths.iter().for_each(|path| line += &format!(" {}", quote(&path.display().to_string())));
    line += &format!(" --horizon {}", arguments.horizon);
    if let Some(budget) = arguments.budget {
        line += &format!(" --budget {}B", budget.0);
    }
    for (model, rated) in &arguments.rated {
        line += &format!(" --rated {}", quote(&format!("{model}={}B", rated.0)));
    }
    for (model, price) in &arguments.price {
        line += &format!(" --price {}", quote(&format!("{model}={price}")));
    }
    line
}
