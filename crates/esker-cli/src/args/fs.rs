//! The arguments of `esker fs`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use esker_core::Bytes;

use super::JsonArguments;
use crate::values;

/// The commands of `esker fs`.
#[derive(Debug, Subcommand)]
pub(crate) enum FsCommand {
    /// Make a pool: a file system in memory that stays
    Mkfs(FsMkfsArguments),
    /// Mount a pool at a directory
    Mount(FsMountArguments),
    /// Unmount a pool, or say who uses it
    Unmount(FsUnmountArguments),
    /// Say how full a pool is
    Stat(FsStatArguments),
    /// Say whether a pool is sound, and repair it
    Check(FsCheckArguments),
    /// Run a program that reaches mounted pools without the kernel
    Run(FsRunArguments),
    /// Time file systems: transfers and Postmark, in folders and through the library
    Bench(FsBenchArguments),
}

/// Arguments of `esker fs mkfs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker fs mkfs home.pool --size 8GiB\n  \
        esker fs mkfs /dev/shm/scratch.pool --size 1GiB\n  \
        esker fs mkfs /dev/dax0.0 --force\n\
        \n\
        A file takes space as the pool fills. The root directory belongs to who makes the pool. \
        Nothing that is there is replaced, but for a pool or a device with --force.")]
pub(crate) struct FsMkfsArguments {
    /// The pool: a new file on tmpfs, on persistent memory or on a disk, or a DAX device
    #[arg(value_name = "POOL")]
    pub(crate) pool: PathBuf,
    /// How large to make the file
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub(crate) size: Option<Bytes>,
    /// Take a pool or a device that is there; what it holds is lost
    #[arg(long, conflicts_with = "size")]
    pub(crate) force: bool,
}

/// How much a mount makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FsMode {
    /// Nothing until it is unmounted: a crash of the machine may damage the pool
    None,
    /// Changes of names, sizes and permissions when a call returns; data within seconds, or on fsync
    Metadata,
    /// Data, too, when a call returns
    Data,
}

/// Arguments of `esker fs mount`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker fs mount home.pool /mnt/home\n  \
        esker fs mount home.pool /mnt/home --mode data --foreground\n  \
        esker fs mount home.pool /mnt/home --populate\n\
        \n\
        The command returns when the directory can be used, and a process in the background serves it. \
        To unmount, use the command unmount, or umount(8), or end that process with SIGTERM. If the directory is in \
        use then, the process says by whom, takes it away, and serves them until they are done; a second SIGTERM \
        ends it at once.\n\
        root mounts for everybody; ordinary users need `fusermount3` (Debian: fuse3), and mount for \
        themselves.")]
pub(crate) struct FsMountArguments {
    /// The pool
    #[arg(value_name = "POOL")]
    pub(crate) pool: PathBuf,
    /// Where to mount it
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
    /// How much is durable when a call returns
    #[arg(long, value_enum, ignore_case = true, default_value_t = FsMode::Metadata)]
    pub(crate) mode: FsMode,
    /// Take all the memory of the pool at once: later no write waits for it, or finds that there is none
    #[arg(long)]
    pub(crate) populate: bool,
    /// Serve in the foreground, until it is unmounted
    #[arg(long)]
    pub(crate) foreground: bool,
    /// This process is the one in the background: it says on standard output when it serves
    #[arg(long, hide = true, conflicts_with = "foreground")]
    pub(crate) background: bool,
}

/// Arguments of `esker fs unmount`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  esker fs unmount /mnt/home\n\
        \n\
        The command returns when the pool is whole and free to be used again.")]
pub(crate) struct FsUnmountArguments {
    /// Where the pool is mounted
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
}

/// Arguments of `esker fs stat`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  esker fs stat home.pool\n\
        \n\
        The pool may be mounted. It is not changed.")]
pub(crate) struct FsStatArguments {
    /// The pool
    #[arg(value_name = "POOL")]
    pub(crate) pool: PathBuf,
}

/// Arguments of `esker fs check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker fs check home.pool\n  \
        esker fs check home.pool --repair\n\
        \n\
        The pool must not be mounted. Without --repair it is not changed.\n\
        Exit status: 0 it is sound, 1 something is wrong, 2 it is not a pool.")]
pub(crate) struct FsCheckArguments {
    /// The pool
    #[arg(value_name = "POOL")]
    pub(crate) pool: PathBuf,
    /// Repair what can be repaired
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Arguments of `esker fs run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker fs run -- sqlite3 /mnt/home/base.sqlite\n  \
        esker fs run -- sh -c 'sort /mnt/home/a >/mnt/home/b'\n\
        \n\
        The program is run as it is, with a library loaded before the C library: calls on files of mounted \
        pools go to the process of the mount in shared memory. What only the kernel can do, such as mapping \
        a file, is done through the mount. Programs without the C library, and set-user-ID programs, go \
        through the mount in all they do.\n\
        ESKER_SCM_SHIM=off leaves everything to the kernel.")]
pub(crate) struct FsRunArguments {
    /// The library [default: libesker_scm_preload.so beside this program, or in ../lib]
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,
    /// The program, and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) command: Vec<OsString>,
}

/// What `esker fs bench` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FsWork {
    /// Reads and writes of one file for each thread, in order and at random
    Transfer,
    /// Many small files that are made, read, appended to and unlinked
    Postmark,
}

/// Arguments of `esker fs bench`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        esker fs bench . /dev/shm --work transfer --file 16MiB --runs 1\n  \
        esker fs bench --library /dev/shm --work postmark --files 500 --transactions 5000 --pool 256MiB\n  \
        esker fs bench --peers --work transfer --record 4KiB --file 1MiB --runs 1 --pool 64MiB --json\n\
        \n\
        Places take turns, and medians are printed. What is made is removed again.\n\
        IOzone's write is the first write here, its rewrite the write in order.")]
pub(crate) struct FsBenchArguments {
    /// Folders to work in, through system calls: a mounted pool, tmpfs, any file system
    #[arg(value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// Also work in a pool that is made in this folder, through the library
    #[arg(long, value_name = "FOLDER")]
    pub(crate) library: Vec<PathBuf>,
    /// Also mount tmpfs with and without huge pages, ramfs, ext2, ext4 and SCMFS, for this command alone; as root
    #[arg(long)]
    pub(crate) peers: bool,
    /// How much the library makes durable when a call returns
    #[arg(long, value_enum, ignore_case = true, default_value_t = FsMode::Metadata)]
    pub(crate) mode: FsMode,
    /// What to run
    #[arg(long, value_enum, ignore_case = true, value_delimiter = ',', default_values = ["transfer", "postmark"])]
    pub(crate) work: Vec<FsWork>,
    /// Records of transfers
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = values::size_of_some,
        default_value = "4KiB,64KiB,1MiB")]
    pub(crate) record: Vec<Bytes>,
    /// The file of each thread in transfers
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = values::size_of_some,
        default_value = "128MiB")]
    pub(crate) file: Vec<Bytes>,
    /// Threads of transfers
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = values::threads_or_one,
        default_value = "1")]
    pub(crate) threads: Vec<NonZeroUsize>,
    /// Make each written record durable before the next one
    #[arg(long)]
    pub(crate) durable: bool,
    /// Files of Postmark
    #[arg(long, value_name = "COUNT", value_parser = values::at_least_one::<u64>, default_value = "10000")]
    pub(crate) files: u64,
    /// Transactions of Postmark
    #[arg(long, value_name = "COUNT", value_parser = values::at_least_one::<u64>, default_value = "400000")]
    pub(crate) transactions: u64,
    /// How often each is run
    #[arg(long, value_name = "COUNT", value_parser = values::at_least_one::<u32>, default_value = "3")]
    pub(crate) runs: u32,
    /// The pool that is made for --library, and each file system of --peers
    #[arg(long, value_name = "SIZE", value_parser = values::size_of_some, default_value = "2GiB")]
    pub(crate) pool: Bytes,
    /// Where to write the result as JSON.
    #[command(flatten)]
    pub(crate) json: JsonArguments,
}
