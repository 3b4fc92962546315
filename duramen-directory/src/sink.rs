//! Where a search's answers go.

use duramen_ldap::ber::List;
use duramen_ldap::message::Control;

/// Takes what a search finds. The server's appends messages to a connection's buffer
/// (`duramen_ldap::message::write_search_entry`), so that an entry asked for whole is one copy from the map.
pub trait Sink {
    /// An entry: its name, and its attributes encoded, in one piece or several that follow each other.
    fn entry(&mut self, name: &str, attributes: &[&[u8]], controls: List<'_, Control<'_>>);

    /// As [`Sink::entry`], with attributes of `bytes` bytes behind the others, which `write` appends: very many values are
    /// copied once so. If it returns false it has not appended so many, nothing is taken, and false is returned.
    fn large_entry(
        &mut self,
        name: &str,
        attributes: &[&[u8]],
        _bytes: usize,
        write: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> bool {
        let mut rest = Vec::new();
        let is_right = write(&mut rest);
        if is_right {
            self.entry(name, &[attributes, &[&rest]].concat(), List::default());
        }
        is_right
    }

    /// Other servers to be asked.
    fn reference(&mut self, urls: List<'_, &str>, controls: List<'_, Control<'_>>);

    /// What is said between entries to clients that bring a copy up to date: the value of an intermediate response
    /// (RFC 4533 section 2.5).
    fn info(&mut self, _value: &[u8]) {}

    /// Whether the search has to pause: what there is has to be sent first.
    fn is_full(&self) -> bool;
}

/// An entry that was collected: its name, and its attributes encoded.
pub type Collected = (String, Vec<u8>);

/// A sink that keeps everything, for tools and tests.
#[derive(Debug, Default)]
pub struct Entries {
    /// Entries in the order in which they were found.
    pub entries: Vec<Collected>,
    /// References in the order in which they were found: the URLs of each.
    pub references: Vec<Vec<String>>,
}

impl Sink for Entries {
    fn entry(&mut self, name: &str, attributes: &[&[u8]], _: List<'_, Control<'_>>) {
        self.entries.push((name.to_string(), attributes.concat()));
    }

    fn reference(&mut self, urls: List<'_, &str>, _: List<'_, Control<'_>>) {
        self.references.push(urls.iter().map(str::to_string).collect());
    }

    fn is_full(&self) -> bool {
        false
    }
}

/// A sink that keeps nothing.
pub(crate) struct Nowhere;

impl Sink for Nowhere {
    fn entry(&mut self, _: &str, _: &[&[u8]], _: List<'_, Control<'_>>) {}

    fn reference(&mut self, _: List<'_, &str>, _: List<'_, Control<'_>>) {}

    fn is_full(&self) -> bool {
        false
    }
}
