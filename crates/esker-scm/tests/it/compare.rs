//! A mounted pool compared with models.

use crate::model::{Content, Model, ROOT};
use esker_scm::{Caller, FileSystem, Kind, Moment, Persist};
use std::collections::BTreeMap;

/// Compares everything but bytes of files with `tree`. Each byte of a file has to be that of one of `versions`.
pub(crate) fn compare<P: Persist>(system: &FileSystem<P>, tree: &Model, versions: &[&Model]) -> Result<(), String> {
    let mut numbers = BTreeMap::new();
    compare_thing(system, (tree, versions), ROOT, esker_scm::ROOT, &mut numbers)?;
    let files = system.statistics().unwrap().inodes;
    let held = tree.things.keys().filter(|id| !numbers.contains_key(*id)).count();
    let attributes = tree.things.values().filter(|thing| !thing.xattrs.is_empty()).count();
    let expected = (numbers.len() + attributes) as u64;
    if !(expected..=expected + 2 * held as u64).contains(&files) {
        return Err(format!("{files} inodes in use, {expected} expected"));
    }
    Ok(())
}

fn compare_thing<P: Persist>(
    system: &FileSystem<P>,
    models: (&Model, &[&Model]),
    id: u64,
    number: u64,
    numbers: &mut BTreeMap<u64, u64>,
) -> Result<(), String> {
    let thing = &models.0.things[&id];
    if let Some(known) = numbers.insert(id, number) {
        return if known == number { Ok(()) } else { Err(format!("two inodes for one file: {known} and {number}")) };
    }
    let found = system.attributes(number).map_err(|error| format!("inode {number}: {error}"))?;
    if found.permissions != thing.permissions {
        return Err(format!("permissions {:o}, expected {:o}", found.permissions, thing.permissions));
    }
    let mut xattrs = BTreeMap::new();
    for name in system.list_xattrs(number).map_err(|error| error.to_string())?.split(|&byte| byte == 0) {
        if !name.is_empty() {
            xattrs.insert(String::from_utf8(name.to_vec()).unwrap(), system.xattr(number, name).unwrap());
        }
    }
    if xattrs != thing.xattrs {
        return Err(format!("attributes of {number}: {:?}, expected {:?}", xattrs.keys(), thing.xattrs.keys()));
    }
    if !matches!(thing.content, Content::Directory(_)) && found.links != models.0.links(id) {
        return Err(format!("inode {number} has {} links, expected {}", found.links, models.0.links(id)));
    }
    match (&thing.content, found.kind) {
        (Content::Directory(entries), Kind::Directory) => compare_directory(system, models, (number, entries), numbers),
        (Content::File(_), Kind::File) => compare_file(system, models, id, number, found.size),
        (Content::Symlink(target), Kind::Symlink) => {
            let found = system.read_link(number).unwrap();
            if found == target.as_bytes() { Ok(()) } else { Err(format!("link {number} points elsewhere")) }
        }
        (Content::Fifo, Kind::Fifo) => Ok(()),
        (expected, kind) => Err(format!("inode {number} is a {kind:?}, expected {expected:?}")),
    }
}

fn compare_directory<P: Persist>(
    system: &FileSystem<P>,
    models: (&Model, &[&Model]),
    (number, entries): (u64, &BTreeMap<String, u64>),
    numbers: &mut BTreeMap<u64, u64>,
) -> Result<(), String> {
    let mut listed = BTreeMap::new();
    let mut is_double = false;
    let list = system.list(number, 2, |entry| {
        is_double |= listed.insert(String::from_utf8(entry.name.to_vec()).unwrap(), entry.number).is_some();
        true
    });
    list.map_err(|error| format!("directory {number}: {error}"))?;
    if is_double || !listed.keys().eq(entries.keys()) {
        return Err(format!("directory {number} has {:?}, expected {:?}", listed.keys(), entries.keys()));
    }
    let directories = entries.values().filter(|id| models.0.is_directory(**id)).count() as u32;
    let links = system.attributes(number).unwrap().links;
    if links != 2 + directories {
        return Err(format!("directory {number} has {links} links, and {directories} directories in it"));
    }
    for (name, id) in entries {
        let caller = Caller::root(Moment(0));
        let found = system.lookup(&caller, number, name.as_bytes()).map_err(|error| format!("{name}: {error}"))?;
        if found.number != listed[name] {
            return Err(format!("{name} is inode {} and {}", found.number, listed[name]));
        }
        compare_thing(system, models, *id, found.number, numbers).map_err(|error| format!("/{name}{error}"))?;
    }
    Ok(())
}

fn compare_file<P: Persist>(
    system: &FileSystem<P>,
    models: (&Model, &[&Model]),
    id: u64,
    number: u64,
    size: u64,
) -> Result<(), String> {
    let of_version = |model: &&Model| match model.things.get(&id).map(|thing| thing.content.clone()) {
        Some(Content::File(bytes)) => Some(bytes),
        _ => None,
    };
    let expected = of_version(&models.0).map_or(0, |bytes| bytes.len() as u64);
    if size != expected {
        return Err(format!(": {size} bytes, expected {expected}"));
    }
    let versions: Vec<Vec<u8>> = models.1.iter().filter_map(of_version).collect();
    let handle = system.open(number).unwrap();
    let mut bytes = vec![0xee; size as usize + 10];
    let length = system.read(&Caller::root(Moment(0)), &handle, 0, &mut bytes).unwrap();
    system.close(handle).unwrap();
    if length as u64 != size {
        return Err(format!(": {length} bytes read of {size}"));
    }
    for (at, byte) in bytes[..length].iter().enumerate() {
        if !versions.iter().any(|version| version.get(at) == Some(byte)) {
            let expected: Vec<_> = versions.iter().map(|version| version.get(at)).collect();
            return Err(format!(": byte {at} of {size} is {byte}, expected one of {expected:?}"));
        }
    }
    Ok(())
}
