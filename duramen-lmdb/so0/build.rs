//! Gives the library its soname, and binds its calls to itself at once.

fn main() {
    for argument in ["-soname,liblmdb.so.0", "-Bsymbolic", "-z,now"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
