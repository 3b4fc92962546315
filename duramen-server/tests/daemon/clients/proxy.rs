//! OpenLDAP's slapd as a client: back-ldap, which passes everything on as the user or on behalf of one, and back-meta, which
//! shows the directory under another name.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::said;
use crate::process::{ADMINISTRATOR, Daemon};

const PERSON: &str = "uid=bjensen,dc=example,dc=com";

/// A slapd that keeps nothing itself. Dropping it kills it.
struct Proxy {
    child: Child,
    url: String,
}

impl Proxy {
    fn of(daemon: &Daemon) -> Proxy {
        let (configuration, socket) = (daemon.path("slapd.conf"), daemon.path("proxy"));
        fs::write(&configuration, databases(daemon)).unwrap();
        let url = format!("ldapi://{}", socket.to_str().unwrap().replace('/', "%2F"));
        let mut command = Command::new("/usr/sbin/slapd");
        command.arg("-f").arg(configuration).args(["-d", "0", "-h", &url]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut proxy = Proxy { child: command.spawn().unwrap(), url };
        proxy.wait_for(&socket);
        proxy
    }

    fn wait_for(&mut self, socket: &Path) {
        let started = Instant::now();
        while UnixStream::connect(socket).is_err() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && started.elapsed() < Duration::from_secs(60), "slapd does not listen: {ended:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A tool of ldap-utils, bound as somebody.
    fn tool(&self, name: &str, (who, password): (&str, &str)) -> Command {
        let mut command = Command::new(name);
        command.args(["-x", "-H", &self.url, "-D", who, "-w", password]);
        command
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn databases(daemon: &Daemon) -> String {
    let schemas = ["core", "cosine", "inetorgperson"];
    let schemas: String = schemas.iter().map(|name| format!("include /etc/ldap/schema/{name}.schema\n")).collect();
    let (name, password) = ADMINISTRATOR;
    let url = format!("ldap://127.0.0.1:{}", daemon.ldap.port());
    let bind = format!("idassert-bind bindmethod=simple binddn=\"{name}\" credentials=\"{password}\"");
    let tls = format!("tls start tls_cacert={} tls_reqcert=demand", daemon.path("root.pem").display());
    format!(
        "{schemas}modulepath /usr/lib/ldap\nmoduleload back_ldap\nmoduleload back_meta\n\
         database ldap\nsuffix dc=example,dc=com\nuri {url}\n{tls}\nrebind-as-user yes\n{bind} mode=self\n\
         idassert-authzFrom dn.subtree:dc=example,dc=com\n\
         database meta\nsuffix dc=other\nrootdn cn=root,dc=other\nrootpw secret\nuri {url}/dc=other\n\
         suffixmassage dc=other dc=example,dc=com\n{bind} mode=legacy flags=override\nidassert-authzFrom dn.regex:.*\n"
    )
}

#[test]
fn slapd_passes_everything_on() {
    let daemon = Daemon::with_tls();
    let proxy = Proxy::of(&daemon);
    let ldif = daemon.path("people.ldif");
    let people: String = (0..25)
        .map(|n| format!("dn: uid=u{n},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: u{n}\ncn: U {n}\nsn: U\n\n"))
        .collect();
    let text = format!(
        "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
         dn: {PERSON}\nobjectClass: inetOrgPerson\nuid: bjensen\ncn: Babs\nsn: Jensen\nuserPassword: first\n\n\
         dn: cn=team,dc=example,dc=com\nobjectClass: groupOfNames\ncn: team\nmember: {PERSON}\n\n{people}\
         dn: {PERSON}\nchangetype: modify\nreplace: cn\ncn: Barbara\n"
    );
    fs::write(&ldif, text).unwrap();
    said(proxy.tool("ldapmodify", ADMINISTRATOR).arg("-a").arg("-f").arg(&ldif), 0);

    let as_person =
        |name: &str, password, args: &[&str], code| said(proxy.tool(name, (PERSON, password)).args(args), code);
    let found = as_person("ldapsearch", "first", &["-LLL", "-b", PERSON, "(cn=barbara)", "sn"], 0);
    assert_eq!(found, format!("dn: {PERSON}\nsn: Jensen\n\n"));
    let paged = ["-LLL", "-b", "dc=example,dc=com", "-E", "pr=10/noprompt", "(uid=u*)", "1.1"];
    assert_eq!(as_person("ldapsearch", "first", &paged, 0).matches("dn: uid=u").count(), 25);
    as_person("ldapcompare", "first", &[PERSON, "sn:JENSEN"], 6);
    as_person("ldappasswd", "first", &["-a", "first", "-s", "second"], 0);
    as_person("ldapwhoami", "first", &[], 49);
    assert_eq!(as_person("ldapwhoami", "second", &[], 0), format!("dn:{PERSON}\n"));
    as_person("ldapmodrdn", "second", &["-r", PERSON, "uid=other"], 50);

    let renamed = ["-b", "dc=other", "(member=uid=bjensen,dc=other)", "member"];
    let found = said(proxy.tool("ldapsearch", ("cn=root,dc=other", "secret")).arg("-LLL").args(renamed), 0);
    assert_eq!(found, "dn: cn=team,dc=other\nmember: uid=bjensen,dc=other\n\n");
    said(proxy.tool("ldapmodrdn", ADMINISTRATOR).args(["-r", PERSON, "uid=babs"]), 0);
    said(proxy.tool("ldapdelete", ADMINISTRATOR).arg("uid=babs,dc=example,dc=com"), 0);
}
