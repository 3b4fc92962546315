//! What the server tells about itself: in the root DSE, and below `cn=monitor`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use duramen_directory::{Directory, MonitorEntry, timestamp};

use rustix::process::{Resource, getrlimit};

use crate::figures::{Figures, Kind, NAMES, OfKind};
use crate::replica::status::Known;
use crate::server::Server;
use crate::work::{MECHANISMS, OPERATIONS};

/// What programs that watch servers show as the kind of the store.
const BACKEND: &str = "duramen";

/// Tells the directory what to say of the server.
pub fn introduce(server: &Arc<Server>) {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    let has_tls = server.settings().tls.is_some();
    let extensions = OPERATIONS.into_iter().filter(|oid| has_tls || *oid != duramen_ldap::oid::extended::START_TLS);
    server.directory.set_root_dse(vec![
        ("vendorName".into(), texts(&["Duramen"])),
        ("vendorVersion".into(), texts(&[env!("CARGO_PKG_VERSION")])),
        ("supportedExtension".into(), texts(&extensions.collect::<Vec<_>>())),
        ("supportedSASLMechanisms".into(), texts(&MECHANISMS)),
    ]);
    // The server has the directory, so the directory must not keep the server.
    let weak = Arc::downgrade(server);
    let entries = move || weak.upgrade().map(|server| entries(&server)).unwrap_or_default();
    server.directory.set_monitor(Arc::new(entries));
}

/// Entries of `cn=monitor`, where OpenLDAP has them, and of its classes: programs that watch servers look for these.
fn entries(server: &Server) -> Vec<MonitorEntry> {
    let figures = Figures::sum(server.figures.iter().map(|figures| &**figures));
    let number = |figure: &AtomicU64| figure.load(Relaxed);
    let [connected, blocked] = [server.connected.load(Relaxed) as u64, number(&figures.blocked)];
    let begun: u64 = figures.kinds.iter().map(|kind| number(&kind.begun)).sum();
    let done: u64 = figures.kinds.iter().map(OfKind::done).sum();
    let answered =
        done - [Kind::Unbind, Kind::Abandon].map(|kind| figures.kinds[kind as usize].done()).iter().sum::<u64>();
    let [entries, references] = [&figures.entries, &figures.references].map(number);
    let threads = server.figures.len().to_string();
    let mut tree = vec![
        entry("", "monitorServer", &[("monitoredInfo", concat!("duramend ", env!("CARGO_PKG_VERSION")).into())]),
        entry("cn=Backends", "monitorContainer", &[]),
        entry("cn=Backend 0,cn=Backends", "monitoredObject", &[("monitoredInfo", BACKEND.into())]),
        entry("cn=Connections", "monitorContainer", &[]),
        counter("cn=Max File Descriptors,cn=Connections", files()),
        counter("cn=Total,cn=Connections", number(&figures.connections)),
        counter("cn=Current,cn=Connections", connected),
        entry("cn=Databases", "monitorContainer", &[]),
        entry("cn=Listeners", "monitorContainer", &[]),
        entry("cn=Operations", "monitorContainer", &operations(begun, done)),
        entry("cn=Statistics", "monitorContainer", &[]),
        counter("cn=Bytes,cn=Statistics", number(&figures.bytes_out)),
        counter("cn=Bytes Received,cn=Statistics", number(&figures.bytes_in)),
        counter("cn=PDU,cn=Statistics", answered + entries + references),
        counter("cn=Damage,cn=Statistics", Directory::damage().failures),
        counter("cn=Entries,cn=Statistics", entries),
        counter("cn=Referrals,cn=Statistics", references),
        entry("cn=Threads", "monitorContainer", &[]),
        entry("cn=Max,cn=Threads", "monitoredObject", &[("monitoredInfo", threads.clone())]),
        entry("cn=Open,cn=Threads", "monitoredObject", &[("monitoredInfo", threads)]),
        entry("cn=Time", "monitorContainer", &[]),
        entry("cn=Start,cn=Time", "monitoredObject", &[("monitorTimestamp", timestamp(server.started))]),
        entry("cn=Current,cn=Time", "monitoredObject", &[("monitorTimestamp", timestamp(SystemTime::now()))]),
        entry("cn=Uptime,cn=Time", "monitoredObject", &[("monitoredInfo", uptime(server).to_string())]),
        entry("cn=Waiters", "monitorContainer", &[]),
        counter("cn=Read,cn=Waiters", connected.saturating_sub(blocked)),
        counter("cn=Write,cn=Waiters", blocked),
    ];
    let copies = server.replicas.statuses();
    for (n, suffix) in (1..).zip(server.directory.suffixes()) {
        let front = format!("cn=Database {n},cn=Databases");
        let is_it = |name: &str| server.directory.name(name).ok() == server.directory.name(&suffix).ok();
        for (m, copy) in (1..).zip(copies.iter().filter(|copy| is_it(&copy.suffix))) {
            consumer(&format!("cn=Consumer {m:03},{front}"), copy.now(), &mut tree);
        }
        tree.push(entry(&front, "monitoredObject", &[("monitoredInfo", BACKEND.into()), ("namingContexts", suffix)]));
    }
    for (n, url) in server.urls.iter().enumerate() {
        tree.push(entry(&format!("cn=Listener {n},cn=Listeners"), "monitoredObject", &[("labeledURI", url.clone())]));
    }
    for (kind, name) in NAMES {
        let of_kind = &figures.kinds[kind as usize];
        let counted = operations(number(&of_kind.begun), of_kind.done());
        tree.push(entry(&format!("cn={name},cn=Operations"), "monitorOperation", &counted));
    }
    tree
}

/// What is known of a copy, as OpenLDAP shows it, and what is not told there below it.
fn consumer(front: &str, copy: Known, tree: &mut Vec<MonitorEntry>) {
    let mut about = vec![("olmSRSyncPhase", copy.state().to_string())];
    about.extend(copy.provider.map(|url| ("olmSRProviderURIList", url)));
    about.extend(copy.cookie.map(|cookie| ("olmSRLastCookieRcvd", cookie)));
    for (name, time) in
        [("olmSRNextConnect", copy.next), ("olmSRLastConnect", copy.connected), ("olmSRLastContact", copy.heard)]
    {
        about.extend(time.map(|time| (name, timestamp(time))));
    }
    tree.push(entry(front, "olmSyncReplInstance", &about));
    tree.push(counter(&format!("cn=Connections,{front}"), copy.connections));
    tree.push(counter(&format!("cn=Put,{front}"), copy.counts.put));
    tree.push(counter(&format!("cn=Deleted,{front}"), copy.counts.deleted));
    if let Some((when, text)) = copy.error {
        let about = [("monitoredInfo", text), ("monitorTimestamp", timestamp(when))];
        tree.push(entry(&format!("cn=Error,{front}"), "monitoredObject", &about));
    }
}

/// How many files the process may have open.
fn files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Seconds since the start.
pub fn uptime(server: &Server) -> u64 {
    SystemTime::now().duration_since(server.started).map_or(0, |time| time.as_secs())
}

fn operations(begun: u64, done: u64) -> [(&'static str, String); 2] {
    [("monitorOpInitiated", begun.to_string()), ("monitorOpCompleted", done.to_string())]
}

fn counter(front: &str, figure: u64) -> MonitorEntry {
    entry(front, "monitorCounterObject", &[("monitorCounter", figure.to_string())])
}

/// An entry of a kind of class `monitor`. `front` is its name without `cn=Monitor`.
fn entry(front: &str, class: &str, attributes: &[(&str, String)]) -> MonitorEntry {
    let rdn = if front.is_empty() { "cn=Monitor" } else { front };
    let name = rdn.split(',').next().unwrap_or_default().trim_start_matches("cn=");
    let classes = ["top", "monitor", class].map(str::to_string).to_vec();
    let mut all = vec![
        ("objectClass".into(), classes),
        ("structuralObjectClass".into(), vec![class.to_string()]),
        ("cn".into(), vec![name.to_string()]),
    ];
    all.extend(attributes.iter().map(|(name, value)| (name.to_string(), vec![value.clone()])));
    (front.to_string(), all)
}
