//! Whom the kernel tells of a flush that failed: who had the file open by then, and nobody who opens it later.

use super::*;

/// A disk under one handle: it has what it had, and what that handle has written and flushed.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    image: Vec<u8>,
    waiting: Vec<(u64, Vec<u8>)>,
}

struct Under(Arc<dyn Medium>, Disk);

impl Medium for Under {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
        self.1.0.lock().unwrap().waiting.push((offset, bytes));
        self.0.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        let mut state = self.1.0.lock().unwrap();
        for (offset, bytes) in std::mem::take(&mut state.waiting) {
            let (start, end) = (offset as usize, offset as usize + bytes.len());
            let length = state.image.len().max(end);
            state.image.resize(length, 0);
            state.image[start..end].copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

/// A handle that was opened when another one's flush, beside commits, has failed, and that one has not said so; the disk has the
/// state before the commit that was to be flushed.
struct Late {
    place: Place,
    first: Database,
    disk: Disk,
    late: Database,
}

impl Late {
    fn new() -> Result<Late> {
        let place = Place::new()?;
        let first = place.options().open(place.path())?;
        put(&first, 1)?;
        place.slow.end(true);
        drop(first.begin_write()?);
        let disk = Disk::default();
        disk.0.lock().unwrap().image = std::fs::read(place.path())?;
        put(&first, 2)?;
        assert!(place.slow.is_flushing());
        let under = disk.clone();
        let layer: MediumLayer = Arc::new(move |inner| Arc::new(Under(inner, under.clone())));
        let late = Database::options().without_log().medium(layer).open(place.path())?;
        Ok(Late { place, first, disk, late })
    }

    fn after_power_cut(&self) -> Result<u64> {
        let image = self.place.dir.path().join("cut.dm");
        std::fs::write(&image, &self.disk.0.lock().unwrap().image)?;
        value(&Database::open(&image)?)
    }

    /// Commits durably what does not touch the entries.
    fn add(&self, key: &[u8]) -> Result {
        Ok(self.late.update(|txn| txn.table("other")?.put(key, b"durable"))?)
    }
}

#[test]
fn who_was_not_told_writes_again_what_may_not_be_on_disk() -> Result {
    let late = Late::new()?;
    late.add(b"first")?;
    assert_eq!(late.after_power_cut()?, 2, "acknowledged");
    late.add(b"second")?;
    // Now it is said, when newer commits than that are durable.
    late.place.slow.end(false);
    late.add(b"third")?;
    assert_eq!(late.after_power_cut()?, 2);
    Ok(())
}

#[test]
fn to_sync_beside_a_writer_waits_for_those_who_were_told_before() -> Result {
    for well in [true, false] {
        let late = Late::new()?;
        let txn = late.first.begin_write()?;
        thread::scope(|threads| {
            let syncing = threads.spawn(|| late.late.sync().map_err(|error| error.to_string()));
            thread::sleep(Duration::from_millis(100));
            let waits = !syncing.is_finished();
            late.place.slow.end(well);
            assert_eq!((waits, syncing.join().unwrap().is_ok()), (true, well));
        });
        drop(txn);
    }
    // Who says nothing for long is not waited for any more.
    let late = Late::new()?;
    let _txn = late.first.begin_write()?;
    assert!(matches!(late.late.sync(), Err(Error::Io { .. })));
    Ok(())
}
