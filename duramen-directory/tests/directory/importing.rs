//! What others get while an import fills a directory: nothing that may contradict itself, or go again.

use std::io::{BufReader, Read};

use duramen_directory::{
    Administrator, AuthzPolicy, Config, Directory, Failure, ImportEvent, ImportOptions, Requester, SchemaFile,
};
use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const ADMINISTRATOR: &str = "cn=admin,dc=example,dc=com";
const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";

/// Who is of the administrators is not authenticated by what the directory has.
fn sample() -> Sample {
    let rules = "access to attrs=userPassword by group=\"cn=admins,ou=Groups,dc=example,dc=com\" none by * auth\n\
                 access to * by * read";
    let sample = Sample::with(Config {
        access: Some(SchemaFile { name: "access.conf".into(), text: rules.into() }),
        administrator: Some(Administrator { name: ADMINISTRATOR.into(), password: Some("secret".into()) }),
        authz_policy: AuthzPolicy::To,
        ..Config::default()
    });
    sample.load(PEOPLE);
    sample.modify(SMITH, &[(Replace, "userPassword", &["right"])]).unwrap();
    sample.modify(SMITH, &[(Replace, "authzTo", &["*"])]).unwrap();
    sample
}

/// As another process leaves it that has loaded entries and, unless told otherwise, the index of them.
fn begin(directory: &Directory, without: &[&str]) {
    let mark = |txn: &mut duramen::WriteTxn<'_>| {
        without.iter().try_for_each(|table| txn.table(table)?.clear().map(drop))?;
        txn.table("meta")?.put("import", "running")
    };
    directory.database().update(mark).unwrap();
}

fn end(directory: &Directory) {
    directory.database().update(|txn| txn.table("meta")?.delete("import")).unwrap();
}

/// The codes of what is asked: a search, a compare, a bind, and a search as somebody else.
fn asked(sample: &Sample) -> [ResultCode; 4] {
    fn code<T>(result: Result<T, Failure>) -> ResultCode {
        result.map_or_else(|failure| failure.code, |_| ResultCode::SUCCESS)
    }
    let identity = [b"dn:", JENSEN.as_bytes()].concat();
    let requester =
        Requester { name: sample.directory.name(SMITH).unwrap(), is_administrator: false, ..Requester::internal() };
    let controls = vec![Control { value: Some(&identity), ..control(oid::PROXIED_AUTHORIZATION) }];
    [
        code(sample.search(BASE, "(uid=jsmith)", &Ask::default())),
        code(sample.compare(SMITH, "sn", "Smith")),
        code(sample.directory.credentials(&Requester::internal(), SMITH)),
        code(sample.search(BASE, "(uid=jsmith)", &Ask { requester, controls, ..Ask::default() })),
    ]
}

#[test]
fn nobody_is_let_in_by_half_of_what_is_imported() {
    let sample = sample();
    assert_eq!(asked(&sample), [ResultCode::SUCCESS; 4]);
    // Names are there, and who is in which group is not; as little is said where there are no names yet.
    for without in [["index", "waiting"], ["name", "value"]] {
        begin(&sample.directory, &without);
        assert_eq!(asked(&sample), [ResultCode::BUSY; 4], "without {without:?}");
    }
    // But for the administrator, by what the configuration has.
    let administrator = sample.directory.credentials(&Requester::internal(), ADMINISTRATOR).unwrap();
    assert_eq!((administrator.is_administrator, administrator.stored), (true, vec![b"secret".to_vec()]));
}

#[test]
fn what_may_go_again_is_neither_told_nor_changed() {
    let sample = sample();
    let change = || ended(sample.modify(SMITH, &[(Replace, "sn", &["Smith"])]));
    for _ in 0..2 {
        begin(&sample.directory, &[]);
        assert_eq!((asked(&sample), change()), ([ResultCode::BUSY; 4], ResultCode::BUSY));
        end(&sample.directory);
        assert_eq!((asked(&sample), change()), ([ResultCode::SUCCESS; 4], ResultCode::SUCCESS));
    }
}

/// Text before whose last part all entries go, and another import begins.
struct Overtaken<'o> {
    parts: Vec<&'o [u8]>,
    directory: &'o Directory,
}

impl Read for Overtaken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(part) = self.parts.pop() else { return Ok(0) };
        if self.parts.is_empty() {
            begin(self.directory, &["entry", "name", "index", "waiting", "value"]);
        }
        buffer[..part.len()].copy_from_slice(part);
        Ok(part.len())
    }
}

#[test]
fn nothing_is_added_to_a_directory_that_another_import_has_begun_to_fill() {
    for skip_problems in [false, true] {
        let sample = sample();
        // Which an empty directory would take.
        let text = format!("dn: {BASE}\nobjectClass: domain\n\n");
        let text = Overtaken { parts: vec![text.as_bytes(), b"\n\n"], directory: &sample.directory };
        let options = ImportOptions { skip_problems, ..ImportOptions::default() };
        let mut text = BufReader::with_capacity(1 << 10, text);
        let imported = sample.directory.import("-", &mut text, options, &mut |_: ImportEvent<'_>| true);
        let error = imported.map(drop).unwrap_err().to_string();
        assert!(error.contains("an import into this directory is under way"), "{error}");
        assert!(sample.directory.is_empty().unwrap(), "what there is is the other's");
    }
}

/// Who reads the messages may be a pager at its first page.
#[test]
fn no_update_waits_while_an_import_tells_of_records() {
    let sample = sample();
    let there = format!(
        "dn: {SMITH}\nobjectClass: inetOrgPerson\ncn: a\nsn: a\n\n\
         dn: uid=new,ou=People,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: new\ncn: a\nsn: a\nunheard: of\n\n"
    );
    let options = ImportOptions { skip_problems: true, repair: true, ..ImportOptions::default() };
    let mut told = 0;
    let mut listener = |event: ImportEvent<'_>| {
        told += u64::from(matches!(event, ImportEvent::Problem(_) | ImportEvent::LeftOut(_)));
        sample.directory.database().try_begin_write().unwrap().abort();
        true
    };
    let imported = sample.directory.import("-", &mut there.as_bytes(), options, &mut listener).unwrap();
    assert_eq!((imported.entries, imported.problems, imported.left_out, told), (1, 1, 1, 2));
}
