//! What a rule is held against.

use super::elements::Kept;
use super::{Groups, Target, What};
use crate::requester::Requester;
use crate::schema::Schema;

/// Who asks, and what can be asked about other entries.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    pub requester: &'a Requester,
    pub groups: &'a dyn Groups,
    pub schema: &'a Schema,
    /// What is kept of sets, where several questions are asked.
    pub kept: Option<&'a Kept>,
}

/// What is asked: of which entry, and what of it.
pub(super) struct Asked<'a> {
    pub asker: Asker<'a>,
    pub target: &'a dyn Target,
    pub what: What<'a>,
}
