//! A copy of what several servers change (RFC 4533, OpenLDAP's `multiprovider`): of what each of them tells, of changes of any of them,
//! and what copies of the copy are told.

use duramen_directory::ReplicaError;
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::control::{SyncInfo, SyncState};

use crate::ear::hear;
use crate::replica::{Said, ask, assert_same, begin, catch_up, context, copying, replica, take};
use crate::sample::*;

fn number(second: u8, server: u16) -> String {
    format!("202601010000{second:02}.000000Z#000000#{server:03x}#000000")
}

/// As slapd writes it, whose number is the server's.
fn cookie(server: u16, numbers: &[(u8, u16)]) -> Vec<u8> {
    let numbers: Vec<String> = numbers.iter().map(|(second, server)| number(*second, *server)).collect();
    format!("rid=001,sid={server:03x},csn={}", numbers.join(";")).into_bytes()
}

fn uuid(n: u8) -> [u8; 16] {
    [n; 16]
}

const TOP: u8 = 255;

/// The entry with this number, as it was changed at a second by a server.
fn told(state: SyncState, n: u8, (second, server): (u8, u16), cookie: Option<&[u8]>) -> Said {
    let (mut attributes, csn, second) = (Vec::new(), number(second, server), second.to_string());
    let (name, class, part, value) = match n {
        TOP => (BASE.to_string(), "domain", "dc", "example".to_string()),
        n => (format!("ou=u{n},{BASE}"), "organizationalUnit", "ou", format!("u{n}")),
    };
    let all = [
        ("objectClass", class),
        (part, &value),
        ("description", &second),
        ("entryCSN", &csn),
        ("structuralObjectClass", class),
    ];
    for (description, value) in all {
        let mut values = Vec::new();
        let values = List::build(&mut values, [value.as_bytes()]);
        let mut one = Vec::new();
        List::build(&mut one, [Attribute { description, values }]);
        attributes.extend_from_slice(&one);
    }
    Said::entry(state, uuid(n), &name, &attributes, cookie)
}

fn present_until(cookie: &[u8]) -> Said {
    Said::info(&SyncInfo::RefreshPresent { cookie: Some(cookie), done: true })
}

/// A copy of the entries 1, which the server 1 has changed, and 2, which 2 has; and who follows.
fn filled() -> (Sample, duramen_directory::Replica) {
    let copy = copying();
    let mut replica = replica(&copy);
    begin(&mut replica);
    let add = |n, at| told(SyncState::Add, n, at, None);
    let end = cookie(1, &[(3, 1), (2, 2)]);
    take(&mut replica, &[add(TOP, (1, 1)), add(1, (3, 1)), add(2, (2, 2)), present_until(&end)]).unwrap();
    (copy, replica)
}

fn seconds(copy: &Sample) -> Vec<String> {
    let found = copy.search(BASE, "(ou=u*)", &Ask::default()).unwrap();
    let value = |name: &str| copy.read(name, &["description"]).values("description")[0].to_string();
    let mut all: Vec<String> = found.names().iter().map(|name| format!("{} {}", &name[3..5], value(name))).collect();
    all.sort_unstable();
    all
}

#[test]
fn what_is_told_of_a_change_of_one_server_leaves_what_is_known_of_others() {
    let (copy, mut replica) = filled();
    assert_eq!(context(&copy), [number(3, 1), number(2, 2)]);
    let change =
        |n, second, server| told(SyncState::Modify, n, (second, server), Some(&cookie(1, &[(second, server)])));
    take(&mut replica, &[change(1, 5, 2), change(2, 6, 1)]).unwrap();
    assert_eq!(
        (context(&copy), seconds(&copy)),
        (vec![number(6, 1), number(5, 2)], vec!["u1 5".into(), "u2 6".into()])
    );
    // An older one of the same server, by way of the other.
    take(&mut replica, &[change(2, 4, 1)]).unwrap();
    assert_eq!(
        (context(&copy), seconds(&copy)),
        (vec![number(6, 1), number(5, 2)], vec!["u1 5".into(), "u2 6".into()])
    );
    // The provider would not tell of its own changes whoever asks under its own number.
    assert_eq!(begin(&mut replica), format!("rid=001,csn={};{}", number(6, 1), number(5, 2)).as_bytes());
}

#[test]
fn what_a_provider_has_not_heard_of_yet_neither_goes_nor_goes_back_nor_comes_again() {
    let (copy, mut replica) = filled();
    let of_one = |state, n, second| told(state, n, (second, 1), Some(&cookie(1, &[(second, 1)])));
    let changes = [of_one(SyncState::Modify, 1, 5), of_one(SyncState::Add, 3, 6), of_one(SyncState::Delete, 2, 7)];
    take(&mut replica, &changes).unwrap();
    assert_eq!(seconds(&copy), ["u1 5", "u3 6"]);
    // The other one has made a change, and not heard of these.
    begin(&mut replica);
    let add = |n, at| told(SyncState::Add, n, at, None);
    let end = cookie(2, &[(3, 1), (8, 2)]);
    let said = [add(TOP, (1, 1)), add(1, (3, 1)), add(2, (2, 2)), add(4, (8, 2)), present_until(&end)];
    take(&mut replica, &said).unwrap();
    assert_eq!(
        (seconds(&copy), context(&copy)),
        (vec!["u1 5".into(), "u3 6".into(), "u4 8".into()], vec![number(7, 1), number(8, 2)])
    );
    // Nor does what it says is there, and is gone, come again; but what is lacking is asked for.
    let (kept, behind) = (context(&copy), cookie(2, &[(3, 1), (9, 2)]));
    begin(&mut replica);
    let ids = Said::ids(false, &[TOP, 1, 2, 4].map(uuid));
    take(&mut replica, &[ids.clone(), present_until(&behind)]).unwrap();
    assert_eq!((seconds(&copy), context(&copy) > kept), (vec!["u1 5".into(), "u3 6".into(), "u4 8".into()], true));
    begin(&mut replica);
    let again = take(&mut replica, &[ids, present_until(&cookie(2, &[(7, 1), (9, 2)]))]).unwrap_err();
    assert!(matches!(again, ReplicaError::Again(_)), "{again}");
    let mut replica = crate::replica::replica(&copy);
    // What it knows of, and does not have, is gone.
    begin(&mut replica);
    let end = cookie(2, &[(7, 1), (9, 2)]);
    take(&mut replica, &[add(TOP, (1, 1)), add(1, (5, 1)), add(4, (8, 2)), present_until(&end)]).unwrap();
    assert_eq!(
        (seconds(&copy), context(&copy)),
        (vec!["u1 5".into(), "u4 8".into()], vec![number(7, 1), number(9, 2)])
    );
}

#[test]
fn copies_of_the_copy_are_told_what_they_have_not_heard_of_wherever_they_were_before() {
    let ((one, mut replica_of_one), (other, mut replica_of_other)) = (filled(), filled());
    let last = copying();
    let mut below = replica(&last);
    catch_up(&mut below, &one);
    assert_same(&last, &one, "all");
    assert_eq!(context(&last), context(&one));
    let change =
        |n, second, server| told(SyncState::Modify, n, (second, server), Some(&cookie(1, &[(second, server)])));
    // Both copies come to be as of the same moment by other ways.
    take(&mut replica_of_one, &[change(1, 5, 1)]).unwrap();
    take(&mut replica_of_other, &[change(2, 4, 2), change(1, 5, 1)]).unwrap();
    catch_up(&mut below, &one);
    let (said, standing) = ask(&other, &begin(&mut below));
    take(&mut below, &said).unwrap();
    assert_eq!(seconds(&last), ["u1 5", "u2 4"]);
    assert_same(&last, &other, "of the other");
    assert_eq!(context(&last), context(&other));
    // Whoever waits hears of each, and of what is known when nothing else has changed.
    let mut standing = standing.unwrap();
    assert_eq!(hear::<Said>(&mut standing).len(), 0);
    take(&mut replica_of_other, &[change(2, 7, 1)]).unwrap();
    take(&mut below, &hear(&mut standing)).unwrap();
    assert_eq!((seconds(&last), context(&last)), (vec!["u1 5".into(), "u2 7".into()], context(&other)));
    take(&mut replica_of_other, &[Said::info(&SyncInfo::NewCookie(&cookie(1, &[(9, 2)])))]).unwrap();
    take(&mut below, &hear(&mut standing)).unwrap();
    assert_eq!((context(&last), context(&last)), (vec![number(7, 1), number(9, 2)], context(&other)));
    // By what it has now it is told of nothing at all.
    let told = ask(&other, &begin(&mut below)).0;
    assert_eq!(told.len(), 1, "{told:?}");
    // And where it was, what it missed.
    take(&mut replica_of_one, &[change(2, 4, 2), change(2, 7, 1)]).unwrap();
    catch_up(&mut below, &one);
    assert_eq!(seconds(&last), ["u1 5", "u2 7"]);
    assert_eq!(context(&last), [number(7, 1), number(9, 2)]);
}

/// Two copies, of which one has heard from another provider what the second has not: the entry 3, which came and went.
struct Ahead {
    behind: (Sample, duramen_directory::Replica),
    last: (Sample, duramen_directory::Replica),
}

fn ahead() -> Ahead {
    let (behind, last) = (filled(), filled());
    let mut all = Ahead { behind, last };
    let come = told(SyncState::Add, 3, (5, 2), Some(&cookie(1, &[(5, 2)])));
    take(&mut all.last.1, &[come]).unwrap();
    assert_eq!(seconds(&all.last.0), ["u1 3", "u2 2", "u3 5"]);
    all
}

/// What the provider of a copy tells that was away while the entry 3 came and went.
fn without_it(replica: &mut duramen_directory::Replica) {
    begin(replica);
    let change = told(SyncState::Add, 1, (8, 1), None);
    let end = Said::info(&SyncInfo::RefreshDelete { cookie: Some(&cookie(1, &[(8, 1), (7, 2)])), done: true });
    take(replica, &[change, end]).unwrap();
}

#[test]
fn what_came_and_went_before_the_provider_of_a_copy_heard_of_it_goes_there_too() {
    let Ahead { behind: (middle, mut of_middle), last: (last, mut of_last) } = ahead();
    without_it(&mut of_middle);
    let said = ask(&middle, &begin(&mut of_last)).0;
    // What is as it was is not sent again.
    assert_eq!(said.iter().filter(|said| matches!(said, Said::Entry(..))).count(), 1, "{said:?}");
    take(&mut of_last, &said).unwrap();
    assert_eq!(seconds(&last), ["u1 8", "u2 2"]);
    assert_same(&last, &middle, "of what there is");
    assert_eq!(context(&last), context(&middle));
}

#[test]
fn what_came_and_went_before_a_provider_heard_of_it_that_is_followed_goes_too() {
    let Ahead { behind: (middle, mut of_middle), last: (last, mut of_last) } = ahead();
    let (said, standing) = ask(&middle, &begin(&mut of_last));
    take(&mut of_last, &said).unwrap();
    assert_eq!(seconds(&last), ["u1 3", "u2 2", "u3 5"], "the provider has not heard of it yet");
    without_it(&mut of_middle);
    let again = take(&mut of_last, &hear(&mut standing.unwrap())).unwrap_err();
    assert!(matches!(again, ReplicaError::Again(_)), "{again}");
    catch_up(&mut of_last, &middle);
    assert_same(&last, &middle, "of what there is");
    assert_eq!(context(&last), context(&middle));
}

#[test]
fn who_hears_of_each_change_tells_who_was_ahead_of_it_only_what_has_changed() {
    let Ahead { behind: (middle, mut of_middle), last: (last, mut of_last) } = ahead();
    let (said, standing) = ask(&middle, &begin(&mut of_last));
    take(&mut of_last, &said).unwrap();
    let of_two = |state, second| told(state, 3, (second, 2), Some(&cookie(1, &[(second, 2)])));
    begin(&mut of_middle);
    let end = Said::info(&SyncInfo::RefreshDelete { cookie: None, done: true });
    take(&mut of_middle, &[end, of_two(SyncState::Add, 5)]).unwrap();
    let mut standing = standing.unwrap();
    take(&mut of_last, &hear(&mut standing)).unwrap();
    take(&mut of_middle, &[of_two(SyncState::Delete, 7)]).unwrap();
    take(&mut of_last, &hear(&mut standing)).unwrap();
    assert_same(&last, &middle, "of what there is");
    assert_eq!((seconds(&last), context(&last)), (vec!["u1 3".into(), "u2 2".into()], context(&middle)));
}

#[test]
fn what_came_and_went_before_a_slapd_heard_of_it_that_is_followed_goes_too() {
    let Ahead { last: (last, mut of_last), .. } = ahead();
    begin(&mut of_last);
    let news = |second, server| Said::info(&SyncInfo::NewCookie(&cookie(1, &[(second, server)])));
    let end = cookie(1, &[(3, 1), (2, 2)]);
    let end = Said::info(&SyncInfo::RefreshDelete { cookie: Some(&end), done: true });
    take(&mut of_last, &[end, news(8, 1), news(4, 2)]).unwrap();
    let again = take(&mut of_last, &[news(7, 2)]).unwrap_err();
    assert!(matches!(again, ReplicaError::Again(_)), "{again}");
    assert_eq!(begin(&mut of_last), b"");
    let add = |n, at| told(SyncState::Add, n, at, None);
    let end = cookie(1, &[(8, 1), (7, 2)]);
    take(&mut of_last, &[add(TOP, (1, 1)), add(1, (3, 1)), add(2, (2, 2)), present_until(&end)]).unwrap();
    assert_eq!(
        (seconds(&last), context(&last)),
        (vec!["u1 3".into(), "u2 2".into()], vec![number(8, 1), number(7, 2)])
    );
}
