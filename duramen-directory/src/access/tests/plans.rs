//! What a plan says of all entries holds for each.

use proptest::prelude::*;

use super::super::{Known, Level, What};
use super::world::{ENTRIES, World};
use super::{ALICE, BOB};

const PARTS: [&str; 6] = ["entry", "children", "cn", "userPassword", "manager", "mail"];
const LEVELS: [Level; 6] = [Level::Disclose, Level::Auth, Level::Search, Level::Read, Level::Write, Level::Manage];

#[test]
fn what_depends_on_no_entry_is_known_for_all_at_once() {
    let world = World::new(super::super::STANDARD);
    let plan = world.plan(ALICE);
    let password = Some(world.attribute("userPassword"));
    assert_eq!(plan.everywhere(Some(world.attribute("cn")), Level::Read), Some(true));
    assert_eq!(plan.everywhere(None, Level::Search), Some(true));
    assert_eq!(plan.everywhere(None, Level::Write), Some(false));
    assert_eq!(plan.everywhere(password, Level::Read), Some(false), "not even the own one");
    assert_eq!(plan.everywhere(password, Level::Write), None, "the own one, no other");
    assert_eq!(world.plan("").everywhere(password, Level::Auth), Some(true));
    assert!(!plan.reads_everything());
    let open = World::new("access to * by self write by users read by * none");
    assert!(open.plan(BOB).reads_everything(), "self and users both read");
}

#[test]
fn a_group_is_asked_about_once_for_all_entries() {
    let world = World::new("access to * by group=\"cn=team,ou=groups,dc=example,dc=com\" write by * read");
    assert_eq!(world.plan(ALICE).everywhere(None, Level::Write), Some(true));
    assert_eq!(world.plan(BOB).everywhere(None, Level::Write), Some(false));
}

proptest! {
    #[test]
    fn what_is_said_of_all_entries_holds_for_each(rules in super::slapacl::rules(), who in 0usize..3) {
        let world = World::new(&rules);
        let who = ["", ALICE, BOB][who];
        let plan = world.plan(who);
        let known = ENTRIES.iter().map(|_| Known::default()).collect::<Vec<_>>();
        for (part, level) in PARTS.iter().flat_map(|part| LEVELS.iter().map(move |level| (*part, *level))) {
            let attribute = match world.what(part) {
                What::Children => continue,
                What::Entry => None,
                What::Attribute(attribute, _) => Some(attribute),
            };
            if let Some(everywhere) = plan.everywhere(attribute, level) {
                for (entry, _) in ENTRIES {
                    prop_assert_eq!(everywhere, world.granted(who, entry, part).allow(level), "{} {} {}", part, level, entry);
                }
            }
            for ((entry, _), known) in ENTRIES.iter().zip(&known) {
                let granted = world.granted(who, entry, part);
                let again = world.allows_again(&plan, entry, world.what(part), level, known);
                prop_assert_eq!(again, granted.allow(level), "{} {} {}", part, level, entry);
                prop_assert_eq!(world.allows(who, entry, world.what(part), level), granted.allow(level));
                prop_assert_eq!(world.explain(who, entry, part).privileges, granted);
            }
        }
    }
}
