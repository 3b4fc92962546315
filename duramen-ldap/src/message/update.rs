//! Modify, add, modify DN, compare (RFC 4511 sections 4.6 to 4.10).

use super::{Assertion, Attribute, op};
use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::DecodeError;

const NEW_SUPERIOR: u8 = tag::context(0);

/// A request to change attributes of an entry. All changes are made, in order, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModifyRequest<'a> {
    /// The entry.
    pub name: &'a str,
    /// What to change.
    pub changes: List<'a, Change<'a>>,
}

/// One change of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// What to do.
    pub kind: ChangeKind,
    /// With which attribute and values.
    pub attribute: Attribute<'a>,
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Add values.
    Add = 0,
    /// Delete values, or all without any.
    Delete = 1,
    /// Put these values in place of all.
    Replace = 2,
    /// Add a number to the values (RFC 4525).
    Increment = 3,
}

impl<'a> Element<'a> for Change<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a change, a SEQUENCE")?;
        let before = content;
        let kind = match content.integer(tag::ENUMERATED, "what to change")? {
            0 => ChangeKind::Add,
            1 => ChangeKind::Delete,
            2 => ChangeKind::Replace,
            3 => ChangeKind::Increment,
            _ => return before.fail("add (0), delete (1), replace (2) or increment (3)"),
        };
        let attribute = Attribute::read(&mut content)?;
        content.ignore_rest()?;
        Ok(Change { kind, attribute })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.integer(tag::ENUMERATED, self.kind as i32);
            self.attribute.write(w);
        });
    }
}

impl<'a> ModifyRequest<'a> {
    pub(super) fn read(mut content: Reader<'a>, is_checked: bool) -> Result<Self, DecodeError> {
        let name = content.text(tag::OCTETS, "the name of an entry")?;
        let changes = List::decode_unless(is_checked, content.sequence("a list of changes")?)?;
        content.ignore_rest()?;
        Ok(ModifyRequest { name, changes })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::MODIFY_REQUEST, |w| {
            w.text(self.name);
            w.octets(tag::SEQUENCE, self.changes.encoded());
        });
    }
}

/// A request to add an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddRequest<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its attributes, each with one value at least.
    pub attributes: List<'a, Attribute<'a>>,
}

impl<'a> AddRequest<'a> {
    pub(super) fn read(mut content: Reader<'a>, is_checked: bool) -> Result<Self, DecodeError> {
        let name = content.text(tag::OCTETS, "the name of an entry")?;
        let list = content.sequence("a list of attributes")?;
        let mut unchecked = if is_checked { Reader::new(&[]) } else { list };
        while !unchecked.is_empty() {
            if Attribute::read(&mut unchecked)?.values.is_empty() {
                return list.fail("a value at least in each attribute");
            }
        }
        let attributes = List::decode_unless(true, list)?;
        content.ignore_rest()?;
        Ok(AddRequest { name, attributes })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::ADD_REQUEST, |w| {
            w.text(self.name);
            w.octets(tag::SEQUENCE, self.attributes.encoded());
        });
    }
}

/// A request to rename or move an entry, with everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModifyDnRequest<'a> {
    /// The entry.
    pub name: &'a str,
    /// Its new RDN.
    pub new_rdn: &'a str,
    /// Whether the values of the old RDN go away.
    pub delete_old_rdn: bool,
    /// Its new parent, if it gets another one.
    pub new_superior: Option<&'a str>,
}

impl<'a> ModifyDnRequest<'a> {
    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let name = content.text(tag::OCTETS, "the name of an entry")?;
        let new_rdn = content.text(tag::OCTETS, "a newrdn")?;
        let delete_old_rdn = content.boolean(tag::BOOLEAN, "deleteoldrdn, a BOOLEAN")?;
        let new_superior = content.optional(NEW_SUPERIOR)?.map(Reader::into_text).transpose()?;
        content.ignore_rest()?;
        Ok(ModifyDnRequest { name, new_rdn, delete_old_rdn, new_superior })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::MODIFY_DN_REQUEST, |w| {
            w.text(self.name);
            w.text(self.new_rdn);
            w.boolean(tag::BOOLEAN, self.delete_old_rdn);
            if let Some(new_superior) = self.new_superior {
                w.octets(NEW_SUPERIOR, new_superior.as_bytes());
            }
        });
    }
}

/// A request to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompareRequest<'a> {
    /// The entry.
    pub name: &'a str,
    /// What is asserted of it.
    pub assertion: Assertion<'a>,
}

impl<'a> CompareRequest<'a> {
    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let name = content.text(tag::OCTETS, "the name of an entry")?;
        let assertion = Assertion::read_content(content.sequence("an assertion, a SEQUENCE")?)?;
        content.ignore_rest()?;
        Ok(CompareRequest { name, assertion })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::COMPARE_REQUEST, |w| {
            w.text(self.name);
            self.assertion.write(w, tag::SEQUENCE);
        });
    }
}
