//! Answers to requests.

use crate::attributes::file_attributes;
use crate::server::XattrError;
use esker_scm::{Attributes, FsError, FsResult};
use fuser::{Errno, Generation, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyXattr};
use std::time::Duration;

pub(crate) fn errno(error: &FsError) -> Errno {
    Errno::from_i32(error.errno())
}

pub(crate) fn generation(attributes: &Attributes) -> Generation {
    Generation(attributes.generation.into())
}

pub(crate) fn answer(result: FsResult<()>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(&error)),
    }
}

/// Answers with an inode; what is said of it may be used for `valid`.
pub(crate) fn answer_entry(result: FsResult<Attributes>, valid: impl Fn(u64) -> Duration, reply: ReplyEntry) {
    match result {
        Ok(found) => reply.entry(&valid(found.number), &file_attributes(&found), generation(&found)),
        Err(error) => reply.error(errno(&error)),
    }
}

/// Answers with attributes, which may be used for `valid`.
pub(crate) fn answer_attributes(result: FsResult<Attributes>, valid: impl Fn(u64) -> Duration, reply: ReplyAttr) {
    match result {
        Ok(attributes) => reply.attr(&valid(attributes.number), &file_attributes(&attributes)),
        Err(error) => reply.error(errno(&error)),
    }
}

pub(crate) fn xattr_errno(error: &XattrError) -> Errno {
    match error {
        XattrError::Unsupported => Errno::EOPNOTSUPP,
        XattrError::File(error) => errno(error),
    }
}

/// Answers with `value`, or with its size if that is what was asked for.
pub(crate) fn answer_xattr(result: Result<Vec<u8>, XattrError>, size: u32, reply: ReplyXattr) {
    match result {
        Ok(value) if size == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > size as usize => reply.error(errno(&FsError::Range)),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(xattr_errno(&error)),
    }
}
