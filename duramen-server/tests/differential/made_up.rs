//! Who sees the root DSE, the schema and what is counted: rules of the frontend, of a database and of the database monitor, as they
//! stand in slapd.conf, for both.

use duramen_ldap::message::{Deref, Scope};

use crate::request::{Bytes, Operation, Request, Search};
use crate::servers::{Duramend, SUFFIX, Slapd};
use crate::{World, world};

/// Rules of the frontend, of the database and of the database monitor.
const RULES: [[&str; 3]; 8] = [
    ["", "access to * by users read by * none\n", "access to * by users read\n"],
    ["", "access to dn.subtree=\"dc=example,dc=com\" by users read by anonymous auth\n", "access to * by * read\n"],
    [
        "access to dn.base=\"\" by * read\naccess to dn.base=\"cn=Subschema\" by * read\n",
        "access to * by users read by anonymous auth\n",
        "access to dn.subtree=\"cn=Monitor\" by dn.exact=\"uid=alice,ou=people,dc=example,dc=com\" read by * none\n",
    ],
    [
        "access to dn.base=\"\" attrs=entry,objectClass,namingContexts by * read\naccess to * by users read\n",
        "access to * by * read\n",
        "",
    ],
    [
        "access to dn.base=\"\" by * =csd\naccess to dn.base=\"cn=Subschema\" by users read\n",
        "access to * by * read\n",
        "",
    ],
    ["access to * by users read\n", "access to dn.base=\"\" by * none\naccess to * by * read\n", ""],
    [
        "access to attrs=entry,objectClass,cn by * read\n",
        "access to * by anonymous auth by * read\n",
        "access to dn.base=\"cn=Connections,cn=Monitor\" by users read\naccess to dn.base=\"cn=Monitor\" by * search\n",
    ],
    ["", "access to * by * read\n", "access to dn.children=\"cn=Monitor\" by * disclose\naccess to * by users read\n"],
];

/// Names, filters, and what is read of the entries and is the same in both.
const ASKED: [(&str, &str, &[&str]); 10] = [
    ("", "(objectClass=*)", &["namingContexts", "supportedLDAPVersion"]),
    ("", "(namingContexts=dc=example,dc=com)", &["supportedLDAPVersion"]),
    ("cn=Subschema", "(objectClass=*)", &["objectClass", "cn"]),
    ("cn=subschema", "(cn=Subschema)", &["cn"]),
    ("commonName=Subschema", "(objectClass=subschema)", &["cn"]),
    ("cn=Monitor", "(objectClass=*)", &["cn"]),
    ("commonName=monitor", "(cn=Monitor)", &["cn"]),
    ("cn=Connections,cn=Monitor", "(objectClass=*)", &["cn"]),
    ("commonName=Connections,cn=monitor", "(cn=connections)", &["cn"]),
    (SUFFIX, "(objectClass=*)", &["dc", "o"]),
];

const COMPARED: [(&str, &str, &str); 6] = [
    ("", "namingContexts", SUFFIX),
    ("", "objectClass", "top"),
    ("cn=Subschema", "cn", "subschema"),
    ("cn=Subschema", "objectClass", "person"),
    ("cn=Monitor", "cn", "monitor"),
    ("cn=Connections,cn=Monitor", "cn", "other"),
];

fn requests() -> Vec<Request> {
    let searches = ASKED.iter().map(|(base, filter, attributes)| {
        Operation::Search(Search {
            base: (*base).to_owned(),
            scope: Scope::Base,
            deref: Deref::Never,
            filter: (*filter).to_owned(),
            attributes: attributes.iter().map(|name| (*name).to_owned()).collect(),
            size_limit: 0,
            types_only: false,
        })
    });
    let compares = COMPARED.iter().map(|(name, attribute, value)| Operation::Compare {
        name: (*name).to_owned(),
        attribute: (*attribute).to_owned(),
        value: Bytes::from(*value),
    });
    searches.chain(compares).map(Request::from).collect()
}

fn world([frontend, own, monitor]: [&str; 3]) -> World {
    let more = format!("database monitor\n{monitor}database frontend\n{frontend}");
    let all = format!("{frontend}database mdb\n{own}database monitor\n{monitor}");
    let (slapd, duramend) = (Slapd::start(own, "none", &more), Duramend::start(&all, "none", false, ""));
    World::on(0, all, slapd, duramend)
}

#[test]
fn the_root_dse_the_schema_and_what_is_counted_are_shown_to_whom_slapd_shows_them() {
    let (mut found, mut seen, mut hidden) = (Vec::new(), 0, 0);
    for rules in RULES {
        // Of passwords everybody is authenticated by, whatever the rules are.
        let own = format!("access to attrs=userPassword by anonymous auth\n{}", rules[1]);
        let mut world = world([rules[0], &own, rules[2]]);
        let mut administrator = world.administrator();
        for request in world::entries() {
            administrator.ask(&request);
        }
        for who in ["alice", "bob", ""] {
            let mut pair = world.user(who, false);
            for (n, request) in requests().iter().enumerate() {
                let answers = pair.ask(request);
                // None is intended here.
                if !world.compare(n, who, request, &answers) {
                    found.push(format!("{who:?}: {request}: {answers:?}\n{}", world.rules));
                }
                let is_seen = !answers.1.entries.is_empty();
                (seen, hidden) = (seen + usize::from(is_seen), hidden + usize::from(!is_seen));
            }
        }
        found.append(&mut world.found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(seen > 50 && hidden > 50, "{seen} seen, {hidden} hidden");
}
