//! Debian's slapd with back-mdb, tuned as its manual and its makers advise.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::{Mode, Server, beside, complete};
use crate::data::{ADMINISTRATOR, PASSWORD, SUFFIX};

pub struct Slapd;

impl Slapd {
    fn configure(data: &Path, mode: Mode) -> Result<std::path::PathBuf> {
        let schemas = ["core", "cosine", "inetorgperson", "nis"];
        let includes: String = schemas.iter().map(|name| format!("include /etc/ldap/schema/{name}.schema\n")).collect();
        let flags = match mode {
            Mode::Durable => "",
            Mode::Relaxed => "envflags writemap nosync\n",
        };
        let text = format!(
            "{includes}modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload sssvlv\n\
             pidfile {pid}\nthreads 16\ntool-threads 2\nsizelimit unlimited\ntimelimit unlimited\nloglevel none\n\
             conn_max_pending 10000\nconn_max_pending_auth 10000\nsockbuf_max_incoming 16777215\nsortvals member\n\
             database mdb\nsuffix \"{SUFFIX}\"\nrootdn \"{ADMINISTRATOR}\"\nrootpw {PASSWORD}\ndirectory {data}\n\
             maxsize 17179869184\n{flags}\
             index objectClass,uid,uidNumber,gidNumber,employeeNumber,member eq\nindex cn,sn,givenName,mail eq,sub\n\
             access to attrs=userPassword by self =xw by anonymous auth by * none\naccess to * by * read\n\
             overlay sssvlv\nsssvlv-max 1000\nsssvlv-maxperconn 1000\n",
            pid = beside(data, "pid").display(),
            data = data.display(),
        );
        let path = beside(data, "conf");
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

impl Server for Slapd {
    fn name(&self) -> &'static str {
        "slapd"
    }

    fn load(&self, ldif: &Path, data: &Path) -> Result<()> {
        let conf = Slapd::configure(data, Mode::Durable)?;
        complete(Command::new("/usr/sbin/slapadd").arg("-q").arg("-f").arg(conf).arg("-l").arg(ldif))
    }

    fn command(&self, data: &Path, mode: Mode, address: SocketAddr) -> Result<Command> {
        let mut command = Command::new("/usr/sbin/slapd");
        command.arg("-f").arg(Slapd::configure(data, mode)?).args(["-d", "0", "-h", &format!("ldap://{address}/")]);
        command.stderr(Stdio::null());
        Ok(command)
    }
}
