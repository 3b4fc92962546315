//! How the shared libraries are linked: for their build scripts.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Gives the library its soname, binds its calls to itself at once, and lets it do without the compiler's own library.
pub fn link(soname: &str) {
    for argument in [&format!("-soname,{soname}"), "-Bsymbolic", "-z,now"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
    if let Some(directory) = directory_of_unwinder() {
        println!("cargo:rustc-link-search=native={}", directory.display());
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../link.rs");
}

/// Where the compiler has the archive of what goes up the stack, for the text of a panic. Else that comes from `libgcc_s.so.1`,
/// which has the processor tell all it can as soon as it is loaded: in a virtual machine a tenth of a millisecond for every program
/// that begins.
fn directory_of_unwinder() -> Option<PathBuf> {
    if env::var("CARGO_CFG_TARGET_ENV").ok()? != "gnu" {
        return None;
    }
    let linker = env::var_os("RUSTC_LINKER").unwrap_or(OsString::from("cc"));
    let answer = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let archive = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim_end());
    // Who has none repeats the name.
    archive.parent().filter(|_| archive.is_absolute()).map(PathBuf::from)
}
