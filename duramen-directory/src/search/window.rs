//! Virtual list views (draft-ietf-ldapext-ldapv3-vlv-09): a window of what was found, in order.
//!
//! Owns: where a window is, and what a client is told of it. Must not know: how entries are found and put in order. The
//! server keeps nothing between windows: at each the list may be another one.

use std::ops::Range;

use duramen_ldap::control::{ListViewRequest, ListViewResponse, ListViewTarget};
use duramen_ldap::message::ResultCode;

use crate::failure::{Failure, Result, damaged};
use crate::schema::Schema;
use crate::state::State;

use super::sort::{Bound, Order};
use super::{Job, Search};

/// The window that a client asks for.
#[derive(Debug)]
pub(super) struct Window {
    before: u32,
    after: u32,
    target: Target,
}

/// The entry that it is around.
#[derive(Debug)]
enum Target {
    /// The one at this place of a list that the client takes for so long.
    Offset { offset: u32, taken_for: u32 },
    /// The first that does not come before.
    From(Bound),
}

impl Window {
    /// From the control; or why there is none.
    pub fn new(asked: &ListViewRequest<'_>, order: Option<&Order>, schema: &Schema) -> Result<Window, ResultCode> {
        let order = order.ok_or(ResultCode::SORT_CONTROL_MISSING)?;
        let target = match asked.target {
            ListViewTarget::Offset { offset, count } => Target::Offset { offset, taken_for: count },
            ListViewTarget::AtLeast(value) => {
                Target::From(order.bound(schema, value).ok_or(ResultCode::INAPPROPRIATE_MATCHING)?)
            }
        };
        Ok(Window { before: asked.before, after: asked.after, target })
    }

    /// The entries around a place, which is counted from 1 on; 0 where there are none.
    fn around(&self, position: u32, count: u32) -> Range<usize> {
        let first = position.saturating_sub(1).saturating_sub(self.before);
        let end = position.saturating_add(self.after).min(count);
        first as usize..(end as usize).max(first as usize)
    }
}

/// Which place of a list of so many entries a client means that takes it for another length; `None` if it has no such place.
/// Section 5 of the draft.
fn place(offset: u32, taken_for: u32, count: u32) -> Option<u32> {
    let place = match (offset, taken_for) {
        (1.., same) if offset == same => count,
        (_, 1..) if offset > taken_for => return None,
        (0 | 1, _) => count.min(1),
        (_, 0) => offset,
        (_, same) if same == count => offset,
        _ => {
            let scaled = u64::from(offset) * u64::from(count) / u64::from(taken_for);
            u32::try_from(scaled).ok()?.max(1)
        }
    };
    (place <= count).then_some(place)
}

impl Search {
    /// Leaves of the entries in order those that are in the client's window.
    pub(super) fn cut_window(&mut self, state: &State) -> Result<()> {
        let Some(window) = self.window.take() else { return Ok(()) };
        let window = window.or_else(|code| self.no_window(code, 0))?;
        let Job::Sorted(ids) = &self.job else { return self.no_window(ResultCode::UNWILLING_TO_PERFORM, 0) };
        let ids = ids.clone();
        let count = u32::try_from(ids.len()).map_err(|_| damaged("the number of entries"))?;
        let position = match &window.target {
            Target::Offset { offset, taken_for } => match place(*offset, *taken_for, count) {
                Some(position) => position,
                None => return self.no_window(ResultCode::OFFSET_RANGE_ERROR, count),
            },
            Target::From(bound) => {
                self.with_job(state, |run, _| run.count_before(&ids, |view| bound.is_behind(view)))?.saturating_add(1)
            }
        };
        let window = window.around(position, count);
        // A limit is not got round by one window after the other.
        self.options.passed = u32::try_from(window.start).map_err(|_| damaged("the place of a window"))?;
        (self.job, self.next) = (Job::Sorted(ids[window].into()), 0);
        self.list_view = Some(ListViewResponse { position, count, code: ResultCode::SUCCESS, context: None });
        Ok(())
    }

    /// That there is no window, for this reason, of a list of so many entries.
    fn no_window<T>(&mut self, code: ResultCode, count: u32) -> Result<T> {
        self.list_view = Some(ListViewResponse { position: 0, count, code, context: None });
        self.sort_response.take_if(|(code, _)| *code == ResultCode::SUCCESS);
        let why = match code {
            ResultCode::SORT_CONTROL_MISSING => "it needs an order: ask for one by the control for server-side sorting",
            ResultCode::INAPPROPRIATE_MATCHING => "its target is no value of the attribute that is sorted by",
            ResultCode::OFFSET_RANGE_ERROR => "its offset is behind the end of the list",
            _ => "entries that the server makes up are in no order",
        };
        Err(Failure::new(ResultCode::VIRTUAL_LIST_VIEW_ERROR, format!("no virtual list view: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_list_of_another_length_is_scaled_draft_vlv_09_5() {
        let places = [
            ((1, 0), Some(1)),
            ((10, 0), Some(10)),
            ((20, 0), Some(20)),
            ((21, 0), None),
            ((10, 20), Some(10)),
            ((5, 10), Some(10)),
            ((1, 1000), Some(1)),
            ((2, 1000), Some(1)),
            ((1000, 1000), Some(20)),
            ((1, 1), Some(20)),
            ((999, 1000), Some(19)),
            ((2, 3), Some(13)),
            ((7, 3), None),
            ((22, 21), None),
            ((25, 20), None),
            ((0, 0), Some(1)),
            ((0, 10), Some(1)),
            ((u32::MAX, 1), None),
        ];
        for ((offset, taken_for), expected) in places {
            assert_eq!(place(offset, taken_for, 20), expected, "{offset} of {taken_for}");
        }
        assert_eq!(place(1, 0, 0), Some(0));
        assert_eq!(place(3, 3, 0), Some(0));
        assert_eq!(place(3, 7, 0), None);
    }

    #[test]
    fn windows_end_where_the_list_does() {
        let around = |before, after, position| {
            Window { before, after, target: Target::Offset { offset: 0, taken_for: 0 } }.around(position, 20)
        };
        assert_eq!(around(2, 3, 10), 7..13);
        assert_eq!(around(2, 3, 1), 0..4);
        assert_eq!(around(2, 3, 20), 17..20);
        assert_eq!(around(1, 2, 21), 19..20);
        assert_eq!(around(0, 5, 21), 20..20);
        assert_eq!(around(u32::MAX, u32::MAX, 10), 0..20);
        assert_eq!(around(0, 0, 10), 9..10);
    }
}
