//! Copies of several suffixes in one directory: each is one by itself, whatever is told of others.

use duramen_directory::{Config, CopyOf, Directory, Heard, ImportOptions, Requester, Standing};
use duramen_ldap::control::SyncInfo;
use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::oid::control as oid;

use crate::ear::{self, hear};
use crate::replica::{ELSEWHERE, Said, begin, take};
use crate::sample::*;

const OTHER: &str = "o=other";

fn ask_below(sample: &Sample, base: &str, cookie: &[u8]) -> (Vec<Said>, Option<Standing>) {
    ear::ask_below(sample, base, cookie, None)
}

/// Two suffixes, each with some units below it.
fn of_two_suffixes(copies: bool) -> Sample {
    let suffixes = [BASE, OTHER].map(String::from);
    let copy = |suffix: &String| CopyOf { suffix: suffix.clone(), referrals: vec![ELSEWHERE.into()] };
    let copies = copies.then(|| suffixes.iter().map(copy).collect());
    let folder = tempfile::tempdir().unwrap();
    let config = Config { suffixes: suffixes.to_vec(), copies, history: Some(1000), ..Config::default() };
    Sample { directory: Directory::open(folder.path(), config).unwrap(), folder }
}

/// All entries of both suffixes, each with what tells whether it is the same.
fn of_both(sample: &Sample) -> Vec<Found> {
    let attributes: &[&str] = &["entryUUID", "entryCSN", "description"];
    let below =
        |base| sample.search(base, "(objectClass=*)", &Ask { attributes, ..Ask::default() }).map(|given| given.entries);
    let mut all: Vec<Found> = [BASE, OTHER].into_iter().flat_map(|base| below(base).unwrap_or_default()).collect();
    all.sort();
    all
}

/// Has a copy of one of the suffixes hear what there is.
fn bring_up(copy: &Sample, provider: &Sample, suffix: &str) {
    let mut replica = copy.directory.replica(suffix).unwrap();
    let cookie = begin(&mut replica);
    take(&mut replica, &ear::ask_below(provider, suffix, &cookie, None).0).unwrap();
}

#[test]
fn each_of_several_suffixes_that_are_copied_has_what_is_below_it_whatever_happens_to_others() {
    let provider = of_two_suffixes(false);
    provider.load(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"));
    provider.load(&format!("dn: {OTHER}\nobjectClass: organization\no: other\n"));
    let names: Vec<String> = (0..6).map(|n| format!("ou=u{n},{}", [BASE, OTHER][n % 2])).collect();
    let unit: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"organizationalUnit"])];
    names.iter().for_each(|name| drop(provider.add(name, unit).unwrap()));
    let (copy, behind) = (of_two_suffixes(true), of_two_suffixes(true));
    let assert_up = |first: usize| {
        for n in [first, 1 - first] {
            bring_up(&copy, &provider, [BASE, OTHER][n]);
            bring_up(&behind, &copy, [BASE, OTHER][n]);
        }
        assert_eq!(of_both(&copy), of_both(&provider));
        assert_eq!(of_both(&behind), of_both(&provider), "the copy of the copy");
        assert_eq!([problems(&copy), problems(&behind)], [[""; 0], [""; 0]]);
    };
    let moved = format!("ou=u0,{OTHER}");
    for first in [0, 1] {
        assert_up(first);
        for name in &names[1..] {
            provider.modify(name, &[(Replace, "description", &[&first.to_string()])]).unwrap();
        }
        assert_up(first);
        let (from, to) = if first == 0 { (&names[0], OTHER) } else { (&moved, BASE) };
        provider.rename(from, "ou=u0", true, Some(to)).unwrap();
        provider.modify(&format!("ou=u0,{to}"), &[(Replace, "description", &["moved"])]).unwrap();
        assert_up(first);
    }
    provider.delete(&names[2], &[]).unwrap();
    provider.delete(&names[3], &[]).unwrap();
    assert_up(0);
}

/// Two directories, each with an entry with the same identifier, one below the one suffix and one below the other.
fn with_one_identifier() -> (Sample, Sample, String) {
    let [one, other] = [of_two_suffixes(false), of_two_suffixes(false)];
    one.load(&format!(
        "dn: {BASE}\nobjectClass: domain\ndc: example\n\ndn: ou=u,{BASE}\nobjectClass: organizationalUnit\n"
    ));
    other.load(&format!("dn: {OTHER}\nobjectClass: organization\no: other\n"));
    let identifier = one.read(&format!("ou=u,{BASE}"), &["entryUUID"]).values("entryUUID")[0].to_string();
    let same: &[(&str, Vec<&[u8]>)] =
        &[("objectClass", vec![b"organizationalUnit"]), ("entryUUID", vec![identifier.as_bytes()])];
    let relax = control(oid::RELAX);
    other.add_as(&Requester::internal(), &format!("ou=u,{OTHER}"), same, &[relax]).unwrap();
    (one, other, identifier)
}

#[test]
fn entries_of_two_suffixes_may_have_one_identifier_where_their_providers_have_it_so() {
    let (one, other, identifier) = with_one_identifier();
    let copy = of_two_suffixes(true);
    bring_up(&copy, &one, BASE);
    bring_up(&copy, &other, OTHER);
    let filter = format!("(entryUUID={identifier})");
    let found = |base| copy.search(base, &filter, &Ask::default()).unwrap().entries.len();
    assert_eq!(([found(BASE), found(OTHER)], problems(&copy)), ([1, 1], vec![]));
    other.modify(&format!("ou=u,{OTHER}"), &[(Replace, "description", &["changed"])]).unwrap();
    bring_up(&copy, &other, OTHER);
    assert_eq!([copy.found("(description=changed)").len(), found(BASE), found(OTHER)], [0, 1, 1]);
    one.delete(&format!("ou=u,{BASE}"), &[]).unwrap();
    bring_up(&copy, &one, BASE);
    assert_eq!(([found(BASE), found(OTHER)], problems(&copy)), ([0, 1], vec![]));
}

#[test]
fn what_becomes_of_an_entry_of_another_suffix_is_nothing_to_one_with_the_same_identifier() {
    let (one, other, identifier) = with_one_identifier();
    let (copy, behind) = (of_two_suffixes(true), of_two_suffixes(true));
    let (own, others) = (format!("ou=u,{BASE}"), format!("ou=u,{OTHER}"));
    // Which of both the copy behind the copy has. It hears of what was changed since it knew all of its suffix.
    let follow = || {
        one.modify(BASE, &[(Replace, "description", &["changed"])]).unwrap();
        bring_up(&copy, &one, BASE);
        bring_up(&copy, &other, OTHER);
        bring_up(&behind, &copy, BASE);
        bring_up(&behind, &copy, OTHER);
        assert_eq!(of_both(&behind), of_both(&copy));
        let filter = format!("(entryUUID={identifier})");
        [BASE, OTHER].map(|base| behind.search(base, &filter, &Ask::default()).unwrap().entries.len())
    };
    assert_eq!(follow(), [1, 1]);
    other.modify(&others, &[(Replace, "description", &["changed"])]).unwrap();
    assert_eq!(follow(), [1, 1], "the other one was changed");
    other.rename(&others, "ou=v", true, None).unwrap();
    assert_eq!(follow(), [1, 1], "the other one was renamed");
    other.rename(&format!("ou=v,{OTHER}"), "ou=w", true, None).unwrap();
    bring_up(&copy, &other, OTHER);
    other.delete(&format!("ou=w,{OTHER}"), &[]).unwrap();
    assert_eq!(follow(), [1, 0], "the other one was renamed and deleted");
    one.delete(&own, &[]).unwrap();
    assert_eq!(follow(), [0, 0]);
    assert_eq!([problems(&copy), problems(&behind)], [[""; 0], [""; 0]]);
}

#[test]
fn who_has_a_copy_of_a_suffix_hears_nothing_of_what_was_never_below_it() {
    let provider = of_two_suffixes(false);
    provider.load(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"));
    provider.load(&format!("dn: {OTHER}\nobjectClass: organization\no: other\n"));
    let unit: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"organizationalUnit"])];
    provider.add(&format!("ou=gone,{OTHER}"), unit).unwrap();
    let cookie = |said: &[Said]| format!("rid=001,csn={}", said.iter().filter_map(Said::cookie).next_back().unwrap());
    let (said, mut standing) = ask_below(&provider, BASE, b"");
    let before = cookie(&said);
    provider.add(&format!("ou=u,{OTHER}"), unit).unwrap();
    provider.modify(OTHER, &[(Replace, "description", &["changed"])]).unwrap();
    provider.delete(&format!("ou=gone,{OTHER}"), &[]).unwrap();
    // Only with which cookie to go on.
    for said in [ask_below(&provider, BASE, before.as_bytes()).0, hear(standing.as_mut().unwrap())] {
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(cookie(&said) > before);
    }
    // What is moved from one to the other was.
    provider.rename(&format!("ou=u,{OTHER}"), "ou=u", true, Some(BASE)).unwrap();
    let between = cookie(&ask_below(&provider, BASE, before.as_bytes()).0);
    provider.rename(&format!("ou=u,{BASE}"), "ou=u", true, Some(OTHER)).unwrap();
    let (said, _) = ask_below(&provider, BASE, between.as_bytes());
    assert_eq!(
        said.iter().filter(|said| matches!(said.heard(), Heard::Info(SyncInfo::IdSet { deletes: true, .. }))).count(),
        1,
        "{said:?}"
    );
}

#[test]
fn an_import_takes_one_identifier_below_each_of_several_suffixes_and_once_below_each() {
    let unit = |name: &str| {
        let identifier = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
        format!("\ndn: ou={name}\nobjectClass: organizationalUnit\nentryUUID: {identifier}\n")
    };
    let tops = format!("dn: {BASE}\nobjectClass: domain\n\ndn: {OTHER}\nobjectClass: organization\n");
    let [own, others, more] = [BASE, OTHER, OTHER].map(|base| format!("u,{base}")).map(|name| unit(&name));
    let more = more.replace("ou=u", "ou=v");
    let options = [(false, false), (true, false), (false, true)].map(|(dry_run, skip_problems)| ImportOptions {
        dry_run,
        skip_problems,
        ..ImportOptions::default()
    });
    for options in options {
        let import = |sample: &Sample, text: &str, options| {
            sample.directory.import("x.ldif", &mut text.as_bytes(), options, &mut |_| true)
        };
        // Table by table, or entry by entry.
        let samples = [String::new(), tops.clone() + &own].map(|text| {
            let sample = of_two_suffixes(false);
            import(&sample, &text, ImportOptions::default()).unwrap();
            sample
        });
        for (sample, text) in samples.iter().zip([format!("{tops}{own}{others}"), others.clone()]) {
            let twice = import(sample, &format!("{text}{more}"), options);
            if options.skip_problems {
                assert_eq!(twice.unwrap().problems, 1, "{options:?}");
            } else {
                assert!(twice.unwrap_err().to_string().contains("ou=v,o=other: another entry has"), "{options:?}");
                // What came before stays where there were entries already.
                let _ = sample.delete(&format!("ou=u,{OTHER}"), &[]);
                assert_eq!(import(sample, &text, options).unwrap().problems, 0, "{options:?}");
            }
            assert_eq!(problems(sample), [""; 0]);
            let found = || sample.search(OTHER, "(ou=u)", &Ask::default()).unwrap().entries.len();
            assert!(options.dry_run || found() == 1);
        }
    }
}

#[test]
fn of_each_suffix_clients_are_told_numbers_that_what_comes_next_is_above() {
    let provider = of_two_suffixes(false);
    provider.load(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"));
    provider.load(&format!("dn: {OTHER}\nobjectClass: organization\no: other\n"));
    let copy = of_two_suffixes(true);
    bring_up(&copy, &provider, BASE);
    bring_up(&copy, &provider, OTHER);
    // The later change comes first.
    provider.modify(BASE, &[(Replace, "description", &["earlier"])]).unwrap();
    provider.modify(OTHER, &[(Replace, "description", &["later"])]).unwrap();
    bring_up(&copy, &provider, OTHER);
    let number = |name: &str, of: &str| copy.read(name, &[of]).values(of)[0].to_string();
    let (said, mut standing) = ask_below(&copy, BASE, b"");
    let known = said.iter().filter_map(Said::cookie).next_back().unwrap();
    assert_eq!(known, number(BASE, "contextCSN"), "{said:?}");
    bring_up(&copy, &provider, BASE);
    let news: Vec<Said> = hear(standing.as_mut().unwrap());
    assert!(number(BASE, "entryCSN") > known, "who looks at numbers takes it");
    assert_eq!(news.iter().filter_map(Said::cookie).next_back().unwrap(), number(BASE, "contextCSN"));
    assert_eq!(news.iter().filter(|said| matches!(said, Said::Entry(name, ..) if name == BASE)).count(), 1);
    // Who comes again with what was said hears of nothing but what came since.
    let resumed = |known: &str| ask_below(&copy, BASE, format!("rid=001,csn={known}").as_bytes()).0;
    let entries = |said: &[Said]| said.iter().filter(|said| matches!(said, Said::Entry(..))).count();
    assert_eq!([entries(&resumed(&known)), entries(&resumed(&number(BASE, "contextCSN")))], [1, 0]);
}
