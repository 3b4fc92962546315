//! slapd as a consumer of either type ends with what the provider has, whatever happens meanwhile.

use std::fmt::Write;

use duramen_directory::{Config, Directory, ImportOptions};

use super::consumer::{Consumer, change, change_all, change_relaxed, content, number, search};
use super::{Provider, TOP, person};
use crate::clients::said;

const KINDS: [&str; 2] = ["refreshOnly", "refreshAndPersist"];

/// Some of everything.
pub const CHANGES: &str = "dn: uid=u1,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: cn\ncn: Another\n\n\
    dn: uid=u2,ou=people,dc=example,dc=com\nchangetype: delete\n\n\
    dn: ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=staff\ndeleteoldrdn: 1\n\n\
    dn: ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\nou: people\n\n\
    dn: ou=staff,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=staff\ndeleteoldrdn: 1\nnewsuperior: ou=people,dc=example,dc=com\n\n\
    dn: uid=u3,ou=staff,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=u2\ndeleteoldrdn: 1\n\n";

fn filled(more: &str) -> Provider {
    let provider = Provider::start(more);
    let people: String = (1..=5).map(|n| person(&format!("uid=u{n},ou=people,dc=example,dc=com"))).collect();
    change_all(&provider.url(), &format!("{TOP}{people}"));
    provider
}

/// Consumers of both types that have what the provider has.
fn followers(provider: &Provider) -> [Consumer; 2] {
    KINDS.map(|kind| {
        let mut consumer = Consumer::of(provider.port, kind, "");
        consumer.start();
        consumer.wait_for(&provider.url());
        consumer
    })
}

#[test]
fn consumers_of_both_types_follow_what_happens_and_what_has_happened_while_they_were_stopped() {
    let provider = filled("");
    let mut consumers = followers(&provider);
    change_all(&provider.url(), CHANGES);
    for consumer in &mut consumers {
        consumer.wait_for(&provider.url());
        consumer.stop();
    }
    let more: String = (10..20).map(|n| person(&format!("uid=u{n},ou=people,dc=example,dc=com"))).collect();
    let changes = "dn: ou=staff,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=former\ndeleteoldrdn: 1\n\
        newsuperior: dc=example,dc=com\n\ndn: uid=u1,ou=former,dc=example,dc=com\nchangetype: delete\n\n";
    change_all(&provider.url(), &format!("{more}{changes}"));
    for consumer in &mut consumers {
        consumer.start();
        consumer.wait_for(&provider.url());
        assert!(!consumer.log().contains("REFRESH_PRESENT\ndo_syncrep2"), "only what has changed is told");
    }
}

/// It takes a kept value for deleted where the attribute stands in another place than in its own copy, as behind a rename that
/// left nothing of it.
#[test]
fn consumers_have_values_that_are_kept_from_earlier_names() {
    let provider = filled("");
    let renamed = |old: &str, new: &str, deletes: u8| {
        let base = "ou=people,dc=example,dc=com";
        format!("dn: {old},{base}\nchangetype: modrdn\nnewrdn: {new}\ndeleteoldrdn: {deletes}\n\n")
    };
    let mut consumers = followers(&provider);
    let change_and_wait = |ldif: &str| {
        change_all(&provider.url(), ldif);
        consumers.iter().for_each(|consumer| consumer.wait_for(&provider.url()));
    };
    change_and_wait(&renamed("uid=u1", "uid=a1", 1));
    change_and_wait(&renamed("uid=a1", "uid=b1", 0));
    change_and_wait(&renamed("uid=b1", "uid=c1", 0));
    consumers.iter_mut().for_each(Consumer::stop);
    change_all(&provider.url(), &format!("{}{}", renamed("uid=u2", "uid=a2", 1), renamed("uid=c1", "uid=d1", 0)));
    change_all(&provider.url(), &renamed("uid=a2", "uid=b2", 0));
    for consumer in &mut consumers {
        consumer.start();
        consumer.wait_for(&provider.url());
    }
    assert_eq!(said(&mut search(&consumers[0].url(), &["(uid=b2)", "uid"]), 0).matches("uid: ").count(), 2);
}

/// It passes over entries whose numbers are not later than the last that it has heard of, whenever they came.
#[test]
fn consumers_have_entries_that_came_with_earlier_numbers() {
    let provider = filled("");
    let mut consumers = followers(&provider);
    let early = |name: &str| {
        let entry = person(&format!("uid={name},ou=people,dc=example,dc=com"));
        format!("{}\nentryCSN: 20100101000000.000000Z#000000#000#000000\n\n", entry.trim_end())
    };
    let bring = |first: &str| {
        let directory = Directory::open(provider.daemon.path("data"), Config::default()).unwrap();
        let text = early(&format!("{first}1")) + &early(&format!("{first}2"));
        directory.import("early.ldif", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
        drop(directory);
        change_relaxed(&provider.url(), &early(&format!("{first}3")));
    };
    bring("followed");
    for consumer in &mut consumers {
        consumer.wait_for(&provider.url());
        consumer.stop();
    }
    bring("stopped");
    for consumer in &mut consumers {
        consumer.start();
        consumer.wait_for(&provider.url());
    }
}

#[test]
fn consumers_have_subentries_too() {
    let provider = filled("");
    let subentry =
        "dn: cn=sub,dc=example,dc=com\nchangetype: add\nobjectClass: subentry\ncn: sub\nsubtreeSpecification: {}\n\n";
    change_all(&provider.url(), subentry);
    for mut consumer in KINDS.map(|kind| Consumer::of(provider.port, kind, "")) {
        consumer.start();
        consumer.wait_for(&provider.url());
        said(&mut search(&consumer.url(), &["-s", "base", "-b", "cn=sub,dc=example,dc=com"]), 0);
    }
}

#[test]
fn a_provider_that_is_killed_goes_on_where_it_was() {
    let mut provider = filled("");
    let mut consumers = KINDS.map(|kind| Consumer::of(provider.port, kind, ""));
    consumers.iter_mut().for_each(Consumer::start);
    consumers.iter().for_each(|consumer| consumer.wait_for(&provider.url()));
    for round in 0..3 {
        change_all(&provider.url(), &person(&format!("uid=before{round},ou=people,dc=example,dc=com")));
        let known = number(&provider.url());
        provider = provider.killed();
        assert_eq!(number(&provider.url()), known, "what was told is kept");
        change_all(&provider.url(), &person(&format!("uid=after{round},ou=people,dc=example,dc=com")));
        assert!(number(&provider.url()) > known);
        consumers.iter().for_each(|consumer| consumer.wait_for(&provider.url()));
    }
}

/// Consumers of each kind that have all there is, and have ended.
fn stopped(provider: &Provider) -> [Consumer; KINDS.len()] {
    KINDS.map(|kind| {
        let mut consumer = Consumer::of(provider.port, kind, "");
        consumer.start();
        consumer.wait_for(&provider.url());
        consumer.stop();
        consumer
    })
}

#[test]
fn a_consumer_that_comes_after_more_changes_than_are_kept_is_told_what_is_there() {
    let provider = filled("changes = 1\n");
    let mut consumers = stopped(&provider);
    let mut ldif = "dn: ou=staff,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\nou: staff\n\n\
        dn: ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=people\ndeleteoldrdn: 1\n\
        newsuperior: ou=staff,dc=example,dc=com\n\n\
        dn: uid=u2,ou=people,ou=staff,dc=example,dc=com\nchangetype: delete\n\n"
        .to_string();
    for n in 0..1100 {
        write!(ldif, "dn: ou=staff,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {n}\n\n")
            .unwrap();
    }
    change_all(&provider.url(), &ldif);
    for consumer in &mut consumers {
        consumer.start();
        consumer.wait_for(&provider.url());
        let log = consumer.log();
        assert!(log.contains("SYNC_ID_SET"), "of what is as it was only the UUIDs are told:\n{log}");
    }
}

#[test]
fn consumers_go_on_with_data_that_was_carried_over() {
    let provider = filled("");
    let mut consumers = stopped(&provider);
    change_all(&provider.url(), &person("uid=late,ou=people,dc=example,dc=com"));
    change_all(&provider.url(), "dn: uid=u1,ou=people,dc=example,dc=com\nchangetype: delete\n\n");
    let port = provider.port;
    let old = provider.daemon.kill();
    let (dir, mut ldif) = (tempfile::tempdir().unwrap(), Vec::new());
    let config = Config { suffixes: vec!["dc=example,dc=com".into()], ..Config::default() };
    let before = Directory::open(old.path().join("data"), Config::default()).unwrap();
    before.export(None, &mut ldif, &mut |_, _| true).unwrap();
    let new = Directory::open(dir.path().join("data"), config).unwrap();
    new.import("all.ldif", &mut ldif.as_slice(), ImportOptions::default(), &mut |_| true).unwrap();
    drop((before, new));
    let provider = Provider::start_at(dir, port, "");
    for consumer in &mut consumers {
        consumer.start();
        consumer.wait_for(&provider.url());
    }
}

#[test]
fn of_what_is_gone_with_all_that_was_below_it_nothing_is_left_in_the_way_of_others() {
    let provider = filled("");
    let delete = |name: &str| format!("dn: {name},dc=example,dc=com\nchangetype: delete\n\n");
    let unit = |name: &str, value: &str| {
        format!("dn: {name},dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\nou: {value}\n\n")
    };
    let units = [("ou=a", "a"), ("ou=b,ou=a", "b"), ("ou=c,ou=b,ou=a", "c"), ("ou=d,ou=a", "d"), ("ou=e", "e")];
    change_all(&provider.url(), &units.map(|(name, value)| unit(name, value)).concat());
    let mut consumers = stopped(&provider);
    // One comes to be beside what it was below.
    let moved = "dn: ou=d,ou=a,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=d\ndeleteoldrdn: 1\n\
        newsuperior: dc=example,dc=com\n\n";
    let gone = ["ou=c,ou=b,ou=a", "ou=b,ou=a", "ou=d", "ou=a"].map(delete).concat();
    let renamed = "dn: ou=e,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=a\ndeleteoldrdn: 1\n\n";
    change_all(&provider.url(), &format!("{moved}{gone}"));
    for consumer in &mut consumers {
        consumer.start();
        consumer.wait_for(&provider.url());
    }
    change_all(&provider.url(), renamed);
    consumers.iter().for_each(|consumer| consumer.wait_for(&provider.url()));
}

#[test]
fn entries_that_change_names_with_each_other_arrive() {
    let provider = filled("");
    let mut consumers = stopped(&provider);
    let rename = |from: &str, to: &str| {
        format!("dn: uid={from},ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid={to}\ndeleteoldrdn: 1\n\n")
    };
    let swap = [rename("u1", "x"), rename("u2", "u1"), rename("x", "u2")].concat();
    // A container takes the place of another, which moves into it.
    let replaced = "dn: ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=old\ndeleteoldrdn: 1\n\n\
        dn: ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\nou: people\n\n\
        dn: ou=old,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=old\ndeleteoldrdn: 1\nnewsuperior: ou=people,dc=example,dc=com\n\n\
        dn: uid=u4,ou=old,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=u4\ndeleteoldrdn: 1\n\
        newsuperior: ou=people,dc=example,dc=com\n\n";
    change_all(&provider.url(), &format!("{swap}{replaced}"));
    for consumer in &mut consumers {
        consumer.start();
        consumer.wait_for(&provider.url());
    }
    change_all(&provider.url(), &[rename("u4", "x"), person("uid=u4,ou=people,dc=example,dc=com")].concat());
    consumers.iter().for_each(|consumer| consumer.wait_for(&provider.url()));
}

/// Changes at random, of names that are few, so that they come again and again. Many cannot be, and are passed over.
/// None of the suffix's own entry: a slapd that takes such a change in a refresh takes its own `contextCSN` away with it, and if it is
/// stopped before the end asks for all, with what it has, for which it finds no order.
pub fn random_changes(random: &mut fastrand::Rng, names: &[String], count: usize) -> String {
    let mut ldif = String::new();
    let units = ["ou=a", "ou=b", "ou=c"];
    for _ in 0..count {
        let known = |random: &mut fastrand::Rng| names[random.usize(..names.len())].clone();
        let (name, other) = (known(random), known(random));
        let unit = units[random.usize(..units.len())];
        let uid = format!("uid=p{}", random.u8(..6));
        let rdn = if name.starts_with("uid=") { uid.as_str() } else { unit };
        match random.u8(..12) {
            0 | 1 => ldif += &person(&format!("{uid},{name}")),
            2 | 3 => {
                let name = format!("{unit},{name}");
                let value = &unit[3..];
                write!(ldif, "dn: {name}\nchangetype: add\nobjectClass: organizationalUnit\nou: {value}\n\n").unwrap();
            }
            4 | 5 if name == "dc=example,dc=com" => {}
            4 | 5 => {
                let value = random.u8(..);
                write!(ldif, "dn: {name}\nchangetype: modify\nreplace: description\ndescription: {value}\n\n").unwrap();
            }
            6 | 7 => write!(ldif, "dn: {name}\nchangetype: delete\n\n").unwrap(),
            8 | 9 => write!(ldif, "dn: {name}\nchangetype: modrdn\nnewrdn: {rdn}\ndeleteoldrdn: 1\n\n").unwrap(),
            _ => {
                write!(ldif, "dn: {name}\nchangetype: modrdn\nnewrdn: {rdn}\ndeleteoldrdn: 1\nnewsuperior: {other}\n\n")
                    .unwrap()
            }
        }
    }
    ldif
}

pub fn names(url: &str) -> Vec<String> {
    let dn = |entry: &String| entry.lines().find_map(|line| line.strip_prefix("dn: ")).unwrap().to_string();
    content(url).iter().map(dn).collect()
}

#[test]
fn whatever_changes_while_consumers_are_there_or_not_they_end_with_what_there_is() {
    let seed = std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("DURAMEN_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut provider = filled("");
    let mut consumers = KINDS.map(|kind| Consumer::of(provider.port, kind, ""));
    for round in 0..12 {
        for consumer in &mut consumers {
            if random.bool() { consumer.stop() } else { consumer.restart() }
        }
        if round % 5 == 4 {
            provider = provider.killed();
        }
        for _ in 0..random.usize(1..4) {
            let ldif = random_changes(&mut random, &names(&provider.url()), 30);
            change(&provider.url(), &ldif);
        }
        if round % 3 == 2 {
            for consumer in &mut consumers {
                consumer.restart();
                consumer.wait_for(&provider.url());
            }
        }
    }
}
