//! What operations cost without a server around them, on one thread: `cargo run --release --example measure -- 100000`.

use std::fmt::Write;
use std::time::Instant;

use duramen_directory::{Config, Directory, Durability, ImportEvent, ImportOptions, Progress, Requester, Sink};
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{
    AddRequest, Change, ChangeKind, Control, ModifyRequest, Request, Scope, SearchRequest, write_search_entry,
};

const BASE: &str = "dc=example,dc=com";

/// Writes messages as a server does, and throws them away.
#[derive(Default)]
struct Messages {
    out: Vec<u8>,
    entries: u64,
}

impl Sink for Messages {
    fn entry(&mut self, name: &str, attributes: &[&[u8]], controls: List<'_, Control<'_>>) {
        if self.out.len() > 1 << 18 {
            self.out.clear();
        }
        write_search_entry(&mut self.out, 2, name, attributes.iter().copied(), controls);
        self.entries += 1;
    }

    fn reference(&mut self, _: List<'_, &str>, _: List<'_, Control<'_>>) {}

    fn is_full(&self) -> bool {
        false
    }
}

fn people(count: u32) -> String {
    let mut text = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    text += &format!("dn: ou=People,{BASE}\nobjectClass: organizationalUnit\nou: People\n\n");
    for n in 0..count {
        let (first, last) = (n % 997, n / 7 % 4999);
        write!(
            text,
            "dn: uid=user{n},ou=People,{BASE}\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\nuid: user{n}\n\
             cn: First{first} Last{last} {n}\nsn: Last{last}\ngivenName: First{first}\nmail: user{n}@example.com\n\
             telephoneNumber: +1 555 {n:07}\nuidNumber: {}\ngidNumber: 100\nhomeDirectory: /home/user{n}\n\
             loginShell: /bin/bash\nemployeeNumber: {n}\ntitle: Engineer of the {first}th kind\nl: Springfield\n\
             description: Somebody who works here since the year {} and is described by a line of this length\n\
             userPassword: {{SSHA}}0123456789012345678901234567890123456789\n\n",
            1000 + n,
            1950 + n % 70
        )
        .expect("a string takes whatever is written to it");
    }
    text
}

/// Time that this thread has had on a processor, in nanoseconds, where the system tells; it does not depend on what else
/// runs.
fn on_processor() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

fn timed(what: &str, count: u64, work: impl FnOnce()) {
    let (begun, before) = (Instant::now(), on_processor());
    work();
    let wall = begun.elapsed().as_nanos() as f64 / count as f64;
    let processor = before.zip(on_processor()).map_or(0.0, |(before, now)| (now - before) as f64 / count as f64);
    println!("{what:<44} {processor:>10.0} ns of processor, {wall:>12.0} ns in all");
}

fn search(directory: &Directory, requester: &Requester, filter: &str, sink: &mut Messages) -> String {
    let filter = FilterBuf::parse(filter).expect("a filter");
    let request = SearchRequest::new(BASE, Scope::Subtree, filter.as_filter());
    let mut search = directory.search(requester, &request, List::default()).expect("a search");
    let Progress::Done(done) = search.run(sink) else { panic!("this sink is never full") };
    assert!(done.failure.is_none(), "{:?}", done.failure);
    search.plan()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u32 = std::env::args().nth(1).map_or(Ok(20_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let config = Config { suffixes: vec![BASE.into()], durability: Durability::Relaxed, ..Config::default() };
    let directory = Directory::open(folder.path(), config)?;
    let text = people(count);
    let total = u64::from(count);
    println!("{count} people, {} bytes of LDIF each", text.len() / count as usize);
    let begun = Instant::now();
    let mut read = None;
    let imported = directory.import("people", &mut text.as_bytes(), ImportOptions::default(), &mut |event| {
        if let ImportEvent::Indexed { .. } = event {
            read.get_or_insert_with(|| begun.elapsed());
        }
        true
    })?;
    println!("import: {} entries in {:.2?}, the index from {:.2?} on", imported.entries, begun.elapsed(), read);
    println!("file: {} bytes an entry", directory.database().stats()?.file_bytes / total);
    reads(&directory, count);
    writes(&directory, count);
    Ok(())
}

fn reads(directory: &Directory, count: u32) {
    let anonymous = Requester::anonymous(Requester::internal().peer.clone(), 0);
    let mut sink = Messages::default();
    for (who, requester) in [("administrator", Requester::internal()), ("anonymous", anonymous)] {
        let mut random = fastrand::Rng::with_seed(1);
        let rounds = 100_000u64;
        timed(&format!("equality, {who}"), rounds, || {
            for _ in 0..rounds {
                search(directory, &requester, &format!("(uid=user{})", random.u32(..count)), &mut sink);
            }
        });
        sink.entries = 0;
        timed(&format!("all entries, {who}"), u64::from(count), || {
            search(directory, &requester, "(objectClass=*)", &mut sink);
        });
        assert_eq!(sink.entries, u64::from(count) + 2);
    }
    let administrator = Requester::internal();
    for (filter, per_entry) in [
        ("(uid=nobody)", false),
        ("(&(objectClass=person)(uid=user77))", false),
        ("(&(uidNumber>=2000)(uidNumber<=2009))", false),
        ("(sn=last12*)", false),
        ("(cn=*ast7 *)", false),
        ("(title=nothing)", true),
        ("(!(title=*))", true),
    ] {
        let rounds = if per_entry { 3 } else { 300 };
        let plan = search(directory, &administrator, filter, &mut sink);
        let each = if per_entry { u64::from(count) } else { 1 };
        timed(filter, rounds * each, || {
            for _ in 0..rounds {
                search(directory, &administrator, filter, &mut sink);
            }
        });
        println!("    {plan}");
    }
}

fn writes(directory: &Directory, count: u32) {
    let administrator = Requester::internal();
    let mut random = fastrand::Rng::with_seed(2);
    let rounds = 5_000u64;
    timed("modify of description, relaxed", rounds, || {
        for round in 0..rounds {
            let name = format!("uid=user{},ou=People,{BASE}", random.u32(..count));
            let (mut values, mut changes) = (Vec::new(), Vec::new());
            let value = format!("changed {round}");
            let attribute =
                Attribute { description: "description", values: List::build(&mut values, [value.as_bytes()]) };
            let changes = List::build(&mut changes, [Change { kind: ChangeKind::Replace, attribute }]);
            let request = Request::Modify(ModifyRequest { name: &name, changes });
            directory.update(&administrator, &request, List::default()).expect("a modify");
        }
    });
    timed("add, relaxed", rounds, || {
        for round in 0..rounds {
            let name = format!("uid=new{round},ou=People,{BASE}");
            let (uid, mail, cn) =
                (format!("new{round}"), format!("new{round}@example.com"), format!("New Person {round}"));
            let described: [(&str, &[&[u8]]); 6] = [
                ("objectClass", &[b"inetOrgPerson"]),
                ("uid", &[uid.as_bytes()]),
                ("cn", &[cn.as_bytes()]),
                ("sn", &[b"Person"]),
                ("givenName", &[b"New"]),
                ("mail", &[mail.as_bytes()]),
            ];
            let mut values = vec![Vec::new(); described.len()];
            let attributes: Vec<Attribute<'_>> = described
                .iter()
                .zip(&mut values)
                .map(|((description, list), buffer)| Attribute {
                    description,
                    values: List::build(buffer, list.iter().copied()),
                })
                .collect();
            let mut buffer = Vec::new();
            let request = AddRequest { name: &name, attributes: List::build(&mut buffer, attributes) };
            directory.update(&administrator, &Request::Add(request), List::default()).expect("an add");
        }
    });
}
