//! Where products are bought, and which are alike.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of device of drives of flash.
pub(crate) const DRIVE: &str = "ssd";

/// The kind of device of disks.
pub(crate) const DISK: &str = "hdd";

/// The kind of device of cloud volumes.
pub(crate) const CLOUD_VOLUME: &str = "cloud-volume";

/// The kinds of device that are on sale.
pub(crate) const KINDS: [&str; 3] = [DRIVE, DISK, CLOUD_VOLUME];

/// Where a product is bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Market {
    /// Devices that one buys, and runs in a machine of one's own.
    OnPremises,
    /// Volumes of Amazon Web Services.
    Aws,
    /// Volumes of Microsoft Azure.
    Azure,
    /// Volumes of Google Cloud.
    Google,
}

impl Market {
    /// Every market, in the order of lists.
    pub const ALL: &'static [Self] = &[Self::OnPremises, Self::Aws, Self::Azure, Self::Google];

    /// The name in catalogues.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnPremises => "on-premises",
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Google => "google",
        }
    }
}

impl fmt::Display for Market {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Devices that are alike in use and price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Data-centre drives of triple-level cells, NVMe, about one drive write per day.
    TlcReadIntensive,
    /// Data-centre drives of triple-level cells, NVMe, with more spare flash: about three drive writes per day.
    TlcMixedUse,
    /// Data-centre drives of triple-level cells, SATA, about one drive write per day.
    SataTlc,
    /// Data-centre drives of triple-level cells, SATA, about three drive writes per day and more.
    SataTlcMixedUse,
    /// Data-centre drives of quad-level cells.
    Qlc,
    /// Drives of single-level cells made for short latency.
    LowLatency,
    /// Drives of single-level cells from before there were others.
    Slc,
    /// Drives for desktops, without protection against power loss.
    Consumer,
    /// Large disks of 7,200 rpm.
    Nearline,
    /// Disks for desktops, 7,200 rpm and less.
    DesktopDisk,
    /// Disks of 10,000 rpm.
    #[serde(rename = "disk-10k")]
    Disk10k,
    /// Disks of 15,000 rpm.
    #[serde(rename = "disk-15k")]
    Disk15k,
    /// Block volumes of clouds.
    CloudVolume,
}

impl Class {
    /// Every class, in the order of lists.
    pub const ALL: &'static [Self] = &[
        Self::TlcReadIntensive,
        Self::TlcMixedUse,
        Self::SataTlc,
        Self::SataTlcMixedUse,
        Self::Qlc,
        Self::LowLatency,
        Self::Slc,
        Self::Consumer,
        Self::Nearline,
        Self::DesktopDisk,
        Self::Disk10k,
        Self::Disk15k,
        Self::CloudVolume,
    ];

    /// The name in catalogues.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TlcReadIntensive => "tlc-read-intensive",
            Self::TlcMixedUse => "tlc-mixed-use",
            Self::SataTlc => "sata-tlc",
            Self::SataTlcMixedUse => "sata-tlc-mixed-use",
            Self::Qlc => "qlc",
            Self::LowLatency => "low-latency",
            Self::Slc => "slc",
            Self::Consumer => "consumer",
            Self::Nearline => "nearline",
            Self::DesktopDisk => "desktop-disk",
            Self::Disk10k => "disk-10k",
            Self::Disk15k => "disk-15k",
            Self::CloudVolume => "cloud-volume",
        }
    }
}

impl Class {
    /// The kind of device of its products, unless they say otherwise.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::TlcReadIntensive
            | Self::TlcMixedUse
            | Self::SataTlc
            | Self::SataTlcMixedUse
            | Self::Qlc
            | Self::LowLatency
            | Self::Slc
            | Self::Consumer => DRIVE,
            Self::Nearline | Self::DesktopDisk | Self::Disk10k | Self::Disk15k => DISK,
            Self::CloudVolume => CLOUD_VOLUME,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
