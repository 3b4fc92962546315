//! Files, directories and media that may not be written, or not even read.
//!
//! # Safety
//! `setuid` and `mount` change the process they are called in, so that is one of its own (see `roles`). They touch no
//! memory of ours.
#![allow(unsafe_code)]

use std::fs::{self, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use duramen::{Database, Durability, Error, Options, Result};

use crate::roles::{self, Random, ledger, start};
use crate::{closed, scratch};

fn chmod(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Gives up the rights of root, for which nothing is forbidden; false if this is not root.
fn become_nobody() {
    // SAFETY: see the module's head.
    if unsafe { libc::geteuid() } == 0 {
        // SAFETY: as above.
        let changed = unsafe {
            libc::setgroups(0, std::ptr::null()) == 0 && libc::setgid(65534) == 0 && libc::setuid(65534) == 0
        };
        assert!(changed);
    }
}

fn is_denied<T>(result: Result<T>) -> bool {
    match result {
        Err(Error::File { source, path, .. }) => {
            assert!(path.is_absolute());
            source.kind() == std::io::ErrorKind::PermissionDenied
        }
        _ => false,
    }
}

fn assert_readable(db: &Database) -> Result<()> {
    assert_eq!(db.read()?.table("t")?.len(), 1000);
    assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    assert_eq!(db.stats()?.page_size, 4096);
    assert!(matches!(db.begin_write(), Err(Error::ReadOnly)));
    assert!(matches!(db.update(|_| Ok(())), Err(Error::ReadOnly)));
    Ok(())
}

/// Commits beside a log that somebody else was making when they died: nobody has made its name safe. What is in it then.
fn log_of_a_commit(path: &str) -> Result<Vec<u8>> {
    let db = Options::new().log_at_once(1 << 20).open(path)?;
    let log = format!("{path}-log");
    fs::write(&log, vec![0; 1 << 20]).unwrap();
    db.update(|txn| txn.table("t")?.put(b"one", b"more"))?;
    let stats = db.stats()?;
    assert_eq!(stats.durable_txnid, stats.txnid);
    Ok(fs::read(&log).unwrap())
}

/// From now on the process may flush what is in files, but neither directories nor filesystems.
fn forbid_flushes_of_names() {
    for call in [libc::SYS_fsync, libc::SYS_syncfs] {
        let call = u32::try_from(call).unwrap();
        let step = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
        // The call's number is the first word of what a filter is given.
        let mut steps = [
            step((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0),
            step((libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, call, 1),
            step((libc::BPF_RET | libc::BPF_K) as u16, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
            step((libc::BPF_RET | libc::BPF_K) as u16, libc::SECCOMP_RET_ALLOW, 0),
        ];
        let program = libc::sock_fprog { len: 4, filter: steps.as_mut_ptr() };
        // SAFETY: the kernel copies the filter, which is whole.
        let set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        assert!(set, "{}", std::io::Error::last_os_error());
    }
}

/// Role: what somebody without rights may do.
#[test]
fn role_nobody() -> Result<()> {
    let Some(arguments) = roles::arguments("permissions::role_nobody") else { return Ok(()) };
    let [path, what] = &arguments[..] else { panic!("{arguments:?}") };
    become_nobody();
    let read_only = || Options::new().read_only(true).open(path);
    match what.as_str() {
        "nothing" => assert!(is_denied(Database::open(path)) && is_denied(read_only())),
        "read" => {
            assert!(is_denied(Database::open(path)));
            assert_readable(&read_only()?)?;
        }
        "no entry" => assert!(is_denied(Database::open(path)) && is_denied(read_only())),
        "create" => assert!(is_denied(Database::open(path))),
        "make the lock file" => {
            Options::new().mode(0o600).open(path)?;
            let mode = fs::metadata(format!("{path}-lock")).unwrap().mode() & 0o777;
            assert_eq!(mode, 0o644, "what another group may do to the data is not for the own one");
        }
        "write" => Database::open(path)?.update(|txn| txn.table("t")?.put(b"one", b"more"))?,
        "log" => assert!(log_of_a_commit(path)?.iter().any(|&byte| byte != 0), "the log is not used"),
        "log without a name" => {
            forbid_flushes_of_names();
            assert!(log_of_a_commit(path)?.iter().all(|&byte| byte == 0), "a power cut may take the log");
        }
        _ => panic!("{what}"),
    }
    roles::say("all well");
    Ok(())
}

fn as_nobody(path: &str, what: &str) {
    let mut role = start("permissions::role_nobody", &[path, what]);
    role.expect("all well");
    role.finish();
}

#[test]
fn a_file_that_may_not_be_read_is_named() -> Result<()> {
    let (dir, path) = closed()?;
    chmod(dir.path(), 0o755);
    chmod(&path, 0o600);
    as_nobody(&path, "nothing");
    Ok(())
}

#[test]
fn a_file_that_may_only_be_read_opens_for_reading() -> Result<()> {
    // With the lock file of somebody else, which may not be written either, and without any.
    for lock_file in [true, false] {
        let (dir, path) = closed()?;
        chmod(dir.path(), 0o755);
        chmod(&path, 0o644);
        if !lock_file {
            fs::remove_file(format!("{path}-lock")).unwrap();
        }
        as_nobody(&path, "read");
    }
    Ok(())
}

/// Role: reads beside a writer, without the right to write the lock file, until it has seen many commits. It looks at
/// each snapshot twice, the second time when others have been made.
#[test]
fn role_follower() -> Result<()> {
    let Some(arguments) = roles::arguments("permissions::role_follower") else { return Ok(()) };
    become_nobody();
    let db = Options::new().read_only(true).open(&arguments[0])?;
    let (mut before, mut seen) = (db.read()?, 0);
    let first = ledger::commits_of(&before, "writer");
    roles::say("following");
    let began = Instant::now();
    while ledger::commits_of(&before, "writer") < first + 1000 {
        assert!(began.elapsed() < Duration::from_secs(120), "{before:?} is the newest that it sees");
        let now = db.read()?;
        ledger::prove(&now);
        ledger::prove(&before);
        seen += u64::from(now.txnid() > before.txnid());
        before = now;
    }
    assert!(seen > 20, "{seen}");
    roles::say("all well");
    Ok(())
}

/// Commits until a follower, who may write neither file, has seen what it wants.
fn commit_beside_a_follower(
    directory: &Path,
    path: &str,
    mut commit: impl FnMut() -> Result<()>,
) -> Result<roles::Role> {
    chmod(directory, 0o755);
    chmod(path, 0o644);
    chmod(format!("{path}-lock"), 0o444);
    let mut role = start("permissions::role_follower", &[path]);
    role.expect("following");
    std::thread::scope(|scope| {
        let following = scope.spawn(|| role.expect("all well"));
        while !following.is_finished() {
            commit()?;
        }
        Ok(())
    })?;
    Ok(role)
}

#[test]
fn who_may_not_write_the_lock_file_sees_new_commits_and_keeps_what_it_reads() -> Result<()> {
    const LENGTH_MAX: u64 = 64 << 20;
    let (dir, path) = scratch();
    let db = Options::new().medium(roles::hasty()).log_medium(roles::hasty()).open(&path)?;
    let mut random = Random::new();
    let mut commit = || db.update(|txn| ledger::change(txn, &mut random, "writer", 100).map(drop));
    commit()?;
    let role = commit_beside_a_follower(dir.path(), &path, &mut commit)?;
    let bytes = fs::metadata(&path).unwrap().len();
    assert!(bytes < LENGTH_MAX, "{bytes} bytes: what was read once is kept for ever");
    role.finish();
    Ok(())
}

/// A shared lock on all of the file, as programs take for purposes of their own.
fn lock_all_of(path: &str) -> fs::File {
    let file = fs::File::open(path).unwrap();
    // SAFETY: the structure is made of integers, and outlives the call.
    let locked = unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = libc::F_RDLCK as libc::c_short;
        libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock)
    };
    assert_eq!(locked, 0);
    file
}

#[test]
fn what_is_read_without_the_lock_file_is_kept_while_another_program_has_all_of_the_data_file_locked() -> Result<()> {
    let (dir, path) = scratch();
    let db = Options::new().medium(roles::hasty()).log_medium(roles::hasty()).open(&path)?;
    // More commits than anybody could hold snapshots of.
    for i in 0..66_000_u64 {
        let mut txn = db.begin_write()?;
        txn.set_durability(Durability::Relaxed);
        txn.table("many")?.put(b"last", i.to_le_bytes())?;
        txn.commit()?;
    }
    let mut random = Random::new();
    let mut commit = || db.update(|txn| ledger::change(txn, &mut random, "writer", 100).map(drop));
    commit()?;
    let locked = lock_all_of(&path);
    let role = commit_beside_a_follower(dir.path(), &path, &mut commit)?;
    role.finish();
    drop(locked);
    let pages = || db.read().map(|snapshot| snapshot.pages());
    let grown = pages()?;
    for _ in 0..200 {
        commit()?;
    }
    assert!(pages()? <= grown, "what was freed meanwhile is used again");
    Ok(())
}

/// Role: begins to read, and opens anew, as often as it can beside a writer that counts its commits, without the right to write the lock
/// file, and looks whether each snapshot is of one commit: all of it, nothing of another.
#[test]
fn role_glancer() -> Result<()> {
    let Some(arguments) = roles::arguments("permissions::role_glancer") else { return Ok(()) };
    become_nobody();
    let open = || Options::new().read_only(true).open(&arguments[0]);
    let db = open()?;
    roles::say("reading");
    let began = Instant::now();
    let (mut newest, mut seen) = (0, 0);
    // On a busy machine the two take turns, and few commits are seen.
    while seen < 30_000 && (seen < 20 || began.elapsed() < Duration::from_secs(3)) {
        assert!(began.elapsed() < Duration::from_secs(120), "{seen} commits were seen");
        let txn = db.read()?;
        assert_eq!(number_in(txn.table("t")?.get(b"commit")?), txn.txnid().0);
        seen += u64::from(txn.txnid().0 > newest);
        newest = txn.txnid().0;
        drop(txn);
        if seen.is_multiple_of(64) {
            assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
            assert_eq!(open()?.check(|_, _| {})?.findings, Vec::<String>::new());
        }
    }
    roles::say("all well");
    Ok(())
}

fn number_in(value: Option<&[u8]>) -> u64 {
    u64::from_le_bytes(value.unwrap().try_into().unwrap())
}

#[test]
fn what_is_read_without_a_place_in_the_lock_file_is_of_one_commit() -> Result<()> {
    let (dir, path) = scratch();
    let db = Options::new().medium(roles::hasty()).log_medium(roles::hasty()).open(&path)?;
    let commit = || {
        let mut txn = db.begin_write()?;
        let number = txn.txnid().0;
        txn.table("t")?.put(b"commit", number.to_le_bytes())?;
        txn.commit()
    };
    commit()?;
    chmod(dir.path(), 0o755);
    chmod(&path, 0o644);
    chmod(format!("{path}-lock"), 0o444);
    let mut role = start("permissions::role_glancer", &[&path]);
    role.expect("reading");
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| role.expect("all well"));
        while !reading.is_finished() {
            commit()?;
        }
        Ok::<(), Error>(())
    })?;
    role.finish();
    Ok(())
}

/// Root looks after what others own, and the lock file may have gone.
#[test]
fn a_lock_file_that_is_made_later_is_for_all_who_may_write_the_data_file() -> Result<()> {
    let (dir, path) = closed()?;
    let lock_file = format!("{path}-lock");
    chmod(dir.path(), 0o755);
    // Whose it stays, if this is not root.
    let _ = std::os::unix::fs::chown(&path, Some(65534), Some(65534));
    chmod(&path, 0o660);
    fs::remove_file(&lock_file).unwrap();
    Options::new().mode(0o600).open(&path)?;
    let [data, lock] = [&path, &lock_file].map(|file| fs::metadata(file).unwrap());
    assert_eq!((lock.uid(), lock.gid(), lock.mode() & 0o777), (data.uid(), data.gid(), 0o660));
    as_nobody(&path, "write");
    // Whose group the maker is not in.
    fs::remove_file(&lock_file).unwrap();
    chmod(dir.path(), 0o777);
    let _ = std::os::unix::fs::chown(&path, Some(65534), Some(0));
    if fs::metadata(&path).unwrap().gid() == 0 {
        chmod(&path, 0o664);
        as_nobody(&path, "make the lock file");
        fs::remove_file(&lock_file).unwrap();
    }
    chmod(&path, 0o660);
    // What a link leads to may be anybody's, wherever it is.
    let elsewhere = dir.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, &lock_file).unwrap();
    Options::new().mode(0o600).open(&path)?;
    let (made, own) = (fs::metadata(elsewhere).unwrap(), fs::metadata(dir.path()).unwrap().uid());
    assert_eq!((made.uid(), made.mode() & 0o777), (own, 0o600));
    Ok(())
}

#[test]
fn a_log_whose_name_cannot_be_made_safe_is_not_used() -> Result<()> {
    let (dir, path) = closed()?;
    for file in [path.clone(), format!("{path}-lock")] {
        chmod(file, 0o666);
    }
    chmod(dir.path(), 0o777);
    as_nobody(&path, "log without a name");
    // It may be written, but not opened for the flush: the whole filesystem is flushed.
    chmod(dir.path(), 0o333);
    as_nobody(&path, "log");
    Ok(())
}

#[test]
fn a_directory_that_may_not_be_entered_is_told() -> Result<()> {
    let (dir, path) = closed()?;
    chmod(dir.path(), 0o700);
    as_nobody(&path, "no entry");
    Ok(())
}

#[test]
fn a_directory_that_may_not_be_written_takes_no_new_database() {
    let (dir, path) = scratch();
    chmod(dir.path(), 0o755);
    as_nobody(&path, "create");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_new_file_has_the_permissions_that_were_asked_for() -> Result<()> {
    let (_dir, path) = scratch();
    Options::new().mode(0o600).open(&path)?;
    for file in [path.clone(), format!("{path}-lock")] {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
    }
    Ok(())
}

#[test]
fn opened_for_reading_only_nothing_is_written() -> Result<()> {
    let (_dir, path) = closed()?;
    let before = fs::read(&path).unwrap();
    let db = Options::new().read_only(true).open(&path)?;
    assert_readable(&db)?;
    assert!(matches!(db.checkpoint(), Err(Error::ReadOnly)));
    db.close()?;
    assert!(fs::read(&path).unwrap() == before);
    Ok(())
}

/// Goes into a namespace of its own, where it may mount what it likes; false if it may not.
fn may_mount() -> bool {
    let none = std::ptr::null();
    // SAFETY: see the module's head; the strings end with a zero.
    unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0
    }
}

/// Role: reads a database on a filesystem that is mounted read-only, in a namespace of its own.
#[test]
fn role_read_only_medium() -> Result<()> {
    let Some(arguments) = roles::arguments("permissions::role_read_only_medium") else { return Ok(()) };
    let [dir, path] = &arguments[..] else { panic!("{arguments:?}") };
    let target = std::ffi::CString::new(dir.as_str()).unwrap();
    let none = std::ptr::null();
    // SAFETY: see the module's head; the strings end with a zero.
    let mounted = may_mount()
        && unsafe {
            libc::mount(target.as_ptr(), target.as_ptr(), none, libc::MS_BIND, none.cast()) == 0
                && libc::mount(
                    none,
                    target.as_ptr(),
                    none,
                    libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY,
                    none.cast(),
                ) == 0
        };
    if !mounted {
        roles::say("may not mount");
        return Ok(());
    }
    let refused = Database::open(path).expect_err("a read-only medium");
    assert!(refused.to_string().contains(path), "{refused}");
    let db = Options::new().read_only(true).open(path)?;
    assert!(!db.registers_readers());
    assert_readable(&db)?;
    roles::say("all well");
    Ok(())
}

#[test]
fn a_read_only_medium_opens_for_reading() -> Result<()> {
    for lock_file in [true, false] {
        let (dir, path) = closed()?;
        if !lock_file {
            fs::remove_file(format!("{path}-lock")).unwrap();
        }
        let mut role = start("permissions::role_read_only_medium", &[dir.path().to_str().unwrap(), &path]);
        let said = role.next().unwrap();
        // Only root may mount, and not in every container.
        assert!(said == "all well" || said == "may not mount", "{said}");
        role.finish();
    }
    Ok(())
}

/// The database in an overlay above the folder `lower` of this one. None where that cannot be had.
fn in_overlay(dir: &str, name: &str) -> Option<String> {
    let on = |part: &str| format!("{dir}/{part}");
    ["upper", "work", "merged"].iter().for_each(|part| fs::create_dir(on(part)).unwrap());
    let options = format!("lowerdir={},upperdir={},workdir={}", on("lower"), on("upper"), on("work"));
    let [target, options] = [on("merged"), options].map(|text| std::ffi::CString::new(text).unwrap());
    let overlay = c"overlay".as_ptr();
    // SAFETY: see the module's head; the strings end with a zero.
    let mounted =
        may_mount() && unsafe { libc::mount(overlay, target.as_ptr(), overlay, 0, options.as_ptr().cast()) == 0 };
    mounted.then(|| format!("{}/{name}", on("merged")))
}

/// Role: reads a database of an overlay's lower layer while it is copied, and written to, through another handle.
#[test]
fn role_overlay() -> Result<()> {
    let Some(arguments) = roles::arguments("permissions::role_overlay") else { return Ok(()) };
    let [dir, name, what] = &arguments[..] else { panic!("{arguments:?}") };
    let Some(path) = in_overlay(dir, name) else {
        roles::say("may not mount");
        return Ok(());
    };
    match what.as_str() {
        "beside" => read_while_copied(&path)?,
        "unlocked" => read_while_copied_without_lock_file(&path)?,
        "opening" => open_while_copied(&path)?,
        _ => panic!("{what}"),
    }
    roles::say("all well");
    Ok(())
}

fn fill(db: &Database, value: &[u8]) -> Result<()> {
    db.update(|txn| (0..500u32).try_for_each(|n| txn.table("t")?.put(n.to_be_bytes(), value)))
}

fn assert_filled(db: &Database, value: &[u8]) -> Result<()> {
    let snapshot = db.read()?;
    let table = snapshot.table("t")?;
    assert!((0..500u32).all(|n| matches!(table.get(n.to_be_bytes()), Ok(Some(found)) if found == value)), "{value:?}");
    Ok(())
}

fn read_while_copied(path: &str) -> Result<()> {
    let reader = Options::new().read_only(true).open(path)?;
    assert_readable(&reader)?;
    let before = reader.read()?;
    let old: Vec<_> = before.table("t")?.iter().collect::<Result<_>>()?;
    let writer = Database::open(path)?;
    for round in 0..20 {
        fill(&writer, &[round; 100])?;
        assert_filled(&reader, &[round; 100])?;
        assert!(before.table("t")?.iter().map(|entry| entry.unwrap()).eq(old.iter().copied()));
    }
    Ok(())
}

fn read_while_copied_without_lock_file(path: &str) -> Result<()> {
    let reader = Options::new().read_only(true).without_lock_file().open(path)?;
    assert_readable(&reader)?;
    let writer = Options::new().without_lock_file().open(path)?;
    for round in 0..20 {
        fill(&writer, &[round; 100])?;
        assert_filled(&reader, &[round; 100])?;
    }
    Ok(())
}

/// Somebody comes to write between the opening of the file and the first look at it.
fn open_while_copied(path: &str) -> Result<()> {
    let writer = Arc::new(OnceLock::new());
    let (comes, to) = (writer.clone(), path.to_string());
    let layer = move |medium| {
        let writer = comes.get_or_init(|| Database::open(&to).unwrap());
        fill(writer, &[7; 100]).unwrap();
        medium
    };
    let reader = Options::new().read_only(true).medium(Arc::new(layer)).open(path)?;
    assert_filled(&reader, &[7; 100])?;
    assert_eq!(reader.check(|_, _| {})?.findings, Vec::<String>::new());
    Ok(())
}

#[test]
fn a_reader_of_a_lower_layer_sees_what_is_written_to_the_copy_above() -> Result<()> {
    for what in ["beside", "unlocked", "opening"] {
        let (lower, path) = closed()?;
        let dir = tempfile::tempdir().unwrap();
        fs::rename(lower.path(), dir.path().join("lower")).unwrap();
        let name = path.rsplit('/').next().unwrap();
        let mut role = start("permissions::role_overlay", &[dir.path().to_str().unwrap(), name, what]);
        let said = role.next();
        // Only root may mount, and not in every container, nor an overlay on another one.
        assert!(matches!(said.as_deref(), Some("all well" | "may not mount")), "{what}: {said:?}");
        role.finish();
    }
    Ok(())
}
