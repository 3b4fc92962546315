//! LDAP: see `url` in the visits of `duramen-ldap`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "each target makes one of the visits")]
#[path = "../../duramen-ldap/tests/visits/mod.rs"]
mod visits;

fuzz_target!(|data: &[u8]| {
    visits::url(data);
});
