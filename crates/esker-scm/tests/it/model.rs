//! What a file system does, in the plainest way: a reference without pages, logs or caches.

use crate::operation::{Operation, pattern};
use std::collections::BTreeMap;

/// Linux numbers of errors.
pub(crate) const ENOENT: i32 = 2;
const EBUSY: i32 = 16;
const EEXIST: i32 = 17;
const ENOTDIR: i32 = 20;
const EISDIR: i32 = 21;
const EINVAL: i32 = 22;
const ENOTEMPTY: i32 = 39;
const ENODATA: i32 = 61;
const EPERM: i32 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    File(Vec<u8>),
    Directory(BTreeMap<String, u64>),
    Symlink(String),
    Fifo,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) content: Content,
    pub(crate) permissions: u16,
    pub(crate) xattrs: BTreeMap<String, Vec<u8>>,
}

/// A tree of things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) things: BTreeMap<u64, Thing>,
    pub(crate) held: BTreeMap<usize, u64>,
    next: u64,
}

pub(crate) const ROOT: u64 = 0;

impl Model {
    pub(crate) fn new() -> Model {
        let root = Thing { content: Content::Directory(BTreeMap::new()), permissions: 0o755, xattrs: BTreeMap::new() };
        Model { things: BTreeMap::from([(ROOT, root)]), held: BTreeMap::new(), next: 1 }
    }

    pub(crate) fn entries(&self, id: u64) -> Result<&BTreeMap<String, u64>, i32> {
        match &self.things[&id].content {
            Content::Directory(entries) => Ok(entries),
            _ => Err(ENOTDIR),
        }
    }

    /// All paths, at most six names long, and one that may not exist.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = vec![String::new()];
        let mut next = 0;
        while next < paths.len() {
            let path = paths[next].clone();
            if path.split('/').count() <= 6
                && let Ok(Ok(entries)) = self.find(&path).map(|id| self.entries(id))
            {
                paths.extend(entries.keys().map(|name| format!("{path}/{name}")));
            }
            next += 1;
        }
        // Not the root: nothing can be done with its name.
        paths[0] = "/foo".into();
        paths
    }

    fn entries_mut(&mut self, id: u64) -> &mut BTreeMap<String, u64> {
        match &mut self.things.get_mut(&id).expect("a thing").content {
            Content::Directory(entries) => entries,
            _ => panic!("a directory"),
        }
    }

    pub(crate) fn find(&self, path: &str) -> Result<u64, i32> {
        path.split('/')
            .filter(|name| !name.is_empty())
            .try_fold(ROOT, |at, name| self.entries(at)?.get(name).copied().ok_or(ENOENT))
    }

    /// The directory of a path, and its last name.
    fn parent<'a>(&self, path: &'a str) -> Result<(u64, &'a str), i32> {
        let (directory, name) = path.rsplit_once('/').expect("an absolute path");
        let parent = self.find(directory)?;
        self.entries(parent)?;
        Ok((parent, name))
    }

    pub(crate) fn is_directory(&self, id: u64) -> bool {
        matches!(self.things[&id].content, Content::Directory(_))
    }

    fn add(&mut self, path: &str, content: Content, permissions: u16) -> Result<(), i32> {
        let (parent, name) = self.parent(path)?;
        if self.entries(parent)?.contains_key(name) {
            return Err(EEXIST);
        }
        let id = self.next;
        self.next += 1;
        self.things.insert(id, Thing { content, permissions, xattrs: BTreeMap::new() });
        self.entries_mut(parent).insert(name.into(), id);
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<&mut Vec<u8>, i32> {
        let id = self.find(path)?;
        self.file_of(id)
    }

    fn file_of(&mut self, id: u64) -> Result<&mut Vec<u8>, i32> {
        match &mut self.things.get_mut(&id).expect("a thing").content {
            Content::File(bytes) => Ok(bytes),
            Content::Directory(_) => Err(EISDIR),
            _ => Err(EINVAL),
        }
    }

    /// Forgets what has no name and is not held.
    fn drop_nameless(&mut self) {
        let named: Vec<u64> = self
            .things
            .values()
            .flat_map(|thing| match &thing.content {
                Content::Directory(entries) => entries.values().copied().collect(),
                _ => Vec::new(),
            })
            .collect();
        let held: Vec<u64> = self.held.values().copied().collect();
        self.things.retain(|id, _| *id == ROOT || named.contains(id) || held.contains(id));
    }

    /// Closes what is held.
    pub(crate) fn release_all(&mut self) {
        self.held.clear();
        self.drop_nameless();
    }

    /// Names of a thing that is no directory.
    pub(crate) fn links(&self, id: u64) -> u32 {
        self.things
            .values()
            .map(|thing| match &thing.content {
                Content::Directory(entries) => entries.values().filter(|&&entry| entry == id).count() as u32,
                _ => 0,
            })
            .sum()
    }

    fn is_within(&self, outer: u64, inner: u64) -> bool {
        outer == inner
            || self.entries(outer).is_ok_and(|entries| entries.values().any(|&entry| self.is_within(entry, inner)))
    }

    fn rename(&mut self, from: &str, to: &str, keeps: bool) -> Result<(), i32> {
        let (from_parent, from_name) = self.parent(from)?;
        let (to_parent, to_name) = self.parent(to)?;
        let moved = *self.entries(from_parent)?.get(from_name).ok_or(ENOENT)?;
        if from_parent != to_parent && self.is_directory(moved) && self.is_within(moved, to_parent) {
            return Err(EINVAL);
        }
        if let Some(&other) = self.entries(to_parent)?.get(to_name) {
            match (self.is_directory(moved), self.is_directory(other)) {
                _ if keeps => return Err(EEXIST),
                _ if moved == other => return Ok(()),
                (true, false) => return Err(ENOTDIR),
                (false, true) => return Err(EISDIR),
                (true, true) if !self.entries(other)?.is_empty() => return Err(ENOTEMPTY),
                _ => {}
            }
        }
        self.entries_mut(from_parent).remove(from_name);
        self.entries_mut(to_parent).insert(to_name.into(), moved);
        Ok(())
    }

    fn exchange(&mut self, from: &str, to: &str) -> Result<(), i32> {
        let (from_parent, from_name) = self.parent(from)?;
        let (to_parent, to_name) = self.parent(to)?;
        let moved = *self.entries(from_parent)?.get(from_name).ok_or(ENOENT)?;
        let other = self.entries(to_parent)?.get(to_name).copied();
        let goes_into_itself = |what: u64, parent: u64| self.is_directory(what) && self.is_within(what, parent);
        if from_parent != to_parent && goes_into_itself(moved, to_parent) {
            return Err(EINVAL);
        }
        let other = other.ok_or(ENOENT)?;
        if from_parent != to_parent && goes_into_itself(other, from_parent) {
            return Err(EINVAL);
        }
        self.entries_mut(from_parent).insert(from_name.into(), other);
        self.entries_mut(to_parent).insert(to_name.into(), moved);
        Ok(())
    }

    fn remove(&mut self, path: &str, is_directory: bool) -> Result<(), i32> {
        let (parent, name) = self.parent(path)?;
        let id = *self.entries(parent)?.get(name).ok_or(ENOENT)?;
        match self.entries(id) {
            Ok(_) if !is_directory => return Err(EISDIR),
            Err(error) if is_directory => return Err(error),
            Ok(entries) if !entries.is_empty() => return Err(ENOTEMPTY),
            _ => {}
        }
        self.entries_mut(parent).remove(name);
        Ok(())
    }

    /// Makes the operation, or says why not.
    pub(crate) fn apply(&mut self, operation: &Operation) -> Result<(), i32> {
        use Operation::*;
        match operation {
            Create(path) => self.add(path, Content::File(Vec::new()), 0o644)?,
            MakeDirectory(path) => self.add(path, Content::Directory(BTreeMap::new()), 0o755)?,
            Symlink(path, target) => self.add(path, Content::Symlink(target.clone()), 0o777)?,
            Fifo(path) => self.add(path, Content::Fifo, 0o644)?,
            Link(from, to) => {
                let id = self.find(from)?;
                let (parent, name) = self.parent(to)?;
                if self.entries(parent)?.contains_key(name) {
                    return Err(EEXIST);
                }
                if self.is_directory(id) {
                    return Err(EPERM);
                }
                self.entries_mut(parent).insert(name.into(), id);
            }
            Unlink(path) => self.remove(path, false)?,
            RemoveDirectory(path) => self.remove(path, true)?,
            Rename(from, to) => self.rename(from, to, false)?,
            RenameKeep(from, to) => self.rename(from, to, true)?,
            Exchange(from, to) => self.exchange(from, to)?,
            SetXattr(path, name, seed) => {
                let id = self.find(path)?;
                let value = pattern(*seed, seed % 5000);
                self.things.get_mut(&id).expect("a thing").xattrs.insert(name.clone(), value);
            }
            RemoveXattr(path, name) => {
                let id = self.find(path)?;
                self.things.get_mut(&id).expect("a thing").xattrs.remove(name).ok_or(ENODATA)?;
            }
            Permissions(path, permissions) => {
                let id = self.find(path)?;
                self.things.get_mut(&id).expect("a thing").permissions = *permissions;
            }
            Sync(path) | SyncData(path) => drop(self.find(path)?),
            Clean { .. } | Compact => {}
            Hold(path, number) => {
                let id = self.find(path)?;
                self.file_of(id)?;
                if self.held.contains_key(number) {
                    return Err(EBUSY);
                }
                self.held.insert(*number, id);
            }
            Release(number) => drop(self.held.remove(number).ok_or(ENOENT)?),
            WriteHeld(number, offset, length, seed) => {
                let id = *self.held.get(number).ok_or(ENOENT)?;
                put(self.file_of(id)?, *offset, &pattern(*seed, *length));
            }
            _ => self.change_data(operation)?,
        }
        self.drop_nameless();
        Ok(())
    }

    fn change_data(&mut self, operation: &Operation) -> Result<(), i32> {
        use Operation::*;
        match operation {
            Write(path, offset, length, seed) => put(self.file(path)?, *offset, &pattern(*seed, *length)),
            Append(path, length, seed) => self.file(path)?.extend(pattern(*seed, *length)),
            Truncate(path, size) => self.file(path)?.resize(*size as usize, 0),
            Punch(path, offset, length) => {
                let bytes = self.file(path)?;
                let (from, to) = ((*offset as usize).min(bytes.len()), ((offset + length) as usize).min(bytes.len()));
                bytes[from..to].fill(0);
            }
            Preallocate(path, _, _) => drop(self.file(path)?),
            Extend(path, offset, length) => {
                let bytes = self.file(path)?;
                let end = ((offset + length) as usize).max(bytes.len());
                bytes.resize(end, 0);
            }
            ZeroRange(path, offset, length) => {
                let bytes = self.file(path)?;
                let end = (offset + length) as usize;
                bytes.resize(end.max(bytes.len()), 0);
                bytes[*offset as usize..end].fill(0);
            }
            other => panic!("{other:?} changes no data"),
        }
        Ok(())
    }
}

fn put(bytes: &mut Vec<u8>, offset: u64, new: &[u8]) {
    let end = offset as usize + new.len();
    bytes.resize(end.max(bytes.len()), 0);
    bytes[offset as usize..end].copy_from_slice(new);
}
