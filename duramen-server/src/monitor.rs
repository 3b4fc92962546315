//! What the server tells about itself: in the root DSE, and below `cn=monitor`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use duramen_directory::MonitorEntry;

use crate::figures::{Figures, NAMES};
use crate::server::Server;
use crate::work::{MECHANISMS, OPERATIONS};

/// Tells the directory what to say of the server.
pub fn introduce(server: &Arc<Server>) {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    let has_tls = server.settings().tls.is_some();
    let extensions = OPERATIONS.into_iter().filter(|oid| has_tls || *oid != duramen_ldap::oid::extended::START_TLS);
    server.directory.set_root_dse(vec![
        ("vendorName".into(), texts(&["Duramen"])),
        ("vendorVersion".into(), texts(&[env!("CARGO_PKG_VERSION")])),
        ("supportedLDAPVersion".into(), texts(&["3"])),
        ("supportedExtension".into(), texts(&extensions.collect::<Vec<_>>())),
        ("supportedSASLMechanisms".into(), texts(&MECHANISMS)),
    ]);
    // The server has the directory, so the directory must not keep the server.
    let weak = Arc::downgrade(server);
    let entries = move || weak.upgrade().map(|server| entries(&server)).unwrap_or_default();
    server.directory.set_monitor(Arc::new(entries));
}

/// Entries below `cn=monitor`, as OpenLDAP names them where it has them.
fn entries(server: &Server) -> Vec<MonitorEntry> {
    let figures = Figures::sum(server.figures.iter().map(|figures| &**figures));
    let mut entries = vec![
        counter("cn=Total Connections", &figures.connections),
        plain("cn=Current Connections", server.connected.load(Relaxed) as u64),
        counter("cn=Entries Sent", &figures.entries),
        counter("cn=Referrals Sent", &figures.references),
        counter("cn=Bytes Sent", &figures.bytes_out),
        counter("cn=Bytes Received", &figures.bytes_in),
        plain("cn=Uptime", uptime(server)),
        plain("cn=Threads", server.figures.len() as u64),
    ];
    for (kind, name) in NAMES {
        let of_kind = &figures.kinds[kind as usize];
        let done = of_kind.succeeded.load(Relaxed) + of_kind.failed.load(Relaxed);
        entries.push((
            format!("cn={name} Operations"),
            vec![
                ("cn".into(), vec![format!("{name} Operations")]),
                ("monitorOpInitiated".into(), vec![of_kind.begun.load(Relaxed).to_string()]),
                ("monitorOpCompleted".into(), vec![done.to_string()]),
            ],
        ));
    }
    entries
}

/// Seconds since the start.
pub fn uptime(server: &Server) -> u64 {
    SystemTime::now().duration_since(server.started).map_or(0, |time| time.as_secs())
}

fn counter(rdn: &str, figure: &AtomicU64) -> MonitorEntry {
    plain(rdn, figure.load(Relaxed))
}

fn plain(rdn: &str, figure: u64) -> MonitorEntry {
    let name = rdn.trim_start_matches("cn=").to_string();
    let attributes = vec![("cn".into(), vec![name]), ("monitorCounter".into(), vec![figure.to_string()])];
    (rdn.to_string(), attributes)
}
