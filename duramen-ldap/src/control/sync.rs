//! Content synchronization (RFC 4533): what a client asks for, and what entries, the end and messages between say of its
//! copy.

use crate::ber::{List, Reader, Writer, tag};
use crate::error::DecodeError;
use crate::payload::Payload;

const NEW_COOKIE: u8 = tag::context(0);
const REFRESH_DELETE: u8 = tag::context_constructed(1);
const REFRESH_PRESENT: u8 = tag::context_constructed(2);
const ID_SET: u8 = tag::context_constructed(3);

/// An entry's UUID, as it stands in these messages.
pub type SyncUuid = [u8; 16];

/// What a client wants of a search: its content, what has changed of it, and perhaps what will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncRequest<'a> {
    /// Whether changes to come are wanted, too (refreshAndPersist), or none (refreshOnly).
    pub persists: bool,
    /// What the client has been told that its copy is as of. None, or an empty one, where it has no copy.
    pub cookie: Option<&'a [u8]>,
    /// Whether the client rather has all content again than e-syncRefreshRequired, where its cookie is of no use.
    pub reload_hint: bool,
}

impl<'a> Payload<'a> for SyncRequest<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        const MODE: &str = "a mode: 1 (refreshOnly) or 3 (refreshAndPersist)";
        let mut content = reader.sequence("what is to be synchronized, a SEQUENCE")?;
        let before = content;
        let persists = match content.unsigned(tag::ENUMERATED, MODE)? {
            1 => false,
            3 => true,
            _ => return before.fail(MODE),
        };
        let cookie = content.optional(tag::OCTETS)?.map(|cookie| cookie.rest());
        let reload_hint = default_false(&mut content)?;
        content.ignore_rest()?;
        Ok(SyncRequest { persists, cookie, reload_hint })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.unsigned(tag::ENUMERATED, if self.persists { 3 } else { 1 });
            write_cookie(w, self.cookie);
            write_true(w, self.reload_hint);
        });
    }
}

/// What an entry is to the client's copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncState {
    /// It is there as it was.
    Present,
    /// It has come, or is another than it was.
    Add,
    /// It is another than it was.
    Modify,
    /// It is gone.
    Delete,
}

/// What is said of an entry, or a reference, in a control of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncStateValue<'a> {
    /// What it is to the client's copy.
    pub state: SyncState,
    /// Which entry it is.
    pub uuid: SyncUuid,
    /// What the copy is as of with it.
    pub cookie: Option<&'a [u8]>,
}

impl<'a> Payload<'a> for SyncStateValue<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        const STATE: &str = "a state from 0 to 3";
        let mut content = reader.sequence("an entry's state, a SEQUENCE")?;
        let before = content;
        let state = match content.unsigned(tag::ENUMERATED, STATE)? {
            0 => SyncState::Present,
            1 => SyncState::Add,
            2 => SyncState::Modify,
            3 => SyncState::Delete,
            _ => return before.fail(STATE),
        };
        let before = content;
        let Ok(uuid) = content.octets(tag::OCTETS, "an entry's UUID")?.try_into() else {
            return before.fail("a UUID of 16 octets");
        };
        let cookie = content.optional(tag::OCTETS)?.map(|cookie| cookie.rest());
        content.ignore_rest()?;
        Ok(SyncStateValue { state, uuid, cookie })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.unsigned(tag::ENUMERATED, self.state as u32);
            w.octets(tag::OCTETS, &self.uuid);
            write_cookie(w, self.cookie);
        });
    }
}

/// What is said at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncDone<'a> {
    /// What the client's copy is as of now.
    pub cookie: Option<&'a [u8]>,
    /// Whether the client was told what is gone; else all is gone that it was not told of.
    pub refresh_deletes: bool,
}

impl<'a> Payload<'a> for SyncDone<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("the end of a synchronization, a SEQUENCE")?;
        let cookie = content.optional(tag::OCTETS)?.map(|cookie| cookie.rest());
        let refresh_deletes = default_false(&mut content)?;
        content.ignore_rest()?;
        Ok(SyncDone { cookie, refresh_deletes })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            write_cookie(w, self.cookie);
            write_true(w, self.refresh_deletes);
        });
    }
}

/// What is said between entries: the value of an intermediate response ([`crate::oid::intermediate::SYNC_INFO`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncInfo<'a> {
    /// What the client's copy is as of now.
    NewCookie(&'a [u8]),
    /// A phase has ended in which the client was told what is gone.
    RefreshDelete {
        /// What its copy is as of now.
        cookie: Option<&'a [u8]>,
        /// Whether that was all, and changes follow as they happen.
        done: bool,
    },
    /// A phase has ended after which all is gone that the client was not told of.
    RefreshPresent {
        /// What its copy is as of now.
        cookie: Option<&'a [u8]>,
        /// Whether that was all, and changes follow as they happen.
        done: bool,
    },
    /// Entries that are gone, or there as they were.
    IdSet {
        /// What the client's copy is as of with that.
        cookie: Option<&'a [u8]>,
        /// Whether they are gone.
        deletes: bool,
        /// Their UUIDs, each of 16 octets.
        uuids: List<'a, &'a [u8]>,
    },
}

impl<'a> Payload<'a> for SyncInfo<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        const INFO: &str = "a cookie, the end of a phase, or a set of UUIDs";
        let (tag, mut content) = reader.any(INFO)?;
        if tag == NEW_COOKIE {
            return Ok(SyncInfo::NewCookie(content.rest()));
        }
        if !matches!(tag, REFRESH_DELETE | REFRESH_PRESENT | ID_SET) {
            return content.fail(INFO);
        }
        let cookie = content.optional(tag::OCTETS)?.map(|cookie| cookie.rest());
        if tag == ID_SET {
            let deletes = default_false(&mut content)?;
            let uuids: List<'_, &[u8]> = List::decode(content.element(tag::SET, "a SET of UUIDs")?)?;
            if uuids.iter().any(|uuid| uuid.len() != size_of::<SyncUuid>()) {
                return content.fail("UUIDs of 16 octets");
            }
            content.ignore_rest()?;
            return Ok(SyncInfo::IdSet { cookie, deletes, uuids });
        }
        let done = content.optional(tag::BOOLEAN)?.map_or(Ok(true), Reader::into_boolean)?;
        content.ignore_rest()?;
        Ok(match tag {
            REFRESH_DELETE => SyncInfo::RefreshDelete { cookie, done },
            _ => SyncInfo::RefreshPresent { cookie, done },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let mut phase = |tag, cookie: &Option<&[u8]>, done: bool| {
            writer.constructed(tag, |w| {
                write_cookie(w, *cookie);
                if !done {
                    w.boolean(tag::BOOLEAN, false);
                }
            });
        };
        match self {
            SyncInfo::NewCookie(cookie) => writer.octets(NEW_COOKIE, cookie),
            SyncInfo::RefreshDelete { cookie, done } => phase(REFRESH_DELETE, cookie, *done),
            SyncInfo::RefreshPresent { cookie, done } => phase(REFRESH_PRESENT, cookie, *done),
            SyncInfo::IdSet { cookie, deletes, uuids } => writer.constructed(ID_SET, |w| {
                write_cookie(w, *cookie);
                write_true(w, *deletes);
                w.octets(tag::SET, uuids.encoded());
            }),
        }
    }
}

fn default_false(content: &mut Reader<'_>) -> Result<bool, DecodeError> {
    content.optional(tag::BOOLEAN)?.map_or(Ok(false), Reader::into_boolean)
}

fn write_cookie(writer: &mut Writer<'_>, cookie: Option<&[u8]>) {
    if let Some(cookie) = cookie {
        writer.octets(tag::OCTETS, cookie);
    }
}

fn write_true(writer: &mut Writer<'_>, said: bool) {
    if said {
        writer.boolean(tag::BOOLEAN, true);
    }
}
