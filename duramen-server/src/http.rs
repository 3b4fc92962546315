//! `/metrics` for Prometheus, and `/healthz`. Off unless an address is configured.
//!
//! Whoever may look here need not be anybody who may use the directory, so there are few connections at a time, each for one
//! answer and not for long: else they could take all files that the process may open.

use std::fmt::Write;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use duramen_directory::Directory;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

use crate::figures::{BUCKETS, Figures, NAMES, OfKind};
use crate::listen::{ListenError, error, tcp};
use crate::monitor::uptime;
use crate::replica::status;
use crate::server::Server;
use crate::tls::Lifetimes;

/// Connections at a time; others wait.
pub const CONNECTIONS_MAX: usize = 256;
/// How long a connection may last.
const LONGEST: Duration = Duration::from_secs(10);

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
    let few = Few { listener, permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)) };
    if let Err(error) = axum::serve(few, routes.layer(map_response(last))).await {
        tracing::error!("no more figures by HTTP: {error}");
        std::future::pending::<()>().await;
    }
}

/// Has the connection end with its first answer.
async fn last(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Accepts a bounded number of connections at a time.
struct Few {
    listener: TcpListener,
    permits: Arc<Semaphore>,
}

impl axum::serve::Listener for Few {
    type Io = Brief;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Brief, SocketAddr) {
        // Nobody closes the semaphore.
        let permit = self.permits.clone().acquire_owned().await.ok();
        let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
        (Brief { stream, end: Box::pin(sleep(LONGEST)), _permit: permit }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when its time is over.
struct Brief {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Brief {
    /// Its stream, as long as there is time; who waits for it is woken when there is none.
    fn in_time(&mut self, cx: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(Pin::new(&mut self.stream)),
        }
    }
}

impl AsyncRead for Brief {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_read(cx, into)
    }
}

impl AsyncWrite for Brief {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.in_time(cx)?.poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

async fn metrics(State(server): State<Arc<Server>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text(&server))
}

/// Whether the database can be read, nothing of it was found damaged or missing, and copies of other servers have been complete and go
/// on.
async fn health(State(server): State<Arc<Server>>) -> impl IntoResponse {
    let unavailable = |why: String| (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"));
    if let Err(error) = server.directory.database().read() {
        return unavailable(error.to_string());
    }
    let damage = || Directory::damage().place.map(|place| format!("damaged data was met: {place}"));
    let of_copies = || server.replicas.statuses().iter().find_map(|status| status.ailment());
    match server.directory.lost_files().or_else(|| server.rival()).or_else(damage).or_else(of_copies) {
        Some(ailment) => unavailable(ailment),
        None => (StatusCode::OK, "ok\n".to_string()),
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
        (
            "duramend_damage_met_total",
            "counter",
            "Operations that failed as stored data is damaged",
            Directory::damage().failures,
        ),
        ("duramend_sent_bytes_total", "counter", "Bytes sent", figures.bytes_out.load(Relaxed)),
    ];
    for (name, kind, help, value) in single {
        let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}\n{name} {value}");
    }
    if let Some(ends) = server.settings().lifetimes.as_ref().and_then(Lifetimes::end) {
        let name = "duramend_certificate_not_after_timestamp_seconds";
        let help = "When the first of the server's certificates ends, in seconds since 1970";
        let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} gauge\n{name} {ends}");
    }
    status::metrics(server.replicas.statuses().iter().map(|status| &**status), &mut out);
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
