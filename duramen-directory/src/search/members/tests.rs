//! What is known of parts of the tree, in states old and new, beside what walking through them finds.

use std::rc::Rc;

use duramen::Snapshot;
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::message::{AddRequest, Control, ModifyDnRequest, Request, Scope};
use duramen_ldap::oid::control as oid;

use super::*;
use crate::config::Config;
use crate::directory::Directory;
use crate::requester::Requester;
use crate::tables::Tables;
use crate::view::Members;

const SUFFIX: &str = "dc=example";

/// A tree that is changed at random, and its names as they should be.
struct Tree {
    directory: Directory,
    random: fastrand::Rng,
    names: Vec<String>,
    added: u32,
}

impl Tree {
    fn new(directory: Directory, seed: u64) -> Tree {
        let mut tree = Tree { directory, random: fastrand::Rng::with_seed(seed), names: Vec::new(), added: 0 };
        tree.put(SUFFIX.to_string());
        tree
    }

    fn update(&self, request: &Request<'_>, controls: List<'_, Control<'_>>) -> bool {
        self.directory.update(&Requester::internal(), request, controls).is_ok()
    }

    fn put(&mut self, name: String) {
        let (mut values, mut attributes) = (Vec::new(), Vec::new());
        let values = List::build(&mut values, [if self.names.is_empty() { &b"domain"[..] } else { b"account" }]);
        let attributes = List::build(&mut attributes, [Attribute { description: "objectClass", values }]);
        assert!(self.update(&Request::Add(AddRequest { name: &name, attributes }), List::default()), "{name}");
        self.names.push(name);
    }

    fn add(&mut self) {
        self.added += 1;
        // Few have many below them.
        let above = self.names[self.random.usize(..self.names.len().min(12))].clone();
        self.put(format!("uid={},{above}", self.added));
    }

    fn any(&mut self) -> String {
        let from = if self.random.u32(..8) > 0 { 12.min(self.names.len() - 1) } else { 1 };
        self.names[self.random.usize(from..self.names.len())].clone()
    }

    fn delete(&mut self) {
        let (name, mut controls) = (self.any(), Vec::new());
        let controls = List::build(&mut controls, [Control { oid: oid::TREE_DELETE, critical: true, value: None }]);
        assert!(self.update(&Request::Delete(&name), controls), "{name}");
        self.names.retain(|found| !is_within(found, &name));
    }

    fn rename(&mut self) {
        let (name, superior) = (self.any(), self.names[self.random.usize(..self.names.len())].clone());
        self.added += 1;
        let new_rdn = format!("uid={}", self.added);
        let request =
            ModifyDnRequest { name: &name, new_rdn: &new_rdn, delete_old_rdn: true, new_superior: Some(&superior) };
        let is_done = self.update(&Request::ModifyDn(request), List::default());
        assert_eq!(is_done, !is_within(&superior, &name), "{name} below {superior}");
        if is_done {
            let new = format!("{new_rdn},{superior}");
            let found = self.names.iter_mut().filter(|found| is_within(found, &name));
            found.for_each(|found| found.replace_range(found.len() - name.len().., &new));
        }
    }

    fn change(&mut self) {
        match self.random.u32(..10) {
            _ if self.names.len() < 15 => self.add(),
            0 => self.delete(),
            1 | 2 => self.rename(),
            _ => self.add(),
        }
    }
}

fn is_within(name: &str, top: &str) -> bool {
    name.strip_suffix(top).is_some_and(|front| front.is_empty() || front.ends_with(','))
}

/// The area of a name in a state, how many entries are in it, and whether that was known without a walk.
fn look(tree: &mut Tree, snapshot: &Snapshot<'static>, base: Id) -> (u64, bool) {
    let inner = &tree.directory.inner;
    let (state, tables) = (inner.state(), Tables::Snapshot(snapshot));
    let naming = inner.naming(&state, snapshot).unwrap();
    let plan = state.rules.plan(&Requester::internal(), &Members::new(&state, tables, Some(naming)));
    let scene = Scene { state: &state, tables, naming: Some(naming), plan: &plan, more: None };
    let scope = [Scope::One, Scope::Subtree, Scope::Subordinates][tree.random.usize(..3)];
    let area = Area::new(base, scope, false, &inner.changes);
    let wanted = area.walked(&tables.name().unwrap(), u64::MAX).unwrap().unwrap();
    let known = find(&area, &scene, 0).unwrap().filter(|set| set.len() > 0);
    let found = known.clone().or_else(|| find(&area, &scene, u64::MAX).unwrap()).unwrap();
    assert_eq!(found.into_bitmap(), wanted, "{scope:?} of {base}");
    (wanted.len(), known.is_some())
}

fn run(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let config =
        Config { suffixes: vec![SUFFIX.into()], durability: duramen::Durability::Relaxed, ..Config::default() };
    let mut tree = Tree::new(Directory::open(folder.path(), config).unwrap(), seed);
    let (mut large, mut known, mut snapshots) = (0, 0, Vec::new());
    for n in 0..600 {
        tree.change();
        let newest = Rc::new(tree.directory.inner.db.read_owned().unwrap());
        if n % 16 == 0 {
            snapshots.push(newest.clone());
        }
        if n < 100 {
            continue;
        }
        let old = snapshots[snapshots.len() - 1 - tree.random.usize(..2)].clone();
        for snapshot in [&newest, &newest, &old] {
            let id = 1 + tree.random.u32(..12);
            let is_there = snapshot.table("entry").unwrap().contains_key(id.to_be_bytes()).unwrap();
            let (count, was_known) = if is_there { look(&mut tree, snapshot, id) } else { (0, false) };
            (large, known) = (large + u32::from(count > 100), known + u32::from(count > 100 && was_known));
        }
    }
    assert!(known > large / 2, "{known} of {large} known, seed {seed}");
    let parts = tree.directory.inner.db.read().unwrap().table("entry").unwrap().len();
    assert_eq!(parts, tree.names.len() as u64);
}

#[test]
fn what_is_known_of_a_part_follows_updates_forwards_and_backwards() {
    let cases = std::env::var("DURAMEN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4);
    let first = std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok());
    (0..if first.is_some() { 1 } else { cases }).for_each(|n| run(first.unwrap_or(0) + n));
}
