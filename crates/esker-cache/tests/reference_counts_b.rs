//! Misses on a real trace against those that others have counted. An object is the start block of a request; sizes and
//! operations are ignored.

use std::collections::BTreeMap;

use esker_cache::{Access, AccessKind, NEVER, ObjectId, Shape, build, simulate};
use esker_core::registry::Choice;
use esker_testkit::reference_data;
use esker_trace::{ReadOptions, TraceReader};

/// The accesses of the trace, and how many objects there are.
fn accesses() -> Option<(Vec<Access>, u32)> {
    let path = reference_data("traces/cloudphysics-2h.vscsi.zst")?;
    let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
    let (mut accesses, mut batch) = (Vec::new(), Vec::new());
    let mut ids: BTreeMap<(u32, u64), u32> = BTreeMap::new();
    while reader.next_batch(&mut batch).unwrap() {
        for record in &batch {
            let fresh = ids.len() as u32;
            let object = ObjectId(*ids.entry((u32::from(record.volume.0), record.offset)).or_insert(fresh));
            accesses.push(Access { object, bytes: 4096, kind: AccessKind::Read, next_use: NEVER });
        }
    }
    let mut next_use = vec![NEVER; ids.len()];
    for (number, access) in accesses.iter_mut().enumerate().rev() {
        access.next_use = std::mem::replace(&mut next_use[access.object.index()], number as u32);
    }
    Some((accesses, ids.len() as u32))
}

fn misses(policy: &str, capacity: u32, accesses: &[Access], objects: u32) -> u64 {
    let shape = Shape { capacity, objects, seed: 1 };
    simulate(&mut *build(&Choice::named(policy), &shape).unwrap(), accesses).misses
}

#[test]
fn print() {
    let Some((accesses, objects)) = accesses() else { return };
    println!("{} {}", accesses.len(), objects);
    if std::env::var("DUMP").is_ok() { std::fs::write("/tmp/pb-acc.txt", accesses.iter().map(|a| a.object.0.to_string()).collect::<Vec<_>>().join("\n")).unwrap(); }
    for entry in esker_cache::REPLACEMENTS.iter().filter(|e| std::env::var("ONLY").is_ok_and(|o| o == e.name) || std::env::var("ONLY").is_err()) {
        let [a, b] = [490, 4897].map(|capacity| misses(entry.name, capacity, &accesses, objects));
        println!("{} {a} {b} {:.4} {:.4}", entry.name, a as f64 / 113872., b as f64 / 113872.);
    }
}
