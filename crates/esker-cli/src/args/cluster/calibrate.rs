//! Arguments of `esker cluster calibrate`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `esker cluster calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker cluster calibrate -o light.csv\n  \
        esker cluster calibrate --every 20 -o some.csv\n  \
        esker cluster calibrate --table light.csv\n\
        \n\
        The wear model `light` says how many erases writes cost. Its coefficients are fitted to small \
        drives, simulated page by page, and tried on others. It takes a minute or two; the same version \
        writes the same table. With --table nothing is simulated. See docs/cluster.md.")]
pub(crate) struct ClusterCalibrateArguments {
    /// Write what was counted to FILE, one line for each drive
    #[arg(long, short, value_name = "FILE", conflicts_with = "table", required_unless_present = "table")]
    pub(crate) output: Option<PathBuf>,
    /// Fit to a table that was written before
    #[arg(long, value_name = "FILE")]
    pub(crate) table: Option<PathBuf>,
    /// Simulate only the first of each N drives
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "table")]
    pub(crate) every: std::num::NonZeroUsize,
    /// Replace a file that is there already and is no such table
    #[arg(long)]
    pub(crate) force: bool,
}
