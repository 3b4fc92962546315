//! `duramen directory`.

use super::Bench;

const LDIF: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: uid=jsmith,dc=example,dc=com
objectClass: inetOrgPerson
uid: jsmith
cn: John Smith
sn: Smith
";

fn with_people() -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path("people.ldif"), LDIF).unwrap();
    bench.ok(&["directory", "import", "--data", "people", "--suffix", "dc=example,dc=com", "people.ldif"]);
    bench
}

#[test]
fn a_reader_that_goes_away_ends_an_export_without_a_word() {
    let bench = Bench::new();
    let long = format!(
        "{LDIF}\ndn: o=long,dc=example,dc=com\nobjectClass: organization\no: long\ndescription: {}\n",
        "x".repeat(1 << 20)
    );
    std::fs::write(bench.path("long.ldif"), long).unwrap();
    bench.ok(&["directory", "import", "--data", "people", "--suffix", "dc=example,dc=com", "long.ldif"]);
    let mut command = bench.command(&["directory", "export", "--data", "people"]);
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(141), ""));
}

#[test]
fn what_is_imported_is_exported_checked_and_explained() {
    let bench = with_people();
    let exported = bench.ok(&["directory", "export", "--data", "people"]);
    assert!(exported.contains("dn: uid=jsmith,dc=example,dc=com\n") && exported.contains("entryUUID: "), "{exported}");
    let below = bench.ok(&["directory", "export", "--data", "people", "uid=jsmith,dc=example,dc=com"]);
    assert!(below.starts_with("dn: uid=jsmith") && exported.ends_with(&below));
    assert_eq!(bench.ok(&["directory", "check", "--data", "people"]), "everything fits together\n");
    let explained = bench.ok(&["directory", "explain", "--data", "people", "(sn=smith)"]);
    assert!(explained.contains("sn: index of equality, 1 candidate\n"), "{explained}");
    let filter = "(&(sn=smith)(|(nosuch=a)(!(uidNumber>=many))(cn;lang-en=Smith)))";
    let undefined = bench.ok(&["directory", "explain", "--data", "people", filter]);
    for told in
        ["nosuch: the schema has no such attribute type, so", "uidNumber: no rule of it takes what is asked for"]
    {
        assert!(undefined.contains(told), "{undefined}");
    }
    assert!(!undefined.contains("cn;lang-en:"), "{undefined}");
    let long = format!("(|{}", "(sn=smith)".repeat(1000));
    let refused = bench.run(&["directory", "explain", "--data", "people", &long]);
    assert!(refused.code == Some(2) && refused.stderr.contains("...\": at byte 10002"), "{}", refused.stderr);
    assert!(refused.stderr.len() < 200, "{}", refused.stderr);
    bench.ok(&["directory", "reindex", "--data", "people", "--all"]);
    assert_eq!(bench.ok(&["directory", "check", "--data", "people"]), "everything fits together\n");

    let again = bench
        .fed(&["directory", "import", "--data", "again", "--suffix", "dc=example,dc=com", "-"], exported.as_bytes());
    again.ok();
    assert_eq!(bench.ok(&["directory", "export", "--data", "again"]), exported);
    let wrong = b"dn: cn=a,dc=example,dc=com\nno colon\n";
    bench.fed(&["directory", "import", "--data", "again", "-"], wrong).fails(2, "standard input, line 2");
}

#[test]
fn the_servers_configuration_says_where_the_directory_is_and_what_it_goes_by() {
    let bench = Bench::new();
    std::fs::write(bench.path("people.ldif"), LDIF).unwrap();
    let schema = "attributetype ( 1.1.1 NAME 'own' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n";
    std::fs::create_dir(bench.path("etc")).unwrap();
    std::fs::write(bench.path("etc/own.schema"), schema).unwrap();
    let configure = |index: &str| {
        let text = "data = \"people\"\nsuffixes = [\"dc=example,dc=com\"]\n\
            administrator = { name = \"cn=admin,dc=example,dc=com\", password = \"secret\" }\n\
            [directory]\nschema = [\"own.schema\"]\n";
        let index = format!("[[index]]\nattribute = {index:?}\nkinds = [\"equality\"]\n");
        std::fs::write(bench.path("etc/duramend.toml"), format!("{text}{index}")).unwrap();
    };
    let run = |command: &str, more: &[&str]| {
        bench.run(&[&["directory", command, "--config", "etc/duramend.toml"], more].concat())
    };
    configure("own");
    run("explain", &["(own=x)"]).fails(2, "there is no directory in etc/people");
    run("import", &["people.ldif"]).ok();
    assert!(run("export", &[]).ok().contains("\ncreatorsName: cn=admin,dc=example,dc=com\n"), "as slapadd says it");
    let explained = run("explain", &["(own=x)"]).ok();
    assert!(explained.contains("own: index of equality") && !explained.contains("reindex"), "{explained}");
    assert!(run("explain", &["(sn=smith)"]).ok().contains("no index"), "as the configuration names another one");
    assert_eq!(run("check", &[]).ok(), "everything fits together\n");

    configure("sn");
    let explained = run("explain", &["(sn=smith)"]).ok();
    assert!(
        explained.contains("no index") && explained.contains("reindex` has completed them: indices of"),
        "{explained}"
    );
    run("reindex", &[]).ok();
    assert!(run("explain", &["(sn=smith)"]).ok().contains("sn: index of equality, 1 candidate\n"));
    let password = ["directory", "passwd", "--config", "etc/duramend.toml", "uid=jsmith,dc=example,dc=com"];
    bench.fed(&password, b"secret\n").ok();
    assert!(run("export", &["--data", "etc/people"]).ok().contains("userPassword: {ARGON2}"), "both may be named");
    let text = std::fs::read_to_string(bench.path("etc/duramend.toml")).unwrap();
    let text = text.replace("[directory]\n", "[directory]\npassword_scheme = \"SSHA512\"\n");
    std::fs::write(bench.path("etc/duramend.toml"), text).unwrap();
    bench.fed(&password, b"secret\n").ok();
    assert!(run("export", &[]).ok().contains("userPassword: {SSHA512}"), "as the server keeps new ones");
    for tool in ["import people.ldif", "export", "reindex", "check", "explain (own=x)"] {
        let args: Vec<_> = std::iter::once("directory").chain(tool.split(' ')).collect();
        bench.run(&args).fails(2, "<--data <DIR>|--config <FILE>>");
    }
    bench
        .run(&["acl", "explain", "anonymous", "dc=example,dc=com", "entry"])
        .fails(2, "<--config <FILE>|--data <DIR>>");
    bench.run(&["directory", "passwd", "uid=jsmith,dc=example,dc=com"]).fails(2, "--data DIR or --config FILE");
    std::fs::write(bench.path("etc/duramend.toml"), "").unwrap();
    run("export", &[]).fails(2, "etc/duramend.toml names no data");
}

#[test]
fn an_import_that_is_only_tried_writes_nothing() {
    let bench = with_people();
    let schema = "attributetype ( 1.1.1 NAME 'own' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n";
    std::fs::write(bench.path("own.schema"), schema).unwrap();
    let more = "dn: cn=more,dc=example,dc=com\nobjectClass: device\nobjectClass: extensibleObject\nown: x\n";
    std::fs::write(bench.path("more.ldif"), more).unwrap();
    let import = |more: &[&str]| bench.run(&[&["directory", "import", "more.ldif"], more].concat());
    import(&["--data", "people", "--schema", "own.schema", "--dry-run"]).ok();
    import(&["--data", "people"]).fails(2, "own: the schema has no such attribute type");
    std::fs::create_dir(bench.path("empty")).unwrap();
    let tried = ["--data", "empty", "--suffix", "dc=example,dc=com", "--schema", "own.schema", "--dry-run"];
    import(&tried).fails(2, "there is no entry \"dc=example,dc=com\" above it");
    assert_eq!(std::fs::read_dir(bench.path("empty")).unwrap().count(), 0);
}

#[test]
fn an_import_of_what_cannot_be_read_makes_no_directory() {
    let bench = Bench::new();
    std::fs::write(bench.path("people.ldif"), LDIF).unwrap();
    let import = |file: &str| {
        bench.run(&["directory", "import", "--data", "new", "--suffix", "dc=example,dc=com", "people.ldif", file])
    };
    import("peple.ldif").fails(2, "peple.ldif: No such file or directory");
    import(".").fails(2, ".: is a directory");
    assert!(!bench.path("new").exists());
    // What can be read but once is.
    let mut command =
        bench.command(&["directory", "import", "--data", "new", "--suffix", "dc=example,dc=com", "/dev/stdin"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), LDIF.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(bench.ok(&["directory", "export", "--data", "new"]).contains("uid=jsmith"));
}

#[test]
fn an_import_of_nothing_is_warned_of_since_what_made_the_ldif_may_have_failed() {
    let bench = with_people();
    let import = ["directory", "import", "--data", "people"];
    let warning = "warning: there are no entries in";
    for text in ["", "version: 1\n", "# nothing\n\n"] {
        std::fs::write(bench.path("empty.ldif"), text).unwrap();
        for quiet in [&[][..], &["--quiet"]] {
            let done = bench.run(&[&import[..], quiet, &["people.ldif", "empty.ldif", "--continue"]].concat());
            assert!(done.stderr.contains(&format!("{warning} empty.ldif")), "{text:?}: {}", done.stderr);
            assert!(!done.stderr.contains(&format!("{warning} people.ldif")), "what is left out is told of");
        }
    }
    let done = bench.fed(&[&import[..], &["-"]].concat(), b"");
    assert!(done.stderr.contains(&format!("{warning} standard input")), "{}", done.stderr);
    done.ok();
}

#[test]
fn an_import_chooses_the_indices_of_a_new_directory_only() {
    let bench = with_people();
    let import = ["directory", "import", "--suffix", "dc=example,dc=com", "--index", "sn:eq", "people.ldif", "--data"];
    bench.run(&[&import[..], &["people"]].concat()).fails(2, "--index is for a new directory");
    assert!(bench.ok(&["directory", "explain", "--data", "people", "(cn=x)"]).contains("cn: index of equality"));
    bench.ok(&[&import[..], &["new"]].concat());
    assert!(bench.ok(&["directory", "explain", "--data", "new", "(cn=x)"]).contains("cn: no index"));
}

#[test]
fn an_import_that_failed_can_be_repeated_with_its_indices() {
    let bench = Bench::new();
    std::fs::write(bench.path("people.ldif"), LDIF.replace("sn: Smith\n", "")).unwrap();
    let import =
        ["directory", "import", "--suffix", "dc=example,dc=com", "--index", "sn:eq", "people.ldif", "--data", "new"];
    bench.run(&import).fails(2, "requires attribute sn");
    bench
        .run(&[&import[..], &["--repair"]].concat())
        .fails(2, "(RFC 4512 2.4.1) (--continue leaves out whole records)");
    std::fs::write(bench.path("people.ldif"), LDIF).unwrap();
    let other = import.map(|it| if it == "sn:eq" { "mail:eq" } else { it });
    bench.ok(&[&other[..], &["--dry-run"]].concat());
    bench.ok(&import);
    let explained = |filter| bench.ok(&["directory", "explain", "--data", "new", filter]);
    assert!(explained("(sn=smith)").contains("sn: index of equality, 1 candidate\n"));
    assert!(explained("(cn=x)").contains("cn: no index"));
    bench.run(&other).fails(2, "--index is for a new directory");
    bench.ok(&["directory", "check", "--data", "new"]);
}

/// The server runs as that one, and root imports for it.
#[test]
fn a_new_directory_is_of_whom_its_folder_is() {
    use std::os::unix::fs::{MetadataExt, chown};
    let bench = Bench::new();
    std::fs::write(bench.path("people.ldif"), LDIF).unwrap();
    std::fs::create_dir(bench.path("people")).unwrap();
    // Whose it stays, if this is not root.
    chown(bench.path("people"), Some(65534), Some(65534)).ok();
    bench.ok(&["directory", "import", "--data", "people", "--suffix", "dc=example,dc=com", "people.ldif"]);
    let of = |name: &str| {
        let found = std::fs::metadata(bench.path(name)).unwrap();
        (found.uid(), found.gid(), found.mode() & 0o777)
    };
    let (user, group, _) = of("people");
    for file in ["people/directory.dm", "people/directory.dm-lock"] {
        assert_eq!(of(file), (user, group, 0o600), "{file}");
    }
}

#[test]
fn what_a_message_quotes_is_no_command_to_the_terminal() {
    let bench = with_people();
    // "uid=\u{1b}[2Jx\r,dc=example,dc=com"
    let ldif = "dn:: dWlkPRtbMkp4DSxkYz1leGFtcGxlLGRjPWNvbQ==\nobjectClass: nonsense\n";
    std::fs::write(bench.path("wrong.ldif"), ldif).unwrap();
    let done = bench.run(&["directory", "import", "--data", "people", "wrong.ldif"]);
    assert!(done.stderr.contains("line 1") && done.stderr.contains("[2Jx"), "{:?}", done.stderr);
    assert!(!done.stderr.contains(['\u{1b}', '\r']), "{:?}", done.stderr);
}

#[test]
fn what_is_wrong_is_named_with_file_and_line() {
    let bench = with_people();
    std::fs::write(bench.path("wrong.ldif"), format!("{LDIF}\ndn: uid=x,dc=example,dc=com\nobjectClass: nonsense\n"))
        .unwrap();
    let import = |data: &str, more: &[&str], file: &str| {
        let args = [&["directory", "import", "--data", data], more, &[file]].concat();
        bench.run(&args)
    };
    let suffix = ["--suffix", "dc=example,dc=com"];
    let message = "wrong.ldif, line 11: uid=x,dc=example,dc=com: objectClass, value 1";
    import("new", &suffix, "wrong.ldif").fails(2, message);
    import("nowhere", &[&suffix[..], &["--dry-run"]].concat(), "wrong.ldif").fails(2, message);
    assert!(!bench.path("nowhere").exists());
    import("people", &["--continue"], "wrong.ldif").fails(2, "3 records were left out");
    std::fs::write(bench.path("one.ldif"), "dn: uid=x,dc=example,dc=com\nobjectClass: nonsense\n").unwrap();
    import("people", &["--continue"], "one.ldif").fails(2, "1 record was left out");
    import("new2", &[], "people.ldif").fails(2, "--suffix");
    bench.run(&["directory", "export", "--data", "missing"]).fails(2, "there is no directory in missing");
    // As a power cut may leave it that comes before the first entry of an import.
    std::fs::create_dir(bench.path("begun")).unwrap();
    bench.ok(&["put", "begun/directory.dm", "table", "key", "value"]);
    for tool in ["check", "export"] {
        bench.run(&["directory", tool, "--data", "begun"]).fails(2, "holds no directory yet");
    }
    std::os::unix::fs::symlink("round", bench.path("round")).unwrap();
    bench.run(&["directory", "export", "--data", "round"]).fails(2, "Too many levels of symbolic links");
}

#[test]
fn access_rules_are_explained_as_the_server_would_apply_them_with_groups_in_groups() {
    let bench = with_people();
    let group = |name: &str, member: &str| {
        format!("\ndn: cn={name},dc=example,dc=com\nobjectClass: groupOfNames\nmember: {member},dc=example,dc=com\n")
    };
    let groups = [group("inner", "uid=jsmith"), group("outer", "cn=inner")].concat();
    std::fs::write(bench.path("groups.ldif"), groups).unwrap();
    bench.ok(&["directory", "import", "--data", "people", "groups.ldif"]);
    let rules = "access to filter=\"(memberOf=cn=outer,dc=example,dc=com)\" attrs=sn by * none\naccess to * by * read";
    for (nested, granted) in [(true, "granted: none"), (false, "granted: read")] {
        let text =
            format!("data = \"people\"\n[directory]\nnested_groups = {nested}\n[access]\nrules = '''\n{rules}\n'''\n");
        std::fs::write(bench.path("duramend.toml"), text).unwrap();
        let asked = ["--config", "duramend.toml", "anonymous", "uid=jsmith,dc=example,dc=com", "sn"];
        let explained = bench.ok(&[&["acl", "explain"], &asked[..]].concat());
        assert!(explained.contains(granted), "{nested}: {explained}");
    }
}
