//! Starting, what goes wrong then, reloading, stopping.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::Command;

use duramen_ldap::message::{Authentication, BindRequest, Message, Request, Response, ResultCode, Scope};
use duramen_sim::port::free_port;

use crate::client::{Client, person};
use crate::process::{ADMINISTRATOR, Daemon, PLAIN, certificates, configuration, run};

#[test]
fn a_data_directory_and_a_suffix_are_all_that_serving_needs() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (code, said) = run(&["check-config", "--data", data.to_str().unwrap(), "--suffix", "dc=example,dc=com"]);
    assert!(code == Some(0) && said.contains("The configuration is right"), "{said}");
    assert!(!data.exists(), "checking opens nothing");
}

#[test]
fn the_version_goes_with_the_commands_name() {
    assert_eq!(run(&["--version"]), (Some(0), format!("duramend {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_wrong_configuration_is_refused_with_line_and_cure_and_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    fs::write(&path, "data = \"d\"\nsuffixes = [\"nonsense\"]\n").unwrap();
    for action in ["check-config", "serve"] {
        let (code, said) = run(&[action, "--config", path.to_str().unwrap()]);
        assert_eq!(code, Some(78), "{said}");
        assert!(said.contains("duramend.toml:2:13: \"nonsense\" is no name"), "{said}");
    }
}

#[test]
fn nobody_else_can_take_the_lock_that_keeps_a_second_server_away() {
    let daemon = Daemon::plain();
    for file in fs::read_dir(daemon.dir.path().join("data")).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert!(file.file_name() == "ldapi" || mode & 0o077 == 0, "{file:?}: {mode:o}");
    }
}

#[test]
fn a_port_that_is_taken_is_named_and_has_its_exit_code() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let (code, said) = run(&["serve", "--data", data, "--suffix", "dc=example,dc=com", "--listen", &address]);
    assert_eq!(code, Some(69), "{said}");
    assert!(said.contains(&address) && said.contains("another program listens there"), "{said}");
}

#[test]
fn what_is_in_the_way_of_a_start_is_named_with_its_cure() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    fs::write(path("file"), "").unwrap();
    fs::create_dir(path("other")).unwrap();
    fs::write(path("other/directory.dm"), "another program's").unwrap();
    let refused = |data: &str, more: &[&str], code: i32, told: &str| {
        let data = path(data);
        let args = [&["serve", "--data", &data, "--suffix", "dc=example,dc=com"], more].concat();
        let (ended, said) = run(&args);
        assert!(ended == Some(code) && said.contains(told), "{args:?}: {ended:?} {said}");
    };
    let any = ["--listen", "127.0.0.1:0"];
    refused("file", &any, 74, "name a directory, or a path where there is nothing yet");
    refused("other", &any, 74, "name the directory that duramend or `duramen directory import` made");
    refused("data", &[&any[..], &["--ldapi", &path("file")]].concat(), 69, "is no socket: remove it");
    let _live = UnixDatagram::bind(path("other program's")).unwrap();
    refused("data", &[&any[..], &["--ldapi", &path("other program's")]].concat(), 69, "another program listens there");
    assert!(dir.path().join("other program's").exists(), "a socket that somebody uses is not taken from him");
    refused("data", &["--listen", "localhost:389"], 2, "write one like 127.0.0.1:389");
    let free = free_port();
    let both = [format!("127.0.0.1:{free}"), format!("[::]:{free}")];
    refused("data", &["--listen", &both[0], "--listen", &both[1]], 69, "this server listens at 127.0.0.1:");
}

#[test]
fn a_directory_whose_settings_are_refused_is_not_begun() {
    let dir = tempfile::tempdir().unwrap();
    let [data, config] = ["data", "duramend.toml"].map(|name| dir.path().join(name).to_str().unwrap().to_string());
    fs::write(&config, "suffixes = [\"dc=a\"]\n[access]\nrules = \"access to * by nonsense\"\n").unwrap();
    let without_suffix = ["serve", "--data", &data, "--listen", "127.0.0.1:0"];
    let with_wrong_rules = ["serve", "--data", &data, "--listen", "127.0.0.1:0", "--config", &config];
    for (args, told) in [(&without_suffix[..], "suffix"), (&with_wrong_rules[..], "nonsense")] {
        let (code, said) = run(args);
        assert!(code == Some(78) && said.contains(told), "{code:?} {said}");
        assert!(!std::path::Path::new(&data).exists(), "{args:?}");
    }
}

#[test]
fn the_connections_that_hold_by_default_go_with_16_384_files() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 16384 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_duramend")]);
    let daemon = Daemon::start_by(command, tempfile::tempdir().unwrap(), &configuration(PLAIN));
    assert!(!daemon.log().contains("too few"), "{}", daemon.log());
}

#[test]
fn connections_without_number_are_more_than_there_can_be_files() {
    for connections in [u64::MAX, u64::MAX - 1000] {
        let limits = format!("{PLAIN}[limits]\nconnections = {connections}\n");
        let daemon = Daemon::start(tempfile::tempdir().unwrap(), &limits);
        let told = format!("too few for {connections} connections");
        assert!(daemon.log().contains(&told), "{}", daemon.log());
    }
}

#[test]
fn a_directory_that_is_made_is_told_of_since_its_path_may_be_mistyped() {
    let daemon = Daemon::plain();
    let told = "there is no directory in ";
    let log = daemon.log();
    assert!(log.contains(&format!("{told}{} yet: a new one is made", daemon.path("data").display())), "{log}");
    let again = Daemon::start(daemon.kill(), PLAIN);
    assert!(!again.log().contains(told), "{}", again.log());
}

#[test]
fn a_second_daemon_on_the_same_data_is_refused_with_the_firsts_number() {
    let daemon = Daemon::plain();
    let data = daemon.path("data");
    let (code, said) = run(&["serve", "--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    assert_eq!(code, Some(75), "{said}");
    assert!(said.contains("is in use by process"), "{said}");
}

#[test]
fn an_unreadable_certificate_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    fs::write(dir.path().join("server.pem"), "no certificate").unwrap();
    fs::write(dir.path().join("server.key"), "no key").unwrap();
    let tls = "[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n";
    fs::write(&path, configuration(tls)).unwrap();
    let (code, said) = run(&["check-config", "--config", path.to_str().unwrap()]);
    assert!(code == Some(78) && said.contains("server.pem: there is no certificate in it"), "{said}");
}

#[test]
fn a_key_of_another_certificate_and_one_of_no_use_are_named() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let short = Command::new("openssl").args(["genrsa", "1024"]).output().unwrap();
    fs::write(dir.path().join("short.key"), short.stdout).unwrap();
    for (key, problem) in [
        ("client.key", "server.pem: the key"),
        ("client.key", "is not that of the first certificate in it; the server's own certificate has to come first"),
        ("short.key", "short.key: this private key cannot be used: "),
        ("short.key", "; RSA of 2048 to 4096 bits, ECDSA with P-256 or P-384 and Ed25519 can be used"),
    ] {
        let tls = format!("[tls]\ncertificate = \"server.pem\"\nkey = {key:?}\n");
        let path = dir.path().join("duramend.toml");
        fs::write(&path, configuration(&format!("{PLAIN}{tls}"))).unwrap();
        let (code, said) = run(&["check-config", "--config", path.to_str().unwrap()]);
        assert!(code == Some(78) && said.contains(problem), "{said}");
    }
}

#[test]
fn faults_of_schema_files_and_access_rules_are_found_before_anything_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    fs::write(dir.path().join("own.schema"), "attributetype ( 1.2.3.4 NAME 'ours'\n SUP nobody )\n").unwrap();
    fs::write(dir.path().join("access.conf"), "access to *\n by * write nonsense\n").unwrap();
    let faults = [
        ("[directory]\nschema = [\"own.schema\"]\n", "own.schema", "nobody"),
        ("[access]\nfile = \"access.conf\"\n", "access.conf", "nonsense"),
        ("[access]\nrules = \"access to attrs=nothing by * read\"\n", "access.rules", "nothing"),
        ("[directory]\nreferences = [\"cn\"]\n", "references", "\"cn\": its values are not names"),
        ("[[identity]]\nmatch = \"(x)\"\nname = \"foo\"\n", "duramend.toml:5:9: identity", "nobody's name"),
    ];
    for (text, place, fault) in faults {
        fs::write(&path, configuration(text)).unwrap();
        for action in ["check-config", "serve"] {
            let (code, said) = run(&[action, "--config", path.to_str().unwrap()]);
            assert_eq!(code, Some(78), "{action} {said}");
            assert!(said.contains(place) && said.contains(fault), "{action}: {said}");
        }
    }
    fs::write(&path, configuration("")).unwrap();
    let (code, said) = run(&["check-config", "--config", path.to_str().unwrap()]);
    assert!(code == Some(0) && said.contains("is right"), "{said}");
}

#[test]
fn all_faults_are_told_at_once_at_a_start_and_a_reload_each_with_its_place() {
    let mut daemon = Daemon::plain();
    let path = daemon.path("duramend.toml");
    let faults = "[directory]\nreferences = [\"cn\"]\nunique = [\"nosuch\"]\n\
        [[index]]\nattribute = \"absent\"\nkinds = [\"equality\"]\n\
        [[constraint]]\nattributes = [\"cn\"]\nregex = 'a('\n[access]\nrules = \"access to nonsense\"\n";
    let told = [
        "8:15: references: \"cn\": ",
        "9:11: unique: \"nosuch\": ",
        "11:13: index of absent: ",
        "15:9: constraint of cn: regex 'a(' is not a regular expression: ",
        "access.rules, line 1",
    ];
    fs::write(&path, configuration(&format!("{PLAIN}{faults}"))).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("not reloaded");
    let log = daemon.log();
    let dir = daemon.kill();
    let serve = || run(&["serve", "--config", dir.path().join("duramend.toml").to_str().unwrap()]);
    let (code, said) = serve();
    assert_eq!(code, Some(78), "{said}");
    for told in told {
        assert!(log.contains(told), "{told}: {log}");
        assert!(said.contains(told), "{told}: {said}");
    }
    // What the file has by itself is told of with them.
    fs::write(&path, configuration(&format!("{PLAIN}{faults}[limits]\npending = 0\n"))).unwrap();
    let (_, said) = serve();
    assert!(said.contains("write 1 or more") && told.iter().all(|told| said.contains(told)), "{said}");
}

#[test]
fn a_reload_reads_the_administrators_password_again() {
    let dir = tempfile::tempdir().unwrap();
    let (name, _) = ADMINISTRATOR;
    let password = dir.path().join("password");
    fs::write(&password, "first\n").unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" --administrator \"$NAME\" --password-file \"$FILE\""]);
    command.arg(env!("CARGO_BIN_EXE_duramend")).env("NAME", name).env("FILE", &password);
    let mut daemon = Daemon::start_by(command, dir, &configuration(PLAIN));
    assert_eq!(Client::new(&daemon).bind(name, "first").code, ResultCode::SUCCESS);
    fs::write(&password, "second\n").unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(Client::new(&daemon).bind(name, "first").code, ResultCode::INVALID_CREDENTIALS);
    assert_eq!(Client::new(&daemon).bind(name, "second").code, ResultCode::SUCCESS);
    fs::remove_file(&password).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("the password cannot be read");
    assert_eq!(Client::new(&daemon).bind(name, "second").code, ResultCode::SUCCESS);
}

#[test]
fn a_reload_that_names_another_administrator_ends_the_rights_of_who_is_bound_as_the_one_before() {
    let mut daemon = Daemon::plain();
    let mut bound = Client::administrator(&daemon);
    bound.populate(1);
    let mut owner = Client::over(UnixStream::connect(daemon.path("ldapi")).unwrap());
    let authentication = Authentication::Sasl { mechanism: "EXTERNAL", credentials: None };
    let external = owner.ask(Request::Bind(BindRequest { version: 3, name: "", authentication }));
    assert_eq!(external.code, ResultCode::SUCCESS);
    assert_eq!(bound.replace(&person(0), "sn", "x").code, ResultCode::SUCCESS);
    let other = configuration(PLAIN).replace(ADMINISTRATOR.0, "cn=other,dc=example,dc=com");
    fs::write(daemon.path("duramend.toml"), other).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(bound.replace(&person(0), "sn", "y").code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(owner.replace(&person(0), "sn", "z").code, ResultCode::SUCCESS);
}

#[test]
fn of_slapds_whole_configuration_the_rules_for_the_suffix_are_taken_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    let whole = "dn: olcDatabase={-1}frontend,cn=config\nolcAccess: {0}to * by * read\n\n\
        dn: olcDatabase={1}mdb,cn=config\nolcSuffix: dc=example,dc=com\nolcAccess: {0}to * by * none\n";
    fs::write(dir.path().join("access.ldif"), whole).unwrap();
    fs::write(&path, configuration("[access]\nfile = \"access.ldif\"\n")).unwrap();
    let check = |more: &[&str]| run(&[&["check-config", "--config", path.to_str().unwrap()], more].concat());
    let (code, said) = check(&[]);
    let named =
        "rules are those of olcDatabase={1}mdb,cn=config, and behind them those of olcDatabase={-1}frontend,cn=config.";
    assert!(code == Some(0) && said.contains(named) && !said.contains("cn=monitor"), "{said}");
    let monitor = "\ndn: olcDatabase={2}Monitor,cn=config\nolcAccess: {0}to dn.base=cn=monitor by users read\n";
    fs::write(dir.path().join("access.ldif"), whole.to_owned() + monitor).unwrap();
    let (code, said) = check(&[]);
    let named_too = "About cn=monitor they are those of olcDatabase={2}Monitor,cn=config, and behind them those of \
                     olcDatabase={-1}frontend,cn=config.";
    assert!(code == Some(0) && said.contains(named) && said.contains(named_too), "{said}");
    let (code, said) = check(&["--suffix", "dc=example,dc=org"]);
    assert!(code == Some(78) && said.contains("access.ldif, line 1, column 1: "), "{said}");
}

#[test]
fn values_follow_entries_as_configured_and_reloaded() {
    let mut daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(4);
    let group = "cn=all,dc=example,dc=com";
    let names: Vec<String> = (0..4).map(person).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    client.add(group, &[("objectClass", &["groupOfNames"]), ("cn", &["all"]), ("member", &members)]);
    let mut delete = |number: usize| {
        assert_eq!(client.delete(&person(number)).code, ResultCode::SUCCESS);
        client.search(group, Scope::Base, &format!("(member={})", person(number))).names.len()
    };
    assert_eq!(delete(0), 1, "without the setting the value stays");
    let path = daemon.path("duramend.toml");
    fs::write(&path, configuration(&format!("{PLAIN}[directory]\nreferences = [\"member\"]\n"))).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(delete(1), 0);
    assert_eq!(client.search(group, Scope::Base, &format!("(member={})", person(2))).names.len(), 1);
}

#[test]
fn constraints_hold_from_a_reload_on() {
    let mut daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let mut add = |name: &str| {
        let name = format!("cn={name},dc=example,dc=com");
        client.add(&name, &[("objectClass", &["device"]), ("description", &["what it is"])]).code
    };
    assert_eq!(add("first"), ResultCode::SUCCESS);
    let path = daemon.path("duramend.toml");
    let constraint = "[[constraint]]\nattributes = [\"description\"]\nsize = 5\n";
    fs::write(&path, configuration(&format!("{PLAIN}{constraint}"))).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(add("second"), ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn a_signal_stops_it_with_a_notice_to_clients_and_all_data_kept_rfc4511_4_4_1() {
    let mut daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(3);
    daemon.signal("TERM");
    let bytes = client.message().expect("a notice of disconnection");
    let notice = Message::<Response<'_>>::decode(&bytes).unwrap();
    assert_eq!(notice.operation.result().map(|result| result.code), Some(ResultCode::UNAVAILABLE));
    assert_eq!(client.message(), None);
    assert!(daemon.ended().success(), "{}", daemon.log());
    assert!(!daemon.path("ldapi").exists(), "the local socket goes away");
    let again = Daemon::start(daemon.kill(), PLAIN);
    let found = Client::administrator(&again).search("dc=example,dc=com", Scope::Subtree, "(uid=*)");
    assert_eq!(found.names.len(), 3);
}

#[test]
fn a_reload_takes_good_configurations_into_use_and_leaves_bad_ones_alone() {
    let mut daemon = Daemon::plain();
    Client::administrator(&daemon).populate(1);
    let anonymous = |daemon: &Daemon| Client::new(daemon).search(&person(0), Scope::Base, "(uid=u0)").names.len();
    assert_eq!(anonymous(&daemon), 1);
    let path = daemon.path("duramend.toml");
    fs::write(&path, configuration(&format!("{PLAIN}[access]\nrules = \"access to * by * nonsense\"\n"))).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("not reloaded");
    assert_eq!(anonymous(&daemon), 1);
    let rules = "access to attrs=userPassword by anonymous auth by * none\naccess to * by users read by * none";
    fs::write(&path, configuration(&format!("{PLAIN}[access]\nrules = \"\"\"\n{rules}\n\"\"\"\n"))).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(anonymous(&daemon), 0);
}

#[test]
fn a_reload_that_waits_for_a_tool_keeps_nobody_from_being_served() {
    let mut daemon = Daemon::plain();
    Client::administrator(&daemon).populate(1);
    let database = duramen::Database::open(daemon.path("data").join("directory.dm")).unwrap();
    let writing = database.begin_write().unwrap();
    daemon.signal("HUP");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(Client::new(&daemon).search(&person(0), Scope::Base, "(uid=u0)").names.len(), 1);
    assert!(!daemon.log().contains("reloaded: "), "{}", daemon.log());
    drop(writing);
    daemon.wait_for("reloaded: ");
}

#[test]
fn an_index_that_is_not_complete_is_told_of_until_it_is() {
    let mut daemon = Daemon::plain();
    Client::administrator(&daemon).populate(1);
    assert!(!daemon.log().contains("indices of"), "{}", daemon.log());
    let index = "[[index]]\nattribute = \"title\"\nkinds = [\"equality\"]\n";
    fs::write(daemon.path("duramend.toml"), configuration(&format!("{PLAIN}{index}"))).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("indices of title; `duramen directory reindex");
    daemon.wait_for("reloaded: ");
    let directory = duramen_directory::Directory::open(daemon.path("data"), Default::default()).unwrap();
    directory.reindex(&mut |_, _| true).unwrap();
    let daemon = Daemon::start(daemon.kill(), &format!("{PLAIN}{index}"));
    assert!(!daemon.log().contains("indices of"), "{}", daemon.log());
}

#[test]
fn systemd_is_told_when_it_serves_reloads_and_stops() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let told = || {
        let mut bytes = [0; 512];
        let count = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..count].to_vec()).unwrap()
    };
    let mut daemon = Daemon::start_with(tempfile::tempdir().unwrap(), PLAIN, &[("NOTIFY_SOCKET", &path)]);
    assert_eq!(told().trim(), "READY=1");
    daemon.signal("HUP");
    let reloading = told();
    assert!(reloading.lines().any(|line| line == "RELOADING=1"), "{reloading}");
    // The clock that systemd compares it with counts from the start of the machine, less the time that it slept.
    let micros = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")?.parse::<f64>().ok());
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    assert!(micros.is_some_and(|micros| 0.0 < micros && micros / 1e6 <= uptime + 0.01), "{reloading}, up {uptime} s");
    assert_eq!(told().trim(), "READY=1");
    daemon.signal("TERM");
    assert_eq!(told().trim(), "STOPPING=1");
    assert!(daemon.ended().success());
}

#[test]
fn figures_and_health_are_served_by_http_if_asked_for() {
    let port = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    let mut daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}[http]\nlisten = \"{port}\"\n"));
    daemon.wait_for("figures at http://");
    assert_eq!(Client::new(&daemon).search("", Scope::Base, "(objectClass=*)").code, ResultCode::SUCCESS);
    let get = |path: &str| get(port, path);
    assert!(get("/healthz").starts_with("HTTP/1.1 200"));
    let metrics = get("/metrics");
    let counted = "duramend_operations_total{operation=\"search\",result=\"success\"} 1";
    assert!(metrics.lines().any(|line| line == counted), "{metrics}");
    assert!(!metrics.contains("certificate"), "there is none: {metrics}");
    assert!(get("/else").starts_with("HTTP/1.1 404"));
}

#[test]
fn whoever_may_look_at_figures_takes_no_files_from_the_directorys_clients() {
    let port = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    let mut daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}[http]\nlisten = \"{port}\"\n"));
    daemon.wait_for("figures at http://");
    let before = daemon.files();
    let mut silent: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(port).unwrap()).collect();
    assert_eq!(Client::new(&daemon).search("", Scope::Base, "(objectClass=*)").code, ResultCode::SUCCESS);
    // Those who say nothing make room for others.
    assert!(get(port, "/healthz").starts_with("HTTP/1.1 200"));
    assert!(daemon.files() < before + 300, "{} files, {before} before", daemon.files());
    let ended = silent[0].read(&mut [0; 1]);
    assert!(matches!(ended, Ok(0)) || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
}

/// What is answered by HTTP.
pub fn get(at: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_client_over_ipv4_has_its_address_in_the_log_at_a_listener_for_ipv6_too() {
    if TcpListener::bind("[::]:0").is_err() {
        return; // No IPv6 here.
    }
    let listen = "[listen]\nldap = [\"[::]:0\"]\nldapi = \"ldapi\"\n[log]\nstats = true\n";
    let mut daemon = Daemon::start(tempfile::tempdir().unwrap(), listen);
    let port = daemon.ldap.port();
    for (client, wanted) in [("127.0.0.1", "ACCEPT from IP=127.0.0.1:"), ("[::1]", "ACCEPT from IP=[::1]:")] {
        let _client = TcpStream::connect(format!("{client}:{port}")).unwrap();
        daemon.wait_for(wanted);
    }
}

#[test]
fn all_addresses_of_ipv4_and_of_ipv6_can_be_listened_at_side_by_side() {
    if TcpListener::bind("[::]:0").is_err() {
        return; // No IPv6 here.
    }
    let port = free_port();
    for addresses in [["0.0.0.0", "[::]"], ["[::]", "0.0.0.0"]] {
        let [first, second] = addresses.map(|address| format!("\"{address}:{port}\""));
        let listen = format!("[listen]\nldap = [{first}, {second}]\nldapi = \"ldapi\"\n");
        let _daemon = Daemon::start(tempfile::tempdir().unwrap(), &listen);
        for at in ["127.0.0.1", "[::1]"] {
            TcpStream::connect(format!("{at}:{port}")).unwrap();
        }
    }
}

#[test]
fn cn_monitor_counts_where_openldap_does() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(3);
    let found = |client: &mut Client, base: &str, scope, filter: &str| client.search(base, scope, filter).names;
    let adds = found(&mut client, "cn=monitor", Scope::Subtree, "(&(cn=Add)(monitorOpCompleted=4))");
    assert_eq!(adds, ["cn=Add,cn=Operations,cn=Monitor"]);
    let connections = found(&mut client, "cn=Connections,cn=Monitor", Scope::One, "(&(cn=Current)(monitorCounter=1))");
    assert_eq!(connections, ["cn=Current,cn=Connections,cn=Monitor"]);
    // What netdata asks for, each by its name, and gives up without: netdata-plugins-python, openldap.chart.py.
    let counters =
        ["cn=Bytes,cn=Statistics", "cn=Referrals,cn=Statistics", "cn=Read,cn=Waiters", "cn=Write,cn=Waiters"];
    for name in counters {
        assert_eq!(
            found(&mut client, &format!("{name},cn=Monitor"), Scope::Base, "(monitorCounter=*)").len(),
            1,
            "{name}"
        );
    }
    let sums = "(&(objectClass=monitorContainer)(monitorOpInitiated>=8)(monitorOpCompleted>=8)(hasSubordinates=TRUE))";
    assert_eq!(found(&mut client, "cn=Operations,cn=Monitor", Scope::Base, sums).len(), 1);
    let times =
        found(&mut client, "cn=Time,cn=Monitor", Scope::One, "(|(monitorTimestamp>=20200101000000Z)(monitoredInfo=*))");
    assert_eq!(times.len(), 3);
    let container = "(structuralObjectClass=monitorContainer)";
    assert_eq!(found(&mut client, "cn=Statistics,cn=Monitor", Scope::Base, container).len(), 1);
    // What phpLDAPadmin and others list.
    let listed = [
        ("cn=Backends", "(monitoredInfo=duramen)", "cn=Backend 0,cn=Backends,cn=Monitor"),
        ("cn=Databases", "(namingContexts=dc=example,dc=com)", "cn=Database 1,cn=Databases,cn=Monitor"),
        ("cn=Listeners", "(&(cn=Listener 0)(labeledURI=*))", "cn=Listener 0,cn=Listeners,cn=Monitor"),
        ("cn=Connections", "(monitorCounter>=64)", "cn=Max File Descriptors,cn=Connections,cn=Monitor"),
    ];
    for (container, filter, name) in listed {
        assert_eq!(found(&mut client, &format!("{container},cn=Monitor"), Scope::One, filter), [name]);
    }
}

#[test]
fn the_log_has_openldaps_stats_lines_if_asked_for() {
    let mut daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}[log]\nstats = true\n"));
    let mut client = Client::administrator(&daemon);
    client.search("", Scope::Base, "(objectClass=*)");
    client.send(Request::Unbind);
    daemon.wait_for("closed");
    let log = daemon.log();
    for line in [
        "conn=1000 op=0 BIND dn=\"cn=admin,dc=example,dc=com\" method=128\n",
        "conn=1000 op=0 RESULT tag=97 err=0 ",
        "conn=1000 op=1 SRCH base=\"\" scope=0 deref=0 filter=\"(objectClass=*)\"",
        "conn=1000 op=1 SEARCH RESULT tag=101 err=0 ",
    ] {
        assert!(log.contains(line), "no {line:?} in:\n{log}");
    }
    // The socket's number too, as slapd 2.5 writes it: programs that read such logs look for it.
    let accepted = log.lines().find_map(|line| line.split_once("stats: conn=1000 fd=")).unwrap().1;
    let (descriptor, from) = accepted.split_once(' ').unwrap();
    assert!(descriptor.parse::<u32>().is_ok() && from.starts_with("ACCEPT from IP=127.0.0.1:"), "{accepted}");
    assert!(log.lines().any(|line| line.ends_with(&format!("conn=1000 fd={descriptor} closed"))), "{log}");
}

#[test]
fn a_bare_log_has_the_messages_alone_and_says_who_is_disconnected_and_why() {
    let logged = format!("{PLAIN}[log]\nformat = \"bare\"\nstats = true\n");
    let mut daemon = Daemon::start(tempfile::tempdir().unwrap(), &logged);
    let mut client = Client::new(&daemon);
    client.stream.write_all(b"\x30\x84\x01\x00\x00\x00").unwrap();
    daemon.wait_for("closed (bad message)");
    let log = daemon.log();
    let line =
        log.lines().find(|line| line.starts_with("a client is disconnected: ")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("longer than the limit of ") && line.contains("IP=127.0.0.1:"), "{line}");
    assert!(log.lines().any(|line| line.starts_with("conn=1000 fd=")), "{log}");
}
