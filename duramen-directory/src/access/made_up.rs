//! Which rules are about entries that are made up: the root DSE, the subschema subentry, what is below `cn=monitor`.
//!
//! slapd asks those of a database about its own entries only, the frontend's about the first two, and those of its database
//! monitor, then the frontend's, about the third; without any, everybody reads. What is taken from its configuration holds so
//! here. A text with one list of rules says which are meant by their names.

use std::sync::Arc;

use super::name::{Span, is_near};
use super::rule::Rule;

/// The normalized name of the subschema subentry.
pub(crate) const SUBSCHEMA: &str = "cn=subschema";
/// That of the entry above all that the server counts.
pub(crate) const MONITOR: &str = "cn=monitor";

/// What holds of the root DSE and the subschema subentry where nothing is said of them: clients that cannot read these do not
/// know what to send, nor how somebody may bind.
pub(super) const STANDARD: &str = "access to * by * read";

/// Entries that are made up, by the rules that are about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeUp {
    RootDse,
    Subschema,
    /// `cn=monitor`, and what is below it.
    Monitor,
}

impl MadeUp {
    /// What a normalized name is that of; `None` if only an entry that is stored can have it.
    pub fn of(name: &str) -> Option<MadeUp> {
        match name {
            "" => Some(MadeUp::RootDse),
            SUBSCHEMA => Some(MadeUp::Subschema),
            _ => is_near(name, MONITOR, Span::Subtree).then_some(MadeUp::Monitor),
        }
    }
}

/// Rules in their order, by what they are about.
pub(super) struct Lists {
    /// All entries that are stored.
    pub stored: Vec<Arc<Rule>>,
    pub root_dse: Vec<Arc<Rule>>,
    pub subschema: Vec<Arc<Rule>>,
    pub monitor: Vec<Arc<Rule>>,
}

impl Lists {
    /// Of one list about everything. Of the root DSE and the subschema subentry what is said of all entries holds only behind
    /// something that is said of that entry by its name: rules are written with people in mind, and who shuts out strangers
    /// does not mean that nobody can find out how to bind any more.
    pub fn of_one(rules: Vec<Arc<Rule>>) -> Lists {
        let (root_dse, subschema) = (naming_first(&rules, ""), naming_first(&rules, SUBSCHEMA));
        Lists { root_dse, subschema, monitor: rules.clone(), stored: rules }
    }

    /// Of slapd's configuration: the rules of the database, of the frontend, of the database monitor if there is one. Without
    /// that slapd shows nothing there, and where nothing is said of it everything: the database's hold then.
    pub fn of_databases(own: &[Arc<Rule>], frontend: &[Arc<Rule>], monitor: Option<&[Arc<Rule>]>) -> Lists {
        let stored = [own, frontend].concat();
        let monitor = monitor.map(|monitor| [monitor, frontend].concat()).filter(|rules| !rules.is_empty());
        Lists {
            monitor: monitor.unwrap_or_else(|| stored.clone()),
            stored,
            root_dse: frontend.to_vec(),
            subschema: frontend.to_vec(),
        }
    }
}

/// The rules that can only mean the entry of this name, and behind them all others; nothing if none does.
fn naming_first(rules: &[Arc<Rule>], name: &str) -> Vec<Arc<Rule>> {
    let (naming, others): (Vec<_>, Vec<_>) = rules.iter().cloned().partition(|rule| rule.names.means_only(name));
    if naming.is_empty() { naming } else { [naming, others].concat() }
}
