//! What servers answered, in a form that can be compared: both have to have done the same work.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use anyhow::Result;
use duramen_ldap::message::{Envelope, MessageId, Response};

use crate::load::Work;

/// A sum over answers, whatever their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answers {
    pub entries: u64,
    pub values: u64,
    pub value_bytes: u64,
    /// Of names, attributes, values and result codes.
    sum: u64,
}

/// Passes work on, and adds up the answers.
pub struct Compared<'w> {
    pub work: &'w mut dyn Work,
    pub answers: Answers,
}

impl Work for Compared<'_> {
    fn request(&mut self, connection: usize, n: u64, id: MessageId, out: &mut Vec<u8>) -> bool {
        self.work.request(connection, n, id, out)
    }

    fn response(&mut self, connection: usize, envelope: &Envelope<'_>) -> Result<()> {
        let response = envelope.response()?;
        if let Response::SearchEntry(entry) = &response {
            self.answers.entries += 1;
            for attribute in entry.attributes {
                let description = attribute.description.to_ascii_lowercase();
                for value in attribute.values {
                    self.answers.values += 1;
                    self.answers.value_bytes += value.len() as u64;
                    self.add(&(entry.name.to_ascii_lowercase(), &description, value));
                }
            }
        }
        if let Some(result) = response.result() {
            self.add(&result.code.0);
        }
        self.work.response(connection, envelope)
    }
}

impl Compared<'_> {
    fn add(&mut self, what: &impl Hash) {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        self.answers.sum = self.answers.sum.wrapping_add(hasher.finish());
    }
}
