//! Asking the access rules about an entry, and why they decide so.

use std::sync::Arc;

use duramen_ldap::message::Scope;

use crate::access::{Explanation, MadeUp, What};
use crate::attribute::describe;
use crate::entry::Entry;
use crate::failure::{Result, damaged};
use crate::inner::Inner;
use crate::names;
use crate::requester::Requester;
use crate::search::special::{self, Special};
use crate::tables::Tables;
use crate::view::{Members, Scene, View};

impl Inner {
    /// What somebody may do with an attribute of an entry: its name, `entry` or `children`.
    pub fn explain_access(
        self: &Arc<Inner>,
        requester: &Requester,
        name: &str,
        attribute: &str,
        value: Option<&[u8]>,
    ) -> Result<Explanation> {
        let snapshot = self.db.read()?;
        let state = self.state_of(&snapshot)?;
        let tables = Tables::Snapshot(&snapshot);
        let what = match attribute {
            "entry" => What::Entry,
            "children" => What::Children,
            // Rules are about types: their options do not matter.
            _ => What::Attribute(describe(&state.schema, attribute)?.attribute.id, value),
        };
        let normalized = names::normalize(&state.schema, name)?;
        let members = Members::new(&state, tables, None);
        let rules = state.rules.about(MadeUp::of(&normalized));
        let plan = rules.plan(requester, &members);
        let scene =
            Scene { state: &state, tables, naming: Some(self.naming(&state, &snapshot)?), plan: &plan, more: None };
        let explain = |view: &View<'_, '_>| Ok(rules.explain(requester, view, &members, what));
        let made_up = special::find(self, &state, &normalized, Scope::Base).and_then(|mut found| found.pop());
        if let Some(Special { name, bytes, children }) = made_up.or_else(|| special::unseen(&state.schema, &normalized))
        {
            let entry = Entry::parse(&bytes).ok_or_else(|| damaged("an entry that is made up"))?;
            return explain(&View::made_up(&scene, entry, &name, children));
        }
        let Some(id) = names::find_entry(&tables.name()?, &state.suffixes, &normalized)? else {
            return Err(names::no_such_object(String::new(), name));
        };
        explain(&View::new(&scene, id, names::entry(&tables.entry()?, id)?, name))
    }
}
