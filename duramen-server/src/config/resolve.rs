//! From the file and the command line to a [`Config`]. All faults are gathered, not only the first.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::{Bound, Range, RangeBounds};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use duramen::Durability;
use duramen_directory::password::{self, Scheme};
use duramen_directory::{
    Administrator, AuthzPolicy, Config as Directory, ConfigFault, Directory as Opened, IdentityRule, Index, IndexKinds,
    Limits as OperationLimits, LimitsFor, PasswordPolicies, SchemaFile, SearchLimits, Setting,
};
use duramen_ldap::{dn::Dn, filter::DEPTH_MAX, url::LdapUrl};
use toml::Spanned;

use super::constraint;
use super::dynamic;
use super::file::{self, File, IndexKind};
use super::paths;
use super::replica;
use super::words::in_words;
use super::{Config, Fault, Limits, Listen, Log, Tls};

/// Where LDAP is served if nobody says where to listen.
const LISTEN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1389));

/// The system takes no longer path for a local socket.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// More threads of a kind than any machine has use for. Each takes memory from the start.
const THREADS_MAX: usize = 1024;

/// How many changes are kept if nobody says how many: some megabytes.
const CHANGES: usize = 100_000;
/// As many as there can be ids of entries.
const CHANGES_MAX: usize = 1_000_000_000;

/// What the command line says; it goes before the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The data directory.
    pub data: Option<PathBuf>,
    /// Suffixes.
    pub suffixes: Vec<String>,
    /// Where to listen, in place of what the file says.
    pub listen: Option<Listen>,
    /// The administrator's name, and the file whose first line is the password.
    pub administrator: Option<(String, PathBuf)>,
    /// Where `/metrics` is served.
    pub http: Option<SocketAddr>,
    /// Whether every operation is logged.
    pub stats: bool,
}

/// As what the settings of the directory are checked, and with them what is at the paths that a start needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// They are not: who starts finds out.
    None,
    /// As those of a new one.
    New,
    /// As those of the one that is there, if there is one.
    There,
}

/// Reads `path`, if there is one, and checks everything that it says, what the directory goes by as `judge` has it. A
/// configuration comes with faults as well, so that more of them can be found.
pub fn check(path: Option<&Path>, overrides: &Overrides, judge: Judge) -> Result<(Config, Vec<Fault>), Vec<Fault>> {
    let (text, file) = file(path)?;
    Ok(Checker::new(path.unwrap_or(Path::new("")), &text, judge).config(&file, overrides))
}

/// Faults that a directory finds with its settings, with the places where the file has these.
pub fn placed(path: Option<&Path>, overrides: &Overrides, faults: Vec<ConfigFault>) -> Vec<Fault> {
    let (text, file) = file(path).unwrap_or_default();
    faults.into_iter().map(|fault| place(path, &text, &file, overrides, fault)).collect()
}

fn place(path: Option<&Path>, text: &str, file: &File, overrides: &Overrides, fault: ConfigFault) -> Fault {
    match (path, span(file, overrides, fault.setting)) {
        (Some(path), Some(span)) => Fault::at(path, text, span, fault.error.to_string(), ""),
        _ => Fault::command(fault.error.to_string(), ""),
    }
}

/// The text of the file, and what is in it; of none, nothing.
fn file(path: Option<&Path>) -> Result<(String, File), Vec<Fault>> {
    let Some(path) = path else { return Ok(Default::default()) };
    let SchemaFile { text, .. } = SchemaFile::read(path).map_err(|error| {
        let cure = cure_of(&error, "check the path and its permissions");
        vec![Fault::file(path, format!("the configuration cannot be read: {error}"), cure)]
    })?;
    let file: File = toml::from_str(&text).map_err(|error| {
        let what = in_words(error.message());
        let cure = "the sample duramend.toml shows every setting";
        vec![match error.span() {
            Some(span) => Fault::at(path, &text, span, what, cure),
            None => Fault::file(path, what, cure),
        }]
    })?;
    Ok((text, file))
}

pub(super) struct Checker<'a> {
    path: &'a Path,
    text: &'a str,
    judge: Judge,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Checker<'a> {
    fn new(path: &'a Path, text: &'a str, judge: Judge) -> Checker<'a> {
        Checker { path, text, judge, faults: Vec::new() }
    }

    fn config(mut self, file: &File, overrides: &Overrides) -> (Config, Vec<Fault>) {
        let data = self.data(file, overrides);
        let tls = file.tls.as_ref().and_then(|tls| self.tls(tls));
        let listen = self.listen(file, overrides, &data);
        let limits = self.limits(&file.limits);
        let log = self.log(&file.log, overrides);
        let http = overrides.http.or(file.http.listen.as_ref().map(|address| address.get_ref().0));
        self.addresses(file, overrides);
        let directory = self.directory(file, overrides, &data);
        let replica = file.replica.as_ref().and_then(|replica| self.replica(replica, &directory));
        let password_scheme = self.password_scheme(&file.directory);
        let hash_passwords = file.directory.hash_passwords;
        // What is wrong in the file is what its reader looks for; no place is that of what the command line lacks.
        self.faults.sort_by_key(|fault| fault.file.is_none());
        (
            Config { data, directory, listen, tls, limits, log, password_scheme, hash_passwords, replica, http },
            self.faults,
        )
    }

    fn data(&mut self, file: &File, overrides: &Overrides) -> PathBuf {
        let span = if overrides.data.is_none() { file.data.as_ref().map(Spanned::span) } else { None };
        let data = overrides.data.clone().or(file.data.as_ref().map(|data| data.get_ref().clone()));
        match data {
            Some(data) if has_nul(&data) => {
                self.of(span, "the name of the data directory has a NUL in it", "write one like /var/lib/duramend");
                PathBuf::new()
            }
            Some(data) if !data.as_os_str().is_empty() => {
                let data = if span.is_some() { self.beside(&data) } else { data };
                if let Some((what, cure)) = paths::data(&data).filter(|_| self.judge != Judge::None) {
                    self.of(span, what, cure);
                }
                data
            }
            _ => {
                let cure = "give --data DIRECTORY, or write data = \"/var/lib/duramend\" in the configuration";
                self.of(span, "no data directory is named", cure);
                PathBuf::new()
            }
        }
    }

    fn listen(&mut self, file: &File, overrides: &Overrides, data: &Path) -> Listen {
        if let Some(listen) = &overrides.listen {
            listen.ldapi.iter().for_each(|path| self.socket_path(None, path, path, data));
            return listen.clone();
        }
        let Some(listen) = &file.listen else {
            // Nobody asked for it by name, so it is left away where its path would be too long.
            let ldapi = Some(data.join("ldapi")).filter(|path| path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
            ldapi.iter().for_each(|path| self.socket_path(None, path, path, data));
            return Listen { ldap: vec![LISTEN], ldaps: Vec::new(), ldapi };
        };
        let (span, listen) = (listen.span(), listen.get_ref());
        if listen.ldap.is_empty() && listen.ldaps.is_empty() && listen.ldapi.is_none() {
            let cure = "name an address in ldap or ldaps, or a path in ldapi, or leave the section away";
            self.at(span, "there is nothing to listen at", cure);
        }
        if let (Some(address), None) = (listen.ldaps.first(), &file.tls) {
            self.at(address.span(), "ldaps needs a certificate", "add a section [tls] with certificate and key");
        }
        let ldapi = listen.ldapi.as_ref().map(|path| {
            let full = self.beside(path.get_ref());
            self.socket_path(Some(path.span()), path.get_ref(), &full, data);
            full
        });
        let addresses = |list: &[Spanned<file::Address>]| list.iter().map(|address| address.get_ref().0).collect();
        Listen { ldap: addresses(&listen.ldap), ldaps: addresses(&listen.ldaps), ldapi }
    }

    /// That a local socket can have this path, which was `written` so.
    fn socket_path(&mut self, span: Option<Range<usize>>, written: &Path, full: &Path, data: &Path) {
        let length = full.as_os_str().len();
        let wrong = if written.as_os_str().is_empty() {
            Some("is empty")
        } else if has_nul(written) {
            Some("has a NUL in it, and abstract ones are not served")
        } else if written.starts_with("ldapi:") {
            Some("is written as clients write it, as a URL")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let what = format!("the path of the local socket {wrong}");
            self.of(span, what, "write one like /run/duramend/ldapi, or leave it out");
        } else if length > SOCKET_PATH_BYTES_MAX {
            let what = format!("the path {} of the local socket has {length} bytes", full.display());
            self.of(
                span,
                what,
                format!("choose one of {SOCKET_PATH_BYTES_MAX} or less: the system takes no longer one"),
            );
        } else if let Some((what, cure)) = paths::socket(full, data).filter(|_| self.judge != Judge::None) {
            self.of(span, what, cure);
        }
    }

    /// That no two listeners are at one address: the second would find that somebody is there.
    fn addresses(&mut self, file: &File, overrides: &Overrides) {
        let of_file = |list: &[Spanned<file::Address>]| -> Vec<_> {
            list.iter().map(|address| (Some(address.span()), address.get_ref().0)).collect()
        };
        let mut all: Vec<(Option<Range<usize>>, SocketAddr)> = match (&overrides.listen, &file.listen) {
            (Some(listen), _) => listen.ldap.iter().map(|&address| (None, address)).collect(),
            (None, Some(listen)) => [of_file(&listen.get_ref().ldap), of_file(&listen.get_ref().ldaps)].concat(),
            (None, None) => vec![(None, LISTEN)],
        };
        let is_chosen = overrides.listen.is_some() || file.listen.is_some();
        match overrides.http {
            Some(address) => all.push((None, address)),
            None => all.extend(of_file(file.http.listen.as_slice())),
        }
        for (n, (span, address)) in all.iter().enumerate() {
            if let Some((_, other)) = all[..n].iter().find(|(_, other)| are_one(*other, *address)) {
                let what = format!("{address} is listened at already, by {other}");
                let cure = if is_chosen {
                    "leave one of them out, or choose another port"
                } else {
                    "choose another port, or add a section [listen]: without one LDAP is served there"
                };
                self.of(span.clone(), what, cure);
            }
        }
    }

    /// Nothing where there is a fault.
    fn tls(&mut self, tls: &file::Tls) -> Option<Tls> {
        let before = self.faults.len();
        if let (Some(required), None) = (&tls.client_required, &tls.client_roots)
            && *required.get_ref()
        {
            let cure = "name the file of the roots that sign clients' certificates";
            self.at(required.span(), "client_required needs client_roots", cure);
        }
        if let (Some(revoked), None) = (&tls.client_revoked, &tls.client_roots) {
            let cure = "name the file of the roots that sign clients' certificates, or leave it out";
            self.at(revoked.span(), "client_revoked needs client_roots", cure);
        }
        let tls = Tls {
            certificate: self.readable(&tls.certificate, "the certificate"),
            key: self.readable(&tls.key, "the key"),
            client_roots: tls.client_roots.as_ref().map(|path| self.readable(path, "the file of roots")),
            client_revoked: tls
                .client_revoked
                .as_ref()
                .map(|path| self.readable(path, "the file of revoked certificates")),
            client_required: tls.client_required.as_ref().is_some_and(|required| *required.get_ref()),
        };
        (self.faults.len() == before).then_some(tls)
    }

    fn limits(&mut self, limits: &file::Limits) -> Limits {
        let defaults = Limits::default();
        let seconds = |given: Option<u64>, default| given.map_or(default, Duration::from_secs);
        // None would have time for one, and whoever is silent could stay if it was none.
        let handshake_default = usize::try_from(defaults.handshake.as_secs()).unwrap_or(usize::MAX);
        let handshake = self.within(&limits.handshake_seconds, 1.., handshake_default);
        Limits {
            connections: self.within(&limits.connections, 1.., defaults.connections),
            message_bytes: self.within(&limits.message_bytes, 4096.., defaults.message_bytes),
            message_bytes_anonymous: self.within(
                &limits.message_bytes_anonymous,
                4096..,
                defaults.message_bytes_anonymous,
            ),
            pending: self.within(&limits.pending, 1.., defaults.pending),
            idle: seconds(limits.idle_seconds, defaults.idle),
            handshake: Duration::from_secs(handshake as u64),
            write: seconds(limits.write_seconds, defaults.write),
            search: seconds(limits.hold_seconds, defaults.search),
            stop: seconds(limits.stop_seconds, defaults.stop),
            password_checks: self.within(&limits.password_checks, 1..=THREADS_MAX, defaults.password_checks),
            threads: self.within(&limits.threads, 1..=THREADS_MAX, defaults.threads),
        }
    }

    fn operation_limits(&mut self, limits: &file::Limits) -> OperationLimits {
        let defaults = OperationLimits::default();
        OperationLimits {
            search: search_limits(limits),
            filter_depth: self.within(&limits.filter_depth, 1..=DEPTH_MAX, defaults.filter_depth),
            tree_delete: limits.tree_delete.unwrap_or(defaults.tree_delete),
        }
    }

    /// How many changes are kept.
    fn history(&mut self, sync: Option<&file::Sync>) -> u32 {
        let kept = sync.map_or(0, |sync| self.within(&sync.changes, 1..=CHANGES_MAX, CHANGES));
        u32::try_from(kept).unwrap_or(u32::MAX)
    }

    fn log(&mut self, log: &file::Log, overrides: &Overrides) -> Log {
        let defaults = Log::default();
        if let Some(level) = &log.level
            && let Err(error) = levels(level.get_ref())
        {
            let cure = "write error, warn, info, debug or trace, or a list such as info,duramen_server=debug";
            self.at(level.span(), error, cure);
        }
        let slow = match log.slow_ms {
            None => defaults.slow,
            Some(0) => None,
            Some(limit) => Some(Duration::from_millis(limit)),
        };
        Log {
            level: log.level.as_ref().map_or(defaults.level, |level| level.get_ref().clone()),
            format: log.format,
            stats: log.stats || overrides.stats,
            slow,
        }
    }

    fn directory(&mut self, file: &File, overrides: &Overrides, data: &Path) -> Directory {
        let suffixes = if overrides.suffixes.is_empty() { self.suffixes(file) } else { self.given_suffixes(overrides) };
        let administrator = match &overrides.administrator {
            Some((name, file)) => Some(self.given_administrator(name, file)),
            None => file.administrator.as_ref().map(|administrator| self.administrator(administrator)),
        };
        for index in file.index.iter().flatten() {
            if index.kinds.get_ref().is_empty() {
                let cure = "name presence, equality or substring, or leave this [[index]] out: attributes that no [[index]] names have none";
                self.at(index.kinds.span(), "an index of no kind is none", cure);
            }
        }
        let before = self.faults.len();
        let read = SchemaFile::read_schema;
        let schema = file.directory.schema.iter().filter_map(|path| self.contents(path, "the schema", read)).collect();
        let is_whole = self.faults.len() == before;
        let directory = Directory {
            suffixes,
            schema,
            nis_bis: file.directory.nis == file::Nis::Rfc2307Bis,
            nested_groups: file.directory.nested_groups,
            indices: file.index.as_ref().map(|indices| indices.iter().map(index).collect()),
            access: self.access(&file.access),
            administrator,
            limits: self.operation_limits(&file.limits),
            limits_for: limits_for(&file.limits),
            durability: match file.directory.durability {
                file::Durability::Durable => Durability::Durable,
                file::Durability::Relaxed => Durability::Relaxed,
            },
            identities: file.identity.iter().map(identity).collect(),
            referrals: self.referrals(&file.directory.referrals),
            references: texts(&file.directory.references),
            unique: texts(&file.directory.unique),
            constraints: self.constraints(&file.constraint),
            dynamic_lists: self.dynamic_lists(&file.dynamic_list),
            authz_policy: authz_policy(file.directory.authz_policy),
            password_policies: file.password_policies.as_ref().map(password_policies),
            history: Some(self.history(file.sync.as_ref())),
            copies: Some(replica::copies(file, overrides)),
            member: replica::number(file),
            audit: file.audit.as_ref().map(|audit| self.audit(audit, data)),
            ..Directory::default()
        };
        // Without all of the schema much would seem to be wrong.
        if is_whole {
            self.settings(
                file,
                overrides,
                match self.judge {
                    Judge::None => Vec::new(),
                    Judge::There if !data.as_os_str().is_empty() => Opened::check_config_in(data, &directory),
                    _ => Opened::check_config(&directory),
                },
            );
        }
        directory
    }

    /// What the directory finds wrong with its settings. A name that is none was told of already.
    fn settings(&mut self, file: &File, overrides: &Overrides, faults: Vec<ConfigFault>) {
        for fault in faults.into_iter().filter(|fault| !was_told(overrides, fault.setting)) {
            let fault = place(Some(self.path), self.text, file, overrides, fault);
            let is_told = fault.place.is_some() && self.faults.iter().any(|told| told.place == fault.place);
            if !is_told {
                self.faults.push(fault);
            }
        }
    }

    fn suffixes(&mut self, file: &File) -> Vec<String> {
        file.suffixes.iter().map(|suffix| self.name(suffix)).collect()
    }

    fn given_suffixes(&mut self, overrides: &Overrides) -> Vec<String> {
        for suffix in &overrides.suffixes {
            if let Err(error) = Dn::parse(suffix) {
                let what = format!("--suffix {suffix:?} is no name: {error}");
                self.faults.push(Fault::command(what, "write one like dc=example,dc=com"));
            }
        }
        overrides.suffixes.clone()
    }

    fn administrator(&mut self, administrator: &file::Administrator) -> Administrator {
        if let Some(password) = &administrator.password {
            self.password(Some(password.span()), password.get_ref());
        }
        Administrator {
            name: self.name(&administrator.name),
            password: administrator.password.as_ref().map(|password| password.get_ref().clone()),
        }
    }

    /// The command line's, whose password is the first line of a file.
    fn given_administrator(&mut self, name: &str, file: &Path) -> Administrator {
        let password = first_line(file).map_err(|fault| self.faults.push(fault)).ok();
        password.iter().for_each(|password| self.password(None, password));
        Administrator { name: name.to_owned(), password }
    }

    /// That there is a password for the administrator's stored one.
    fn password(&mut self, span: Option<Range<usize>>, stored: &str) {
        if stored.is_empty() {
            let what = "the password is empty, and nobody can bind with such a one (RFC 4513 section 5.1.2)";
            self.of(span, what, "write one, or leave it out to have that of the entry");
        } else if Scheme::split(stored.as_bytes()).is_none() {
            let what = "the password's scheme is not known here, so no password is the administrator's";
            self.of(span, what, "`duramen directory passwd` makes one that is");
        } else if let Some(scheme) = password::unmatchable(stored.as_bytes()) {
            let what = format!(
                "no password matches this: what stands behind {scheme} has a form, or a cost, that is not verified here"
            );
            self.of(span, what, "`duramen directory passwd` makes one that is");
        }
    }

    fn password_scheme(&mut self, directory: &file::Directory) -> Scheme {
        let Some(name) = &directory.password_scheme else { return Scheme::Argon2 };
        name.get_ref().parse::<Scheme>().unwrap_or_else(|error| {
            self.at(name.span(), error.to_string(), "ARGON2 is the default");
            Scheme::Argon2
        })
    }

    fn access(&mut self, access: &file::Access) -> Option<SchemaFile> {
        match (&access.rules, &access.file) {
            (Some(rules), None) => {
                let name = format!("{}: access.rules", self.path.display());
                Some(SchemaFile { name, text: rules.get_ref().clone() })
            }
            (None, Some(path)) => self.contents(path, "the file of access rules", SchemaFile::read),
            (None, None) => None,
            (Some(_), Some(path)) => {
                self.at(path.span(), "there are access rules here and in a file", "leave one of them away");
                None
            }
        }
    }

    pub(super) fn referrals(&mut self, urls: &[Spanned<String>]) -> Vec<String> {
        for url in urls {
            if let Err(error) = LdapUrl::parse(url.get_ref()) {
                let what = format!("{:?} is no LDAP URL: {error}", url.get_ref());
                self.at(url.span(), what, "write one like ldap://ldap.example.com/");
            }
        }
        texts(urls)
    }

    pub(super) fn name(&mut self, name: &Spanned<String>) -> String {
        if let Err(error) = Dn::parse(name.get_ref()) {
            let what = format!("{:?} is no name: {error}", name.get_ref());
            self.at(name.span(), what, "write one like dc=example,dc=com");
        }
        name.get_ref().clone()
    }

    pub(super) fn within(
        &mut self,
        given: &Option<Spanned<usize>>,
        range: impl RangeBounds<usize>,
        default: usize,
    ) -> usize {
        let Some(given) = given else { return default };
        let value = *given.get_ref();
        match (range.start_bound(), range.end_bound()) {
            (Bound::Included(least), _) if value < *least => {
                self.at(given.span(), format!("{value} is too little"), format!("write {least} or more"));
            }
            (_, Bound::Included(most)) if value > *most => {
                self.at(given.span(), format!("{value} is too much"), format!("write {most} or less"));
            }
            _ => {}
        }
        value
    }

    pub(super) fn readable(&mut self, path: &Spanned<PathBuf>, what: &str) -> PathBuf {
        let full = self.beside(path.get_ref());
        if let Err(error) = open_file(&full) {
            self.unreadable(path.span(), &full, what, &error);
        }
        full
    }

    /// What a file says; none where that is a fault.
    pub(super) fn contents(
        &mut self,
        path: &Spanned<PathBuf>,
        what: &str,
        read: fn(&Path) -> std::io::Result<SchemaFile>,
    ) -> Option<SchemaFile> {
        let full = self.beside(path.get_ref());
        at_rest(&full)
            .and_then(|()| read(&full))
            .inspect_err(|error| self.unreadable(path.span(), &full, what, error))
            .ok()
    }

    fn unreadable(&mut self, span: Range<usize>, path: &Path, what: &str, error: &std::io::Error) {
        let what = format!("{what} {} cannot be read: {error}", path.display());
        self.at(span, what, cure_of(error, "check the path, and that the user who runs duramend may read it"));
    }

    pub(super) fn beside(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// Of what stands in the file at `span`, or else on the command line.
    fn of(&mut self, span: Option<Range<usize>>, what: impl Into<String>, cure: impl Into<String>) {
        match span {
            Some(span) => self.at(span, what, cure),
            None => self.faults.push(Fault::command(what, cure)),
        }
    }

    pub(super) fn at(&mut self, span: Range<usize>, what: impl Into<String>, cure: impl Into<String>) {
        self.faults.push(Fault::at(self.path, self.text, span, what, cure));
    }
}

/// That reading `path` waits for nobody, and ends.
fn at_rest(path: &Path) -> std::io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    let ends = kind.is_file() || kind.is_dir();
    if ends { Ok(()) } else { Err(std::io::Error::other("it is a pipe, a socket or a device, and no file")) }
}

/// That `path` is a file that can be read.
fn open_file(path: &Path) -> std::io::Result<()> {
    at_rest(path)?;
    if std::fs::File::open(path)?.metadata()?.is_dir() { Err(std::io::ErrorKind::IsADirectory.into()) } else { Ok(()) }
}

fn first_line(path: &Path) -> Result<String, Fault> {
    let cure = "write the administrator's password into the first line of a file that this user may read";
    let text = std::fs::read_to_string(path)
        .map_err(|error| Fault::file(path, format!("the password cannot be read: {error}"), cure))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_string()),
        _ => Err(Fault::file(path, "the file has no password in it", cure)),
    }
}

/// What to do about a file that cannot be read; `of_system` where it is the system that says so.
fn cure_of(error: &std::io::Error, of_system: &'static str) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::InvalidData => "write it as UTF-8: `iconv -f latin1 -t utf-8` makes that of Latin-1",
        _ => of_system,
    }
}

/// Whether what listens at one of them leaves nothing of the other. `[::]` has IPv4 too where the system is set so, unless `0.0.0.0`
/// is there: what else of IPv4 it takes is found out when it starts.
fn are_one(a: SocketAddr, b: SocketAddr) -> bool {
    let is_any = a.is_ipv4() == b.is_ipv4() && (a.ip().is_unspecified() || b.ip().is_unspecified());
    a.port() == b.port() && a.port() != 0 && (is_any || a.ip() == b.ip())
}

fn search_limits(limits: &file::Limits) -> SearchLimits {
    SearchLimits {
        entries: limits.entries.unwrap_or_default(),
        time: limits.search_seconds.and_then(time_limit),
        examined: limits.examined.unwrap_or_default(),
    }
}

/// Limits for some: what is left out of them is as for all.
fn limits_for(limits: &file::Limits) -> Vec<LimitsFor> {
    let all = search_limits(limits);
    let search = |some: &file::LimitsFor| SearchLimits {
        entries: some.entries.unwrap_or(all.entries),
        time: some.search_seconds.map_or(all.time, time_limit),
        examined: some.examined.unwrap_or(all.examined),
    };
    limits.for_some.iter().map(|some| LimitsFor { who: some.who.get_ref().clone(), search: search(some) }).collect()
}

fn time_limit(seconds: u64) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

pub(super) fn has_nul(path: &Path) -> bool {
    path.as_os_str().as_bytes().contains(&0)
}

pub(super) fn texts(spanned: &[Spanned<String>]) -> Vec<String> {
    spanned.iter().map(|text| text.get_ref().clone()).collect()
}

/// Where the file has a setting, if it has it and it counts. Faults of schema and access rules name their own place.
fn span(file: &File, overrides: &Overrides, setting: Setting) -> Option<Range<usize>> {
    let span = Spanned::<String>::span;
    match setting {
        Setting::Suffix(n) if overrides.suffixes.is_empty() => file.suffixes.get(n).map(span),
        Setting::Index(n) => file.index.as_ref()?.get(n).map(|index| index.attribute.span()),
        Setting::Administrator if overrides.administrator.is_none() => Some(file.administrator.as_ref()?.name.span()),
        Setting::PasswordPolicies => {
            let policies = file.password_policies.as_ref()?;
            Some(policies.get_ref().default.as_ref().map_or(policies.span(), Spanned::span))
        }
        Setting::Copy(n) => {
            let replica = file.replica.as_ref()?.get_ref();
            Some(replica.suffixes.get(n).map_or(replica.providers.span(), span))
        }
        Setting::Identity(n) => file.identity.get(n).map(|identity| identity.matches.span()),
        Setting::LimitsFor(n) => file.limits.for_some.get(n).map(|some| some.who.span()),
        Setting::Reference(n) => file.directory.references.get(n).map(span),
        Setting::Constraint(n, part) => file.constraint.get(n).map(|section| constraint::span(section, part)),
        Setting::DynamicList(n, part) => file.dynamic_list.get(n).map(|section| dynamic::span(section, part)),
        Setting::Unique(n) => file.directory.unique.get(n).map(span),
        _ => None,
    }
}

/// Whether it is a suffix of the command line that is no name: it has no place by which that would be seen.
fn was_told(overrides: &Overrides, setting: Setting) -> bool {
    let Setting::Suffix(n) = setting else { return false };
    overrides.suffixes.get(n).is_some_and(|suffix| Dn::parse(suffix).is_err())
}

/// Checks levels of the log. A word alone has to be one: as a part's name it would end the log of all others.
fn levels(text: &str) -> Result<(), String> {
    let words = text.split(',').map(str::trim).filter(|part| !part.contains('='));
    for word in words {
        let level = word.parse::<tracing_subscriber::filter::LevelFilter>();
        level.ok().filter(|_| !word.is_empty()).ok_or(format!("{word:?} is no level of the log"))?;
    }
    let targets = text.parse::<tracing_subscriber::filter::Targets>().map(drop);
    targets.map_err(|error| format!("{text:?} is no list of levels of the log: {error}"))
}

fn authz_policy(policy: file::AuthzPolicy) -> AuthzPolicy {
    match policy {
        file::AuthzPolicy::None => AuthzPolicy::None,
        file::AuthzPolicy::To => AuthzPolicy::To,
        file::AuthzPolicy::From => AuthzPolicy::From,
        file::AuthzPolicy::Any => AuthzPolicy::Any,
        file::AuthzPolicy::All => AuthzPolicy::All,
    }
}

fn password_policies(policies: &Spanned<file::PasswordPolicies>) -> PasswordPolicies {
    let policies = policies.get_ref();
    let default = policies.default.as_ref().map(|name| name.get_ref().clone());
    PasswordPolicies { default, tells_locked: policies.tell_locked }
}

fn identity(identity: &file::Identity) -> IdentityRule {
    IdentityRule { matches: identity.matches.get_ref().clone(), name: identity.name.get_ref().clone() }
}

fn index(index: &file::Index) -> Index {
    let has = |kind| index.kinds.get_ref().contains(&kind);
    let kinds = IndexKinds {
        presence: has(IndexKind::Presence),
        equality: has(IndexKind::Equality),
        substring: has(IndexKind::Substring),
    };
    Index { attribute: index.attribute.get_ref().clone(), kinds }
}
