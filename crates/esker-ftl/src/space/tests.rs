use esker_core::Hint;
use esker_nand::PoolScope;

use super::*;
use crate::WearSettings;
use crate::testing::{DriveSettings, agrawal};

fn space(settings: &DriveSettings) -> Result<Space, BuildError> {
    Space::new(settings, &Geometry::new(&settings.geometry, settings.block_summary).unwrap())
}

#[test]
fn over_provisioning_is_a_share_of_all_raw_pages() {
    let mut settings = agrawal();
    settings.over_provisioning = Some(Ratio::percent(15));
    settings.block_summary = true;
    let space = space(&settings).unwrap();
    let counts = space.page_counts();
    assert_eq!(counts.raw, 8_388_608);
    assert_eq!(counts.data, 8_388_608 / 64 * 63);
    assert_eq!(counts.host, 8_388_608 * 85 / 100);
    // 5 % of 16,384 blocks are 819.2.
    assert_eq!(counts.reserve, 8 * 820 * 63);
}

#[test]
fn the_spare_factor_is_exact() {
    let mut settings = agrawal();
    for percent in [7, 15, 28, 50] {
        settings.spare_factor = Some(Ratio::percent(percent));
        let space = space(&settings).unwrap();
        let usable = space.data_pages() - space.reserve_pages();
        assert_eq!(space.host_pages, (u64::from(usable) * (100 - percent) / 100) as u32);
        assert!((space.effective_spare_factor() - percent as f64 / 100.0).abs() < 1e-6);
    }
}

#[test]
fn the_reserve_is_at_least_the_open_frontiers() {
    let mut settings = agrawal();
    settings.cleaning.threshold = Ratio::ZERO;
    settings.pool = PoolScope::Device;
    assert_eq!(space(&settings).unwrap().reserve, 16);
    settings.write_frontiers = WriteFrontiers::Pool;
    assert_eq!(space(&settings).unwrap().reserve, 1);
}

#[test]
fn a_threshold_above_the_spare_space_is_refused_with_a_value_that_works() {
    let mut settings = agrawal();
    settings.over_provisioning = Some(Ratio::percent(4));
    let error = space(&settings).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a pool of 16384 blocks x 64 data pages holds 1006633 host pages; 820 free blocks \
         (`cleaning.threshold` = 5%) and 2 open ones leave room for 996031"
    );
    assert_eq!(error.hint().unwrap(), "over_provisioning = \"6%\" would work, or a lower `cleaning.threshold`");
    settings.over_provisioning = Some(Ratio::percent(6));
    assert!(space(&settings).is_ok());
}

#[test]
fn contradictions_are_refused() {
    let mut settings = agrawal();
    settings.over_provisioning = Some(Ratio::percent(10));
    settings.spare_factor = Some(Ratio::percent(15));
    assert_eq!(
        space(&settings).unwrap_err().to_string(),
        "`over_provisioning` (10%) and `spare_factor` (15%) exclude each other"
    );
    settings.over_provisioning = None;
    settings.factory_over_provisioning = None;
    assert!(space(&settings).is_ok());
    settings.spare_factor = None;
    assert_eq!(space(&settings), Err(BuildError::NoSpareSpaceStated));
    settings.spare_factor = Some(Ratio::ONE);
    assert!(matches!(space(&settings), Err(BuildError::Value(ValueError::NotAShare { .. }))));
    settings.spare_factor = Some(Ratio::parts_per_billion(999_999_999));
    assert_eq!(space(&settings), Err(BuildError::NoHostPages { host: 0, pools: 8 }));
    // 80 was meant as 80 %.
    settings = agrawal();
    settings.wear = Some(WearSettings { erase_failures: Ratio::percent(8_000), ..WearSettings::default() });
    let refused = ValueError::NotAShare { key: "wear.erase_failures", found: Ratio::percent(8_000), usual: "0.001%" };
    assert_eq!(space(&settings), Err(BuildError::Value(refused)));
    // Each block below the mean takes cold data.
    settings.wear = Some(WearSettings { retirement_age: Ratio::ONE, ..WearSettings::default() });
    assert!(space(&settings).is_ok());
    settings.wear = Some(WearSettings { retirement_age: Ratio::percent(101), ..WearSettings::default() });
    let refused = "`wear.retirement_age` is 101%; expected a share up to 100%, such as 85%";
    assert_eq!(space(&settings).unwrap_err().to_string(), refused);
}

/// Of 16,384 blocks, 820 stay free and one is open. With 90 % bad, 818 of the other 15,564 can be filled, more
/// than 5 % and less than 6. With 95 % bad, none can, and no spare space is recommended.
#[test]
fn no_spare_space_is_recommended_where_none_is_enough() {
    for (bad, remedy, hint) in [
        (90, Ratio::percent(95), "spare_factor = \"95%\" would work, or a lower `cleaning.threshold`"),
        (95, Ratio::ONE, "give a pool more blocks: a larger `pool` or `geometry.blocks_per_plane`, or a lower"),
    ] {
        let mut settings = agrawal();
        (settings.over_provisioning, settings.spare_factor) = (None, Some(Ratio::percent(15)));
        settings.wear = Some(WearSettings { factory_bad_blocks: Ratio::percent(bad), ..WearSettings::default() });
        let error = space(&settings).unwrap_err();
        let BuildError::NoSpareSpace { remedy: found, .. } = &error else { panic!("{error}") };
        assert_eq!(*found, ("spare_factor", remedy));
        assert!(error.hint().unwrap().starts_with(hint), "{:?}", error.hint());
    }
}
