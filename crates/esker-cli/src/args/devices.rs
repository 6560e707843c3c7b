//! The arguments of `esker devices import` and `esker devices measure`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `esker devices import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker devices import atlas10k.parv -o atlas10k.toml\n  \
        esker devices import 3disks.parv --drive QUANTUM_TORNADO_validate -o atlas10k.toml\n\
        \n\
        Experiments and catalogues name the file: preset = \"atlas10k.toml\". What the model leaves out is listed on \
        standard error, and at the top of the preset.")]
pub(crate) struct ImportArguments {
    /// The drive's .parv or .diskspecs file; the files that it names are read from its folder
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Which drive, of a file with several
    #[arg(long, value_name = "NAME")]
    pub(crate) drive: Option<String>,
    /// Write the preset to FILE
    #[arg(long, short, value_name = "PRESET.toml")]
    pub(crate) output: PathBuf,
    /// Replace a file that is there already and is neither imported nor measured; an input is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// Arguments of `esker devices measure`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker devices measure /dev/sdb -o mine.toml\n  \
        esker devices measure --simulated nearline-7200-20t -o found.toml\n\
        \n\
        It only reads: rotation, zones, the order of tracks, seek times, the buffer and overheads are \
        found from response times. That takes a quarter of an hour or so. Nothing else should use the \
        disk meanwhile; it may be mounted. Experiments and catalogues name the file: preset = \"mine.toml\". \
        What could not be found is listed on standard error, and at the top of the preset.")]
pub(crate) struct MeasureArguments {
    /// A whole disk, such as /dev/sdb; with --simulated a preset, the file of one, or an experiment
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,
    /// Write the preset to FILE
    #[arg(long, short, value_name = "PRESET.toml")]
    pub(crate) output: PathBuf,
    /// Measure a simulated disk, which takes no time: to see what is found of a known one
    #[arg(long)]
    pub(crate) simulated: bool,
    /// Replace a file that is there already and is neither imported nor measured; an input is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}
