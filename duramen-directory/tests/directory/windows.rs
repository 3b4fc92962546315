//! Indices of more entries than one container holds.

use std::fmt::Write;

use duramen_directory::{Config, ImportOptions, Index, IndexKinds};
use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::message::ResultCode;

use crate::sample::*;

/// Entries that share the upper bits of their ids.
const WINDOW: u32 = 8192;
/// Two entries come before the people.
const PEOPLE_COUNT: u32 = 2 * WINDOW + 40;
/// What is after its id in the key of a trigram's windows.
const KIND_OF_WINDOWS: u8 = 4;

fn name(n: u32) -> String {
    format!("uid=u{n},ou=People,dc=example,dc=com")
}

/// People, of whom the one with number n has id n.
fn many(count: u32) -> String {
    let mut text = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
                    dn: ou=People,dc=example,dc=com\nobjectClass: organizationalUnit\nou: People\n\n"
        .to_string();
    for n in 3..count {
        writeln!(text, "dn: {}\nobjectClass: account\ndescription: all\n", name(n)).unwrap();
    }
    text
}

/// An index of substrings of `uid` alone, or no index.
fn sample(is_indexed: bool) -> Sample {
    let kinds = IndexKinds { presence: false, equality: false, substring: true };
    let indices = if is_indexed { vec![Index { attribute: "uid".to_string(), kinds }] } else { Vec::new() };
    sample_of(PEOPLE_COUNT, indices)
}

fn sample_of(count: u32, indices: Vec<Index>) -> Sample {
    let sample = Sample::with(Config { indices: Some(indices), ..Config::default() });
    sample.directory.import("many", &mut many(count).as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    sample
}

/// Keys of the index that are of windows.
fn keys_of_windows(sample: &Sample) -> Vec<Vec<u8>> {
    let snapshot = sample.directory.database().read().unwrap();
    let keys = snapshot.table("index").unwrap().iter().map(|item| item.unwrap().0.to_vec()).collect::<Vec<_>>();
    keys.into_iter().filter(|key| key[2] == KIND_OF_WINDOWS).collect()
}

const FILTERS: [&str; 12] = [
    "(uid=u8191)",
    "(uid=*819*)",
    "(uid=u81*)",
    "(uid=*92)",
    "(uid=*6*83*)",
    "(uid=*16383)",
    "(uid=*nobody*)",
    "(&(uid=*16*)(uid=*638*))",
    "(&(uid=u163*)(!(uid=*83)))",
    "(|(uid=*8190)(uid=*8193)(uid=u1640*))",
    "(&(uid=*819*)(|(uid=u16*)(uid=*92)))",
    "(&(!(uid=*0*))(uid=u12*)(uid=*9))",
];

fn compare(indexed: &Sample, plain: &Sample) {
    for filter in FILTERS {
        assert_eq!(indexed.found(filter), plain.found(filter), "{filter}");
    }
}

#[test]
fn searches_by_parts_find_the_same_over_several_windows_whatever_comes_and_goes() {
    let (indexed, plain) = (sample(true), sample(false));
    compare(&indexed, &plain);
    assert_eq!(indexed.found("(uid=*819*)").len(), plain.found("(uid=*819*)").len());
    assert_eq!(indexed.found("(uid=*819*)")[0], name(819));
    for sample in [&indexed, &plain] {
        // The third window goes, and the borders of the others.
        for n in [WINDOW - 1, WINDOW, 2 * WINDOW - 1].into_iter().chain(2 * WINDOW..PEOPLE_COUNT) {
            sample.delete(&name(n), &[]).unwrap();
        }
        assert_eq!(sample.found("(uid=*1638*)").len(), 5);
        assert_eq!(sample.found("(uid=*8192*)"), Vec::<String>::new());
    }
    compare(&indexed, &plain);
    assert_eq!(problems(&indexed), Vec::<String>::new());
    for sample in [&indexed, &plain] {
        for n in [WINDOW, 20_000, 16_384, 8_190_001] {
            sample.add(&name(n), &[("objectClass", vec![b"account"])]).unwrap();
        }
        sample.modify(&name(7), &[(Replace, "description", &["*819*"])]).unwrap();
        sample.rename(&name(8), "uid=u81916383", true, None).unwrap();
    }
    compare(&indexed, &plain);
    assert_eq!(problems(&indexed), Vec::<String>::new());
}

/// All entries of a filter, by pages of so many.
fn paged(sample: &Sample, filter: &str, size: u32) -> Vec<String> {
    let (mut all, mut cookie) = (Vec::new(), Vec::new());
    loop {
        let (mut names, next) = page_of(sample, filter, size, &cookie, None).unwrap();
        assert!(next.is_empty() || names.len() == size as usize, "{filter}, pages of {size}");
        all.append(&mut names);
        if next.is_empty() {
            return all;
        }
        cookie = next;
    }
}

#[test]
fn pages_and_the_first_entries_of_many_windows_are_those_of_the_whole() {
    const BRANCH: &str = "dc=north,dc=example,dc=com";
    let index = |(attribute, substring): (&str, bool)| {
        let kinds = IndexKinds { presence: true, equality: true, substring };
        Index { attribute: attribute.to_string(), kinds }
    };
    let indices = [("uid", true), ("description", true), ("objectClass", false)].map(index).into();
    let sample = sample_of(4 * WINDOW + 40, indices);
    // One that waits in the middle, one at the end, and one that is given for what it is.
    sample.modify(&name(9_000), &[(Replace, "description", &["all of 8192"])]).unwrap();
    sample.add(&name(819_200), &[("objectClass", vec![b"account"]), ("description", vec![b"all"])]).unwrap();
    for with_referral in [false, true] {
        if with_referral {
            let referral: [(&str, Vec<&[u8]>); 2] =
                [("objectClass", vec![b"referral", b"extensibleObject"]), ("ref", vec![b"ldap://localhost/"])];
            sample.add(BRANCH, &referral).unwrap();
        }
        for filter in FILTERS.into_iter().chain([
            "(description=all)",
            "(description=*8192)",
            "(objectClass=*)",
            "(&(objectClass=account)(uid=*9*)(!(uid=*8*)))",
            "(&(description=all)(uid>=u3))",
            "(|(description=all of 8192)(uid=u819200)(uid=u5*))",
        ]) {
            let whole = sample.found(filter);
            for size in [3, 1_000] {
                if whole.len() < 300 * size {
                    assert_eq!(paged(&sample, filter, size as u32), whole, "{filter}, pages of {size}");
                }
            }
            for size_limit in [1, whole.len() as u32 / 2, whole.len() as u32].into_iter().filter(|limit| *limit > 0) {
                let given = sample.search(BASE, filter, &Ask { size_limit, ..Ask::default() }).unwrap();
                let code = if given.names().len() < whole.len() {
                    ResultCode::SIZE_LIMIT_EXCEEDED
                } else {
                    ResultCode::SUCCESS
                };
                let expected = &whole[..whole.len().min(size_limit as usize)];
                assert_eq!(
                    (given.names(), given.code()),
                    (expected.iter().map(String::as_str).collect(), code),
                    "{filter}"
                );
                assert_eq!(
                    given.references.len(),
                    usize::from(with_referral && code == ResultCode::SUCCESS),
                    "{filter}"
                );
            }
        }
    }
}

#[test]
fn windows_are_right_in_an_index_that_is_built_while_entries_come_and_go() {
    let (indexed, plain) = (sample(false), sample(false));
    let kinds = IndexKinds { presence: false, equality: false, substring: true };
    let indices = Some(vec![Index { attribute: "uid".to_string(), kinds }]);
    indexed.directory.reconfigure(Config { indices, ..Config::default() }).unwrap();
    let update = |sample: &Sample, step: u32| {
        sample.delete(&name(450 * step + 100), &[]).unwrap();
        sample.delete(&name(2 * WINDOW + step), &[]).unwrap();
        sample.add(&name(100_000 + step), &[("objectClass", vec![b"account"])]).unwrap();
    };
    let mut steps = 0;
    indexed
        .directory
        .reindex(&mut |_, _| {
            update(&indexed, steps);
            steps += 1;
            true
        })
        .unwrap();
    assert!(steps > 20 && indexed.directory.incomplete_indices().is_empty());
    (0..steps).for_each(|step| update(&plain, step));
    compare(&indexed, &plain);
    assert_eq!(problems(&indexed), Vec::<String>::new());
}

#[test]
fn indices_that_are_built_anew_are_complete_for_other_processes_all_the_time() {
    use duramen_directory::Directory;
    let sample = sample(true);
    let database = sample.directory.database();
    let keys = || database.read().unwrap().table("index").unwrap().len();
    let before = keys();
    let tool = Directory::open(sample.folder.path(), Config::default()).unwrap();
    let mut told = 0;
    tool.rebuild_indices(&mut |_, _| {
        told += 1;
        assert_eq!(sample.found("(uid=u7)").len(), 1);
        assert_eq!(sample.found("(uid=*u70*)").len(), 1 + 10 + 100);
        told < 3
    })
    .unwrap_err();
    assert_eq!((told, keys(), problems(&sample)), (3, before, Vec::new()), "as it was");
    let junk = {
        let snapshot = database.read().unwrap();
        let (key, ids) = snapshot.table("index").unwrap().first().unwrap().unwrap();
        (key.to_vec(), ids.to_vec())
    };
    database.update(|txn| txn.table("index")?.put([&junk.0[..2], &[2, b'x', 0, 0, 0, 0]].concat(), &junk.1)).unwrap();
    assert!(!problems(&sample).is_empty());
    tool.rebuild_indices(&mut |_, _| true).unwrap();
    assert_eq!((keys(), problems(&sample)), (before, Vec::new()));
}

#[test]
fn an_index_that_is_not_asked_for_any_more_is_not_complete_when_it_is_built() {
    use duramen_directory::Directory;
    let sample = sample(false);
    let kinds = IndexKinds { presence: false, equality: true, substring: false };
    let with = || Config {
        indices: Some(vec![Index { attribute: "uid".to_string(), kinds }]),
        suffixes: vec![BASE.into()],
        ..Config::default()
    };
    let without = || Config { indices: Some(Vec::new()), ..with() };
    sample.directory.reconfigure(with()).unwrap();
    let tool = Directory::open(sample.folder.path(), Config::default()).unwrap();
    let outcome = tool.reindex(&mut |done, _| {
        if done < 1000 {
            sample.directory.reconfigure(without()).unwrap();
        }
        true
    });
    assert!(outcome.unwrap_err().diagnostic.contains("another program has changed"));
    sample.add(&name(100_000), &[("objectClass", vec![b"account"])]).unwrap();
    sample.directory.reconfigure(with()).unwrap();
    assert_eq!(sample.directory.incomplete_indices(), ["uid"]);
    assert_eq!(sample.found("(uid=u100000)").len(), 1);
    tool.reconfigure(Config::default()).unwrap();
    tool.reindex(&mut |_, _| true).unwrap();
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn a_check_finds_windows_that_are_missing_or_too_many() {
    let sample = sample(true);
    let database = sample.directory.database();
    let key = keys_of_windows(&sample).swap_remove(7);
    let before = database.read().unwrap().table("index").unwrap().get(&key).unwrap().unwrap().to_vec();
    database.update(|txn| txn.table("index")?.delete(&key)).unwrap();
    let found = problems(&sample);
    assert!(found[0].contains("the windows of a trigram lack"), "{found:?}");
    let more = [1u16, 2, 3, 4, 5].map(u16::to_le_bytes).concat();
    database.update(|txn| txn.table("index")?.put(&key, &more)).unwrap();
    let found = problems(&sample);
    assert!(found.iter().any(|problem| problem.contains("windows of trigrams too many")), "{found:?}");
    database.update(|txn| txn.table("index")?.put(&key, &before)).unwrap();
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn a_directory_of_an_older_format_is_refused_and_told_how_to_go_on() {
    use duramen_directory::Directory;
    let sample = Sample::people();
    let set = |format: &[u8]| {
        sample.directory.database().update(|txn| txn.table("meta")?.put("format", format)).unwrap();
        Directory::open(sample.folder.path(), Config::default()).map(drop).unwrap_err().to_string()
    };
    for format in ["1", "2", "3"] {
        let older = set(format.as_bytes());
        assert!(older.contains(&format!("format {format}")) && older.contains("export"), "{older}");
        assert!(older.contains("import"), "{older}");
    }
    assert!(set(b"5").contains("use a newer program"));
}
