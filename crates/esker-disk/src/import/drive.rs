//! Finds the drive of a document, and puts its settings together.

use std::path::{Path, PathBuf};

use esker_core::{ByteRate, Bytes, Nanos, Priority};

use super::block::Block;
use super::error::{ImportError, Place};
use super::parts::Drive;
use super::remarks::Remarks;
use super::syntax::{Document, ReadFile};
use super::{controller, layout_g1, layout_g4, mechanics};
use crate::{DiskSettings, WaitLimit};

/// Finds the drive called `name`, or the only one.
pub(super) fn find<'a>(file: &Path, document: &'a Document, name: Option<&str>) -> Result<Drive<'a>, ImportError> {
    let disks: Vec<&Block> = document.blocks.iter().filter(|block| block.kind == "disksim_disk").collect();
    let none = Place { file, line: 1 };
    let names = || disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(", ");
    let controller = match (name, &disks[..]) {
        (_, []) => {
            let hint = "import the `.parv` or `.diskspecs` file of a drive; its `.model` file alone has no controller";
            return Err(ImportError::new(&none, "there is no drive (`disksim_disk`) in it").with_hint(hint));
        }
        (Some(name), _) => disks.iter().copied().find(|disk| disk.name == name).ok_or_else(|| {
            let error = ImportError::new(&none, format!("there is no drive called `{name}` in it"));
            error.with_hint(format!("it has {}", names()))
        })?,
        (None, [only]) => only,
        (None, _) => {
            let error = ImportError::new(&none, format!("there are {} drives in it", disks.len()));
            return Err(error.with_hint(format!("choose one with `--drive NAME`: {}", names())));
        }
    };
    let model = controller.block("Model")?;
    let mechanics = model.block("Mechanical Model")?;
    let layout = model.block("Layout Model")?;
    Ok(Drive { controller, model, mechanics, layout, bus: bus_of(document, controller) })
}

/// Finds the bus above an instance of the drive.
fn bus_of<'a>(document: &'a Document, drive: &Block) -> Option<&'a Block> {
    let block_of = |instance: &str| {
        let (_, name) = document.instances.iter().find(|(name, _)| name == instance)?;
        document.blocks.iter().find(|block| block.name == *name)
    };
    let mut of_drive = document.instances.iter().filter(|(_, block)| *block == drive.name);
    of_drive.find_map(|(instance, _)| {
        let (_, above) = document.parents.iter().find(|(child, _)| child == instance)?;
        block_of(above).filter(|block| block.kind == "disksim_bus")
    })
}

/// Returns the settings of `drive`.
pub(super) fn settings(
    drive: &Drive<'_>,
    read: ReadFile<'_>,
    files: &mut Vec<PathBuf>,
    remarks: &mut Remarks,
) -> Result<DiskSettings, ImportError> {
    let surfaces = drive.model.whole("Number of data surfaces", 1, 64)? as u32;
    let cylinders = drive.model.whole("Number of cylinders", 1, 1 << 22)? as u32;
    let arm = mechanics::read(drive.mechanics, cylinders, read, files)?;
    let laid_out = match drive.layout.kind.as_str() {
        "dm_layout_g1" => layout_g1::read(drive.layout, surfaces, cylinders, remarks)?,
        "dm_layout_g4" => layout_g4::read(drive.layout, surfaces, cylinders, remarks)?,
        other => {
            let error =
                drive.layout.error(drive.layout.line, format!("layouts of the kind `{other}` cannot be imported"));
            return Err(
                error.with_hint("dm_layout_g1 and dm_layout_g4 can; a layout of another kind has to be converted")
            );
        }
    };
    let (read_rate, write_rate) = rates(drive, remarks)?;
    let (firmware, cache) = controller::read(drive.controller, remarks)?;
    let mut settings = DiskSettings {
        capacity: None,
        rotation_speed: arm.speed,
        surfaces,
        zones: laid_out.zones,
        layout: laid_out.layout,
        seek: arm.seek,
        head_switch: arm.head_switch,
        write_settle: Nanos(u64::try_from(arm.write_settle).unwrap_or(0)),
        write_advance: Nanos(u64::try_from(-arm.write_settle).unwrap_or(0)),
        read_overhead: firmware.read_miss.after_read,
        write_overhead: firmware.write.after_read,
        bus_rate: read_rate,
        write_bus_rate: write_rate.filter(|_| write_rate != read_rate),
        firmware: Some(firmware),
        cache,
        scheduler: controller::scheduler(drive.controller, remarks)?,
        actuators: 1,
        shingled: None,
        power: None,
        wait_limit: WaitLimit::after(Priority::AGING),
        priority_aging: Priority::AGING,
        queue_depth: drive.controller.whole("Max queue length", 1, 65_536)? as u32,
    };
    settings.capacity = Some(capacity(drive, &settings, remarks)?);
    Ok(settings)
}

/// Returns the rates to and from the host. A sector takes as long as on the slower one of drive and bus.
fn rates(drive: &Drive<'_>, remarks: &mut Remarks) -> Result<(Option<ByteRate>, Option<ByteRate>), ImportError> {
    let own = drive.controller.signed_time("Bulk sector transfer time")?;
    if own < 0 {
        let line = drive.controller.required("Bulk sector transfer time")?.line;
        remarks.add(drive.controller, line, "a negative transfer time counts as none");
    }
    let of = |key| -> Result<Option<ByteRate>, ImportError> {
        let bus = drive.bus.map_or(Ok(0), |bus| bus.signed_time(key))?;
        let nanos = own.max(bus);
        // A time below 0.5 ns would be a rate that no link has.
        Ok((nanos > 0).then(|| ByteRate((Bytes::SECTOR.0 * 1_000_000_000).div_ceil(nanos as u64))))
    };
    let rates = (of("Read block transfer time")?, of("Write block transfer time")?);
    match rates {
        (Some(_), Some(_)) | (None, None) => Ok(rates),
        // The model has one rate, or one in each direction.
        (read, write) => {
            let line = drive.controller.line;
            remarks.add(drive.controller, line, "only one direction of the bus has a rate: it counts for both");
            Ok((read.or(write), write.or(read)))
        }
    }
}

/// Returns the capacity that the host can address: the stated number of sectors, if the zones hold that many.
fn capacity(drive: &Drive<'_>, settings: &DiskSettings, remarks: &mut Remarks) -> Result<Bytes, ImportError> {
    let stated = drive.model.whole("Block count", 1, 1 << 40)? as u64;
    let line = drive.model.required("Block count")?.line;
    let mechanics =
        crate::Mechanics::new(settings).map_err(|error| drive.layout.error(drive.layout.line, error.to_string()))?;
    let holds = mechanics.geometry().sectors();
    if stated <= holds {
        return Ok(Bytes(stated * Bytes::SECTOR.0));
    }
    let text = format!("`Block count` is {stated}, but the zones hold {holds} sectors");
    if stated - holds > stated / 100 {
        return Err(drive.model.error(line, text).with_hint("zones are missing, or one of the numbers is wrong"));
    }
    remarks.add(drive.model, line, text);
    Ok(Bytes(holds * Bytes::SECTOR.0))
}
