//! Where an owner listens, and how it knows clients that the mount lets in.

use rustix::io::Errno;
use std::fmt;

/// The extended attribute of a mount's root that holds the address of its owner. The kernel asks nobody for permission
/// to read attributes of the class `system`, so the owner judges who is told.
pub const ADDRESS_ATTRIBUTE: &str = "system.esker-scmfs.address";

/// What the name of a socket begins with.
const BEGIN: &[u8] = b"esker-scmfs-";
/// Random bytes of the name.
const RANDOM: usize = 16;
/// Bytes of the name: each random byte is two digits.
const NAME: usize = BEGIN.len() + 2 * RANDOM;
/// Bytes of the secret.
const SECRET: usize = 16;

/// The name of an owner's socket, and a secret. Everybody finds the name in `/proc/net/unix`. Who knows the secret has
/// asked the mount for it, or somebody has who may: the directories above the mount are open to him, and the kernel
/// serves him there.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    name: [u8; NAME],
    secret: [u8; SECRET],
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").field("name", &String::from_utf8_lossy(&self.name)).finish_non_exhaustive()
    }
}

fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Errno> {
    let mut bytes = [0; LENGTH];
    let length = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if length == LENGTH { Ok(bytes) } else { Err(Errno::IO) }
}

impl Address {
    /// An address unlike all others.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> Result<Address, Errno> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = random::<RANDOM>()?.map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        let mut name = [0; NAME];
        let (begin, rest) = name.split_at_mut(BEGIN.len());
        begin.copy_from_slice(BEGIN);
        rest.copy_from_slice(digits.as_flattened());
        Ok(Address { name, secret: random()? })
    }

    /// The address of the owner whose pool is mounted at `directory`.
    ///
    /// # Errors
    /// No pool is mounted there, or this process may not use it.
    pub fn at(directory: &[u8]) -> Result<Address, Errno> {
        let mut bytes = [0; NAME + SECRET + 1];
        let length = rustix::fs::getxattr(directory, ADDRESS_ATTRIBUTE, &mut bytes)?;
        Address::from_bytes(&bytes[..length])
    }

    fn from_bytes(bytes: &[u8]) -> Result<Address, Errno> {
        let (name, secret) = bytes.split_first_chunk().ok_or(Errno::PROTO)?;
        let secret = secret.try_into().map_err(|_| Errno::PROTO)?;
        if name.starts_with(BEGIN) { Ok(Address { name: *name, secret }) } else { Err(Errno::PROTO) }
    }

    /// What the attribute of the mount's root holds.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.name[..], &self.secret].concat()
    }

    /// The name of the socket, in the abstract namespace.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Whether this is the secret. How long the answer takes does not tell how much of it was right.
    pub(crate) fn has_secret(&self, said: &[u8]) -> bool {
        let differences = self.secret.iter().zip(said).fold(0, |sum, (own, said)| sum | (own ^ said));
        said.len() == SECRET && std::hint::black_box(differences) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_whole_and_its_secret_is_told_by_nothing_else() {
        let (address, other) = (Address::random().unwrap(), Address::random().unwrap());
        assert_eq!(Address::from_bytes(&address.to_bytes()).as_ref(), Ok(&address));
        assert!(address.name != other.name && address.secret != other.secret);
        assert_eq!(Address::from_bytes(&address.to_bytes()[1..]), Err(Errno::PROTO));
        assert_eq!(Address::from_bytes(&[&address.to_bytes()[..], b"x"].concat()), Err(Errno::PROTO));
        let shown = format!("{address:?}");
        assert!(shown.contains(std::str::from_utf8(address.name()).unwrap()) && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn only_all_of_a_secret_is_the_secret() {
        let address = Address::random().unwrap();
        assert!(address.has_secret(&address.secret));
        for wrong in [&address.secret[..15], &[], &[&address.secret[..], b"x"].concat()] {
            assert!(!address.has_secret(wrong));
        }
        for bit in 0..8 * SECRET {
            let mut wrong = address.secret;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!address.has_secret(&wrong), "bit {bit}");
        }
    }
}
