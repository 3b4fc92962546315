//! Trigrams that are noted, and written into the index later.

use duramen_directory::{Config, Directory, ImportOptions, Index, IndexKinds, Requester};
use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

/// From so many records on they are merged.
const MERGED_FROM: u64 = 512;

const SUFFIX: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
                      dn: ou=People,dc=example,dc=com\nobjectClass: organizationalUnit\nou: People\n\n";

fn name(n: u64) -> String {
    format!("uid=u{n},ou=People,dc=example,dc=com")
}

fn indices(substring: bool) -> Config {
    let kinds = IndexKinds { presence: false, equality: true, substring };
    let index = |attribute: &str| Index { attribute: attribute.to_string(), kinds };
    Config { indices: Some(vec![index("uid"), index("description")]), ..Config::default() }
}

/// Two directories that are to be alike: with indices of substrings, and without.
fn both() -> [Sample; 2] {
    [true, false].map(|substring| {
        let sample = Sample::with(indices(substring));
        import(&sample, SUFFIX);
        sample
    })
}

fn import(sample: &Sample, text: &str) {
    let options = ImportOptions::default();
    sample.directory.import("people", &mut text.as_bytes(), options, &mut |_| true).unwrap();
}

fn add(sample: &Sample, n: u64) {
    let description = format!("number {} of all", n % 100);
    let attributes = [("objectClass", vec![&b"account"[..]]), ("description", vec![description.as_bytes()])];
    sample.add(&name(n), &attributes).unwrap();
}

fn records(sample: &Sample) -> u64 {
    sample.directory.database().read().unwrap().table("waiting").unwrap().len()
}

fn compare(samples: &[Sample; 2]) {
    let [indexed, plain] = samples;
    for filter in [
        "(uid=*12*)",
        "(uid=u3*)",
        "(uid=*7)",
        "(uid=*moved*)",
        "(description=*number 7*)",
        "(description=*ber 4*all)",
        "(description=changed*)",
        "(&(uid=*1*)(description=*changed*))",
        "(|(uid=*99*)(description=*er 1*))",
        "(&(!(uid=*2*))(description=*of all))",
    ] {
        assert_eq!(indexed.found(filter), plain.found(filter), "{filter}");
    }
    assert_eq!(problems(indexed), Vec::<String>::new());
}

#[test]
fn searches_by_parts_find_the_same_whatever_is_waiting() {
    let samples = both();
    let (mut random, mut here, mut most) = (fastrand::Rng::with_seed(4), Vec::new(), 0);
    for step in 0..2200 {
        let at = random.usize(..here.len() + 1);
        match random.usize(..10) {
            0..6 => {
                here.push(name(step));
                samples.iter().for_each(|sample| add(sample, step));
            }
            6 if at < here.len() => {
                let now = format!("uid=moved{step}");
                samples.iter().for_each(|sample| drop(sample.rename(&here[at], &now, true, None).unwrap()));
                here[at] = format!("{now},ou=People,dc=example,dc=com");
            }
            7 if at < here.len() => {
                let value = format!("changed {step}");
                let kind = if random.bool() { Add } else { Replace };
                for sample in &samples {
                    sample.modify(&here[at], &[(kind, "description", &[&value])]).unwrap();
                }
            }
            // The last one too: its id is given to the next that comes.
            8 | 9 if !here.is_empty() => {
                let gone = here.swap_remove(if random.bool() { here.len() - 1 } else { at.min(here.len() - 1) });
                samples.iter().for_each(|sample| drop(sample.delete(&gone, &[]).unwrap()));
            }
            _ => {}
        }
        most = most.max(records(&samples[0]));
        if step % 100 == 99 {
            compare(&samples);
        }
    }
    assert_eq!(most, MERGED_FROM - 1, "who makes the last record has them merged in the same commit");
}

#[test]
fn parts_that_a_new_value_shares_with_an_older_one_go_with_the_entry_or_the_values() {
    let [indexed, _] = both();
    (0..3).for_each(|n| add(&indexed, n));
    indexed.directory.reindex(&mut |_, _| true).unwrap();
    assert_eq!(records(&indexed), 0, "reindexing leaves nothing waiting");
    (0..3).for_each(|n| drop(indexed.modify(&name(n), &[(Add, "description", &["number of another"])]).unwrap()));
    indexed.delete(&name(0), &[]).unwrap();
    indexed.modify(&name(1), &[(Replace, "description", &["else"])]).unwrap();
    indexed.modify(&name(2), &[(Delete, "description", &["number of another"])]).unwrap();
    assert_eq!(indexed.found("(description=*number*)"), [name(2)]);
    assert_eq!(problems(&indexed), Vec::<String>::new());
}

#[test]
fn what_values_share_stays_as_long_as_one_of_them_whatever_comes_and_goes_where() {
    let [indexed, plain] = both();
    let values = ["front one", "middle two", "middle three", "back one", "front four", "one"];
    for sample in [&indexed, &plain] {
        let attributes = [("objectClass", vec![&b"account"[..]]), ("description;lang-de", vec![b"front five"])];
        sample.add(&name(0), &attributes).unwrap();
    }
    let mut random = fastrand::Rng::with_seed(7);
    for step in 0..200 {
        let chosen: Vec<&str> = values.into_iter().filter(|_| random.bool()).collect();
        let kind = if chosen.is_empty() { Replace } else { random.choice([Add, Delete, Replace]).unwrap() };
        let (shown, permissive) = (format!("{step}: {kind:?} {chosen:?}"), [control(oid::PERMISSIVE_MODIFY)]);
        for sample in [&indexed, &plain] {
            let changes = [(kind, "description", chosen.as_slice())];
            sample
                .modify_as(&Requester::internal(), &name(0), &changes, &permissive)
                .unwrap_or_else(|failure| panic!("{shown}: {failure}"));
        }
        for part in ["front", "middle", "back", "two", "t one", "e", "five", "four"] {
            for filter in [format!("(description=*{part}*)"), format!("(description={part}*)")] {
                assert_eq!(indexed.found(&filter), plain.found(&filter), "{shown}: {filter}");
            }
        }
        assert_eq!(problems(&indexed), Vec::<String>::new(), "{shown}");
    }
}

#[test]
fn what_is_waiting_of_entries_that_are_gone_does_not_hinder_an_import() {
    let [indexed, _] = both();
    (0..20).for_each(|n| add(&indexed, n));
    assert_eq!(records(&indexed), 20);
    import(
        &indexed,
        &SUFFIX.replace("People", "Others").replace("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n", ""),
    );
    assert_eq!(records(&indexed), 0, "an import leaves nothing waiting");
    (0..20).for_each(|n| drop(indexed.delete(&name(n), &[]).unwrap()));
    for ou in ["People", "Others"] {
        indexed.delete(&format!("ou={ou},dc=example,dc=com"), &[]).unwrap();
    }
    indexed.delete("dc=example,dc=com", &[]).unwrap();
    assert_eq!(records(&indexed), 20);
    import(&indexed, SUFFIX);
    assert_eq!((records(&indexed), problems(&indexed)), (0, Vec::new()));
    assert_eq!(indexed.found("(uid=*u1*)"), Vec::<String>::new());
}

#[test]
fn a_tree_that_is_deleted_leaves_few_records() {
    let [indexed, _] = both();
    let people: String = (0..1200).map(|n| format!("dn: {}\nobjectClass: account\n\n", name(n))).collect();
    import(&indexed, &people);
    let tree_delete = control("1.2.840.113556.1.4.805");
    indexed.delete("ou=People,dc=example,dc=com", &[tree_delete]).unwrap();
    assert!(records(&indexed) < MERGED_FROM);
    assert_eq!(problems(&indexed), Vec::<String>::new());
    assert_eq!(indexed.found("(uid=*u1*)"), Vec::<String>::new());
}

#[test]
fn an_index_that_goes_takes_what_is_waiting_with_it() {
    let [indexed, plain] = both();
    (0..50).for_each(|n| add(&indexed, n));
    indexed.directory.reconfigure(indices(false)).unwrap();
    indexed.directory.reindex(&mut |_, _| true).unwrap();
    assert_eq!(records(&indexed), 0);
    let keys = |sample: &Sample| sample.directory.database().read().unwrap().table("index").unwrap().len();
    (0..50).for_each(|n| add(&plain, n));
    assert_eq!(keys(&indexed), keys(&plain));
    indexed.directory.reconfigure(indices(true)).unwrap();
    (50..60).for_each(|n| [&indexed, &plain].into_iter().for_each(|sample| add(sample, n)));
    indexed.directory.reindex(&mut |_, _| true).unwrap();
    compare(&[indexed, plain]);
}

#[test]
fn an_index_that_goes_while_a_tool_builds_it_is_not_complete_afterwards() {
    let [_, served] = both();
    (0..3).for_each(|n| add(&served, n));
    served.directory.reconfigure(indices(true)).unwrap();
    let tool = Directory::open(served.folder.path(), Config::default()).unwrap();
    let outcome = tool.reindex(&mut |_, _| {
        served.directory.reconfigure(indices(false)).unwrap();
        add(&served, 3);
        true
    });
    assert!(outcome.unwrap_err().diagnostic.contains("another program has changed"));
    served.directory.reconfigure(indices(true)).unwrap();
    assert_eq!(served.found("(uid=*u3*)"), [name(3)]);
    served.directory.reindex(&mut |_, _| true).unwrap();
    assert_eq!(served.found("(uid=*u3*)"), [name(3)]);
    assert_eq!(problems(&served), Vec::<String>::new());
}

#[test]
fn a_check_finds_records_that_are_wrong() {
    let [indexed, _] = both();
    (0..3).for_each(|n| add(&indexed, n));
    let database = indexed.directory.database();
    let (key, record) = {
        let snapshot = database.read().unwrap();
        let (key, record) = snapshot.table("waiting").unwrap().first().unwrap().unwrap();
        (key.to_vec(), record.to_vec())
    };
    let put = |record: &[u8]| database.update(|txn| txn.table("waiting")?.put(&key, record)).unwrap();
    assert_eq!(problems(&indexed), Vec::<String>::new());
    put(&record[..record.len() - 6]);
    assert!(problems(&indexed)[0].contains("the index lacks it"));
    let mut goes = record.clone();
    *goes.last_mut().unwrap() = 0;
    put(&goes);
    let found = problems(&indexed);
    assert!(found.iter().any(|problem| problem.contains("waiting, and done")), "{found:?}");
    put(&record);
    database.update(|txn| txn.table("entry")?.delete(&key)).unwrap();
    assert!(problems(&indexed).iter().any(|problem| problem.contains("too many")));
}
