//! Virtual list views: windows of all people in the order of a rule, beside slapd's overlay.

use duramen_ldap::message::{Deref, Scope};

use crate::controls::{Control, Kind, Target};
use crate::request::{Operation, Request, Search};
use crate::servers::SUFFIX;
use crate::{World, world};

/// How many people there are.
const PEOPLE: u32 = 9;

fn view(before: u32, after: u32, target: Target, reverse: bool) -> Request {
    let search = Operation::Search(Search {
        base: format!("ou=people,{SUFFIX}"),
        scope: Scope::One,
        deref: Deref::Never,
        filter: "(objectClass=inetOrgPerson)".into(),
        attributes: vec!["uid".into()],
        size_limit: 0,
        types_only: false,
    });
    let order = Kind::Sort(vec![("uid", Some("caseIgnoreOrderingMatch"), reverse)]);
    let controls = [order, Kind::ListView(before, after, target)].map(|kind| Control { kind, critical: true });
    Request { controls: controls.to_vec(), ..Request::from(search) }
}

fn targets() -> impl Iterator<Item = Target> {
    let offsets = (1..=PEOPLE + 2)
        .flat_map(|offset| [0, 1, 2, 3, PEOPLE - 1, PEOPLE, PEOPLE + 3].map(|count| Target::Offset(offset, count)));
    offsets.chain(["", "a", "alice", "BOB", "c ", "eve", "ivan", "zoe"].map(Target::AtLeast))
}

#[test]
fn windows_are_where_slapd_has_them() {
    let mut world = World::with(0, "access to * by * read\n".into(), "none");
    let mut administrator = world.administrator();
    for request in world::entries() {
        let answers = administrator.ask(&request);
        assert_eq!((answers.0.code, answers.1.code), (0, 0), "{request}");
    }
    let mut shown = 0;
    for target in targets() {
        // Of an empty window behind the last entry slapd gives that.
        let least = u32::from(matches!(target, Target::AtLeast("zoe")));
        for (before, after, reverse) in [(least, 0, false), (1, 2, false), (20, 20, false), (2, 1, true)] {
            let request = view(before, after, target.clone(), reverse);
            // slapd keeps each list that has begun on its connection, and few of them.
            let answers = world.administrator().ask(&request);
            shown += answers.1.raw.len();
            world.compare(0, "administrator", &request, &answers);
        }
    }
    assert!(world.found.is_empty(), "{}", world.found.join("\n"));
    assert!(shown > 100, "windows of {shown} entries");
}
