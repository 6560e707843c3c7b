//! Any file among the dumps of a recorded cluster: read and judged, or refused with an error of one line that names it.
//! The first byte chooses which of the files the rest replaces.
#![no_main]

use esker_catalogue::Catalogue;
use esker_fleet::advice::{AdviceInputs, AdviceSettings, advise};
use libfuzzer_sys::fuzz_target;

const FILES: [(&str, &[u8]); 6] = [
    ("osd-dump.json", include_bytes!("../../crates/esker-fleet/tests/ceph/osd-dump.json")),
    ("osd-df-tree.json", include_bytes!("../../crates/esker-fleet/tests/ceph/osd-df-tree.json")),
    ("crush-rules.json", include_bytes!("../../crates/esker-fleet/tests/ceph/crush-rules.json")),
    ("device-ls.json", include_bytes!("../../crates/esker-fleet/tests/ceph/device-ls.json")),
    ("pg-dump-1.json", include_bytes!("../../crates/esker-fleet/tests/ceph/pg-dump-1.json")),
    ("health-metrics-osd0.json", include_bytes!("../../crates/esker-fleet/tests/ceph/health-metrics-osd0.json")),
];

fuzz_target!(|input: &[u8]| {
    let Some((which, text)) = input.split_first() else { return };
    let replaced = FILES[usize::from(*which) % FILES.len()].0;
    let mut inputs = AdviceInputs::default();
    for (name, bytes) in FILES {
        if let Err(error) = inputs.read(name, if name == replaced { text } else { bytes }) {
            assert!(error.to_string().starts_with(name) && error.to_string().lines().count() == 1);
            return;
        }
    }
    let catalogue = Catalogue::builtin("current").expect("it comes with the program");
    if let Ok(advice) = advise(&inputs, &AdviceSettings::default(), &catalogue) {
        // There is one dump of placement groups only.
        assert!(advice.scripts.is_none());
    }
});
