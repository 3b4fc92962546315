//! What a directory tells whoever keeps a copy of it (RFC 4533), word by word.

use duramen_directory::{News, Progress, Requester, Sink, Standing};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::SyncRequest;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{Control, ResultCode, Scope, SearchRequest};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

/// A word, as a test keeps it.
pub trait Word {
    fn entry(name: &str, attributes: &[&[u8]], controls: List<'_, Control<'_>>) -> Self;
    fn info(value: &[u8]) -> Self;
    fn ended(code: ResultCode, text: String) -> Self;
}

/// Keeps the words of a search.
struct Ear<W>(Vec<W>);

impl<W: Word> Sink for Ear<W> {
    fn entry(&mut self, name: &str, attributes: &[&[u8]], controls: List<'_, Control<'_>>) {
        self.0.push(W::entry(name, attributes, controls));
    }

    fn reference(&mut self, _: List<'_, &str>, _: List<'_, Control<'_>>) {
        panic!("with ManageDsaIT there are none");
    }

    fn info(&mut self, value: &[u8]) {
        self.0.push(W::info(value));
    }

    fn is_full(&self) -> bool {
        false
    }
}

/// The value of a control.
pub fn value<'c>(controls: List<'c, Control<'c>>, number: &str) -> &'c [u8] {
    controls.iter().find(|control| control.oid == number).and_then(|control| control.value).expect("a value")
}

/// What a directory says to who asks by a cookie, with one more control or none, and what goes on from there.
pub fn ask<W: Word>(sample: &Sample, cookie: &[u8], more: Option<Control<'_>>) -> (Vec<W>, Option<Standing>) {
    ask_below(sample, BASE, cookie, more)
}

/// As [`ask`], of what is below a name.
pub fn ask_below<W: Word>(
    sample: &Sample,
    base: &str,
    cookie: &[u8],
    more: Option<Control<'_>>,
) -> (Vec<W>, Option<Standing>) {
    let (mut value, mut buffer, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
    let cookie = Some(cookie).filter(|cookie| !cookie.is_empty());
    SyncRequest { persists: true, cookie, reload_hint: false }.encode(&mut value);
    let sync = Control { oid: oid::SYNC_REQUEST, critical: true, value: Some(&value) };
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    let request = SearchRequest {
        attributes: List::build(&mut attributes, ["*", "+"]),
        ..SearchRequest::new(base, Scope::Subtree, filter.as_filter())
    };
    let controls = List::build(&mut buffer, [sync, control(oid::MANAGE_DSA_IT)].into_iter().chain(more));
    let mut ear = Ear(Vec::new());
    let mut search = match sample.directory.search(&Requester::internal(), &request, controls) {
        Ok(search) => search,
        Err(failure) => return (vec![W::ended(failure.code, failure.diagnostic)], None),
    };
    assert!(matches!(search.run(&mut ear), Progress::Persists));
    (ear.0, search.stand())
}

/// What has changed since.
pub fn hear<W: Word>(standing: &mut Standing) -> Vec<W> {
    let mut ear = Ear(Vec::new());
    loop {
        match standing.run(&mut ear) {
            News::Nothing => return ear.0,
            News::More => {}
            News::Ended(done) => {
                let failure = done.failure.unwrap();
                ear.0.push(W::ended(failure.code, failure.diagnostic));
                return ear.0;
            }
        }
    }
}
