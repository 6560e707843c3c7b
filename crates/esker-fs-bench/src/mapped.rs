//! Files of a folder that are read and written through mappings, as IOzone does with mmap() and bcopy().

use std::io;
use std::path::{Path, PathBuf};

use esker_core::Bytes;
use esker_scm::bench::{FolderTarget, Target, TargetError};
use esker_scm::{MapError, Mapped, Persist};

/// A folder in which every file has `length` bytes and is mapped as long as it is open.
#[derive(Debug)]
pub(crate) struct MappedTarget {
    folder: PathBuf,
    length: Bytes,
    /// Whatever needs no mapping.
    calls: FolderTarget,
}

/// A file, and its mapping.
#[derive(Debug)]
pub(crate) struct MappedFile {
    path: PathBuf,
    /// Absent after a mapping that failed.
    mapping: Option<Mapped>,
}

impl MappedFile {
    fn mapping(&self) -> Result<&Mapped, TargetError> {
        let unmapped = || TargetError::System { path: self.path.clone(), error: io::Error::other("is not mapped") };
        self.mapping.as_ref().ok_or_else(unmapped)
    }
}

impl MappedTarget {
    pub(crate) fn new(folder: &Path, length: Bytes) -> Self {
        Self { folder: folder.into(), length, calls: FolderTarget::new(folder.into()) }
    }

    /// Where `FolderTarget` has the file.
    fn path(&self, directory: u64, file: u64) -> PathBuf {
        self.folder.join(format!("d{directory}/f{file}"))
    }
}

fn failed(path: &Path, error: MapError) -> TargetError {
    match error {
        MapError::System { path, error, .. } => TargetError::System { path, error },
        error => TargetError::System { path: path.into(), error: io::Error::other(error) },
    }
}

impl Target for MappedTarget {
    type File = MappedFile;

    fn make_directory(&self, directory: u64) -> Result<(), TargetError> {
        self.calls.make_directory(directory)
    }

    fn remove_directory(&self, directory: u64) -> Result<(), TargetError> {
        self.calls.remove_directory(directory)
    }

    fn create(&self, directory: u64, file: u64) -> Result<MappedFile, TargetError> {
        let path = self.path(directory, file);
        let mapping = Mapped::create(&path, self.length.0).map_err(|error| failed(&path, error))?;
        Ok(MappedFile { path, mapping: Some(mapping) })
    }

    fn open(&self, directory: u64, file: u64) -> Result<MappedFile, TargetError> {
        let path = self.path(directory, file);
        let mapping = Mapped::open(&path).map_err(|error| failed(&path, error))?;
        Ok(MappedFile { path, mapping: Some(mapping) })
    }

    fn close(&self, file: MappedFile) -> Result<(), TargetError> {
        drop(file);
        Ok(())
    }

    /// Maps it again, so that each part has to fault its pages in.
    fn begin_part(&self, file: &mut MappedFile) -> Result<(), TargetError> {
        // The old mapping has a lock on the file.
        file.mapping = None;
        file.mapping = Some(Mapped::open(&file.path).map_err(|error| failed(&file.path, error))?);
        Ok(())
    }

    fn unlink(&self, directory: u64, file: u64) -> Result<(), TargetError> {
        self.calls.unlink(directory, file)
    }

    fn read(&self, file: &MappedFile, offset: u64, into: &mut [u8]) -> Result<usize, TargetError> {
        file.mapping()?.read(offset, into);
        Ok(into.len())
    }

    fn write(&self, file: &MappedFile, offset: u64, bytes: &[u8]) -> Result<(), TargetError> {
        file.mapping()?.write(offset, bytes);
        Ok(())
    }

    fn sync(&self, file: &MappedFile) -> Result<(), TargetError> {
        let mapping = file.mapping()?;
        // Once `write_back` has noted the pages, the fence is an msync where the file is no memory.
        mapping.write_back(0, mapping.len());
        mapping.fence().map_err(|error| TargetError::System {
            path: file.path.clone(),
            error: io::Error::from_raw_os_error(error.code),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn what_is_written_through_the_mapping_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = MappedTarget::new(folder.path(), Bytes(16 << 10));
        target.make_directory(0).unwrap();
        let mut file = target.create(0, 3).unwrap();
        target.begin_part(&mut file).unwrap();
        target.write(&file, 8 << 10, &[7; 4096]).unwrap();
        target.sync(&file).unwrap();
        let mut read = [0; 8192];
        std::fs::File::open(folder.path().join("d0/f3")).unwrap().read_exact_at(&mut read, 4 << 10).unwrap();
        assert_eq!((read[4095], read[4096]), (0, 7));
        assert_eq!(target.read(&file, 12 << 10, &mut read[..4096]).unwrap(), 4096);
        assert_eq!(read[0], 0);
        target.close(file).unwrap();
        target.read(&target.open(0, 3).unwrap(), 8 << 10, &mut read[..10]).unwrap();
        assert_eq!(read[..10], [7; 10]);
        target.unlink(0, 3).unwrap();
        target.remove_directory(0).unwrap();
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error_with_its_name() {
        let target = MappedTarget::new(Path::new("no/such/folder"), Bytes(4096));
        let error = target.create(0, 0).unwrap_err().to_string();
        assert!(error.contains("no/such/folder/d0/f0"), "{error}");
    }
}
