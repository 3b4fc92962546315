//! The assertion control (RFC 4528), and filters that are held against one entry.

use std::cell::{Cell, RefCell};

use duramen_ldap::filter::Filter;
use duramen_ldap::message::ResultCode;

use crate::access::{Level, What};
use crate::base;
use crate::failure::{Failure, Result};
use crate::filter::{Compiler, Evaluation, Test, check_depth};
use crate::view::{Scene, View};

/// Whether an entry is as the requester says.
pub(crate) fn holds(view: &View<'_, '_>, filter: Filter<'_>) -> Result<Option<bool>> {
    matches(view, &test(view.scene, filter)?)
}

/// What a filter asks of entries in a scene.
pub(crate) fn test(scene: &Scene<'_>, filter: Filter<'_>) -> Result<Test> {
    check_depth(filter, scene.state.limits.filter_depth)?;
    let (schema, fitting) = (&scene.state.schema, RefCell::default());
    let compiler = Compiler { schema, plan: scene.plan, of_values: false, of_copies: false, fitting };
    Ok(compiler.compile(filter))
}

/// Whether an entry is as a test of its scene has it.
pub(crate) fn matches(view: &View<'_, '_>, test: &Test) -> Result<Option<bool>> {
    let scene = view.scene;
    let scratch = RefCell::default();
    let evaluation = Evaluation {
        schema: &scene.state.schema,
        tables: scene.tables,
        id: view.id,
        entry: &view.entry,
        derived: view,
        scratch: &scratch,
        looked_at: Cell::default(),
    };
    evaluation.matches(test)
}

/// That an entry is as the control says.
///
/// # Errors
/// assertionFailed; noSuchObject if the entry is not to be known of.
pub(crate) fn check(view: &View<'_, '_>, filter: Filter<'_>) -> Result<()> {
    match holds(view, filter)? {
        Some(true) => Ok(()),
        _ if !view.allows(What::Entry, Level::Disclose) => Err(base::hidden(view)),
        _ => Err(Failure::new(ResultCode::ASSERTION_FAILED, format!("{} is not as asserted", view.name))),
    }
}
