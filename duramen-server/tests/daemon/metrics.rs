//! The table of metrics in `docs/server.md`, against what the daemon serves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use duramen_sim::port::free_port;

use crate::life::get;
use crate::process::{ADMINISTRATOR, Daemon, TLS, certificates};
use crate::replicas::{Provider, TOP, change_all};

/// Of each metric, by its name: type, labels, and what it is.
type Metrics = BTreeMap<String, (String, BTreeSet<String>, String)>;

/// The table in `docs/server.md`.
fn documented() -> (Metrics, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/server.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, text) = text.split_once("\n## Metrics\n").unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `duramend_"));
    let metrics = rows.map(|row| {
        let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
        let [name, kind, labels, what] = cells[..] else { panic!("four columns: {row}") };
        let labels =
            labels.split(", ").filter(|label| !label.is_empty()).map(|label| label.trim_matches('`').to_string());
        let name = format!("duramend_{}", name.trim_end_matches('`'));
        (name, (kind.to_string(), labels.collect(), what.to_string()))
    });
    (metrics.collect(), text.to_string())
}

/// What `/metrics` has, and the values of its labels; but for the limits of buckets.
fn served(text: &str) -> (Metrics, BTreeSet<String>) {
    let (mut metrics, mut values) = (Metrics::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some((name, what)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            metrics.entry(name.into()).or_default().2 = what.trim_end_matches('.').into();
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            metrics.entry(name.into()).or_default().0 = kind.into();
        } else if let Some((name, rest)) = line.split_once('{') {
            let name = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            let (labels, _) = rest.split_once('}').unwrap();
            // There are commas in names.
            for (label, value) in labels.split("\",").filter_map(|label| label.split_once('=')) {
                if label != "le" {
                    metrics.entry(name.into()).or_default().1.insert(label.into());
                    values.insert(value.trim_matches('"').into());
                }
            }
        } else if let Some((name, _)) = line.split_once(' ').filter(|(name, _)| name.starts_with("duramend_")) {
            metrics.entry(name.into()).or_default();
        }
    }
    (metrics, values)
}

#[test]
fn the_documents_table_of_metrics_is_what_is_served() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let port = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    // A replica has all there are, once something has gone wrong, and it has been told something.
    let (nobody, provider) = (format!("ldap://127.0.0.1:{}", free_port()), Provider::start(""));
    fs::write(dir.path().join("password"), ADMINISTRATOR.1).unwrap();
    let replica = format!(
        "[replica]\nproviders = [{nobody:?}, {:?}]\nbind = {:?}\npassword_file = \"password\"\n",
        provider.url(),
        ADMINISTRATOR.0
    );
    change_all(&provider.url(), TOP);
    let mut daemon = Daemon::start(dir, &format!("{TLS}[http]\nlisten = \"{port}\"\n{replica}"));
    daemon.wait_for("figures at http://");
    daemon.wait_for("and follows it");
    let got = get(port, "/metrics");
    let (_, body) = got.split_once("\r\n\r\n").unwrap();
    let ((documented, text), (served, values)) = (documented(), served(body));
    assert_eq!(documented, served);
    let configured = ["dc=example,dc=com".to_string(), provider.url()];
    for value in values.into_iter().filter(|value| !configured.contains(value)) {
        assert!(text.contains(&format!("`{value}`")), "the document does not have {value:?}");
    }
}
