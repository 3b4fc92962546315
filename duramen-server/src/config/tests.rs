use std::path::{Path, PathBuf};
use std::time::Duration;

use duramen_directory::{Demand, SearchLimits, Shows};

use super::*;

/// A configuration, or what it says that is wrong.
fn load(path: Option<&Path>, overrides: &Overrides) -> Result<Config, Vec<Fault>> {
    let (config, faults) = check(path, overrides, Judge::None)?;
    if faults.is_empty() { Ok(config) } else { Err(faults) }
}

/// The configuration that `text` gives in a file of a directory of its own.
fn loaded(text: &str) -> Result<Config, Vec<Fault>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    std::fs::write(&path, text).unwrap();
    load(Some(&path), &Overrides::default())
}

/// What is said of the only fault of `text`: line, column, and the rest.
fn fault(text: &str) -> (usize, usize, String) {
    let faults = loaded(text).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    let (line, column) = faults[0].place.expect("a place in the file");
    (line, column, format!("{}; {}", faults[0].what, faults[0].cure))
}

#[test]
fn without_a_file_the_data_directory_is_all_that_is_needed() {
    let overrides =
        Overrides { data: Some("/data".into()), suffixes: vec!["dc=example,dc=com".into()], ..Overrides::default() };
    let config = load(None, &overrides).unwrap();
    assert_eq!(config.listen.ldap, ["127.0.0.1:1389".parse().unwrap()]);
    assert_eq!(config.listen.ldapi, Some(PathBuf::from("/data/ldapi")));
    assert_eq!((&config.directory.suffixes, config.tls, config.http), (&overrides.suffixes, None, None));
    let deep = Overrides { data: Some("/data".repeat(30).into()), ..overrides };
    assert_eq!(load(None, &deep).unwrap().listen.ldapi, None, "no local socket has so long a path");
    let faults = load(None, &Overrides::default()).unwrap_err();
    assert!(faults[0].to_string().contains("give --data DIRECTORY"), "{}", faults[0]);
}

#[test]
fn the_sample_is_right_and_what_it_shows_as_default_is_the_default() {
    let sample = include_str!("../../duramend.toml");
    let plain = loaded(sample).unwrap();
    // What stands behind `# ` and looks like a setting, other than what has no default.
    let given = |line: &str| line.starts_with("# ") && line.contains(" = ") && !line.contains("= \"\"\"");
    let optional = [
        "certificate",
        "key",
        "client_",
        "match",
        "name",
        "password =",
        "attribute",
        "kinds",
        "file",
        "listen",
        "flush",
        "for =",
        "default =",
        "tell_locked",
        "changes",
        "providers",
        "starttls",
        "roots",
        "bind",
        "password_file",
        "suffixes",
        "refer",
        "regex",
        "restrict",
        "class",
        "urls",
        "member",
        "renamed",
        "retry_seconds",
        "answer_seconds",
        "takes_changes",
        "server_id",
    ];
    let skipped = |line: &str| optional.iter().any(|name| line[2..].starts_with(name));
    let shown: Vec<_> = sample
        .lines()
        .map(|line| if given(line) && !skipped(line) { line[2..].to_string() } else { line.to_string() })
        .collect();
    assert_ne!(shown.join("\n"), sample.trim_end());
    let shown = loaded(&shown.join("\n")).unwrap();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let limits = Limits { password_checks: cores, threads: cores, ..shown.limits };
    assert_eq!((limits, shown.log), (plain.limits.clone(), plain.log.clone()));
    assert_eq!((plain.limits, plain.log), (Limits::default(), Log::default()));
    assert_eq!(format!("{:?}", shown.directory), format!("{:?}", plain.directory));
}

#[test]
fn an_unknown_setting_is_named_with_its_line_and_those_there_are() {
    let (line, column, what) = fault("data = \"/d\"\n[limits]\nentires = 5\n");
    assert_eq!((line, column), (3, 1));
    assert!(what.contains("there is no setting `entires` here, but `entries`, "), "{what}");
}

#[test]
fn faults_of_values_have_their_place_and_a_cure() {
    let cases = [
        ("data = \"/d\"\nsuffixes = [\"dc=a\", \"nonsense\"]\n", (2, 21), "write one like dc=example,dc=com"),
        ("data = \"/d\"\n[listen]\nldap = [\"here\"]\n", (3, 8), "write one like 127.0.0.1:389"),
        ("data = \"/d\"\n[listen]\nldaps = [\"[::1]:636\"]\n", (3, 10), "add a section [tls]"),
        ("data = \"/d\"\n[listen]\nldap = []\n", (2, 1), "leave the section away"),
        ("data = \"/d\"\n[limits]\npending = 0\n", (3, 11), "write 1 or more"),
        ("data = \"/d\"\n[sync]\nchanges = 0\n", (3, 11), "write 1 or more"),
        ("data = \"/d\"\n[limits]\nfilter_depth = 0\n", (3, 16), "write 1 or more"),
        ("data = \"/d\"\n[limits]\nfilter_depth = 1000\n", (3, 16), "write 256 or less"),
        ("data = \"/d\"\n[limits]\nthreads = 4294967296\n", (3, 11), "write 1024 or less"),
        ("data = \"/d\"\n[limits]\npassword_checks = 9223372036854775807\n", (3, 19), "write 1024 or less"),
        ("data = \"/d\"\n[log]\nlevel = \"duramend=loud\"\n", (3, 9), "write error, warn, info, debug or trace"),
        ("data = \"/d\"\n[log]\nlevel = \"warning\"\n", (3, 9), "write error, warn, info, debug or trace"),
        ("data = \"/d\"\n[log]\nlevel = \"info, duramen_server\"\n", (3, 9), "info,duramen_server=debug"),
        ("data = \"/d\"\n[log]\nlevel = \"\"\n", (3, 9), "write error, warn, info, debug or trace"),
        ("data = \"/d\"\n[administrator]\nname = \"cn=a\"\npassword = \"{ROT13}a\"\n", (4, 12), "directory passwd"),
        ("data = \"/d\"\n[administrator]\nname = \"cn=a\"\npassword = \"\"\n", (4, 12), "that of the entry"),
        ("data = \"/d\"\n[limits]\nhandshake_seconds = 0\n", (3, 21), "write 1 or more"),
        ("data = \"/d\"\n[directory]\nreferrals = [\"http://a\"]\n", (3, 14), "write one like ldap://"),
        ("data = \"/d\"\n[directory]\npassword_scheme = \"ROT13\"\n", (3, 19), "ARGON2 is the default"),
        ("data = \"/d\"\n[directory]\nschema = [\"absent.schema\"]\n", (3, 11), "check the path"),
        ("data = \"/d\"\n[access]\nrules = \"\"\nfile = \"duramend.toml\"\n", (4, 8), "leave one of them away"),
        ("data = \"/d\"\n[administrator]\nname = \"admin\"\n", (3, 8), "write one like dc=example,dc=com"),
        ("data = \"\"\n", (1, 8), "give --data DIRECTORY"),
        ("data = \"a\\u0000b\"\n", (1, 8), "has a NUL in it; write one like /var/lib/duramend"),
        ("data = \"/d\"\n[listen]\nldapi = \"\"\n", (3, 9), "write one like /run/duramend/ldapi"),
        ("data = \"/d\"\n[listen]\nldapi = \"\\u0000name\"\n", (3, 9), "abstract ones are not served; write one like"),
        ("data = \"/d\"\n[listen]\nldapi = \"ldapi:///\"\n", (3, 9), "as a URL; write one like /run/duramend/ldapi"),
        ("data = \"/d\"\n[listen]\nldap = [\"[::1]:389\", \"[::1]:389\"]\n", (3, 22), "choose another port"),
        ("data = \"/d\"\n[listen]\nldap = [\"127.0.0.1:389\", \"0.0.0.0:389\"]\n", (3, 26), "leave one of them out"),
        ("data = \"/d\"\n[[index]]\nattribute = \"cn\"\nkinds = []\n", (4, 9), "name presence, equality or substring"),
        (
            "data = \"/d\"\n[listen]\nldap = [\"[::1]:1\"]\n[http]\nlisten = \"[::1]:1\"\n",
            (5, 10),
            "already, by [::1]:1",
        ),
        ("data = \"/d\"\n[http]\nlisten = \"127.0.0.1:1389\"\n", (3, 10), "already, by 127.0.0.1:1389; choose another"),
    ];
    for (text, place, cure) in cases {
        let (line, column, what) = fault(text);
        assert!((line, column) == place && what.contains(cure), "{text}: {line}:{column}: {what}");
    }
}

#[test]
fn a_local_socket_has_a_path_of_107_bytes_at_most() {
    let socket = |length: usize| format!("data = \"/d\"\n[listen]\nldapi = \"/{}\"\n", "a".repeat(length - 1));
    assert!(loaded(&socket(107)).is_ok());
    let (line, column, what) = fault(&socket(108));
    assert!((line, column) == (3, 9) && what.contains("has 108 bytes; choose one of 107 or less"), "{what}");
}

#[test]
fn what_is_in_the_way_of_the_data_and_of_the_local_socket_is_told_by_who_checks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    std::fs::write(dir.path().join("file"), "").unwrap();
    let checked = |text: &str| {
        std::fs::write(&path, format!("suffixes = [\"dc=a\"]\n{text}\n")).unwrap();
        check(Some(&path), &Overrides::default(), Judge::New).unwrap()
    };
    for (text, told) in [
        ("data = \"file\"", "2:8: the data directory /file is none: "),
        ("data = \"file/data\"", "2:8: the data directory /file/data is none: "),
        (
            "data = \"d\"\n[listen]\nldapi = \"file\"",
            "4:9: the local socket /file cannot be made: what is there is no socket",
        ),
        ("data = \"d\"\n[listen]\nldapi = \"d\"", "4:9: the local socket /d cannot be made: it is the data directory"),
        (
            "data = \"d\"\n[listen]\nldapi = \"file/s\"",
            "4:9: the local socket /file/s cannot be made: what should be its",
        ),
        ("data = \"d\"\n[listen]\nldapi = \"\"", "4:9: the path of the local socket is empty"),
    ] {
        let (_, faults) = checked(text);
        let said = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let said = said.replace(dir.path().to_str().unwrap(), "");
        assert!(said.starts_with(&format!("/duramend.toml:{told}")) && faults.len() == 1, "{text}: {said}");
    }
    for (socket, missing) in [("run/ldapi", true), ("ldapi", false), ("d/ldapi", false)] {
        let (config, faults) = checked(&format!("data = \"d/e\"\n[listen]\nldapi = \"{socket}\""));
        assert!(faults.is_empty() && config.missing().is_some() == missing, "{socket}: {faults:?}");
    }
}

#[test]
fn ports_that_the_system_chooses_and_other_addresses_may_be_listened_at_as_often_as_one_likes() {
    for ldap in ["\"127.0.0.1:0\", \"127.0.0.1:0\"", "\"127.0.0.1:1\", \"127.0.0.2:1\"", "\"0.0.0.0:1\", \"[::1]:1\""] {
        loaded(&format!("data = \"/d\"\n[listen]\nldap = [{ldap}]\n")).unwrap();
    }
}

#[test]
fn the_command_lines_say_is_held_to_the_same() {
    let address = "127.0.0.1:389".parse().unwrap();
    let listen = Listen { ldap: vec![address, address], ldapi: Some("".into()), ..Listen::default() };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{ROT13}a\n").unwrap();
    let administrator = Some(("cn=a".into(), file.path().to_owned()));
    let (data, listen) = (Some("".into()), Some(listen));
    let overrides = Overrides { data, listen, administrator, ..Overrides::default() };
    let told: Vec<_> = load(None, &overrides).unwrap_err().into_iter().map(|fault| fault.what).collect();
    let wanted = [
        "no data directory",
        "the path of the local socket is empty",
        "127.0.0.1:389 is listened at already",
        "the password's scheme is not known here",
    ];
    assert!(told.len() == 4 && told.iter().zip(wanted).all(|(told, wanted)| told.contains(wanted)), "{told:?}");
}

#[test]
fn a_stored_password_that_nothing_matches_is_a_fault() {
    for stored in ["{SSHA}xx", "{CRYPT}$7$a", "{ARGON2}", "{CRYPT}*"] {
        let text = format!("suffixes = [\"dc=a\"]\n[administrator]\nname = \"cn=a\"\npassword = \"{stored}\"\n");
        let told = loaded(&text).err().unwrap_or_default();
        let is_told = told.iter().any(|fault| fault.what.contains("no password matches this"));
        assert_eq!(is_told, stored != "{CRYPT}*", "{stored}: {told:?}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let text = "suffixes = [\"a\", \"b\"]\n[limits]\npending = 0\n";
    assert_eq!(loaded(text).unwrap_err().len(), 4);
}

#[test]
fn faults_of_the_directorys_settings_are_told_with_the_others_each_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    let text = "data = \"d\"\nsuffixes = [\"dc=a\", \"nonsense\", \"dc=b,dc=a\"]\n\
        administrator = { name = \"nosuch=a\" }\n\
        [directory]\nunique = [\"title\", \"nosuch\", \"jpegPhoto\", \"uid\"]\n\
        references = [\"seeAlso\", \"cn\"]\npassword_scheme = \"FOO\"\n\
        [[index]]\nattribute = \"uid\"\nkinds = [\"equality\"]\n\
        [[index]]\nattribute = \"jpegPhoto\"\nkinds = [\"equality\"]\n\
        [[limits.for]]\nwho = \"users\"\n[[limits.for]]\nwho = \"self\"\n";
    std::fs::write(&path, text).unwrap();
    let (_, faults) = check(Some(&path), &Overrides::default(), Judge::New).unwrap();
    let mut found: Vec<_> = faults.iter().map(|fault| (fault.place.unwrap(), fault.to_string())).collect();
    found.sort();
    let told = [
        ((2, 21), "write one like dc=example,dc=com"),
        ((2, 33), "\"dc=a\" has it already: leave it out"),
        ((3, 26), "write one like cn=admin,dc=example,dc=com"),
        ((5, 11), "add one, build it by"),
        ((5, 20), "correct the name, or load the file that has it"),
        ((5, 30), "it has no rule for equality: leave it out"),
        ((6, 15), "it has no index of equality"),
        ((6, 26), "its values are not names of entries: leave it out"),
        ((7, 19), "ARGON2 is the default"),
        ((12, 13), "leave \"equality\" out"),
        ((17, 7), "depends on an entry"),
    ];
    assert_eq!(found.len(), told.len(), "{found:#?}");
    for ((place, fault), (wanted, cure)) in found.iter().zip(told) {
        assert!(*place == wanted && fault.contains(cure), "{wanted:?} {cure}: {fault}");
    }
    // What only the schema that is missing would tell is not told.
    std::fs::write(&path, "data = \"d\"\n[directory]\nschema = [\"absent\"]\nunique = [\"ours\"]\n").unwrap();
    assert_eq!(check(Some(&path), &Overrides::default(), Judge::New).unwrap().1.len(), 1);
}

#[test]
fn a_value_of_another_kind_is_told_of_as_people_speak() {
    for (text, told) in [
        ("suffixes = \"dc=a\"", "a list in brackets is wanted here, not \"dc=a\""),
        ("suffixes = \"a, expected b\"", "a list in brackets is wanted here, not \"a, expected b\""),
        ("data = 5", "a path in quotation marks is wanted here, not 5"),
        ("data = d", "text has to stand in quotation marks"),
        ("data = \"d\"\ndata = \"d\"", "this is written twice"),
        ("limits = 5", "a section is wanted here, not 5"),
        ("[limits]\nconnections = \"5\"", "a whole number from 0 on is wanted here, not \"5\""),
        ("[limits]\nconnections = -5", "a whole number from 0 on is wanted here, not -5"),
        ("[limits]\nidle_seconds = 5.5", "a whole number from 0 on is wanted here, not 5.5"),
        ("[limits]\nentries = 99999999999", "a whole number from 0 to 4294967295 is wanted here, not 99999999999"),
        ("[limits]\nthreads = 99999999999999999999999", "a whole number from 0 on is wanted here, not 99999999999999"),
        ("[log]\nstats = \"yes\"", "true or false is wanted here, not \"yes\""),
        ("[log]\nformat = \"yes\"", "`yes` is no choice here, but `text`, `json`, `bare`"),
        ("[directory]\nnis = \"bis\"", "`bis` is no choice here, but `2307` or `2307bis`"),
        ("[log]\nlevel = []", "text in quotation marks is wanted here, not a list"),
        ("[tls]\ncertificate = \"c\"", "`key` is missing here"),
        ("[index]\nattribute = \"cn\"", "a list in brackets is wanted here, not a section"),
    ] {
        let (.., what) = fault(text);
        assert!(what.starts_with(told), "{text}: {what}");
    }
}

#[test]
fn what_the_file_has_wrong_is_told_before_what_is_not_there() {
    let faults = loaded("[limits]\npending = 0\n").unwrap_err();
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(told[0].contains("write 1 or more") && told[1].contains("no data directory is named"), "{told:?}");
}

#[test]
fn a_file_that_may_have_no_end_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    let key = dir.path().join("key");
    std::fs::write(&key, "").unwrap();
    let [pipe, key, directory] = [&pipe, &key, dir.path()].map(|path| path.to_str().unwrap());
    for (text, told) in [
        (format!("[tls]\ncertificate = \"{pipe}\"\nkey = \"{key}\""), "it is a pipe"),
        (format!("[tls]\ncertificate = \"{directory}\"\nkey = \"{key}\""), "is a directory"),
        (format!("[directory]\nschema = [\"{pipe}\"]"), "it is a pipe"),
        (format!("[access]\nfile = \"{pipe}\""), "it is a pipe"),
        ("[directory]\nschema = [\"/dev/zero\"]".to_string(), "or a device"),
    ] {
        let (line, _, what) = fault(&format!("data = \"d\"\n{text}\n"));
        assert!(line == 3 && what.contains("cannot be read") && what.contains(told), "{what}");
    }
}

#[test]
fn access_rules_of_which_there_are_none_are_a_fault() {
    for rules in ["", "# access to * by * read", "add_content_acl on"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("duramend.toml");
        std::fs::write(dir.path().join("access.conf"), rules).unwrap();
        let texts = [format!("rules = \"{rules}\"\n"), "file = \"access.conf\"\n".to_owned()];
        for (text, source) in texts.iter().zip(["access.rules", "access.conf"]) {
            std::fs::write(&path, format!("data = \"d\"\n[access]\n{text}")).unwrap();
            let (_, faults) = check(Some(&path), &Overrides::default(), Judge::New).unwrap();
            let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let wanted = format!("{source}: there is no access rule in it: write one like");
            assert!(told.len() == 1 && told[0].contains(&wanted), "{told:?}");
        }
    }
}

#[test]
fn paths_are_relative_to_the_files_directory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    let (certificate, key) = (dir.path().join("a.pem"), dir.path().join("a.key"));
    std::fs::write(&certificate, "").unwrap();
    std::fs::write(&key, "").unwrap();
    let text = "data = \"d\"\n[listen]\nldapi = \"s\"\n[tls]\ncertificate = \"a.pem\"\nkey = \"a.key\"\n";
    std::fs::write(&path, text).unwrap();
    let config = load(Some(&path), &Overrides::default()).unwrap();
    assert_eq!((config.data, config.listen.ldapi), (dir.path().join("d"), Some(dir.path().join("s"))));
    let tls = config.tls.unwrap();
    assert_eq!((&tls.certificate, &tls.key), (&certificate, &key));
    let fault = crate::tls::load(&tls).unwrap_err();
    assert_eq!(fault.file.as_deref(), Some(certificate.as_path()));
    assert!(fault.to_string().contains("there is no certificate in it"), "{fault}");
}

#[test]
fn the_command_line_goes_before_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    std::fs::write(&path, "data = \"d\"\nsuffixes = [\"dc=a\"]\n[log]\nslow_ms = 0\n").unwrap();
    let listen = Listen { ldap: vec!["[::1]:0".parse().unwrap()], ..Listen::default() };
    let overrides = Overrides {
        data: Some("/e".into()),
        suffixes: vec!["dc=b".into()],
        listen: Some(listen.clone()),
        stats: true,
        ..Overrides::default()
    };
    let config = load(Some(&path), &overrides).unwrap();
    assert_eq!((config.data.as_path(), &config.listen), (Path::new("/e"), &listen));
    assert_eq!((config.directory.suffixes, config.log.stats, config.log.slow), (vec!["dc=b".to_string()], true, None));
}

#[test]
fn a_file_that_is_not_there_is_a_fault_with_its_name() {
    let faults = load(Some(Path::new("/absent/duramend.toml")), &Overrides::default()).unwrap_err();
    assert!(faults[0].to_string().starts_with("/absent/duramend.toml: the configuration cannot be read"));
}

/// Files of old, whose authors' names have accents: other servers take them.
#[test]
fn schema_files_may_have_lines_in_latin_1_and_other_files_are_said_to() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    file("a.schema", b"# Ren\xe9, \xc3\xa9t\xc3\xa9\r\n# \xc3\xa9t\xc3\xa9\nattributetype ( 1.2.3 NAME 'a' DESC 'Ren\xe9' SUP name )\n");
    let path = file("duramend.toml", b"data = \"d\"\nsuffixes = [\"dc=a\"]\n[directory]\nschema = [\"a.schema\"]\n");
    let (config, faults) = check(Some(&path), &Overrides::default(), Judge::New).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    let text = &config.directory.schema[0].text;
    assert!(text.contains("\n# \u{e9}t\u{e9}\nattributetype") && text.contains("'Ren\u{e9}'"), "{text}");
    file("access.conf", b"# Ren\xc3\xa9\n# Ren\xe9\naccess to * by * read\n");
    let path = file("access.toml", b"data = \"d\"\n[access]\nfile = \"access.conf\"\n");
    let told = load(Some(&path), &Overrides::default()).unwrap_err()[0].to_string();
    assert!(told.contains("access.conf cannot be read: line 2 is not UTF-8; write it as UTF-8: `iconv"), "{told}");
    let path = file("latin.toml", b"data = \"d\"\n# Ren\xe9\n");
    let told = load(Some(&path), &Overrides::default()).unwrap_err()[0].to_string();
    assert!(told.contains("latin.toml: the configuration cannot be read: line 2 is not UTF-8; write it"), "{told}");
}

#[test]
fn zero_seconds_switch_a_limit_off() {
    let config = loaded("data = \"d\"\n[limits]\nidle_seconds = 0\nsearch_seconds = 0\nwrite_seconds = 5\n").unwrap();
    assert_eq!(config.limits.idle, Duration::ZERO);
    assert_eq!(config.directory.limits.search.time, None);
    assert_eq!(config.limits.write, Duration::from_secs(5));
}

#[test]
fn what_the_directory_makes_up_is_no_suffix() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    std::fs::write(
        &path,
        "data = \"d\"\nsuffixes = [\"CN=Monitor\", \"ou=a,cn=subschema\", \"dc=a\", \"cn=config\"]\n",
    )
    .unwrap();
    let faults = check(Some(&path), &Overrides::default(), Judge::New).unwrap().1;
    let told: Vec<_> = faults.iter().map(|fault| (fault.place.unwrap().1, fault.to_string())).collect();
    let is = |n: usize, column, what: &str| told[n].0 == column && told[n].1.contains(what);
    let wanted = "is made up by the directory, and searches find nothing else there: choose another";
    assert!(told.len() == 2 && is(0, 13, wanted) && is(1, 27, wanted), "{told:?}");
}

#[test]
fn what_limits_for_some_leave_out_is_as_for_all() {
    let limits = "data = \"d\"\n[limits]\nentries = 500\nsearch_seconds = 60\n\
        [[limits.for]]\nwho = \"users\"\nentries = 0\n\
        [[limits.for]]\nwho = \"anonymous\"\nsearch_seconds = 0\nexamined = 9\n";
    let directory = loaded(limits).unwrap().directory;
    let all = directory.limits.search;
    assert_eq!((all.entries, all.time, all.examined), (500, Some(Duration::from_secs(60)), 0));
    let some: Vec<_> = directory.limits_for.iter().map(|some| (some.who.as_str(), some.search)).collect();
    let users = SearchLimits { entries: 0, ..all };
    assert_eq!(some, [("users", users), ("anonymous", SearchLimits { time: None, examined: 9, ..all })]);
}

#[test]
fn who_takes_changes_together_with_others_has_a_number_and_tells_what_changes() {
    let with = |rest: &str, sync: &str| {
        format!("data = \"d\"\nsuffixes = [\"dc=x\"]\n{sync}[replica]\nproviders = [\"ldap://b\"]\n{rest}")
    };
    let config = loaded(&with("takes_changes = true\nserver_id = 7\n", "[sync]\n")).unwrap();
    assert_eq!((config.directory.member, config.replica.and_then(|replica| replica.member)), (Some(7), Some(7)));
    let config = loaded(&with("", "[sync]\n")).unwrap();
    assert_eq!((config.directory.member, config.replica.and_then(|replica| replica.member)), (None, None));
    for (rest, sync, place, told) in [
        ("takes_changes = true\n", "[sync]\n", (5, 13), "needs a number of its own; write server_id = 1"),
        ("server_id = 1\n", "[sync]\n", (6, 13), "write takes_changes = true beside it"),
        ("takes_changes = true\nserver_id = 4096\n", "[sync]\n", (7, 13), "4096 is too much"),
        ("takes_changes = true\nserver_id = 0\n", "[sync]\n", (7, 13), "0 is too little"),
        ("takes_changes = true\nserver_id = 1\n", "", (6, 13), "write a section [sync]"),
        ("takes_changes = true\nserver_id = 1\nrefer = [\"ldap://c\"]\n", "[sync]\n", (8, 10), "leave refer out"),
    ] {
        let (line, column, said) = fault(&with(rest, sync));
        assert!((line, column) == place && said.contains(told), "{rest}{sync}: {line}:{column} {said}");
    }
}

#[test]
fn a_constraint_demands_one_thing() {
    let section = |rest: &str| format!("data = \"d\"\n[[constraint]]\nattributes = [\"mail\"]\n{rest}");
    let (line, column, said) = fault(&section("size = 5\ncount = 1\n"));
    assert!((line, column) == (5, 9) && said.contains("this is the second; write it into a section"), "{said}");
    let (line, column, said) = fault(&section("restrict = \"ldap:///\"\n"));
    assert!((line, column) == (3, 14) && said.contains("demands nothing is none; give regex"), "{said}");
    for (rest, place, told) in [
        ("size = -1\n", (4, 8), "a whole number from 0 on is wanted here, not -1"),
        ("count = \"many\"\n", (4, 9), "a whole number from 0 on is wanted here, not \"many\""),
        ("set = \"this/cn\"\n", (4, 1), "there is no setting `set` here, but `attributes`, `regex`"),
    ] {
        let (line, column, said) = fault(&section(rest));
        assert!((line, column) == place && said.contains(told), "{rest}: {line}:{column} {said}");
    }
    let (_, _, said) = fault("data = \"d\"\n[[constraint]]\nsize = 5\n");
    assert!(said.contains("`attributes` is missing here"), "{said}");
    let both = format!("{}[[constraint]]\nattributes = [\"cn\"]\ncount = 0\n", section("negregex = 'x'\n"));
    let demands: Vec<_> = loaded(&both).unwrap().directory.constraints.into_iter().map(|one| one.demand).collect();
    assert_eq!(demands, [Demand::MatchesNot("x".into()), Demand::CountMax(0)]);
}

#[test]
fn what_a_directory_finds_wrong_with_a_constraint_has_the_place_of_that_part() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    let text = "data = \"d\"\nsuffixes = [\"dc=a\"]\n\
        [[constraint]]\nattributes = [\"cn\", \"nosuch\"]\nsize = 5\n\
        [[constraint]]\nattributes = [\"cn\"]\nregex = 'a('\n\
        [[constraint]]\nattributes = [\"cn\"]\ncount = 1\nrestrict = \"ldap:///dc=b\"\n\
        [[constraint]]\nattributes = []\ncount = 1\n";
    std::fs::write(&path, text).unwrap();
    let faults = check(Some(&path), &Overrides::default(), Judge::New).unwrap().1;
    let told: Vec<_> = faults.iter().map(|fault| (fault.place.unwrap(), fault.to_string())).collect();
    let wanted = [
        ((4, 21), "constraint of cn, nosuch: nosuch: the schema has no such attribute type"),
        ((8, 9), "constraint of cn: regex 'a(' is not a regular expression"),
        ((12, 12), "\"dc=b\" is below none of the suffixes"),
        ((14, 14), "it names no attribute"),
    ];
    assert_eq!(told.len(), wanted.len(), "{told:?}");
    for ((place, said), (where_, what)) in told.iter().zip(wanted) {
        assert!(*place == where_ && said.contains(what), "{place:?} {said}");
    }
}

#[test]
fn a_dynamic_list_shows_members_or_attributes() {
    let section =
        |rest: &str| format!("data = \"d\"\n[[dynamic_list]]\nclass = \"groupOfURLs\"\nurls = \"memberURL\"\n{rest}");
    let (line, column, said) = fault(&section("member = \"member\"\nrenamed = [{ from = \"cn\", to = \"sn\" }]\n"));
    assert!((line, column) == (6, 21) && said.contains("leave `member` out"), "{line}:{column} {said}");
    let (line, column, said) = fault(&section("member_of = true\n"));
    assert!((line, column) == (5, 13) && said.contains("name the attribute of members"), "{line}:{column} {said}");
    let (_, _, said) = fault("data = \"d\"\n[[dynamic_list]]\nclass = \"groupOfURLs\"\n");
    assert!(said.contains("`urls` is missing here"), "{said}");
    let lists = loaded(&section("member = \"member\"\nmember_of = true\n")).unwrap().directory.dynamic_lists;
    let shows = Shows::Members { attribute: "member".into(), in_member_of: true };
    assert_eq!((lists.len(), &lists[0].shows, &lists[0].restrict), (1, &shows, &None));
}

#[test]
fn what_a_directory_finds_wrong_with_a_dynamic_list_has_the_place_of_that_part() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    let text = "data = \"d\"\nsuffixes = [\"dc=a\"]\n\
        [[dynamic_list]]\nclass = \"nosuch\"\nurls = \"memberURL\"\n\
        [[dynamic_list]]\nclass = \"device\"\nurls = \"cn\"\n\
        [[dynamic_list]]\nclass = \"device\"\nurls = \"labeledURI\"\nrenamed = [{ from = \"cn\", to = \"seeAlso\" }]\n\
        [[dynamic_list]]\nclass = \"device\"\nurls = \"labeledURI\"\nrestrict = \"ldap:///dc=b\"\n";
    std::fs::write(&path, text).unwrap();
    let faults = check(Some(&path), &Overrides::default(), Judge::New).unwrap().1;
    let told: Vec<_> = faults.iter().map(|fault| (fault.place.unwrap(), fault.to_string())).collect();
    let wanted = [
        ((4, 9), "dynamic list of nosuch: the schema has no object class"),
        ((8, 8), "cn is no kind of labeledURI"),
        ((12, 21), "values of cn need not be ones of seeAlso"),
        ((16, 12), "\"dc=b\" is below none of the suffixes"),
    ];
    assert_eq!(told.len(), wanted.len(), "{told:?}");
    for ((place, said), (where_, what)) in told.iter().zip(wanted) {
        assert!(*place == where_ && said.contains(what), "{place:?} {said}");
    }
}

#[test]
fn what_is_wrong_on_the_command_line_is_told_once() {
    let overrides = Overrides { data: Some("/data".into()), suffixes: vec!["not a dn".into()], ..Overrides::default() };
    let (_, faults) = check(None, &overrides, Judge::New).unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].to_string().contains("--suffix \"not a dn\" is no name"), "{}", faults[0]);
    let overrides = Overrides { suffixes: vec!["dc=a".into(), "dc=b,dc=a".into()], ..overrides };
    let (_, faults) = check(None, &overrides, Judge::New).unwrap();
    assert_eq!(faults.len(), 1, "what only the directory finds: {faults:?}");
}

#[test]
fn a_level_of_the_log_that_is_none_is_called_so_once() {
    let (_, _, said) = fault("data = \"d\"\n[log]\nlevel = \"loud\"\n");
    assert!(said.starts_with("\"loud\" is no level of the log; write error, warn"), "{said}");
    let (_, _, said) = fault("data = \"d\"\n[log]\nlevel = \"info,loud\"\n");
    assert!(said.starts_with("\"loud\" is no level of the log; "), "{said}");
}
