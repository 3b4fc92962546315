//! The assertion control (RFC 4528), and filters that are held against one entry.

use duramen_ldap::filter::Filter;
use duramen_ldap::message::ResultCode;

use crate::access::{Level, Span, Target, What, is_near};
use crate::base;
use crate::constraint::Region;
use crate::failure::{Failure, Result};
use crate::requester::Requester;
use crate::view::{Members, Scene, View};

/// Whether an entry is as the requester says.
pub(crate) fn holds(view: &View<'_, '_>, filter: Filter<'_>) -> Result<Option<bool>> {
    view.matches(&view.scene.test(filter)?)
}

/// Whether an entry is one of those that a URL of the configuration means, whoever may know what is in it.
pub(crate) fn is_within(view: &View<'_, '_>, Region { base, filter }: &Region) -> Result<bool> {
    if base.as_ref().is_some_and(|(base, scope)| !is_near(view.name(), base, Span::of(*scope))) {
        return Ok(false);
    }
    let Some(filter) = filter else { return Ok(true) };
    let plan = view.scene.state.rules.plan(&Requester::internal(), &Members::of(view.scene));
    let scene = Scene { plan: &plan, more: None, ..*view.scene };
    Ok(holds(&View::new(&scene, view.id, view.entry, view.name), filter.as_filter())? == Some(true))
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
