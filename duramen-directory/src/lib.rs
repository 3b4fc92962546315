//! An LDAP directory on the storage engine.
#![forbid(unsafe_code)]

pub mod password;
