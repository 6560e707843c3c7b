//! What `/proc/self/mountinfo` says.

/// The type of file systems that are mounted SCMFS pools.
pub const MOUNT_TYPE: &str = "fuse.scmfs";

/// A mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountLine {
    /// Its number.
    pub id: u64,
    /// Major and minor number of the device that its files say that they are on.
    pub device: (u32, u32),
    /// The directory of the file system that is its root.
    pub root: Vec<u8>,
    /// Where it is mounted.
    pub directory: Vec<u8>,
    /// The type of the file system.
    pub kind: Vec<u8>,
    /// What is mounted.
    pub source: Vec<u8>,
}

impl MountLine {
    /// Whether it is a mounted SCMFS pool.
    pub fn is_scmfs(&self) -> bool {
        self.kind == MOUNT_TYPE.as_bytes()
    }

    /// A line, as `36 35 0:45 / /mnt rw,nosuid - fuse.scmfs /pool rw,user_id=0`.
    pub fn parse(line: &[u8]) -> Option<MountLine> {
        let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let end = fields.iter().position(|field| *field == b"-").filter(|&end| end > 4)?;
        let text = |index: usize| std::str::from_utf8(fields.get(index)?).ok();
        let (major, minor) = text(2)?.split_once(':')?;
        Some(MountLine {
            id: text(0)?.parse().ok()?,
            device: (major.parse().ok()?, minor.parse().ok()?),
            root: unescape(fields[3]),
            directory: unescape(fields[4]),
            kind: fields.get(end + 1)?.to_vec(),
            source: unescape(fields.get(end + 2)?),
        })
    }

    /// All lines, the latest mount last.
    pub fn all(text: &[u8]) -> impl Iterator<Item = MountLine> {
        text.split(|&byte| byte == b'\n').filter_map(MountLine::parse)
    }
}

/// A path of `mountinfo`, where `\040` is a blank.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line = br"97 22 0:52 / /mnt/a\040b\134c rw,relatime shared:5 - fuse.scmfs /dev/shm/p\011q rw,user_id=0";
        let expected = MountLine {
            id: 97,
            device: (0, 52),
            root: b"/".to_vec(),
            directory: br"/mnt/a b\c".to_vec(),
            kind: b"fuse.scmfs".to_vec(),
            source: b"/dev/shm/p\tq".to_vec(),
        };
        assert_eq!(MountLine::parse(line), Some(expected));
        assert!(!MountLine::parse(b"22 1 0:21 / /proc rw - proc proc rw").unwrap().is_scmfs());
        assert_eq!(MountLine::parse(b""), None);
        assert_eq!(MountLine::parse(b"1 2 0:3 - x y z"), None);
    }
}
