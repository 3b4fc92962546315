//! Whom something is for where there is no entry: the words behind `by` in an access rule, and nothing else.

use std::sync::Arc;

use super::asked::Asker;
use super::rule::Who;
use super::template::Parts;
use super::{Groups, RuleError, parse};
use crate::requester::Requester;
use crate::schema::Schema;

/// Who may be meant: all conditions have to hold.
#[derive(Debug)]
pub struct Whom {
    who: Vec<Who>,
    schema: Arc<Schema>,
}

impl Whom {
    /// From its text; `source` says in messages where that comes from.
    pub fn parse(source: &str, text: &str, schema: &Arc<Schema>) -> Result<Whom, RuleError> {
        Ok(Whom { who: parse::whom(source, text, schema)?, schema: schema.clone() })
    }

    /// Whether a requester is meant.
    pub fn is(&self, requester: &Requester, groups: &dyn Groups) -> bool {
        let asker = Asker { requester, groups, schema: &self.schema, kept: None };
        let holds = |who: &Who| who.holds_everywhere(asker, &Parts::default()) == Ok(true);
        self.who.iter().all(holds)
    }
}
