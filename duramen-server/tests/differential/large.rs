//! Groups of so many members that duramend keeps these outside of the entry: who may search and read which of them.

use duramen_ldap::message::{Deref, Scope};

use crate::request::{Bytes, Operation, Request, Search};
use crate::servers::SUFFIX;
use crate::{USERS, World, world};

const MEMBERS: usize = 600;

/// What stands in front of "access to * by * read".
const RULES: [&str; 8] = [
    "access to attrs=member by * none\n",
    "access to attrs=member by * compare\n",
    "access to attrs=member by users search\n",
    "access to attrs=member by dnattr=member read\n",
    "access to attrs=member by dnattr=member selfread by users search\n",
    "access to attrs=member val.regex=\"^uid=u\" by users read\naccess to attrs=member by * none\n",
    "access to dn.exact=\"cn=all,ou=groups,dc=example,dc=com\" attrs=member by dn.regex=\"^uid=alice\" =s by * none\n",
    "access to filter=(member=uid=u7,ou=people,dc=example,dc=com) attrs=member,description by users none by * read\n",
];

/// Filters, `WHO` for somebody's name.
const FILTERS: [&str; 8] = [
    "(member=WHO)",
    "(&(cn=all)(member=WHO))",
    "(!(member=WHO))",
    "(&(objectClass=groupOfNames)(!(member=WHO)))",
    "(|(description=x)(member=WHO))",
    "(member:distinguishedNameMatch:=WHO)",
    "(member=*)",
    "(!(member=*))",
];

fn person(uid: &str) -> String {
    format!("uid={uid},ou=people,{SUFFIX}")
}

/// The request that adds the group: alice and bob are among its members, carol is not.
fn group() -> Request {
    let others = (0..MEMBERS).map(|n| format!("u{n}"));
    let members = ["alice", "bob"].map(String::from).into_iter().chain(others);
    let member = members.map(|uid| Bytes::from(person(&uid).as_str())).collect();
    let one = |name: &str, value: &str| (name.to_owned(), vec![Bytes::from(value)]);
    Request::from(Operation::Add {
        name: format!("cn=all,ou=groups,{SUFFIX}"),
        attributes: vec![one("objectClass", "groupOfNames"), one("cn", "all"), ("member".into(), member)],
    })
}

fn search(filter: String, attribute: &str) -> Request {
    Request::from(Operation::Search(Search {
        base: format!("ou=groups,{SUFFIX}"),
        scope: Scope::Subtree,
        deref: Deref::Never,
        filter,
        attributes: vec![attribute.to_owned()],
        size_limit: 0,
        types_only: false,
    }))
}

fn searches() -> impl Iterator<Item = Request> {
    let names = ["alice", "bob", "carol", "u7"].map(person);
    let filters = FILTERS.iter().flat_map(move |filter| names.clone().map(|name| filter.replace("WHO", &name)));
    filters.flat_map(|filter| ["cn", "member"].map(|attribute| search(filter.clone(), attribute)))
}

#[test]
fn members_of_large_groups_are_found_and_read_by_whom_slapd_lets() {
    let mut found = 0;
    for rules in RULES {
        let open = "access to attrs=userPassword by anonymous auth by * none\n";
        let mut world = World::with(0, format!("{open}{rules}access to * by * read\n"), "none");
        let mut administrator = world.administrator();
        for request in world::entries().into_iter().chain([group()]) {
            let answers = administrator.ask(&request);
            assert_eq!((answers.0.code, answers.1.code), (0, 0), "{request}");
        }
        for (who, binds) in USERS {
            let mut pair = world.user(who, binds);
            for (n, request) in searches().enumerate() {
                let answers = pair.ask(&request);
                world.compare(n, who, &request, &answers);
                found += answers.1.entries.len();
            }
        }
        assert!(world.found.is_empty(), "{rules}{}", world.found.join("\n"));
    }
    assert!(found > 0, "nothing is found");
}
