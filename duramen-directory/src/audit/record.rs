//! How a record looks: a change as RFC 2849 has it, between comments that say whose it is.
//!
//! Must not know: how a change is made, files.

use std::borrow::Cow;
use std::fmt::Write;

use duramen_ldap::ldif::{write_encoded, write_pair, write_unfolded};
use duramen_ldap::message::ChangeKind;
use duramen_ldap::oid::control;

use crate::clock::Moment;
use crate::requester::{Peer, Requester};

/// Whose change it is, and where and when it was made.
pub(crate) struct Author<'a> {
    /// The name that it is written down under.
    pub who: &'a str,
    /// Who asked for it: `who` may be whom he acts for.
    pub asked_by: &'a Requester,
    /// Whether he acts for somebody else.
    pub acts: bool,
    pub now: Moment,
    /// The suffix of the entry.
    pub suffix: &'a str,
}

/// A change of an attribute.
#[derive(Clone, Debug)]
pub(crate) struct Told<'t> {
    pub kind: ChangeKind,
    pub description: Cow<'t, str>,
    pub values: Vec<Cow<'t, [u8]>>,
}

/// An entry is added, with these attributes.
pub(crate) fn add<'v>(
    out: &mut Vec<u8>,
    author: &Author<'_>,
    name: &str,
    pairs: impl Iterator<Item = (&'v str, &'v [u8])>,
) {
    record(out, author, "add", name, false, |out| {
        pairs.for_each(|(description, value)| pair(out, description, value));
    });
}

/// An entry is deleted.
pub(crate) fn delete(out: &mut Vec<u8>, author: &Author<'_>, name: &str) {
    record(out, author, "delete", name, false, |_| {});
}

/// An entry is changed; `is_permissive`: changes of it may have been made already.
pub(crate) fn modify(out: &mut Vec<u8>, author: &Author<'_>, name: &str, is_permissive: bool, changes: &[Told<'_>]) {
    record(out, author, "modify", name, is_permissive, |out| {
        for change in changes {
            write_unfolded(out, change.kind.keyword(), change.description.as_bytes());
            change.values.iter().for_each(|value| pair(out, &change.description, value));
            out.extend_from_slice(b"-\n");
        }
    });
}

/// An entry gets another name.
pub(crate) fn rename(
    out: &mut Vec<u8>,
    author: &Author<'_>,
    name: &str,
    (rdn, delete_old, superior): (&str, bool, Option<&str>),
) {
    record(out, author, "modrdn", name, false, |out| {
        write_unfolded(out, "newrdn", rdn.as_bytes());
        write_unfolded(out, "deleteoldrdn", if delete_old { b"1" } else { b"0" });
        if let Some(superior) = superior {
            write_unfolded(out, "newsuperior", superior.as_bytes());
        }
    });
}

/// Names are not folded: whoever looks for one finds it in its line, as in OpenLDAP's log.
fn record(
    out: &mut Vec<u8>,
    author: &Author<'_>,
    what: &str,
    name: &str,
    is_permissive: bool,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let seconds = author.now.0 / 1_000_000;
    let who = if author.who.is_empty() { String::new() } else { format!(" {}", author.who) };
    let Requester { peer, connection, name: asked_by, .. } = author.asked_by;
    let peer = if **peer == Peer::Internal { String::new() } else { peer.to_string() };
    let connection = connection.map_or("-1".into(), |number| number.to_string());
    comment(out, &format!("{what} {seconds} {}{who} {peer} conn={connection}", author.suffix));
    if author.acts && !asked_by.is_empty() {
        comment(out, &format!("realdn: {}", asked_by.written));
    }
    write_unfolded(out, "dn", name.as_bytes());
    if is_permissive {
        write_unfolded(out, "control", format!("{} false", control::PERMISSIVE_MODIFY).as_bytes());
    }
    write_unfolded(out, "changetype", what.as_bytes());
    body(out);
    comment(out, &format!("end {what} {seconds}"));
    out.push(b'\n');
}

/// Passwords are in base64, as OpenLDAP has them there: nobody reads one in passing, and who takes them out finds them.
fn pair(out: &mut Vec<u8>, description: &str, value: &[u8]) {
    let kind = description.split(';').next().unwrap_or_default();
    let write = if kind.eq_ignore_ascii_case("userPassword") { write_encoded } else { write_pair };
    write(out, description, value);
}

/// One line of comment, whatever is in a name: another line of it would be a record that somebody made up.
fn comment(out: &mut Vec<u8>, text: &str) {
    let mut line = String::with_capacity(text.len() + 3);
    line.push_str("# ");
    for letter in text.chars() {
        if letter.is_control() {
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                let _ = write!(line, "\\{byte:02X}");
            }
        } else {
            line.push(letter);
        }
    }
    line.push('\n');
    out.extend_from_slice(line.as_bytes());
}
