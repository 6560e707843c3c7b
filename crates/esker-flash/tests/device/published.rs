//! Checks that the modern presets still reach the figures that are compared with data sheets.

use esker_core::Bytes;
use esker_flash::{Figure, PUBLISHED, SsdSettings, TOLERANCE, Work};
use esker_nand::Geometry;

/// Blocks per plane of a scaled drive: enough for the free blocks to be as large a share as on the whole drive.
const BLOCKS_PER_PLANE: u32 = 256;
const PAGES_PER_BLOCK: u32 = 128;

/// Scales a drive down: it keeps all its dies, but with fewer and smaller blocks, and shorter erases in proportion.
fn scaled(settings: &SsdSettings) -> SsdSettings {
    let mut part = settings.clone();
    let geometry = &mut part.geometry;
    while geometry.pages_per_block >= 2 * PAGES_PER_BLOCK
        && geometry.pages_per_block.is_multiple_of(2 * geometry.units_per_page)
    {
        geometry.pages_per_block /= 2;
        part.timing.block_erase.0 /= 2;
    }
    geometry.blocks_per_plane = geometry.blocks_per_plane.min(BLOCKS_PER_PLANE);
    // The buffer is not scaled, so it has to be small compared with the scaled drive.
    let raw = u64::from(Geometry::new(geometry, false).unwrap().pages()) * geometry.page_size.0;
    let buffer = part.write_buffer.map_or(Bytes::ZERO, |buffer| buffer.size);
    assert!(buffer.0 < raw / 50, "the buffer would hold much of the part");
    part
}

/// Reads a preset from its file, not from the compiled copy.
fn from_file(name: &str) -> SsdSettings {
    let path = format!("{}/presets/ssd/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn presets_do_what_is_said_beside_the_data_sheets() {
    // ESKER_PRINT=1 prints what was measured instead.
    let print = std::env::var_os("ESKER_PRINT").is_some();
    for published in PUBLISHED {
        let part = scaled(&if print { from_file(published.preset) } else { crate::common::preset(published.preset) });
        for figure in published.figures {
            let found = figure.work.measure(&part, figure.depth).unwrap();
            if print {
                let figure = Figure { measured: found, ..*figure };
                println!("{} {}", published.preset, figure.cells().join(" | "));
                continue;
            }
            let deviation = (found / figure.measured - 1.0).abs();
            assert!(deviation <= 0.03, "{}: {} of {:?} now", published.preset, found.round(), figure);
        }
    }
}

#[test]
fn what_differs_from_data_sheets_has_its_reason() {
    for published in PUBLISHED {
        let beyond = |figure: &&Figure| figure.ratio().is_some_and(|ratio| (ratio - 1.0).abs() > TOLERANCE);
        for figure in published.figures {
            assert_eq!(beyond(&figure), !figure.reason.is_empty(), "{}: {figure:?}", published.preset);
        }
        let count = published.figures.iter().filter(beyond).count();
        assert!(count <= 2, "{}: {count} figures are far from those that are published", published.preset);
        let works = [Work::RandomRead, Work::RandomWrite].map(|work| [1, 32, 256].map(|depth| (work, depth)));
        let sequential = [(Work::SequentialRead, 32), (Work::SequentialWrite, 32)];
        let wanted: Vec<_> = works.into_iter().flatten().chain(sequential).collect();
        let stated: Vec<_> = published.figures.iter().map(|figure| (figure.work, figure.depth)).collect();
        assert_eq!(stated, wanted, "{}", published.preset);
    }
}

/// The lines that enclose the tables in the document.
const MARKS: [&str; 2] = ["<!-- tables of presets beside data sheets -->\n", "<!-- end of these tables -->\n"];

#[test]
fn the_documents_have_the_same_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/flash-model.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (before, rest) = document.split_once(MARKS[0]).expect("the document has the first mark");
    let (tables, after) = rest.split_once(MARKS[1]).expect("the document has the second mark");
    let wanted: String = PUBLISHED.iter().map(|published| published.markdown() + "\n").collect();
    if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{}{wanted}{}{after}", MARKS[0], MARKS[1])).unwrap();
        return;
    }
    assert_eq!(tables, wanted, "docs/flash-model.md is stale: run `make docs`");
}
