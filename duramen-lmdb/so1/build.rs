//! See `link`.

#[path = "../link.rs"]
mod link;

fn main() {
    link::link("liblmdb.so.1");
}
