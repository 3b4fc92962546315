//! Values of controls.
//!
//! Owns: what stands in them. Must not know: what a server does with them.

mod dereference;
mod list_view;
mod matched_values;
mod paged;
mod password_policy;
mod read_entry;
mod request;
mod sort;
mod sync;

pub use dereference::{Dereference, DereferenceRequest, DereferenceResponse, Dereferenced};
pub use list_view::{ListViewRequest, ListViewResponse, ListViewTarget};
pub use matched_values::MatchedValues;
pub use paged::PagedResults;
pub use password_policy::{PasswordError, PasswordPolicyResponse, PasswordWarning};
pub use read_entry::{ReadEntryRequest, ReadEntryResponse};
pub use request::RequestControl;
pub use sort::{SortKey, SortKeys, SortResponse};
pub use sync::{SyncDone, SyncInfo, SyncRequest, SyncState, SyncStateValue, SyncUuid};

#[cfg(test)]
mod tests;
