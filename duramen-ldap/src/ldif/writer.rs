//! LDIF as text, as every reader of it can take it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::record::{Body, LdifControl, Modification, Record};

/// Lines are folded to this many bytes.
const LINE_BYTES: usize = 76;

impl Record<'_> {
    /// Appends the record and an empty line.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_pair(out, "dn", self.dn.as_bytes());
        for control in &self.controls {
            write_control(out, control);
        }
        match &self.body {
            Body::Entry(pairs) => pairs.iter().for_each(|pair| write_pair(out, pair.description, &pair.value)),
            Body::Add(pairs) => {
                write_pair(out, "changetype", b"add");
                pairs.iter().for_each(|pair| write_pair(out, pair.description, &pair.value));
            }
            Body::Delete => write_pair(out, "changetype", b"delete"),
            Body::Modify(modifications) => {
                write_pair(out, "changetype", b"modify");
                modifications.iter().for_each(|modification| write_modification(out, modification));
            }
            Body::ModifyDn { new_rdn, delete_old_rdn, new_superior } => {
                write_pair(out, "changetype", b"modrdn");
                write_pair(out, "newrdn", new_rdn.as_bytes());
                write_pair(out, "deleteoldrdn", if *delete_old_rdn { b"1" } else { b"0" });
                if let Some(new_superior) = new_superior {
                    write_pair(out, "newsuperior", new_superior.as_bytes());
                }
            }
        }
        out.push(b'\n');
    }
}

fn write_modification(out: &mut Vec<u8>, modification: &Modification<'_>) {
    write_pair(out, modification.kind.keyword(), modification.description.as_bytes());
    for value in &modification.values {
        write_pair(out, modification.description, &value.value);
    }
    out.extend_from_slice(b"-\n");
}

fn write_control(out: &mut Vec<u8>, control: &LdifControl<'_>) {
    let head = format!("control: {} {}", control.oid, control.critical);
    match &control.value {
        Some(value) => write_value(out, head.as_bytes(), value),
        None => write_folded(out, &[head.as_bytes()]),
    }
}

/// Appends an attribute with one value: in base64, if the value is not safe to be written as it is.
pub fn write_pair(out: &mut Vec<u8>, description: &str, value: &[u8]) {
    write_value(out, description.as_bytes(), value);
}

/// As [`write_pair`], in base64 whatever the value is.
pub fn write_encoded(out: &mut Vec<u8>, description: &str, value: &[u8]) {
    write_folded(out, &[description.as_bytes(), b":: ", STANDARD.encode(value).as_bytes()]);
}

/// As [`write_pair`], in one line however long it is.
pub fn write_unfolded(out: &mut Vec<u8>, description: &str, value: &[u8]) {
    out.extend_from_slice(description.as_bytes());
    if is_safe(value) {
        out.extend_from_slice(if value.is_empty() { b":" } else { b": " });
        out.extend_from_slice(value);
    } else {
        out.extend_from_slice(b":: ");
        out.extend_from_slice(STANDARD.encode(value).as_bytes());
    }
    out.push(b'\n');
}

/// Appends lines of comment.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    for line in text.lines() {
        write_folded(out, &[b"# ", line.as_bytes()]);
    }
}

fn write_value(out: &mut Vec<u8>, head: &[u8], value: &[u8]) {
    if is_safe(value) {
        write_folded(out, &[head, if value.is_empty() { b":" } else { b": " }, value]);
    } else {
        write_folded(out, &[head, b":: ", STANDARD.encode(value).as_bytes()]);
    }
}

/// RFC 2849's SAFE-STRING that does not end in a space; control characters are left out of it too.
fn is_safe(value: &[u8]) -> bool {
    !matches!(value.first(), Some(b' ' | b':' | b'<'))
        && value.last() != Some(&b' ')
        && value.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Writes one line in as many as it needs: a line that follows begins with a space.
fn write_folded(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let mut room = LINE_BYTES;
    for part in parts {
        let mut rest = *part;
        while rest.len() > room {
            let (now, later) = rest.split_at(room);
            out.extend_from_slice(now);
            out.extend_from_slice(b"\n ");
            (rest, room) = (later, LINE_BYTES - 1);
        }
        out.extend_from_slice(rest);
        room -= rest.len();
    }
    out.push(b'\n');
}
