//! The rows of the table: what is asked for, in which shape.

use anyhow::Result;
use duramen_ldap::Payload;
use duramen_ldap::attribute::{Assertion, Attribute};
use duramen_ldap::ber::List;
use duramen_ldap::control::{PagedResults, SortKey, SortKeys};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{
    AddRequest, Change, ChangeKind, CompareRequest, Control, Envelope, Message, MessageId, ModifyRequest, Request,
    Scope, SearchRequest, op,
};
use duramen_ldap::oid;

use crate::data::{self, EVERYONE, FIRST_UID_NUMBER, PEOPLE, mix, person, surname, uid};
use crate::load::{Work, bind_request};
use crate::server::Mode;

/// What CPU time and rate are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    Operation,
    Entry,
}

/// Makes a row's work, for so many people.
pub type Make = fn(u64) -> Box<dyn Work>;

/// A row.
pub struct Row {
    pub name: &'static str,
    pub mode: Mode,
    pub per: Per,
    pub connections: usize,
    pub outstanding: u64,
    /// At most so many operations; how many of them are compared in full.
    pub operations: u64,
    pub compared: u64,
    pub as_administrator: bool,
    /// At most as many operations as the row before it did: its work undoes that of the row before.
    pub undoes: bool,
    pub work: Make,
    /// Searches at the same time, on as many connections, and what their row is called.
    pub beside: Option<(&'static str, Make)>,
}

const MANY: u64 = u64::MAX;

const fn read(name: &'static str, connections: usize, outstanding: u64, work: Make) -> Row {
    let (mode, per) = (Mode::Durable, Per::Operation);
    Row {
        name,
        mode,
        per,
        connections,
        outstanding,
        operations: MANY,
        compared: 50,
        as_administrator: false,
        undoes: false,
        work,
        beside: None,
    }
}

const fn scan(name: &'static str, connections: usize) -> Row {
    let operations = 4 * connections as u64;
    Row { per: Per::Entry, operations, compared: 1, ..read(name, connections, 1, scans) }
}

const fn update(name: &'static str, mode: Mode, connections: usize, outstanding: u64, work: Make) -> Row {
    Row { mode, as_administrator: true, compared: 0, ..read(name, connections, outstanding, work) }
}

/// All rows, in the order in which they run: updates change what later rows find.
pub const ROWS: [Row; 38] = [
    scan("scan", 1),
    scan("scans-2", 2),
    scan("scans-4", 4),
    scan("scans-8", 8),
    scan("scans-16", 16),
    read("equality-1x1", 1, 1, equality),
    read("equality-4x1", 4, 1, equality),
    read("equality-4x16", 4, 16, equality),
    read("equality-16x1", 16, 1, equality),
    read("absent-4x1", 4, 1, |_| searches(|n| format!("(uid=nobody{n})"))),
    read("base-4x1", 4, 1, base_reads),
    read("compare-4x1", 4, 1, compares),
    read("and-4x1", 4, 1, |people| {
        searches(move |n| format!("(&(objectClass=inetOrgPerson)(uid={}))", uid(mix(n) % people)))
    }),
    read("or20-4x1", 4, 1, |people| {
        searches(move |n| {
            let one = |at| format!("(uid={})", uid(mix(n * 20 + at) % people));
            format!("(|{})", (0..20).map(one).collect::<String>())
        })
    }),
    read("not-4x1", 4, 1, |people| {
        searches(move |n| format!("(&(uid={})(!(employeeType=guest)))", uid(mix(n) % people)))
    }),
    read("initial-4x1", 4, 1, |people| searches(move |n| format!("(sn={}*)", &surname(mix(n) % people)[..4]))),
    read("any-4x1", 4, 1, |people| searches(move |n| format!("(cn=*{}*)", surname(mix(n) % people)))),
    read("sort-4x1", 4, 1, sorted),
    Row { operations: 2000, compared: 3, ..read("range-1x1", 1, 1, ranges) },
    Row { operations: 200, compared: 2, ..read("unindexed-1x1", 1, 1, unindexed) },
    Row { per: Per::Entry, compared: 0, ..read("paged-1x1", 1, 1, |_| Box::new(Pages::default())) },
    Row { compared: 0, ..read("bind-16x1", 16, 1, binds) },
    read("group-compare-4x1", 4, 1, |people| member(people, ask_member)),
    read("group-search-4x1", 4, 1, |people| {
        searches(move |n| format!("(&(cn=everyone)(member={}))", person(mix(n) % people)))
    }),
    update("group-add-1x1", Mode::Durable, 1, 1, |people| {
        member(people, |n, id, out| change_member(ChangeKind::Add, n, id, out))
    }),
    Row {
        undoes: true,
        ..update("group-delete-1x1", Mode::Durable, 1, 1, |people| {
            member(people, |n, id, out| change_member(ChangeKind::Delete, n, id, out))
        })
    },
    update("modify-1x1", Mode::Durable, 1, 1, modifies),
    update("modify-16x1", Mode::Durable, 16, 1, modifies),
    Row { operations: 20_000, ..update("add-16x1", Mode::Durable, 16, 1, |people| adds(people, 0)) },
    Row { undoes: true, ..update("delete-16x1", Mode::Durable, 16, 1, |people| deletes(people, 0)) },
    update("relaxed-modify-1x1", Mode::Relaxed, 1, 1, modifies),
    update("relaxed-modify-4x16", Mode::Relaxed, 4, 16, modifies),
    Row { operations: 50_000, ..update("relaxed-add-4x16", Mode::Relaxed, 4, 16, |people| adds(people, 1 << 30)) },
    Row { undoes: true, ..update("relaxed-delete-4x16", Mode::Relaxed, 4, 16, |people| deletes(people, 1 << 30)) },
    Row { beside: Some(("mixed-search-4x1", equality)), ..update("mixed-modify-4x1", Mode::Relaxed, 4, 1, modifies) },
    Row { beside: Some(("mixed-search-4x16", equality)), ..update("mixed-modify-4x16", Mode::Relaxed, 4, 16, modifies) },
    // How much was changed before depends on how fast it went, so there is nothing to compare any more.
    Row { compared: 0, ..read("reads-after-modifies-4x1", 4, 1, equality) },
    Row { compared: 0, ..scan("scan-after-modifies", 1) },
];

fn send(request: Request<'_>, id: MessageId, out: &mut Vec<u8>) {
    Message::new(id, request).encode(out);
}

fn parse(filter: &str) -> FilterBuf {
    FilterBuf::parse(filter).expect("the filters of the rows are right")
}

fn search_request<'a>(base: &'a str, scope: Scope, filter: &'a FilterBuf) -> SearchRequest<'a> {
    SearchRequest::new(base, scope, filter.as_filter())
}

/// Searches of the whole directory.
fn searches(filter: impl Fn(u64) -> String + 'static) -> Box<dyn Work> {
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| {
        send(Request::Search(search_request(data::SUFFIX, Scope::Subtree, &parse(&filter(n)))), id, out);
    })
}

fn equality(people: u64) -> Box<dyn Work> {
    searches(move |n| format!("(uid={})", uid(mix(n) % people)))
}

fn scans(_: u64) -> Box<dyn Work> {
    let filter = parse("(objectClass=*)");
    Box::new(move |_: u64, id: MessageId, out: &mut Vec<u8>| {
        send(Request::Search(search_request(PEOPLE, Scope::Subtree, &filter)), id, out);
    })
}

fn base_reads(people: u64) -> Box<dyn Work> {
    let filter = parse("(objectClass=*)");
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| {
        send(Request::Search(search_request(&person(mix(n) % people), Scope::Base, &filter)), id, out);
    })
}

fn compares(people: u64) -> Box<dyn Work> {
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| {
        let number = mix(n) % people;
        let value = surname(if n.is_multiple_of(2) { number } else { number + 1 });
        let assertion = Assertion { description: "sn", value: value.as_bytes() };
        send(Request::Compare(CompareRequest { name: &person(number), assertion }), id, out);
    })
}

fn sorted(people: u64) -> Box<dyn Work> {
    let mut keys = Vec::new();
    // slapd sorts by cn only if it is told how.
    let key = SortKey { description: "cn", rule: Some("2.5.13.3"), reverse: false };
    SortKeys(List::build(&mut Vec::new(), [key])).encode(&mut keys);
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| {
        let filter = parse(&format!("(sn={})", surname(mix(n) % people)));
        let control = Control { oid: oid::control::SORT_REQUEST, critical: true, value: Some(&keys) };
        let mut buffer = Vec::new();
        let operation = Request::Search(search_request(data::SUFFIX, Scope::Subtree, &filter));
        Message { id, operation, controls: List::build(&mut buffer, [control]) }.encode(out);
    })
}

fn ranges(people: u64) -> Box<dyn Work> {
    searches(move |n| {
        let first = FIRST_UID_NUMBER + mix(n) % people.saturating_sub(10).max(1);
        format!("(&(uidNumber>={first})(uidNumber<={}))", first + 9)
    })
}

fn unindexed(people: u64) -> Box<dyn Work> {
    searches(move |n| format!("(displayName={} {})", data::first_name(mix(n) % people), surname(mix(n) % people)))
}

fn binds(people: u64) -> Box<dyn Work> {
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| {
        bind_request(&person(mix(n) % people), data::PASSWORD, id, out);
    })
}

fn modifies(people: u64) -> Box<dyn Work> {
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| {
        modify(&person(mix(n) % people), ChangeKind::Replace, "description", &format!("changed {n} times"), id, out);
    })
}

fn modify(name: &str, kind: ChangeKind, description: &str, value: &str, id: MessageId, out: &mut Vec<u8>) {
    let (mut values, mut changes) = (Vec::new(), Vec::new());
    let attribute = Attribute { description, values: List::build(&mut values, [value.as_bytes()]) };
    let changes = List::build(&mut changes, [Change { kind, attribute }]);
    send(Request::Modify(ModifyRequest { name, changes }), id, out);
}

/// People who are not there yet: numbers from behind the last, and from `from` on.
fn adds(people: u64, from: u64) -> Box<dyn Work> {
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| {
        let (name, text) = (person(people + from + n), data::person_ldif(people + from + n));
        let pairs: Vec<_> = text.lines().skip(1).filter_map(|line| line.split_once(": ")).collect();
        let mut values = Vec::new();
        let mut listed = Vec::new();
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            let start = values.len();
            List::build(&mut values, same.iter().map(|(_, value)| value.as_bytes()));
            listed.push((same[0].0, start..values.len()));
        }
        let attributes = listed
            .into_iter()
            .map(|(description, range)| Attribute { description, values: List::trusted(&values[range]) });
        let mut buffer = Vec::new();
        let attributes = List::build(&mut buffer, attributes);
        send(Request::Add(AddRequest { name: &name, attributes }), id, out);
    })
}

fn deletes(people: u64, from: u64) -> Box<dyn Work> {
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| {
        send(Request::Delete(&person(people + from + n)), id, out);
    })
}

/// Of the group that everybody belongs to.
fn member(people: u64, ask: fn(u64, MessageId, &mut Vec<u8>)) -> Box<dyn Work> {
    Box::new(move |n: u64, id: MessageId, out: &mut Vec<u8>| ask(people + n, id, out))
}

fn ask_member(n: u64, id: MessageId, out: &mut Vec<u8>) {
    let value = person(n);
    let assertion = Assertion { description: "member", value: value.as_bytes() };
    send(Request::Compare(CompareRequest { name: EVERYONE, assertion }), id, out);
}

fn change_member(kind: ChangeKind, n: u64, id: MessageId, out: &mut Vec<u8>) {
    modify(EVERYONE, kind, "member", &person(n), id, out);
}

/// All people, 500 at a time.
#[derive(Default)]
struct Pages {
    cookie: Vec<u8>,
    ended: bool,
}

impl Work for Pages {
    fn request(&mut self, _: usize, _: u64, id: MessageId, out: &mut Vec<u8>) -> bool {
        if std::mem::take(&mut self.ended) {
            return false;
        }
        let filter = parse("(objectClass=*)");
        let (mut value, mut buffer) = (Vec::new(), Vec::new());
        PagedResults { size: 500, cookie: &self.cookie }.encode(&mut value);
        let control = Control { oid: oid::control::PAGED_RESULTS, critical: true, value: Some(&value) };
        let operation = Request::Search(search_request(PEOPLE, Scope::Subtree, &filter));
        Message { id, operation, controls: List::build(&mut buffer, [control]) }.encode(out);
        true
    }

    fn response(&mut self, _: usize, response: &Envelope<'_>) -> Result<()> {
        if response.tag == op::SEARCH_DONE {
            let control = response.controls()?.iter().find(|control| control.oid == oid::control::PAGED_RESULTS);
            let value = control.and_then(|control| control.value).unwrap_or_default();
            self.cookie = PagedResults::decode(value).map_or(Vec::new(), |page| page.cookie.to_vec());
            self.ended = self.cookie.is_empty();
        }
        Ok(())
    }
}
