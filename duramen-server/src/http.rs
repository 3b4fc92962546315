//! `/metrics` for Prometheus, and `/healthz`. Off unless an address is configured.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::figures::{BUCKETS, Figures, NAMES, OfKind};
use crate::listen::{ListenError, error, tcp};
use crate::monitor::uptime;
use crate::server::Server;

/// Listens, if there is an address.
pub fn listen(address: Option<SocketAddr>) -> Result<Option<TcpListener>, ListenError> {
    address.map(|address| tcp(address).map_err(|source| error(address.to_string(), source))).transpose()
}

/// Serves for ever.
pub async fn serve(listener: Option<TcpListener>, server: Arc<Server>) {
    let Some(listener) = listener else { return std::future::pending().await };
    if let Ok(address) = listener.local_addr() {
        tracing::info!("figures at http://{address}/metrics");
    }
    let routes = Router::new().route("/metrics", get(metrics)).route("/healthz", get(health)).with_state(server);
    if let Err(error) = axum::serve(listener, routes).await {
        tracing::error!("no more figures by HTTP: {error}");
        std::future::pending::<()>().await;
    }
}

async fn metrics(State(server): State<Arc<Server>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text(&server))
}

/// Whether the database can be read.
async fn health(State(server): State<Arc<Server>>) -> impl IntoResponse {
    match server.directory.database().read() {
        Ok(_) => (StatusCode::OK, "ok\n".to_string()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
    }
}

fn text(server: &Server) -> String {
    let figures = Figures::sum(server.figures.iter().map(|figures| &**figures));
    let mut out = String::new();
    let single = [
        ("duramend_uptime_seconds", "gauge", "Time since the start", uptime(server)),
        ("duramend_connections", "gauge", "Connections there are", server.connected.load(Relaxed) as u64),
        ("duramend_connections_total", "counter", "Connections so far", figures.connections.load(Relaxed)),
        ("duramend_entries_sent_total", "counter", "Entries sent", figures.entries.load(Relaxed)),
        ("duramend_references_sent_total", "counter", "References sent", figures.references.load(Relaxed)),
        ("duramend_received_bytes_total", "counter", "Bytes received", figures.bytes_in.load(Relaxed)),
        ("duramend_sent_bytes_total", "counter", "Bytes sent", figures.bytes_out.load(Relaxed)),
    ];
    for (name, kind, help, value) in single {
        let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}\n{name} {value}");
    }
    let name = "duramend_operations_total";
    let _ = writeln!(out, "# HELP {name} Operations by kind and by how they ended.\n# TYPE {name} counter");
    for (kind, label) in NAMES {
        let of_kind = &figures.kinds[kind as usize];
        for (end, figure) in [("success", &of_kind.succeeded), ("failure", &of_kind.failed)] {
            let value = figure.load(Relaxed);
            let _ = writeln!(out, "{name}{{operation=\"{}\",result=\"{end}\"}} {value}", label.to_lowercase());
        }
    }
    let name = "duramend_operation_seconds";
    let _ = writeln!(out, "# HELP {name} How long operations took.\n# TYPE {name} histogram");
    for (kind, label) in NAMES {
        histogram(&mut out, name, &label.to_lowercase(), &figures.kinds[kind as usize]);
    }
    out
}

fn histogram(out: &mut String, name: &str, label: &str, of_kind: &OfKind) {
    let mut count = 0;
    for (at, bucket) in of_kind.histogram.iter().enumerate() {
        count += bucket.load(Relaxed);
        let limit = match at {
            at if at == BUCKETS - 1 => "+Inf".to_string(),
            at => ((1u64 << at) as f64 / 1e6).to_string(),
        };
        let _ = writeln!(out, "{name}_bucket{{operation=\"{label}\",le=\"{limit}\"}} {count}");
    }
    let seconds = of_kind.micros.load(Relaxed) as f64 / 1e6;
    let _ = writeln!(out, "{name}_sum{{operation=\"{label}\"}} {seconds}");
    let _ = writeln!(out, "{name}_count{{operation=\"{label}\"}} {count}");
}
