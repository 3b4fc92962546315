//! `duramen copy`: backups of a database in use, as it is and compacted.

use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};

use duramen::{Database, Duplicates, Order, TableOptions};

use super::Bench;

/// Tables of several kinds, with entries of the main table beside them, a number of the user's, and much free space.
fn varied(b: &Bench) -> Database {
    let db = Database::open(b.path("x.dm")).unwrap();
    db.update(|txn| {
        txn.set_user_number(77);
        let main = txn.main_table();
        txn.put(main, "an entry", "of the main table")?;
        let kinds = [
            ("plain", TableOptions::new()),
            ("reversed", TableOptions::new().order(Order::Reversed).user_bits(5)),
            ("several", TableOptions::new().duplicates(Duplicates::integers())),
        ];
        for (name, options) in kinds {
            let mut table = txn.table_with(name, &options)?;
            (0..2000_u32).try_for_each(|i| table.put((i / 2).to_be_bytes(), i.to_ne_bytes()).map(drop))?;
        }
        let mut gone = txn.table("gone")?;
        (0..50_u8).try_for_each(|i| gone.put([i], [7; 40_000]))
    })
    .unwrap();
    db.update(|txn| txn.drop_table("gone").map(drop)).unwrap();
    db
}

#[test]
fn copies_of_a_database_in_use_hold_what_it_holds() {
    let b = Bench::new();
    let db = varied(&b);
    let _under_way = db.begin_write().unwrap();
    b.ok(&["copy", "x.dm", "same.dm"]);
    b.ok(&["copy", "x.dm", "small.dm", "--compact"]);
    let dump = b.ok(&["dump", "x.dm"]);
    for name in ["same.dm", "small.dm"] {
        assert!(b.ok(&["check", name]).starts_with("clean: "), "{name}");
        assert_eq!(Database::open(b.path(name)).unwrap().user_number().unwrap(), 77, "{name}");
        let without_size =
            |text: &str| text.lines().filter(|line| !line.starts_with("mapsize")).collect::<Vec<_>>().join("\n");
        assert_eq!(without_size(&b.ok(&["dump", name])), without_size(&dump), "{name}");
        assert!(!b.path(&format!("{name}.partial")).exists());
    }
    let bytes = |name: &str| std::fs::metadata(b.path(name)).unwrap().len();
    assert_eq!(bytes("same.dm"), bytes("x.dm"));
    assert!(bytes("small.dm") * 4 < bytes("x.dm"), "{} of {}", bytes("small.dm"), bytes("x.dm"));
}

#[test]
fn a_copy_of_a_database_in_use_goes_through_a_pipe() {
    let b = Bench::new();
    let _db = varied(&b);
    let arrived = File::create(b.path("arrived.dm")).unwrap();
    assert!(b.command(&["copy", "x.dm", "-"]).stdout(arrived).status().unwrap().success());
    assert!(b.ok(&["check", "arrived.dm"]).starts_with("clean: "));
    assert_eq!(b.ok(&["dump", "arrived.dm"]), b.ok(&["dump", "x.dm"]));
    assert!(!b.path("-").exists());
    for option in ["--check", "--compact"] {
        b.run(&["copy", "x.dm", "-", option]).fails(2, &format!("{option} "));
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(b.command(&["copy", "x.dm", "-"]).stdout(full).status().unwrap().code(), Some(2), "not whole");
}

#[test]
fn a_copy_that_is_checked_says_that_what_was_copied_is_damaged_and_stays() {
    let b = Bench::new();
    drop(varied(&b));
    assert_eq!(b.ok(&["copy", "x.dm", "whole.dm", "--check"]), "");
    assert_eq!(b.ok(&["copy", "x.dm", "small.dm", "--check", "--compact"]), "");
    let bytes = std::fs::read(b.path("x.dm")).unwrap();
    let needle = b"of the main table";
    let at = bytes.windows(needle.len()).rposition(|window| window == needle).unwrap();
    let file = File::options().write(true).open(b.path("x.dm")).unwrap();
    file.write_at(b"O", at as u64).unwrap();
    b.ok(&["copy", "x.dm", "unseen.dm"]);
    let run = b.run(&["copy", "x.dm", "damaged.dm", "--check"]);
    assert!(run.text().contains(&format!("page {} is damaged", at / 4096)), "{run:?}");
    run.fails(1, "damaged.dm is made, but is the copy of a damaged database: keep earlier ones");
    assert_eq!(b.files(), ["damaged.dm", "small.dm", "unseen.dm", "whole.dm", "x.dm", "x.dm-lock"]);
    assert_eq!(b.run(&["check", "damaged.dm"]).code, Some(1), "it is left");
    b.run(&["copy", "x.dm", "none.dm", "--check", "--compact"]).fails(2, "is damaged");
    assert!(!b.path("none.dm").exists());
}

#[test]
fn a_copy_replaces_nothing_and_leaves_nothing_half_done() {
    let b = Bench::new();
    drop(varied(&b));
    std::fs::write(b.path("there"), "precious").unwrap();
    b.run(&["copy", "x.dm", "there"]).fails(2, "there exists already");
    assert_eq!(std::fs::read(b.path("there")).unwrap(), b"precious");
    b.run(&["copy", "x.dm", "no/such/place"]).fails(2, "cannot create no/such/place.partial");
    b.run(&["copy", "missing.dm", "y.dm"]).fails(2, "missing.dm");
    assert!(!b.path("y.dm").exists() && !b.path("missing.dm").exists());
    let custom = TableOptions::new().order(Order::Custom(std::sync::Arc::new(|a: &[u8], b: &[u8]| b.cmp(a))));
    let db = Database::open(b.path("x.dm")).unwrap();
    db.update(|txn| {
        let mut table = txn.table_with("custom", &custom)?;
        table.put("a", "b")?;
        table.put("c", "d")
    })
    .unwrap();
    b.ok(&["copy", "x.dm", "y.dm", "--compact"]);
    assert!(b.ok(&["check", "y.dm"]).starts_with("clean: "));
    let copy = Database::open(b.path("y.dm")).unwrap();
    assert_eq!(copy.read().unwrap().table_with("custom", &custom).unwrap().get("c").unwrap(), Some(&b"d"[..]));
}

#[test]
fn commands_that_make_the_same_file_do_not_write_into_each_others() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    let making: [&[&str]; 3] =
        [&["copy", "x.dm", "y"], &["copy", "x.dm", "y", "--compact"], &["dump", "x.dm", "-f", "y"]];
    for args in making {
        let half = "VERSION=3\nhalf of what another makes";
        std::fs::write(b.path("y.partial"), half).unwrap();
        let other = File::options().write(true).open(b.path("y.partial")).unwrap();
        other.lock().unwrap();
        b.run(args).fails(2, "y is being made by another command");
        assert_eq!(std::fs::read_to_string(b.path("y.partial")).unwrap(), half);
        // The other one dies.
        drop(other);
        b.ok(args);
        assert!(!b.path("y.partial").exists());
        std::fs::remove_file(b.path("y")).unwrap();
    }
}

/// Commands that make a file `y`, and what one of their kind leaves that is killed.
const MAKING: [(&[&str], &[u8]); 4] = [
    (&["copy", "x.dm", "y"], &[0; 8192]),
    (&["copy", "x.dm", "y", "--compact"], b"DURAMEN\x1a"),
    (&["dump", "x.dm", "-f", "y"], b"VERSION=3\nformat"),
    (&["put", "y", "t", "k", "v"], b""),
];

#[test]
fn what_a_killed_command_has_left_is_made_anew_and_what_others_have_called_so_is_left_alone() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    let partial = b.path("y.partial");
    for (args, left) in MAKING {
        std::fs::write(&partial, left).unwrap();
        b.ok(args);
        assert!(!partial.exists());
        std::fs::remove_file(b.path("y")).unwrap();
        let kept = |text: &str, why: &str| {
            b.run(args).fails(2, &format!("y.partial is in the way: {why}"));
            assert_eq!(std::fs::read_to_string(&partial).unwrap(), text);
            std::fs::remove_file(&partial).unwrap();
            assert!(!b.path("y").exists());
        };
        std::fs::write(&partial, "precious").unwrap();
        kept("precious", "it is nothing that such a command has begun; remove it");
        std::fs::write(b.path("other"), "VERSION=3\n").unwrap();
        std::fs::hard_link(b.path("other"), &partial).unwrap();
        kept("VERSION=3\n", "it has another name");
        std::os::unix::fs::symlink("other", &partial).unwrap();
        b.run(args).fails(2, "y.partial is in the way: it is a link");
        assert_eq!(std::fs::read_to_string(b.path("other")).unwrap(), "VERSION=3\n");
        std::fs::remove_file(&partial).unwrap();
        assert!(Command::new("mkfifo").arg(&partial).status().unwrap().success());
        b.run(args).fails(2, "y.partial is in the way: it is no regular file");
        std::fs::remove_file(&partial).unwrap();
    }
}

/// The command without the rights by which nothing is forbidden to root.
fn without_privileges(b: &Bench, args: &[&str]) -> Command {
    let command = env!("CARGO_BIN_EXE_duramen");
    let mut bounded = Command::new("setpriv");
    bounded.args(["--bounding-set=-dac_override,-dac_read_search", command]);
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut run = if is_root { bounded } else { Command::new(command) };
    run.args(args).current_dir(b.dir.path());
    run
}

#[test]
fn what_may_only_be_read_is_copied_and_replaced_as_what_it_is() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    std::fs::write(b.path("x.dump"), "").unwrap();
    for name in ["x.dm", "x.dump"] {
        std::fs::set_permissions(b.path(name), Permissions::from_mode(0o440)).unwrap();
        // Only root may: for others it goes on as it was made.
        std::os::unix::fs::chown(b.path(name), None, Some(1234)).ok();
    }
    let of = |name: &str| {
        let found = std::fs::metadata(b.path(name)).unwrap();
        (found.uid(), found.gid(), found.mode() & 0o777)
    };
    let is = of("x.dump");
    let making: [&[&str]; 3] =
        [&["copy", "x.dm", "y.dm"], &["copy", "x.dm", "z.dm", "--compact"], &["dump", "x.dm", "-f", "x.dump"]];
    for args in making {
        let output = without_privileges(&b, args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(["y.dm", "z.dm", "x.dump"].map(of), [is; 3]);
}

#[test]
fn ctrl_c_in_a_copy_leaves_nothing_of_it() {
    let b = Bench::new();
    let db = Database::open(b.path("x.dm")).unwrap();
    db.update(|txn| txn.table("t")?.put("k", vec![7; 200 << 20])).unwrap();
    let mut child = b.command(&["copy", "x.dm", "y.dm"]).stderr(Stdio::null()).spawn().unwrap();
    while !b.path("y.dm.partial").exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    for _ in 0..2 {
        // It may have ended already.
        Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
    }
    let code = child.wait().unwrap().code();
    assert!(!b.path("y.dm.partial").exists());
    assert!(b.path("y.dm").exists() || code == Some(130), "{code:?}");
}
