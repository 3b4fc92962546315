//! `put`, `get`, `del` and `scan`.

use super::Bench;

#[test]
fn an_entry_is_stored_found_listed_and_deleted() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "people", "bjensen", "Barbara Jensen"]);
    assert_eq!(b.ok(&["get", "x.dm", "people", "bjensen"]), "Barbara Jensen\n");
    assert_eq!(b.ok(&["scan", "x.dm", "people"]), "bjensen\tBarbara Jensen\n");
    b.ok(&["del", "x.dm", "people", "bjensen"]);
    b.run(&["get", "x.dm", "people", "bjensen"]).fails(1, "there is no key bjensen");
    b.run(&["del", "x.dm", "people", "bjensen"]).fails(1, "nothing to delete");
}

#[test]
fn put_replaces_unless_told_not_to() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "old"]);
    b.run(&["put", "x.dm", "t", "k", "new", "--no-overwrite"]).fails(1, "the key k is there already");
    assert_eq!(b.ok(&["get", "x.dm", "t", "k"]), "old\n");
    b.ok(&["put", "x.dm", "t", "k", "new"]);
    assert_eq!(b.ok(&["get", "x.dm", "t", "k"]), "new\n");
    b.ok(&["put", "x.dm", "t", "other", "new", "--no-overwrite"]);
}

#[test]
fn a_put_that_fails_makes_no_database() {
    let b = Bench::new();
    b.run(&["put", "x.dm", "t", "not hexadecimal", "00", "--hex"]).fails(2, "is not hexadecimal");
    b.run(&["put", "x.dm", "t", &"k".repeat(5000), "v"]).fails(2, "a key of 5000 bytes");
    assert_eq!(b.files(), [""; 0]);
}

#[test]
fn any_bytes_go_through_standard_input_and_raw_output() {
    let b = Bench::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    b.fed(&["put", "x.dm", "t", "k"], &bytes).ok();
    b.fed(&["put", "x.dm", "t", "dash", "-"], &bytes).ok();
    b.fed(&["put", "x.dm", "t", "empty", "-"], b"").ok();
    assert_eq!(b.run(&["get", "x.dm", "t", "k", "--output", "raw"]).stdout, bytes);
    assert_eq!(b.run(&["get", "x.dm", "t", "dash", "--output", "raw"]).stdout, bytes);
    assert_eq!(b.ok(&["get", "x.dm", "t", "empty", "--output", "raw"]), "");
}

#[test]
fn hexadecimal_works_in_both_directions() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "--hex", "00ff", "0A 0b"]);
    b.fed(&["put", "x.dm", "t", "--hex", "01"], b"ff\n00\n").ok();
    assert_eq!(b.ok(&["get", "x.dm", "t", "--hex", "00ff"]), "0a0b\n");
    assert_eq!(b.ok(&["scan", "x.dm", "t", "--hex", "--from", "00"]), "00ff\t0a0b\n01\tff00\n");
    assert_eq!(b.ok(&["scan", "x.dm", "t", "--output", "hex", "--keys"]), "00ff\n01\n");
    b.run(&["get", "x.dm", "t", "--hex", "0"]).fails(2, "is not hexadecimal");
}

#[test]
fn text_output_keeps_an_entry_on_its_line() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "a\tb", "line\nbreak \\ ä"]);
    b.ok(&["put", "x.dm", "t", "--hex", "ff", "1b"]);
    assert_eq!(b.ok(&["scan", "x.dm", "t"]), "a\\09b\tline\\0abreak \\5c ä\n\\ff\t\\1b\n");
    assert_eq!(b.ok(&["get", "x.dm", "t", "a\tb"]), "line\nbreak \\ ä\n");
}

#[test]
fn json_is_an_object_a_line_and_says_what_is_hexadecimal() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "\"quoted\""]);
    b.ok(&["put", "x.dm", "t", "--hex", "ff", "00"]);
    let lines = "{\"key\":\"k\",\"value\":\"\\\"quoted\\\"\"}\n{\"key_hex\":\"ff\",\"value\":\"\\u0000\"}\n";
    assert_eq!(b.ok(&["scan", "x.dm", "t", "--json"]), lines);
    assert_eq!(b.ok(&["get", "x.dm", "t", "k", "--json"]), "{\"value\":\"\\\"quoted\\\"\"}\n");
}

#[test]
fn tables_of_integers_take_and_show_numbers() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "n", "300", "later", "--order", "integers"]);
    b.ok(&["put", "x.dm", "n", "5", "sooner"]);
    assert_eq!(b.ok(&["scan", "x.dm", "n"]), "5\tsooner\n300\tlater\n");
    assert_eq!(b.ok(&["get", "x.dm", "n", "300"]), "later\n");
    assert_eq!(b.ok(&["scan", "x.dm", "n", "--from", "6", "--json"]), "{\"key\":300,\"value\":\"later\"}\n");
    b.run(&["get", "x.dm", "n", "five"]).fails(2, "five is not a number of 8 bytes");
    b.run(&["scan", "x.dm", "n", "--prefix", "5"]).fails(2, "use --from and --to");
}

#[test]
fn a_key_of_a_table_with_duplicates_has_all_its_values() {
    let b = Bench::new();
    for value in ["10", "9", "10", "200"] {
        b.ok(&["put", "x.dm", "d", "k", value, "--duplicates", "integers"]);
    }
    b.ok(&["put", "x.dm", "d", "l", "1"]);
    assert_eq!(b.ok(&["get", "x.dm", "d", "k"]), "9\n10\n200\n");
    assert_eq!(b.ok(&["scan", "x.dm", "d", "--keys"]), "k\nl\n");
    assert_eq!(b.ok(&["scan", "x.dm", "d", "--keys", "--reverse"]), "l\nk\n");
    b.ok(&["del", "x.dm", "d", "k", "10"]);
    assert_eq!(b.ok(&["get", "x.dm", "d", "k"]), "9\n200\n");
    b.run(&["del", "x.dm", "d", "k", "10"]).fails(1, "nothing to delete");
    b.ok(&["del", "x.dm", "d", "k"]);
    assert_eq!(b.ok(&["scan", "x.dm", "d"]), "l\t1\n");
}

#[test]
fn a_scan_can_be_narrowed_turned_and_cut() {
    let b = Bench::new();
    for key in ["a", "ba", "bb", "bc", "c"] {
        b.ok(&["put", "x.dm", "t", key, ""]);
    }
    let keys = |args: &[&str]| b.ok(&[&["scan", "x.dm", "t", "--keys"], args].concat()).replace('\n', " ");
    assert_eq!(keys(&[]), "a ba bb bc c ");
    assert_eq!(keys(&["--prefix", "b"]), "ba bb bc ");
    assert_eq!(keys(&["--prefix", "b", "--reverse", "--limit", "2"]), "bc bb ");
    assert_eq!(keys(&["--from", "b", "--to", "bc"]), "ba bb ");
    assert_eq!(keys(&["--from", "bb"]), "bb bc c ");
    assert_eq!(keys(&["--to", "bb", "--reverse"]), "ba a ");
    assert_eq!(keys(&["--limit", "0"]), "");
    assert_eq!(keys(&["--prefix", "x"]), "");
    b.run(&["scan", "x.dm", "t", "--prefix", "b", "--from", "a"]).fails(2, "cannot be used with");
}

#[test]
fn del_takes_ranges_all_entries_and_whole_tables() {
    let b = Bench::new();
    for key in ["a", "ba", "bb", "c", "d", "e"] {
        b.ok(&["put", "x.dm", "t", key, ""]);
    }
    let run = b.run(&["del", "x.dm", "t", "--prefix", "b"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "duramen: deleted 2 entries\n"));
    b.ok(&["del", "x.dm", "t", "--from", "c", "--to", "d"]);
    assert_eq!(b.ok(&["scan", "x.dm", "t", "--keys"]), "a\nd\ne\n");
    b.ok(&["del", "x.dm", "t", "--to", "b", "--quiet"]);
    assert_eq!(b.ok(&["scan", "x.dm", "t", "--keys"]), "d\ne\n");
    b.ok(&["del", "x.dm", "t", "--all"]);
    assert_eq!(b.ok(&["scan", "x.dm", "t", "--keys"]), "");
    b.ok(&["del", "x.dm", "t", "--drop"]);
    b.run(&["scan", "x.dm", "t"]).fails(1, "there is no table \"t\"");
    b.run(&["del", "x.dm", "t", "--drop"]).fails(1, "there is no table \"t\"");
    b.run(&["del", "x.dm", "t"]).fails(2, "required");
}

#[test]
fn the_main_table_shows_its_own_entries_and_hides_the_records_of_others() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    b.ok(&["put", "x.dm", "", "own", "entry"]);
    assert_eq!(b.ok(&["scan", "x.dm", ""]), "own\tentry\n");
    assert_eq!(b.ok(&["scan", "x.dm", "", "--keys", "--limit", "1"]), "own\n");
    assert_eq!(b.ok(&["get", "x.dm", "", "own"]), "entry\n");
    b.run(&["get", "x.dm", "", "t"]).fails(1, "there is no key t");
    b.run(&["put", "x.dm", "", "t", "x"]).fails(2, "a table has this name");
    b.run(&["del", "x.dm", "", "--drop"]).fails(2, "the main table cannot be dropped");
}

#[test]
fn a_table_is_of_the_kind_that_it_was_created_as() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    b.run(&["put", "x.dm", "t", "k", "v", "--duplicates", "bytes"]).fails(2, "without duplicates, not");
    b.run(&["del", "x.dm", "t", "k", "v"]).fails(2, "does not allow that");
}
