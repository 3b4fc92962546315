//! Putting an entry together.

use duramen_ldap::ber::{Writer, tag};

use super::{HAS_OPTIONS, HEAD, StoredAttribute, mark};
use crate::schema::AttributeId;
use crate::tables::Id;

/// An attribute whose values are in table `value`. It has no options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LargeAttribute {
    pub id: AttributeId,
    /// How many values it has.
    pub count: u32,
    /// Bytes of the values' encodings.
    pub bytes: u32,
    pub description: String,
}

/// The number of an attribute, with its mark, and where it ends.
#[derive(Clone, Copy)]
struct Place {
    number: u16,
    end: u32,
}

/// Puts an entry together: attributes in the order in which they are to be, user attributes first.
#[derive(Default)]
pub(crate) struct Builder {
    places: Vec<Place>,
    user_count: usize,
    attributes: Vec<u8>,
    large: Vec<LargeAttribute>,
}

impl Builder {
    /// With room for attributes of so many bytes in all.
    pub fn with_room(attributes: usize, bytes: usize) -> Builder {
        Builder { places: Vec::with_capacity(attributes), attributes: Vec::with_capacity(bytes), ..Builder::default() }
    }

    /// Adds an attribute; user attributes have to come before operational ones.
    pub fn attribute<V: AsRef<[u8]>>(
        &mut self,
        id: AttributeId,
        (is_operational, has_options): (bool, bool),
        description: &str,
        values: impl IntoIterator<Item = V>,
    ) {
        Writer::new(&mut self.attributes).sequence(|w| {
            w.text(description);
            w.constructed(tag::SET, |w| values.into_iter().for_each(|value| w.octets(tag::OCTETS, value.as_ref())));
        });
        self.end(id, has_options, is_operational);
    }

    /// Adds an attribute as another entry has it; of their order the same is true.
    pub fn stored(&mut self, stored: &StoredAttribute<'_>, is_operational: bool) {
        self.attributes.extend_from_slice(stored.encoded);
        self.end(stored.id, stored.has_options, is_operational);
    }

    fn end(&mut self, id: AttributeId, has_options: bool, is_operational: bool) {
        let number = id.0 | if has_options { HAS_OPTIONS } else { 0 };
        self.places.push(Place { number, end: u32::try_from(self.attributes.len()).unwrap_or(u32::MAX) });
        if !is_operational {
            self.user_count = self.places.len();
        }
    }

    /// Adds an attribute whose values are in table `value`.
    pub fn large(&mut self, attribute: LargeAttribute) {
        self.large.push(attribute);
    }

    /// The entry's bytes.
    pub fn finish(self, parent: Id, rdn: &str, marks: u8) -> Vec<u8> {
        let wide = self.attributes.len() > usize::from(u16::MAX);
        let directory = self.places.len() * if wide { 6 } else { 4 };
        let mut out = Vec::with_capacity(HEAD + directory + rdn.len() + self.attributes.len());
        out.extend_from_slice(&[marks | if wide { mark::WIDE } else { 0 }, byte(self.large.len())]);
        for number in [self.places.len(), self.user_count, rdn.len()] {
            out.extend_from_slice(&short(number).to_le_bytes());
        }
        out.extend_from_slice(&parent.to_le_bytes());
        push_each(&self.places, |place| place.number.to_le_bytes(), &mut out);
        if wide {
            push_each(&self.places, |place| place.end.to_le_bytes(), &mut out);
        } else {
            let low = |place: &Place| place.end.to_le_bytes();
            push_each(&self.places, |place| [low(place)[0], low(place)[1]], &mut out);
        }
        out.extend_from_slice(rdn.as_bytes());
        out.extend_from_slice(&self.attributes);
        for large in &self.large {
            out.extend_from_slice(&large.id.0.to_le_bytes());
            out.extend_from_slice(&large.count.to_le_bytes());
            out.extend_from_slice(&large.bytes.to_le_bytes());
            out.push(byte(large.description.len()));
            out.extend_from_slice(large.description.as_bytes());
        }
        out
    }
}

/// Appends some bytes of each.
fn push_each<const N: usize>(places: &[Place], bytes: impl Fn(&Place) -> [u8; N], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + N * places.len(), 0);
    for (to, place) in out[start..].as_chunks_mut().0.iter_mut().zip(places) {
        *to = bytes(place);
    }
}

/// A count of which there is room for one byte: a draft with more is refused.
fn byte(n: usize) -> u8 {
    u8::try_from(n).expect("few attributes with very many values, of short names")
}

/// A count of which there is room for two bytes: a draft with more is refused.
fn short(n: usize) -> u16 {
    u16::try_from(n).expect("few attributes, and a short name")
}
