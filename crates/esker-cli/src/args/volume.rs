//! The arguments of `esker volume`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::JsonArguments;
use super::operate::{
    VolumeAddDeviceArguments, VolumeDrainArguments, VolumeGrowArguments, VolumeRemoveDeviceArguments,
    VolumeServeArguments, VolumeSetArguments, VolumeStatusArguments,
};
use super::volume_io::VolumeIo;
use crate::values::{self, DevicePlace, VolumeDevice};

/// The commands of `esker volume`.
#[derive(Debug, Subcommand)]
pub(crate) enum VolumeCommand {
    /// Make a volume of files and disks
    Create(VolumeCreateArguments),
    /// Say what a volume is, and whether it is whole
    Check(VolumeCheckArguments),
    /// Print superblocks, map and journal
    Dump(VolumeDumpArguments),
    /// Copy a raw image into a volume, or a volume into an image
    Copy(VolumeCopyArguments),
    /// Run a trace against a volume or an NBD export, in real time
    Replay(VolumeReplayArguments),
    /// Serve volumes over NBD, to this machine or others
    Serve(VolumeServeArguments),
    /// Say how a volume that is served does
    Status(VolumeStatusArguments),
    /// Have a device join a volume
    AddDevice(VolumeAddDeviceArguments),
    /// Move the data of a device to the others
    Drain(VolumeDrainArguments),
    /// Take a device that was drained out of a volume
    RemoveDevice(VolumeRemoveDeviceArguments),
    /// Use more of the devices
    Grow(VolumeGrowArguments),
    /// Change the policy, or pause or limit what moves in the background
    Set(VolumeSetArguments),
}

/// Arguments of `esker volume create`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume create home.volume --device flash=flash.img,2GiB --device disk=disk.img,10GiB\n  \
        esker volume create db.volume --device flash=/dev/nvme0n1p3 --device disk=/dev/sdb\n  \
        esker volume create nas.volume --device flash=/dev/sda4 --device disk=/dev/sdb --keeps-map flash\n  \
        esker volume create mix.volume --device hdd=/dev/md0 --device ssd=/dev/sdc --map mix.map\n  \
        esker volume create far.volume --device 'fast=nbd+unix:///?socket=a.sock' --device slow=nbd://nas\n  \
        esker volume create web.volume --kind cache --device ssd=cache.img,1GiB --device disk=big.img,8GiB\n  \
        esker volume create even.volume --kind cluster --device a=a.img,1GiB --device b=b.img,1GiB\n\
        \n\
        The volume's file names its devices; everything else is on them, but a copy of the map of --map, which \
        lies beside the file. Edit the file when their paths change.\n\
        Keys of --set are those that such a device has in an experiment (docs/experiments.md). Those of its policy \
        follow a point: --policy fast-first --set policy.make_room.below=10%.")]
pub(crate) struct VolumeCreateArguments {
    /// The volume's file, which is written
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// A device: a name, and a disk, a file or the URI of an NBD export; with a size, the file is made. A cache caches
    /// on the first of two
    #[arg(long = "device", value_name = "NAME=PLACE[,SIZE]", required = true, value_parser = values::volume_device)]
    pub(crate) devices: Vec<VolumeDevice>,
    /// What is made of the devices: hybrid, cache, array or cluster
    #[arg(long, value_name = "KIND", default_value = "hybrid")]
    pub(crate) kind: String,
    /// The policy: of a hybrid, the one that places extents; of a cache, the replacement policy. The same as --set
    /// policy=NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Of a hybrid: pin the ranges of this file, as `esker plan` writes them; the policy places the rest
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Only these devices keep the volume's map and journal, so that a disk that is not among them can sleep. If all of
    /// them fail, everything is lost [default: the first two that have room]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) keeps_map: Vec<String>,
    /// Set a key of this kind of device, as in an experiment; policy.KEY sets one of the policy
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Take devices that hold something, which is lost, and replace the volume's file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Arguments of `esker volume check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume check home.volume\n  \
        esker volume check home.volume --repair\n\
        \n\
        Exit status: 0 everything is there and whole, 1 a device is missing or something was damaged \
        (what one device lacks and another one has is read from that one), 2 the volume cannot be opened.")]
pub(crate) struct VolumeCheckArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// Write what one device lacks and another one has, once it is known that everything is there
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Arguments of `esker volume dump`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume dump home.volume --only superblocks\n  \
        esker volume dump home.volume > everything.txt\n\
        \n\
        Each device is read for itself, also if the volume cannot be opened.")]
pub(crate) struct VolumeDumpArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// Only these parts
    #[arg(long, value_enum, ignore_case = true, value_delimiter = ',')]
    pub(crate) only: Vec<VolumePart>,
}

/// A part of what a volume keeps beside data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VolumePart {
    /// Both superblocks of each device
    Superblocks,
    /// The checkpoints of the map
    Map,
    /// The batches of the journal
    Journal,
}

/// Arguments of `esker volume copy`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume copy home.volume --from old-disk.img\n  \
        esker volume copy home.volume --to backup.img\n  \
        gunzip -c old-disk.img.gz | esker volume copy home.volume --from -\n\
        \n\
        Holes stay holes: where the image has none of its own, blocks of zeroes become holes.")]
#[command(group = clap::ArgGroup::new("direction").required(true).args(["from", "to"]))]
pub(crate) struct VolumeCopyArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// Replace the beginning of the volume, as far as the image is long; `-` reads standard input
    #[arg(long, value_name = "IMAGE")]
    pub(crate) from: Option<PathBuf>,
    /// Write the whole volume to a new image; `-` is standard output
    #[arg(long, value_name = "IMAGE")]
    pub(crate) to: Option<PathBuf>,
    /// With --from: let the image replace what is on the volume
    #[arg(long, conflicts_with = "to")]
    pub(crate) overwrite: bool,
    /// With --to: replace an image that is there already
    #[arg(long, conflicts_with = "from")]
    pub(crate) force: bool,
}

/// Arguments of `esker volume replay`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume replay home.volume day.csv.zst --overwrite --set beyond_capacity=wrap\n  \
        esker volume replay home.volume oltp.spc.zst --overwrite --set beyond_capacity=wrap --depth 32\n  \
        esker volume replay home.volume --set 'synthetic={requests=5000}' --depth 8 --overwrite\n  \
        esker volume replay nbd://nas/disk oltp.spc.zst --overwrite --depth 32\n\
        \n\
        Keys of --set are those of [workload] in an experiment (docs/experiments.md), so that `esker sim` of the \
        same workload can be compared. Every 16 bytes that are written hold the number of their request and of \
        their sector, as numbers of 8 bytes.")]
pub(crate) struct VolumeReplayArguments {
    /// The volume's file, or the URI of an NBD export
    #[arg(value_name = "VOLUME", value_parser = values::volume_place)]
    pub(crate) volume: DevicePlace,
    /// Traces; without one, --set says which requests are made up
    #[arg(value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Keep N requests under way, whatever their times [default: by their times; one at a time if they have none]
    #[arg(long, value_name = "N", value_parser = values::at_least_one::<u32>)]
    pub(crate) depth: Option<u32>,
    /// Set a key of `[workload]`, as in an experiment
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Let the writes of the trace replace what is there
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Write all of it once before: reads of what was never written are answered without a device
    #[arg(long)]
    pub(crate) fill: bool,
    /// How files and disks are read and written
    #[arg(long, value_name = "WAY", value_enum, ignore_case = true, default_value_t = VolumeIo::Best)]
    pub(crate) io: VolumeIo,
    /// Go past the page cache, where the file system allows that
    #[arg(long)]
    pub(crate) direct: bool,
    /// Where to write the result as JSON, as `esker sim` does.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}
