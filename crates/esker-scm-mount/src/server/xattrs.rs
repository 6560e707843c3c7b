//! Extended attributes.

use super::Server;
use esker_scm::{FsError, FsResult, ROOT, SetXattr};
use esker_scm_channel::ADDRESS_ATTRIBUTE;
use fuser::Request;

/// Why a call about an extended attribute failed.
#[derive(Debug)]
pub(crate) enum XattrError {
    /// There are no attributes of this sort: access control lists, and capabilities of files, which writes would have
    /// to take away.
    Unsupported,
    File(FsError),
}

impl From<FsError> for XattrError {
    fn from(error: FsError) -> XattrError {
        XattrError::File(error)
    }
}

fn check_name(name: &[u8]) -> Result<(), XattrError> {
    let sorts = [&b"user."[..], b"trusted.", b"security."];
    if sorts.contains(&name) {
        // A sort alone names nothing.
        return Err(XattrError::File(FsError::Invalid));
    }
    let is_kept = sorts.iter().any(|sort| name.starts_with(sort));
    if is_kept && name != b"security.capability" { Ok(()) } else { Err(XattrError::Unsupported) }
}

impl Server {
    /// The value that `user` is told.
    pub(crate) fn xattr(&self, user: u32, number: u64, name: &[u8]) -> Result<Vec<u8>, XattrError> {
        if number == ROOT && name == ADDRESS_ATTRIBUTE.as_bytes() {
            // The kernel, which keeps others from a user's own mount, does not do so for this class of attributes.
            return if self.serves(user) { Ok(self.address().to_bytes()) } else { Err(FsError::Access.into()) };
        }
        check_name(name)?;
        Ok(self.system.xattr(number, name)?)
    }

    /// The names, each with a zero behind it. Only the administrator sees those of `trusted`.
    pub(crate) fn xattr_names(&self, request: &Request, number: u64) -> FsResult<Vec<u8>> {
        let names = self.system.list_xattrs(number)?;
        if request.uid() == 0 {
            return Ok(names);
        }
        let shown = names.split_inclusive(|&byte| byte == 0).filter(|name| !name.starts_with(b"trusted."));
        Ok(shown.flatten().copied().collect())
    }

    pub(crate) fn set_xattr(
        &self,
        request: &Request,
        number: u64,
        attribute: (&[u8], &[u8]),
        how: SetXattr,
    ) -> Result<(), XattrError> {
        check_name(attribute.0)?;
        Ok(self.callers.call(request, |caller| self.system.set_xattr(caller, number, attribute, how))?)
    }

    pub(crate) fn remove_xattr(&self, request: &Request, number: u64, name: &[u8]) -> Result<(), XattrError> {
        check_name(name)?;
        Ok(self.callers.call(request, |caller| self.system.remove_xattr(caller, number, name))?)
    }
}
