//! The arguments of the commands of `esker volume` that serve a volume, or change one that is served.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use esker_core::{Bytes, Ratio};
use esker_serve::{Address, AsleepAfter, MoveBudget};

use super::serving::{ServingArguments, TlsArguments};
use super::volume_io::VolumeIo;
use crate::values::{self, Export, VolumeDevice};

/// Arguments of `esker volume serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume serve home.volume --run 'nbdinfo $uri'\n  \
        esker volume serve home.volume --listen unix:/run/home.sock\n  \
        esker volume serve home.volume --listen 127.0.0.1:10809 --metrics 127.0.0.1:9810\n  \
        esker volume serve home.volume --record day.esker --run 'nbdcopy home.img $uri'\n  \
        esker volume serve home.volume --listen :10809 --tls-certificates pki\n  \
        esker volume serve home.volume db.volume --run 'nbdinfo --list $uri'\n  \
        esker volume serve home.volume old=backup/home.volume\n  \
        esker volume serve home.volume --take-over\n\
        \n\
        Each volume is an export that is called as its file without the ending: home and db, or home and old. \
        Clients that name none get the first.\n\
        Any NBD client can connect: nbd-client, QEMU, libvirt, nbdfuse. SIGTERM and Ctrl-C let clients finish \
        what they have under way, and make all that was written durable; a second one ends at once. \
        To upgrade, start the new program with --take-over: clients stay connected.\n\
        Without TLS, whoever reaches the address reads and writes: prefer a Unix socket, or 127.0.0.1.\n\
        With --tls-certificates, only clients with a certificate of that authority connect.\n\
        Exit status: 0 everything was finished, 1 not all of it in time, that of the command with --run.")]
pub(crate) struct VolumeServeArguments {
    /// The files of the volumes; with NAME=VOLUME, clients call it NAME
    #[arg(value_name = "VOLUME", required = true, value_parser = values::volume_export)]
    pub(crate) volumes: Vec<Export>,
    /// Where clients connect; may be repeated [default: unix:VOLUME.nbd, of the first volume]
    #[arg(long, value_name = "ADDRESS", value_parser = values::address)]
    pub(crate) listen: Vec<Address>,
    /// Let clients only read
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Take over from the server of the same volumes, with its clients, which notice a pause
    #[arg(long, conflicts_with_all = ["run", "record"])]
    pub(crate) take_over: bool,
    /// Whom it serves, and how long.
    #[command(flatten)]
    pub(crate) serving: ServingArguments,
    /// Whether connections are encrypted.
    #[command(flatten)]
    pub(crate) tls: TlsArguments,
    /// How files and disks are read and written
    #[arg(long, value_name = "WAY", value_enum, ignore_case = true, default_value_t = VolumeIo::Best)]
    pub(crate) io: VolumeIo,
    /// Go past the page cache, where the file system allows that
    #[arg(long)]
    pub(crate) direct: bool,
}

/// Arguments of `esker volume status`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume status home.volume\n  \
        esker volume status home.volume --json\n\
        \n\
        For a volume that nobody serves, there is `esker volume check`.")]
pub(crate) struct VolumeStatusArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// Print the status as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print it again every second, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

/// Arguments of `esker volume add-device`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume add-device home.volume --device more=more.img,10GiB\n  \
        esker volume add-device db.volume --device fast=/dev/nvme1n1\n  \
        esker volume add-device home.volume --device archive=archive.img,100GiB --no-map\n\
        \n\
        It works while the volume is served, and else by itself. `esker volume grow` then offers the room.")]
pub(crate) struct VolumeAddDeviceArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// The device: a name, and a disk, a file or the URI of an NBD export; with a size, the file is made
    #[arg(long, value_name = "NAME=PLACE[,SIZE]", value_parser = values::volume_device)]
    pub(crate) device: VolumeDevice,
    /// Have it never keep the volume's map, so that it can sleep
    #[arg(long)]
    pub(crate) no_map: bool,
    /// Take a device that holds something, which is lost
    #[arg(long)]
    pub(crate) force: bool,
}

/// Arguments of `esker volume drain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume drain home.volume flash\n  \
        esker volume drain home.volume flash --undo\n\
        \n\
        Waits until the device is empty. Ctrl-C ends the waiting; the drain goes on while the volume is served.")]
pub(crate) struct VolumeDrainArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// The name of the device
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,
    /// Use the device again
    #[arg(long)]
    pub(crate) undo: bool,
}

/// Arguments of `esker volume remove-device`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume remove-device home.volume flash\n  \
        esker volume remove-device pair.volume b --lost\n\
        \n\
        The device has to be empty: `esker volume drain` moves its data to the others. One that has failed \
        can be removed at once if others have copies of its data, and so can one that is gone (--lost).")]
pub(crate) struct VolumeRemoveDeviceArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// The name of the device
    #[arg(value_name = "DEVICE")]
    pub(crate) device: String,
    /// It is missing, and will not come back; nobody may serve the volume meanwhile
    #[arg(long)]
    pub(crate) lost: bool,
}

/// Arguments of `esker volume grow`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume grow home.volume\n  \
        esker volume grow home.volume --device disk\n  \
        esker volume grow home.volume --to 22MiB\n\
        \n\
        Clients see the new size when they connect again: NBD has no message for it that they speak.")]
pub(crate) struct VolumeGrowArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// Before, use this device up to the size that it has now
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// The new capacity [default: all that there is room for]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) to: Option<Bytes>,
}

/// Arguments of `esker volume set`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker volume set home.volume --pause\n  \
        esker volume set home.volume --resume --moved-bytes-per-day 100GiB\n  \
        esker volume set home.volume --policy fast-first\n  \
        esker volume set home.volume --policy fast-first --set policy.make_room.below=10%\n  \
        esker volume set home.volume --map ranges.map\n  \
        esker volume set home.volume --leave-above flash=80% --asleep-after disk=9min\n\
        \n\
        It works while the volume is served, and else by itself; the volume keeps it. A pause holds drains, too, \
        a budget and limits of devices do not. `esker volume status` says what is in effect, and why nothing moves.")]
#[command(group = ArgGroup::new("settings").required(true).multiple(true))]
pub(crate) struct VolumeSetArguments {
    /// The volume's file
    #[arg(value_name = "VOLUME", value_parser = values::volume_file())]
    pub(crate) volume: PathBuf,
    /// Another policy: those of `esker devices` but for the ones that only reproduce others' work. Data stay where they
    /// are until it moves them
    #[arg(long, value_name = "NAME", group = "settings")]
    pub(crate) policy: Option<String>,
    /// Set a key of that policy, as in an experiment (policy.make_room.below=10%)
    #[arg(long, value_name = "KEY=VALUE", group = "settings")]
    pub(crate) set: Vec<String>,
    /// Pin the ranges of this file, as `esker plan` writes them: data move there in the background. The policy is for
    /// the rest
    #[arg(long, value_name = "FILE", group = "settings")]
    pub(crate) map: Option<PathBuf>,
    /// Move nothing in the background
    #[arg(long, group = "settings", conflicts_with = "resume")]
    pub(crate) pause: bool,
    /// Move in the background again
    #[arg(long, group = "settings")]
    pub(crate) resume: bool,
    /// Bytes that moves of the policy may write in any 24 hours, or `none` for any number
    #[arg(long, value_name = "SIZE", group = "settings", value_parser = values::move_budget)]
    pub(crate) moved_bytes_per_day: Option<MoveBudget>,
    /// Have data leave this device only while more than this share of it is taken (0%: at any time)
    #[arg(long, value_name = "NAME=SHARE", group = "settings", value_parser = values::leave_above)]
    pub(crate) leave_above: Vec<(String, Ratio)>,
    /// Leave this device asleep once clients have wanted nothing of it for this time, or `never`
    #[arg(long, value_name = "NAME=TIME", group = "settings", value_parser = values::asleep_after)]
    pub(crate) asleep_after: Vec<(String, AsleepAfter)>,
}
