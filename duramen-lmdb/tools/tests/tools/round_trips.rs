//! Loads and dumps: what one library's tools write, the other's read, and both write the same.

use duramen_dump::{Format, Header};

use crate::peer::{Entries, Peer, assert_same, header, section};

/// Loads the text with both tools, compares their dumps, and carries each dump over to the other.
#[track_caller]
fn assert_carried(text: &[u8], dump_options: &str) {
    let peers = Peer::both(&["env", "back"]);
    assert_same(&peers, "mdb_load env", text);
    let dump = |environment: &str| format!("mdb_dump {dump_options}{environment}");
    assert_same(&peers, &dump("env"), b"");
    let [theirs, ours] = peers.each_ref().map(|peer| peer.run(&dump("env")).well());
    assert!(theirs.len() > text.len() / 2, "the dump has what was loaded");
    peers[0].fed("mdb_load back", &ours).well();
    peers[1].fed("mdb_load back", &theirs).well();
    for peer in &peers {
        assert!(peer.run(&dump("back")).well() == theirs, "{dump_options}: a dump that was carried over differs");
    }
    assert_whole(&peers[1]);
}

/// Proves that the engine finds nothing wrong in a file.
#[track_caller]
fn assert_whole(ours: &Peer) {
    let db = duramen::Database::open(ours.path("back/data.mdb")).unwrap();
    assert!(db.check(|_, _| {}).unwrap().is_clean());
}

fn random(rng: &mut fastrand::Rng, len: usize) -> Vec<u8> {
    std::iter::repeat_with(|| rng.u8(..)).take(len).collect()
}

/// Keys and values of random bytes and of all lengths up to these.
fn mixed(seed: u64, count: usize, key_max: usize, value_max: usize) -> Entries {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut entry = |n| (random(&mut rng, 1 + n * 7 % key_max), random(&mut rng, n * 13 % (value_max + 1)));
    (0..count).map(&mut entry).collect()
}

/// Keys with many values of one length.
fn duplicates(seed: u64, key: impl Fn(u64) -> Vec<u8>, width: usize) -> Entries {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..3000).map(|n| (key(n % 10), random(&mut rng, width))).collect()
}

fn named(n: u64) -> Vec<u8> {
    format!("key {n}").into_bytes()
}

#[test]
fn binary_keys_and_values_of_megabytes_are_carried_both_ways() {
    let mut entries = mixed(1, 500, 511, 600);
    entries.push((b"empty".to_vec(), Vec::new()));
    entries.push((b"large".to_vec(), (0..=255).cycle().take(3_000_000).collect()));
    entries.push((b"DATA=END".to_vec(), b"DATA=END\n DATA=END\n".to_vec()));
    assert_carried(&section(&header(None), &entries), "");
    assert_carried(&section(&header(Some("a name with blanks")), &entries), "-a ");
}

#[test]
fn printable_dumps_are_carried_both_ways() {
    // LMDB 0.9.24 writes backslashes so that nothing can read them back.
    let mut entries = mixed(2, 300, 100, 300);
    entries.iter_mut().for_each(|(key, value)| {
        key.iter_mut().chain(value).filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    });
    let header = Header { format: Format::Print, ..header(Some("t")) };
    assert_carried(&section(&header, &entries), "-p -s t ");
}

#[test]
fn backslashes_survive_a_printable_dump_of_ours() {
    let peers = Peer::both(&["env"]);
    let text = section(&header(None), &vec![(b"\\41".to_vec(), b"\\\\ \\zz \\".to_vec())]);
    peers[1].fed("mdb_load env", &text).well();
    let printed = peers[1].run("mdb_dump -p env").well();
    peers[0].fed("mdb_load env", &printed).well();
    assert_eq!(peers[0].run("mdb_dump env"), peers[1].run("mdb_dump env"));
}

#[test]
fn tables_of_every_order_are_carried_both_ways() {
    let integers = |width: usize| -> Entries {
        let mut rng = fastrand::Rng::with_seed(width as u64);
        (0..400u64).map(|n| (random(&mut rng, width), n.to_string().into_bytes())).collect()
    };
    for width in [4, 8] {
        let main = Header { integer_key: true, ..header(None) };
        assert_carried(&section(&main, &integers(width)), "");
        let other = Header { integer_key: true, ..header(Some("integers")) };
        assert_carried(&section(&other, &integers(width)), "-a ");
    }
    let reversed = Header { reverse_key: true, ..header(Some("reversed")) };
    assert_carried(&section(&reversed, &mixed(3, 400, 50, 50)), "-s reversed ");
}

#[test]
fn duplicates_of_every_kind_are_carried_both_ways() {
    let sorted = Header { duplicates: true, ..header(Some("d")) };
    let mut entries = mixed(4, 300, 20, 400);
    entries.extend(duplicates(5, named, 30));
    assert_carried(&section(&sorted, &entries), "-a ");
    assert_carried(&section(&Header { database: None, ..sorted.clone() }, &entries), "");
    assert_carried(&section(&Header { reverse_dup: true, ..sorted.clone() }, &entries), "-a ");
    let fixed = Header { dup_fixed: true, ..sorted.clone() };
    let kinds = [
        (fixed.clone(), 12),
        (Header { reverse_dup: true, ..fixed.clone() }, 12),
        (Header { integer_dup: true, ..fixed.clone() }, 4),
        (Header { integer_dup: true, ..fixed.clone() }, 8),
        (Header { integer_dup: true, ..sorted }, 8),
        (Header { reverse_key: true, ..fixed.clone() }, 1),
    ];
    for (seed, (header, width)) in kinds.into_iter().enumerate() {
        assert_carried(&section(&header, &duplicates(seed as u64, named, width)), "-a ");
    }
    let integers = Header { integer_key: true, integer_dup: true, ..fixed };
    assert_carried(&section(&integers, &duplicates(9, |n| n.to_ne_bytes().to_vec(), 8)), "-a ");
}

#[test]
fn many_tables_travel_in_one_stream_and_are_listed() {
    let text: Vec<u8> = (0..30)
        .flat_map(|n| {
            let header = Header { duplicates: n % 3 == 0, ..header(Some(&format!("table {n:02}"))) };
            section(&header, &mixed(n, 3 * n as usize, 30, 60))
        })
        .collect();
    assert_carried(&text, "-a ");
    let peers = Peer::both(&["env"]);
    assert_same(&peers, "mdb_load env", &text);
    for words in ["mdb_dump -l env", "mdb_dump -al env", "mdb_stat -a env", "mdb_dump env -s none"] {
        // LMDB's records of tables in the main one are 48 bytes of its own, so `mdb_dump env` is not among these.
        let [theirs, ours] = peers.each_ref().map(|peer| peer.run(words));
        let without_pages = |text: String| -> Vec<String> {
            let is_about_pages = |line: &str| line.contains("pages") || line.contains("depth");
            text.lines().filter(|line| !is_about_pages(line)).map(str::to_string).collect()
        };
        assert_eq!(without_pages(theirs.text()), without_pages(ours.text()), "{words}");
        assert_eq!((theirs.code, theirs.err), (ours.code, ours.err), "{words}");
    }
}

#[test]
fn environments_in_a_file_and_dumps_in_files_are_the_same() {
    let peers = Peer::both(&[]);
    let text = section(&header(Some("t")), &mixed(7, 200, 30, 60));
    for peer in &peers {
        std::fs::write(peer.path("in"), &text).unwrap();
    }
    for words in ["mdb_load -n -f in file", "mdb_dump -n -a file", "mdb_dump -n -f out -s t file"] {
        assert_same(&peers, words, b"");
    }
    let [theirs, ours] = peers.each_ref().map(|peer| std::fs::read(peer.path("out")).unwrap());
    assert!(theirs == ours && theirs.len() > 5000);
    assert!(peers.iter().all(|peer| peer.path("file-lock").exists()));
}

#[test]
fn a_dump_does_not_empty_what_it_is_of() {
    let ours = Peer::ours(&["env"]);
    ours.fed("mdb_load -T env", b"k\nv\n").well();
    ours.fed("mdb_load -nT file", b"k\nv\n").well();
    let refused = [
        "-f env/data.mdb env",
        "-f env/lock.mdb env",
        "-nf env/data.mdb env/data.mdb",
        "-nf file file",
        "-nf file-lock file",
    ];
    for words in refused {
        let said = ours.run(&format!("mdb_dump {words}"));
        assert_eq!(said.code, Some(1));
        assert!(said.err.ends_with(": reopen: it is the environment's own, which this would empty\n"), "{}", said.err);
    }
    for words in ["env", "-n file"] {
        assert!(ours.run(&format!("mdb_dump -p {words}")).text().ends_with("\n k\n v\nDATA=END\n"), "{words}");
    }
}
