//! Questions to a name server: as much of DNS as it takes to read addresses.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// Asks a server on the loopback device for a name's addresses, in order; `None` if it does not answer.
pub fn addresses(port: u16, name: &str) -> Option<Vec<Ipv4Addr>> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.send(&question(name)).ok()?;
    let mut answer = [0; 4096];
    let bytes = socket.recv(&mut answer).ok()?;
    let mut found = read(&answer[..bytes])?;
    found.sort();
    Some(found)
}

fn question(name: &str) -> Vec<u8> {
    // Number 77, recursion desired: resolvers insist. One question.
    let mut bytes = vec![0, 77, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label.as_bytes());
    }
    // The root, type A, class IN.
    bytes.extend_from_slice(&[0, 0, 1, 0, 1]);
    bytes
}

fn read(answer: &[u8]) -> Option<Vec<Ipv4Addr>> {
    let number = |at: usize| Some(u16::from_be_bytes([*answer.get(at)?, *answer.get(at + 1)?]));
    // Refusals and failures are no answers; an unknown name (3) is one.
    if number(0)? != 77 || !matches!(answer.get(3)? & 15, 0 | 3) {
        return None;
    }
    let mut at = skip_name(answer, 12)? + 4;
    let mut found = Vec::new();
    for _ in 0..number(6)? {
        at = skip_name(answer, at)?;
        let (kind, bytes) = (number(at)?, number(at + 8)? as usize);
        if kind == 1 {
            let [a, b, c, d] = answer.get(at + 10..at + 14)?.try_into().ok()?;
            found.push(Ipv4Addr::new(a, b, c, d));
        }
        at += 10 + bytes;
    }
    Some(found)
}

fn skip_name(answer: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *answer.get(at)? {
            0 => return Some(at + 1),
            pointer if pointer >= 0xc0 => return Some(at + 2),
            label => at += 1 + label as usize,
        }
    }
}
