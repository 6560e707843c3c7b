//! `NBD_OPT_LIST_META_CONTEXT` and `NBD_OPT_SET_META_CONTEXT`: `base:allocation` is the one context that there is.

use super::{ClientOption, Handshake, Refused};
use crate::protocol::Fields;
use crate::protocol::numbers::{ALLOCATION, BASE, option, option_reply};
use crate::server::CONTEXT_ID;

const MALFORMED: Refused = (option_reply::INVALID, "the option is malformed");

/// Returns the export that the client asks about, and whether one of its queries asks for `base:allocation`.
fn read(data: &[u8], is_list: bool) -> Result<(&str, bool), Refused> {
    let mut fields = Fields(data);
    let name = fields.string().ok_or(MALFORMED)?;
    let queries = fields.u32().ok_or(MALFORMED)?;
    // A list without queries is one of everything.
    let mut wants_allocation = is_list && queries == 0;
    for _ in 0..queries {
        let query = fields.string().ok_or(MALFORMED)?;
        if !query.contains(':') {
            return Err((option_reply::INVALID, "a query begins with a namespace and a colon"));
        }
        wants_allocation |= query == ALLOCATION || (is_list && query == BASE);
    }
    if fields.is_empty() { Ok((name, wants_allocation)) } else { Err(MALFORMED) }
}

impl Handshake {
    pub(super) fn contexts(&mut self, asked: &ClientOption<'_>, out: &mut Vec<u8>) -> Result<(), Refused> {
        if !self.structured {
            return Err((option_reply::INVALID, "metadata contexts need structured replies"));
        }
        let is_list = asked.number == option::LIST_META_CONTEXT;
        let (name, wants_allocation) = read(asked.data, is_list)?;
        let export = self.exports.find(name).ok_or((option_reply::UNKNOWN, "the export is unknown"))?;
        if wants_allocation {
            let id = if is_list { 0 } else { CONTEXT_ID };
            asked.reply_parts(out, option_reply::META_CONTEXT, &[&id.to_be_bytes(), ALLOCATION.as_bytes()]);
        }
        if !is_list {
            self.context = wants_allocation.then(|| export.clone());
        }
        Ok(())
    }
}
