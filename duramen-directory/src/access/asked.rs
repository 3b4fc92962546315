//! What a rule is held against.

use super::{Groups, Target, What};
use crate::requester::Requester;
use crate::schema::Schema;

/// What is asked: of which entry, and what of it.
pub(super) struct Asked<'a> {
    pub requester: &'a Requester,
    pub target: &'a dyn Target,
    pub groups: &'a dyn Groups,
    pub what: What<'a>,
    pub schema: &'a Schema,
}
