//! `NBD_OPT_INFO` and `NBD_OPT_GO`: what an export is, and its choice.

use super::{ClientOption, Handshake, Refused, Step};
use crate::protocol::numbers::{info, option, option_reply};
use crate::protocol::{Fields, Offer};

/// What a client wants to know of an export.
struct Question<'a> {
    name: &'a str,
    wants_name: bool,
    wants_description: bool,
}

impl<'a> Question<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(data);
        let mut question = Self { name: fields.string()?, wants_name: false, wants_description: false };
        for _ in 0..fields.u16()? {
            match fields.u16()? {
                info::NAME => question.wants_name = true,
                info::DESCRIPTION => question.wants_description = true,
                // The export and its block sizes are told to everybody, and unknown things are to be ignored.
                _ => {}
            }
        }
        fields.is_empty().then_some(question)
    }
}

impl Handshake {
    /// Tells of an export; with `NBD_OPT_GO` the client has chosen it.
    pub(super) fn info(&self, asked: &ClientOption<'_>, out: &mut Vec<u8>) -> Result<Step, Refused> {
        let question = Question::read(asked.data).ok_or((option_reply::INVALID, "the option is malformed"))?;
        let export = self.exports.find(question.name).ok_or((option_reply::UNKNOWN, "the export is unknown"))?;
        let offered = self.offered(export);
        let mut tell = |kind: u16, data: &[u8]| {
            asked.reply_parts(out, option_reply::INFO, &[&kind.to_be_bytes(), data]);
        };
        tell(info::EXPORT, &size_and_flags(&offered));
        if question.wants_name {
            tell(info::NAME, export.name.as_bytes());
        }
        if question.wants_description {
            tell(info::DESCRIPTION, export.description.as_bytes());
        }
        let sizes = [offered.sizes.minimum, offered.sizes.preferred, offered.sizes.maximum];
        tell(info::BLOCK_SIZE, sizes.map(u32::to_be_bytes).as_flattened());
        if asked.number == option::GO { Ok(Step::Opened(export.clone(), offered)) } else { Ok(Step::Answered) }
    }
}

fn size_and_flags(offered: &Offer) -> [u8; 10] {
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&offered.size.to_be_bytes());
    bytes[8..].copy_from_slice(&offered.flags.to_be_bytes());
    bytes
}
