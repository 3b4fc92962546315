//! Programs that must not compile, because they misuse a transaction.
//!
//! Owns: one example for each such misuse, run as a test of the documentation. Each differs in one line from this
//! program, which is all right:
//!
//! ```
//! fn right(db: &duramen::Database) -> duramen::Result<()> {
//!     let mut txn = db.begin_write()?;
//!     let people = txn.open_table("people", None)?;
//!     let old = txn.get(people, "bjensen")?.map(<[u8]>::to_vec);
//!     txn.put(people, "bjensen", "Barbara")?;
//!     assert_eq!(old, None);
//!     let mut child = txn.child()?;
//!     child.put(people, "scarter", "Sam")?;
//!     child.commit()?;
//!     txn.put(people, "tmorris", "Ted")?;
//!     txn.commit()?;
//!     let mut snapshot = db.read()?;
//!     let value = snapshot.table("people")?.get("bjensen")?.map(<[u8]>::to_vec);
//!     snapshot.renew()?;
//!     assert!(value.is_some());
//!     Ok(())
//! }
//! # let dir = tempfile::tempdir().unwrap();
//! # right(&duramen::Database::open(dir.path().join("people.dm")).unwrap()).unwrap();
//! ```
//!
//! A value stands in a page; a write may change that page, so the value cannot be held over it.
//!
//! ```compile_fail,E0502
//! fn wrong(db: &duramen::Database) -> duramen::Result<()> {
//!     let mut txn = db.begin_write()?;
//!     let people = txn.open_table("people", None)?;
//!     let old = txn.get(people, "bjensen")?;
//!     txn.put(people, "bjensen", "Barbara")?;
//!     assert_eq!(old, None);
//!     Ok(())
//! }
//! ```
//!
//! Nor can an iterator, or where a reserved value is filled in.
//!
//! ```compile_fail,E0502
//! fn wrong(txn: &mut duramen::WriteTxn<'_>, people: duramen::TableId) -> duramen::Result<()> {
//!     for item in txn.view(people)?.iter() {
//!         txn.put(people, item?.0, "changed")?;
//!     }
//!     Ok(())
//! }
//! ```
//!
//! ```compile_fail,E0499
//! fn wrong(mut people: duramen::TableMut<'_>) -> duramen::Result<()> {
//!     let space = people.reserve("bjensen", 8)?;
//!     people.put("scarter", "Sam")?;
//!     space.fill(1);
//!     Ok(())
//! }
//! ```
//!
//! What a cursor of a write transaction has found cannot be held over a change through the cursor.
//!
//! ```compile_fail,E0502
//! fn wrong(txn: &mut duramen::WriteTxn<'_>, cursor: &mut duramen::WriteCursor) -> duramen::Result<()> {
//!     let found = cursor.first(txn)?;
//!     cursor.delete(txn)?;
//!     assert!(found.is_some());
//!     Ok(())
//! }
//! ```
//!
//! A transaction is gone after its commit, and after its abort.
//!
//! ```compile_fail,E0382
//! fn wrong(mut txn: duramen::WriteTxn<'_>, people: duramen::TableId) -> duramen::Result<()> {
//!     txn.commit()?;
//!     txn.put(people, "bjensen", "Barbara")
//! }
//! ```
//!
//! ```compile_fail,E0382
//! fn wrong(txn: duramen::WriteTxn<'_>) -> duramen::Result<()> {
//!     txn.abort();
//!     txn.commit()
//! }
//! ```
//!
//! Its tables go with it.
//!
//! ```compile_fail,E0505
//! fn wrong(mut txn: duramen::WriteTxn<'_>) -> duramen::Result<()> {
//!     let mut people = txn.table("people")?;
//!     txn.commit()?;
//!     people.put("bjensen", "Barbara")
//! }
//! ```
//!
//! While a child lives its parent rests.
//!
//! ```compile_fail,E0499
//! fn wrong(txn: &mut duramen::WriteTxn<'_>, people: duramen::TableId) -> duramen::Result<()> {
//!     let child = txn.child()?;
//!     txn.put(people, "bjensen", "Barbara")?;
//!     child.commit()
//! }
//! ```
//!
//! A value does not outlive its snapshot, nor the state that the snapshot lets go of.
//!
//! ```compile_fail,E0597
//! fn wrong(db: &duramen::Database) -> duramen::Result<()> {
//!     let value = {
//!         let snapshot = db.read()?;
//!         snapshot.table("people")?.get("bjensen")?
//!     };
//!     assert!(value.is_some());
//!     Ok(())
//! }
//! ```
//!
//! ```compile_fail,E0502
//! fn wrong(mut snapshot: duramen::Snapshot<'_>) -> duramen::Result<()> {
//!     let people = snapshot.table("people")?;
//!     snapshot.reset();
//!     assert!(people.get("bjensen")?.is_some());
//!     Ok(())
//! }
//! ```
//!
//! A snapshot that borrows its database does not outlive it.
//!
//! ```compile_fail,E0505
//! fn wrong(db: duramen::Database) -> duramen::Result<()> {
//!     let snapshot = db.read()?;
//!     db.close()?;
//!     assert!(snapshot.table_names()?.is_empty());
//!     Ok(())
//! }
//! ```
