//! Pairs of `pg-upmap-items` as Ceph applies them (`OSDMap::_apply_upmap`), and scripts as a shell would run them:
//! written from Ceph's documentation, and knowing nothing of the code under test.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What Ceph keeps: pairs by placement group.
pub(super) type Items = BTreeMap<String, Vec<(i64, i64)>>;

/// The pairs of `osd dump`.
pub(super) fn items_of(osd_dump: &Value) -> Items {
    let number = |pair: &Value, name: &str| pair[name].as_i64().unwrap();
    let pairs = |entry: &Value| {
        entry["mappings"].as_array().unwrap().iter().map(|pair| (number(pair, "from"), number(pair, "to"))).collect()
    };
    let list = osd_dump["pg_upmap_items"].as_array().unwrap();
    list.iter().map(|entry| (entry["pgid"].as_str().unwrap().to_string(), pairs(entry))).collect()
}

/// The OSDs of a placement group that CRUSH puts on `raw`.
pub(super) fn mapped(raw: &[i64], items: &[(i64, i64)]) -> Vec<i64> {
    let mut now = raw.to_vec();
    for &(from, to) in items {
        let mut place = None;
        let mut is_there = false;
        for (at, osd) in now.iter().enumerate() {
            is_there |= *osd == to;
            if *osd == from && place.is_none() {
                place = Some(at);
            }
        }
        if let (false, Some(at)) = (is_there, place) {
            now[at] = to;
        }
    }
    now
}

/// Runs the commands of a script on the map.
pub(super) fn run(script: &str, items: &mut Items) -> Result<(), String> {
    for line in script.lines() {
        let line = line.split('#').next().unwrap().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["ceph", "osd", "pg-upmap-items", pg, ref osds @ ..] if !osds.is_empty() && osds.len() % 2 == 0 => {
                let number = |text: &&str| text.parse::<i64>().map_err(|_| format!("`{text}` is no OSD"));
                let pairs: Result<Vec<_>, String> =
                    osds.chunks(2).map(|pair| Ok((number(&pair[0])?, number(&pair[1])?))).collect();
                items.insert(pg.to_string(), pairs?);
            }
            ["ceph", "osd", "rm-pg-upmap-items", pg] => {
                items.remove(pg).ok_or_else(|| format!("{pg} has no pairs to remove"))?;
            }
            [] | ["set", ..] | ["if", ..] => {}
            _ => return Err(format!("no command that is known: {line}")),
        }
    }
    Ok(())
}

/// Puts pairs, and where they put placement groups, into the dumps.
pub(super) fn put(items: &Items, raw: &BTreeMap<String, Vec<i64>>, osd_dump: &mut Value, pg_dump: &mut Value) {
    let entry = |(pg, pairs): (&String, &Vec<(i64, i64)>)| {
        let pairs: Vec<Value> = pairs.iter().map(|(from, to)| json!({"from": from, "to": to})).collect();
        json!({"pgid": pg, "mappings": pairs})
    };
    osd_dump["pg_upmap_items"] = items.iter().map(entry).collect();
    for stat in pg_dump["pg_map"]["pg_stats"].as_array_mut().unwrap() {
        let pg = stat["pgid"].as_str().unwrap().to_string();
        let none = Vec::new();
        let now = json!(mapped(&raw[&pg], items.get(&pg).unwrap_or(&none)));
        stat["up"] = now.clone();
        stat["acting"] = now;
    }
}

#[test]
fn pairs_are_applied_as_ceph_does() {
    assert_eq!(mapped(&[0, 1, 2], &[(0, 3)]), [3, 1, 2]);
    // The example of Ceph's own source: a swap is not possible.
    assert_eq!(mapped(&[0, 1, 2], &[(1, 2), (2, 1)]), [0, 1, 2]);
    assert_eq!(mapped(&[0, 1, 2], &[(7, 3)]), [0, 1, 2]);
    assert_eq!(mapped(&[0, 1, 2], &[(0, 3), (3, 4)]), [4, 1, 2]);
}
