//! Drives from parameter files: what each key becomes, what is refused and where, and that no file makes the importer
//! panic.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use esker_core::{ByteRate, Bytes, Hint, Nanos, Ratio};
use esker_disk::import::{ImportError, ImportedDrive, import};
use esker_disk::is_made_preset;
use esker_disk::{CommandOverhead, DiskSettings, Mechanics, ReadAheadEnd, RotationSpeed, SeekSettings, SpareUnit};
use proptest::prelude::*;

type Files = BTreeMap<&'static str, String>;

/// The files of `drive/`, which were written for these tests.
fn files() -> Files {
    [
        ("small.parv", include_str!("drive/small.parv")),
        ("small.diskspecs", include_str!("drive/small.diskspecs")),
        ("small.model", include_str!("drive/small.model")),
        ("small.seek", include_str!("drive/small.seek")),
    ]
    .map(|(name, text)| (name, text.to_string()))
    .into()
}

fn import_from(files: &BTreeMap<&'static str, Vec<u8>>) -> Result<ImportedDrive, ImportError> {
    let read = |path: &Path| {
        let name = path.strip_prefix("drive").ok().and_then(Path::to_str).unwrap_or("");
        files.get(name).cloned().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such file"))
    };
    import(Path::new("drive/small.parv"), None, &read)
}

fn imported(files: Files) -> Result<ImportedDrive, ImportError> {
    import_from(&files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect())
}

/// The files with `from`, which has to be there, changed into `to`.
fn changed(name: &'static str, from: &str, to: &str) -> Files {
    let mut files = files();
    let text = files.get_mut(name).unwrap();
    assert!(text.contains(from), "{from} is not in {name}");
    *text = text.replacen(from, to, 1);
    files
}

fn micros(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

#[test]
fn every_key_reaches_the_settings() {
    let drive = imported(files()).unwrap();
    let DiskSettings { zones, layout, firmware, cache, .. } = &drive.settings;
    assert_eq!(drive.name, "SMALL");
    assert_eq!(drive.files.len(), 4);
    assert_eq!(drive.settings.capacity, Some(Bytes(9_000 * 512)));
    assert_eq!(drive.settings.rotation_speed, RotationSpeed::rpm(6_000));
    let points = vec![(1, micros(1_000)), (10, micros(2_500)), (90, micros(6_000))];
    assert_eq!(drive.settings.seek, SeekSettings::Points(points));
    assert_eq!((drive.settings.write_settle, drive.settings.write_advance), (Nanos::ZERO, micros(250)));
    // The slower of drive and bus, in each direction: 0.2 ms and 0.15 ms a sector. The other bus does not matter.
    assert_eq!(drive.settings.bus_rate, Some(ByteRate(2_560_000)));
    assert_eq!(drive.settings.write_bus_rate, Some(ByteRate(3_413_334)));
    assert_eq!((drive.settings.queue_depth, drive.settings.scheduler.as_str()), (4, "fcfs"));

    assert!(layout.alternate_surfaces && layout.alternate_across_zones && layout.spare_unit == SpareUnit::Zone);
    let first = (zones[0].cylinders, zones[0].unused_cylinders, zones[0].front_sectors, zones[0].spare_sectors);
    assert_eq!(first, (40, 2, 30, 20));
    assert_eq!((zones[0].first_sector_offset, zones[0].track_skew, zones[0].cylinder_skew), (7, Some(5), Some(9)));
    assert_eq!(zones[0].slips, [(100, 2), (250, 1)]);
    // A tenth and a quarter of a turn of 40 sectors.
    assert_eq!((zones[1].track_skew, zones[1].cylinder_skew), (Some(4), Some(10)));

    let firmware = firmware.as_ref().unwrap();
    // 0.1 ms for each request, and everything twice.
    let pair = |read, write| CommandOverhead { after_read: micros(read), after_write: micros(write) };
    assert_eq!(
        (firmware.read_hit, firmware.read_miss, firmware.write),
        (pair(220, 240), pair(260, 280), pair(300, 320))
    );
    assert_eq!((firmware.read_completion, firmware.write_completion), (micros(2), micros(4)));
    assert_eq!((firmware.first_reselect, firmware.other_reselect), (micros(8), micros(10)));
    assert_eq!((firmware.read_disconnect, firmware.write_disconnect), (pair(12, 14), micros(16)));
    assert_eq!(firmware.extra_disconnect.unwrap().seek_delay, micros(30));
    assert_eq!(firmware.write_start, [(1, 10), (45, 15)]);
    assert_eq!((firmware.write_seek_min, firmware.read_watermark), (micros(500), Ratio::percent(50)));
    assert_eq!(firmware.read_ahead_to, ReadAheadEnd::NextTrack);
    assert!(firmware.forgets_read_sectors && firmware.forgets_written_sectors && firmware.separate_write_segment);
    assert!(firmware.reads_while_waiting && firmware.hits_overtake && !firmware.read_at_end_hits);
    let cache = cache.as_ref().unwrap();
    let sizes = (cache.segments, cache.segment_size, cache.read_ahead, cache.write_back);
    assert_eq!(sizes, (4, Bytes::kib(32), Bytes::kib(32), Bytes::kib(64)));
    assert!(cache.read_ahead_on_hit);

    let remarks = drive.remarks.join("\n");
    assert!(remarks.contains("drive/small.diskspecs:14: `Preseeking level = 2` is not modelled"), "{remarks}");
    assert!(remarks.contains("drive/small.model:29: 1 remapped sectors are not modelled"), "{remarks}");
    assert!(remarks.contains("overheads of write misses are not used"), "{remarks}");
    assert_eq!(drive.remarks.len(), 3, "{remarks}");
}

#[test]
fn the_preset_is_what_was_imported() {
    let drive = imported(files()).unwrap();
    let text = drive.to_toml();
    assert!(is_made_preset(&text) && text.lines().all(|line| line.len() <= 200), "{text}");
    let mut table: toml::Table = text.parse().unwrap();
    assert_eq!(table.remove("kind"), Some("hdd".into()));
    assert_eq!(DiskSettings::deserialize_from(table), drive.settings);
}

trait DeserializeFrom {
    fn deserialize_from(table: toml::Table) -> Self;
}
impl DeserializeFrom for DiskSettings {
    fn deserialize_from(table: toml::Table) -> Self {
        toml::Value::Table(table).try_into().unwrap()
    }
}

/// Slipped sectors and the drive's own are left out: address 0 lies behind 30 sectors, the seventieth behind two slips.
#[test]
fn addresses_lie_behind_what_is_left_out() {
    let drive = imported(files()).unwrap();
    let geometry = Mechanics::new(&drive.settings).unwrap().geometry().clone();
    let place = |address| {
        let place = geometry.locate(address);
        (place.cylinder, place.surface, place.sector, place.run)
    };
    assert_eq!(place(0), (0, 0, 30, 30));
    // Sectors 60 to 99 of the zone are addresses 30 to 69; then 100 and 101 are left out.
    assert_eq!(place(69), (0, 1, 39, 1));
    assert_eq!(place(70), (0, 1, 42, 18));
    // The first zone ends at its spares; cylinders 40 and 41 hold nothing. Cylinder 42 is even: from surface 0 on.
    assert_eq!(place(4_750), (42, 0, 0, 40));
}

/// Changed files, how the error begins, and what its hint contains.
type Refused = (Files, &'static str, &'static str);

/// Files that are not there, cut short or contradict each other.
fn contradictory_files() -> Vec<Refused> {
    vec![
        (
            changed("small.diskspecs", "source small.model", "source none.model"),
            "drive/small.diskspecs:2: it sources `drive/none.model`: cannot read it: no such file",
            "",
        ),
        (
            changed("small.model", "small.seek", "none.seek"),
            "drive/small.model:8: it names the seek times `drive/none.seek`: cannot read it: no such file",
            "",
        ),
        (
            changed("small.seek", "90,", "9,"),
            "drive/small.seek:4: the distance 9 does not lie beyond the one before",
            "",
        ),
        (changed("small.seek", "90,\t6.0\n", ""), "drive/small.seek:3: it states 3 distances and has 2", "cut short"),
        (changed("small.seek", "2.5", "x"), "drive/small.seek:3: expected a distance in cylinders, `,` and milli", ""),
        (
            changed("small.model", "Last cylinder number = 39", "Last cylinder number = 60"),
            "drive/small.model:32: the zone begins at cylinder 42, but the one before ends at 60",
            "",
        ),
        (
            changed("small.model", "Last cylinder number = 99", "Last cylinder number = 400"),
            "drive/small.model:33: the zone goes from cylinder 42 to 400 of a drive with 100",
            "",
        ),
        (
            changed("small.model", "Block count = 9000", "Block count = 90000"),
            "drive/small.model:4: `Block count` is 90000, but the zones hold 9390 sectors",
            "zones are missing",
        ),
        (
            changed("small.model", "Block count = 9000,", "Block count = 9000, Block count = 1,"),
            "drive/small.model:4: `Block count` was given on line 4 already",
            "",
        ),
    ]
}

/// Files of another kind or version.
fn foreign_files() -> Vec<Refused> {
    vec![
        (
            changed("small.model", "dm_layout_g1 {", "dm_layout_g2 {"),
            "drive/small.model:14: layouts of the kind `dm_layout_g2` cannot be imported",
            "dm_layout_g1 and dm_layout_g4 can",
        ),
        (
            changed("small.model", "Head switch time = 0.5", "Head switch time = fast"),
            "drive/small.model:10: `Head switch time` is `fast`, expected a number",
            "",
        ),
        (
            changed("small.diskspecs", "Fast write level = 2,", ""),
            "drive/small.diskspecs:1: `Fast write level` is missing in `disksim_disk`",
            "",
        ),
        (
            changed("small.parv", "source small.diskspecs", "source small.parv"),
            "drive/small.parv:16: `small.parv` sources itself",
            "",
        ),
        (
            changed("small.parv", "source small.diskspecs\n", ""),
            "drive/small.parv:1: there is no drive (`disksim_disk`) in it",
            "import the `.parv`",
        ),
        (
            changed("small.parv", "disksim_bus BUS0 {", "*** Output file name: stdout"),
            "drive/small.parv:6: expected the block's name",
            "",
        ),
    ]
}

#[test]
fn wrong_files_are_refused_with_file_and_line() {
    for (files, message, hint) in [contradictory_files(), foreign_files()].concat() {
        let error = imported(files).unwrap_err();
        // The block's name may be any word: the mistake then shows a little later.
        let shown = error.to_string();
        let near = message.split("expected the block's name").next().unwrap();
        assert!(shown.starts_with(near), "{shown}\n{message}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{:?} has no {hint}", error.hint());
    }
}

#[test]
fn a_file_with_several_drives_asks_for_one() {
    let mut files = files();
    let second = files["small.diskspecs"].replace("disksim_disk SMALL", "disksim_disk OTHER");
    files.get_mut("small.diskspecs").unwrap().push_str(&second);
    let error = imported(files).unwrap_err();
    assert_eq!(error.to_string(), "drive/small.parv:1: there are 2 drives in it");
    assert_eq!(error.hint().unwrap(), "choose one with `--drive NAME`: SMALL, OTHER");
}

/// Seeks by formula: with measured times for the shortest ones, and with one for a single cylinder.
#[test]
fn seek_formulas_are_taken_as_they_are() {
    let hpl = "Seek type = hplplus10, First ten seek times = [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 9.5 ], \
               HPL seek equation values = [ 50, 3.0, 0.5, 8.0, 0.01, -1.0 ],";
    let drive = imported(changed("small.model", "Seek type = extracted,", hpl)).unwrap();
    let mechanics = Mechanics::new(&drive.settings).unwrap();
    let times = [1, 10, 16, 49, 50, 90].map(|distance| mechanics.seek_curve().time(distance).0 / 1_000);
    assert_eq!(times, [1_000, 9_500, 5_000, 6_500, 8_500, 8_900]);
    let hpl = "Seek type = hpl, Single cylinder seek time = 0.7, \
               HPL seek equation values = [ 50, 3.0, 0.5, 8.0, 0.01, 0.0 ],";
    let drive = imported(changed("small.model", "Seek type = extracted,", hpl)).unwrap();
    let mechanics = Mechanics::new(&drive.settings).unwrap();
    assert_eq!([1, 4].map(|distance| mechanics.seek_curve().time(distance).0 / 1_000), [700, 4_000]);
}

/// A layout of two surfaces, four tracks along one and four back along the other, twice.
#[test]
fn a_tree_of_tracks_becomes_zones() {
    let text = files()["small.model"].clone();
    let begin = text.find("Layout Model").unwrap();
    let layout = "Layout Model = dm_layout_g4 {
        TP = [ 0, 49, 50 ],
        IDX = [
            [ 0, 0, 0.0, 50, 1, 0.2, 200, 4, TRACK, 0, 0, 200, 3, 0.9, 50, 1, 0.2, 200, -4, TRACK, 0, 1 ],
            [ 0, 0, 0.0, 400, 4, 0.8, 10000, 100, IDX, 0 ]
        ],
        Slips = [ ], Remaps = [ ] } }";
    let mut files = files();
    files.insert("small.model", format!("{}{layout}", &text[..begin]));
    let drive = imported(files).unwrap();
    let layout = drive.settings.layout;
    assert_eq!((layout.cylinders_per_group, layout.alternate_surfaces), (4, false));
    let zone = &drive.settings.zones[0];
    assert_eq!((drive.settings.zones.len(), zone.cylinders, zone.sectors_per_track), (1, 100, 50));
    // From 0.6 turns to 0.9, from 0.9 + 0.6 to 1.8 turns, and 0.2 in between, of 50 sectors.
    assert_eq!((zone.track_skew, zone.cylinder_skew, zone.group_skew), (Some(15), Some(10), Some(15)));
    let geometry = Mechanics::new(&drive.settings).unwrap().geometry().clone();
    for (address, cylinder, surface) in [(0, 0, 0), (150, 3, 0), (200, 3, 1), (350, 0, 1), (400, 4, 0)] {
        let place = geometry.locate(address);
        assert_eq!((place.cylinder, place.surface), (cylinder, surface), "{address}");
    }
    assert!(drive.remarks.iter().any(|remark| remark.contains("100.00 % of the tracks")), "{:?}", drive.remarks);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(512)))]

    /// Files cut, with pieces moved, doubled or overwritten: an error with a file and a line of it, or a drive that can
    /// be built and written.
    #[test]
    fn no_file_makes_the_importer_panic(
        which in 0..4usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..5u8), 1..6),
        noise in prop::collection::vec(prop_oneof![
            Just("{".to_string()), Just("}".to_string()), Just("[".to_string()), Just("]".to_string()),
            Just("= -1".to_string()), Just("source small.model".to_string()), Just("1e300".to_string()),
            Just("99999999999999999999".to_string()), Just(", ".to_string()), "\\PC{0,6}",
        ], 1..4),
    ) {
        let mut all: BTreeMap<&'static str, Vec<u8>> =
            files().into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
        let name = *all.keys().nth(which).unwrap();
        let bytes = all.get_mut(name).unwrap();
        for (step, (at, to, edit)) in edits.into_iter().enumerate() {
            let (at, to) = (at.index(bytes.len() + 1), to.index(bytes.len() + 1));
            let (from, to) = (at.min(to), at.max(to).min(at.min(to) + 200));
            match edit {
                0 => bytes.truncate(at),
                1 => { bytes.drain(from..to); }
                2 => { let piece = bytes[from..to].to_vec(); bytes.splice(from..from, piece); }
                3 => { bytes.splice(from..from, noise[step % noise.len()].bytes()); }
                _ => { bytes.splice(from..(from + 3).min(bytes.len()), noise[step % noise.len()].bytes()); }
            }
        }
        let lines = |name: &str| all.get(name).map_or(0, |bytes| String::from_utf8_lossy(bytes).lines().count().max(1));
        match import_from(&all) {
            Ok(drive) => {
                let text = drive.to_toml();
                let mut table: toml::Table = text.parse().unwrap();
                table.remove("kind");
                prop_assert_eq!(DiskSettings::deserialize_from(table), drive.settings);
            }
            Err(error) => {
                let name = error.file.strip_prefix("drive").unwrap().to_str().unwrap();
                prop_assert!((1..=lines(name)).contains(&error.line), "{} of {} lines", error, lines(name));
                prop_assert!(error.to_string().lines().count() == 1, "{}", error);
            }
        }
    }
}
