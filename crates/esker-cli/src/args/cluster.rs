//! Arguments of `esker cluster`.

use clap::Subcommand;

mod advise;
mod calibrate;
mod sim;

pub(crate) use advise::ClusterAdviseArguments;
pub(crate) use calibrate::ClusterCalibrateArguments;
pub(crate) use sim::ClusterSimArguments;

/// The commands of `esker cluster`.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Simulate a fleet of servers by counts: how it wears under each balancer
    Sim(ClusterSimArguments),
    /// Which drives of hosts or of Ceph wear out when, and whether balancing is worth it
    Advise(ClusterAdviseArguments),
    /// Fit the wear model of fleets to simulated drives, and say how far it is off
    Calibrate(ClusterCalibrateArguments),
}
