//! What a provider tells of a copy (RFC 4533 sections 3.3 and 3.4), as what is to be done to it.
//!
//! Owns: which part of the conversation it is, and when a cookie may be kept. Must not know: entries, tables.
//!
//! Who asks for all is told all, and need not be told what is gone besides: that is all else (slapd takes a copy without a cookie
//! for an empty one).
//!
//! While there is a refresh, what is told is not in the order in which it was changed: a cookie stands for all of it only
//! at the end, and is kept then. Later each stands for what was told before it.

use duramen_ldap::control::{SyncDone, SyncInfo, SyncState, SyncStateValue};
use duramen_ldap::message::{ResultCode, SearchEntry};

use crate::history::Uuid;

/// Something that a provider has told.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// An entry, and what it is to the copy.
    Entry(SearchEntry<'a>, SyncStateValue<'a>),
    /// As [`Heard::Entry`], from one that takes changes together with this server; with what it says to that: of an entry that is
    /// there the UUID of what is above, or nothing; of one that is gone the change sequence number of the deletion.
    Shared(SearchEntry<'a>, SyncStateValue<'a>, &'a [u8]),
    /// Something between entries.
    Info(SyncInfo<'a>),
    /// The end of the search, for whatever reason.
    Done {
        /// How it ended.
        code: ResultCode,
        /// What the provider says to that.
        diagnostic: &'a str,
        /// What it says of the copy.
        sync: Option<SyncDone<'a>>,
    },
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act<'a> {
    /// The entry is as this one.
    Put(SearchEntry<'a>, Uuid),
    /// The entry is as this one, if that is newer than what is there: slapd tells again, behind a refresh, what it has told with
    /// that, by names that were right before it.
    News(SearchEntry<'a>, Uuid),
    /// The entry is there as it was.
    Keep(Uuid),
    /// The entry is gone.
    Delete(Uuid),
    /// The entry is as this one, below the one with this UUID, if nothing newer is known.
    Shared(SearchEntry<'a>, Uuid, &'a [u8]),
    /// The entry, by its UUID, number of the deletion and name, is gone, if nothing newer is known.
    Gone(Uuid, &'a [u8], &'a str),
    /// What has neither been put nor kept since the beginning is gone, as far as the provider knows of it: that is what this
    /// cookie says.
    Prune(Vec<u8>),
    /// With all before it, the copy is as of this.
    AsOf(Vec<u8>),
}

/// Why a provider tells no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It cannot go on from the cookie: all has to be told anew.
    Unknown,
    /// It has ended the search.
    Ended(ResultCode, String),
}

/// A conversation with a provider.
#[derive(Debug, Default)]
pub(super) struct Phase {
    /// The refresh is over, and what changes is told.
    pub is_following: bool,
    /// The provider was asked for all.
    asks_for_all: bool,
    /// What was not told of is gone already.
    is_pruned: bool,
    /// The last cookie of the refresh.
    cookie: Option<Vec<u8>>,
}

impl Phase {
    /// Of a provider that was asked by a cookie; by an empty one for all. Of a copy that is as it was it need not say so
    /// again.
    pub fn new(cookie: &[u8]) -> Phase {
        let cookie = Some(cookie.to_vec()).filter(|cookie| !cookie.is_empty());
        Phase { asks_for_all: cookie.is_none(), cookie, ..Phase::default() }
    }

    /// What is to be done, added to `acts`; and why nothing follows, if so.
    pub fn hear<'a>(&mut self, heard: &Heard<'a>, acts: &mut Vec<Act<'a>>) -> Option<End> {
        match heard {
            Heard::Entry(entry, said) => self.entry(*entry, *said, acts),
            Heard::Shared(entry, said, word) => {
                acts.push(match said.state {
                    SyncState::Present => Act::Keep(said.uuid),
                    SyncState::Add | SyncState::Modify => Act::Shared(*entry, said.uuid, word),
                    SyncState::Delete => Act::Gone(said.uuid, word, entry.name),
                });
                self.cookie(said.cookie, acts);
            }
            Heard::Info(info) => self.info(*info, acts),
            Heard::Done { code, diagnostic, sync } => return Some(self.done(*code, diagnostic, *sync, acts)),
        }
        None
    }

    fn entry<'a>(&mut self, entry: SearchEntry<'a>, said: SyncStateValue<'a>, acts: &mut Vec<Act<'a>>) {
        acts.push(match said.state {
            SyncState::Present => Act::Keep(said.uuid),
            SyncState::Add | SyncState::Modify if self.is_following => Act::News(entry, said.uuid),
            SyncState::Add | SyncState::Modify => Act::Put(entry, said.uuid),
            SyncState::Delete => Act::Delete(said.uuid),
        });
        self.cookie(said.cookie, acts);
    }

    fn info<'a>(&mut self, info: SyncInfo<'a>, acts: &mut Vec<Act<'a>>) {
        match info {
            SyncInfo::NewCookie(cookie) => self.cookie(Some(cookie), acts),
            SyncInfo::IdSet { cookie, deletes, uuids } => {
                let uuids = uuids.iter().filter_map(|uuid| Uuid::try_from(uuid).ok());
                acts.extend(uuids.map(if deletes { Act::Delete } else { Act::Keep }));
                self.cookie(cookie, acts);
            }
            SyncInfo::RefreshDelete { cookie, done } => {
                self.cookie(cookie, acts);
                self.refreshed(done, acts);
            }
            SyncInfo::RefreshPresent { cookie, done } => {
                self.cookie(cookie, acts);
                // Later nothing is told of what stays.
                if !self.is_following {
                    self.prune(acts);
                }
                self.refreshed(done, acts);
            }
        }
    }

    fn done(&mut self, code: ResultCode, diagnostic: &str, sync: Option<SyncDone<'_>>, acts: &mut Vec<Act<'_>>) -> End {
        if code == ResultCode::SYNC_REFRESH_REQUIRED && !self.is_following {
            return End::Unknown;
        }
        // Where it has failed, what it says of what is gone is worth nothing.
        if code == ResultCode::SUCCESS
            && let Some(sync) = sync
        {
            self.cookie(sync.cookie, acts);
            if !self.is_following && !sync.refresh_deletes {
                self.prune(acts);
            }
            self.refreshed(true, acts);
        }
        End::Ended(code, diagnostic.to_string())
    }

    fn refreshed(&mut self, done: bool, acts: &mut Vec<Act<'_>>) {
        if done && !self.is_following {
            if self.asks_for_all && !self.is_pruned {
                self.prune(acts);
            }
            self.is_following = true;
            // Without one, all will be told next time.
            acts.push(Act::AsOf(self.cookie.take().unwrap_or_default()));
        }
    }

    fn prune(&mut self, acts: &mut Vec<Act<'_>>) {
        self.is_pruned = true;
        acts.push(Act::Prune(self.cookie.clone().unwrap_or_default()));
    }

    fn cookie(&mut self, cookie: Option<&[u8]>, acts: &mut Vec<Act<'_>>) {
        let Some(cookie) = cookie.map(<[u8]>::to_vec) else { return };
        match self.is_following {
            true => acts.push(Act::AsOf(cookie)),
            false => self.cookie = Some(cookie),
        }
    }
}

#[cfg(test)]
mod tests {
    use duramen_ldap::ber::List;

    use super::*;

    const A: Uuid = [1; 16];
    const B: Uuid = [2; 16];

    fn entry<'a>(state: SyncState, uuid: Uuid, cookie: Option<&'a str>) -> Heard<'a> {
        let entry = SearchEntry { name: "dc=x", attributes: List::default() };
        Heard::Entry(entry, SyncStateValue { state, uuid, cookie: cookie.map(str::as_bytes) })
    }

    fn done(code: ResultCode, cookie: &str, refresh_deletes: bool) -> Heard<'_> {
        Heard::Done { code, diagnostic: "", sync: Some(SyncDone { cookie: Some(cookie.as_bytes()), refresh_deletes }) }
    }

    fn put<'a>(uuid: Uuid) -> Act<'a> {
        Act::Put(SearchEntry { name: "dc=x", attributes: List::default() }, uuid)
    }

    fn prune<'a>(cookie: &str) -> Act<'a> {
        Act::Prune(cookie.as_bytes().to_vec())
    }

    fn as_of<'a>(cookie: &str) -> Act<'a> {
        Act::AsOf(cookie.as_bytes().to_vec())
    }

    /// What is to be done after all of it, and the end.
    fn acts<'a>(heard: &[Heard<'a>]) -> (Vec<Act<'a>>, Option<End>) {
        let (mut phase, mut acts) = (Phase::default(), Vec::new());
        let end = heard.iter().filter_map(|heard| phase.hear(heard, &mut acts)).last();
        (acts, end)
    }

    fn ids(deletes: bool, uuids: &[u8]) -> Heard<'_> {
        Heard::Info(SyncInfo::IdSet { cookie: None, deletes, uuids: List::trusted(uuids) })
    }

    fn set(uuid: Uuid) -> Vec<u8> {
        let mut out = Vec::new();
        List::build(&mut out, [&uuid[..]]);
        out
    }

    #[test]
    fn in_the_present_phase_what_is_not_told_of_is_gone_and_the_cookie_is_kept_at_its_end_rfc4533_3_3_1() {
        let set = set(B);
        let heard = [
            entry(SyncState::Add, A, Some("early")),
            ids(false, &set),
            Heard::Info(SyncInfo::RefreshPresent { cookie: Some(b"end"), done: true }),
        ];
        assert_eq!(acts(&heard).0, [put(A), Act::Keep(B), prune("end"), as_of("end")]);
    }

    #[test]
    fn in_the_delete_phase_what_is_not_told_of_stays_rfc4533_3_3_2() {
        let set = set(B);
        let heard = [
            ids(true, &set),
            entry(SyncState::Add, A, None),
            Heard::Info(SyncInfo::RefreshDelete { cookie: Some(b"end"), done: true }),
        ];
        assert_eq!(acts(&heard).0, [Act::Delete(B), put(A), as_of("end")]);
    }

    #[test]
    fn who_has_asked_for_all_has_nothing_but_that_rfc4533_1_3_1() {
        let end = |done| Heard::Info(SyncInfo::RefreshDelete { cookie: None, done });
        let present = Heard::Info(SyncInfo::RefreshPresent { cookie: None, done: false });
        let told = |heard: &[Heard<'_>]| {
            let (mut phase, mut acts) = (Phase::new(b""), Vec::new());
            heard.iter().for_each(|heard| drop(phase.hear(heard, &mut acts)));
            acts.iter().map(|act| if matches!(act, Act::Prune(_)) { "prune" } else { "" }).collect::<String>()
        };
        assert_eq!(told(&[entry(SyncState::Add, A, None), end(true)]), "prune");
        assert_eq!(told(&[entry(SyncState::Add, A, None), end(false)]), "");
        assert_eq!(told(&[entry(SyncState::Add, A, None), present, end(true)]), "prune");
        assert_eq!(told(&[entry(SyncState::Add, A, None), done(ResultCode::SUCCESS, "end", true)]), "prune");
    }

    #[test]
    fn a_copy_of_which_nothing_is_said_is_as_it_was() {
        let (mut phase, mut acts) = (Phase::new(b"before"), Vec::new());
        phase.hear(&Heard::Info(SyncInfo::RefreshDelete { cookie: None, done: true }), &mut acts);
        assert_eq!(acts, [as_of("before")]);
    }

    #[test]
    fn both_phases_may_follow_each_other_and_the_last_cookie_counts() {
        let set = set(B);
        let heard = [
            entry(SyncState::Present, A, None),
            Heard::Info(SyncInfo::RefreshPresent { cookie: Some(b"first"), done: false }),
            ids(true, &set),
            Heard::Info(SyncInfo::RefreshDelete { cookie: None, done: true }),
        ];
        assert_eq!(acts(&heard).0, [Act::Keep(A), prune("first"), Act::Delete(B), as_of("first")]);
    }

    #[test]
    fn later_each_cookie_is_kept_and_nothing_is_pruned_rfc4533_3_4() {
        let set = set(B);
        let heard = [
            Heard::Info(SyncInfo::RefreshDelete { cookie: None, done: true }),
            entry(SyncState::Modify, A, Some("1")),
            entry(SyncState::Delete, A, None),
            ids(true, &set),
            Heard::Info(SyncInfo::NewCookie(b"2")),
            Heard::Info(SyncInfo::RefreshPresent { cookie: None, done: true }),
        ];
        let news = Act::News(SearchEntry { name: "dc=x", attributes: List::default() }, A);
        let wanted = [as_of(""), news, as_of("1"), Act::Delete(A), Act::Delete(B), as_of("2")];
        assert_eq!(acts(&heard).0, wanted);
    }

    #[test]
    fn a_search_that_ends_in_order_ends_its_phase_and_another_does_not() {
        let success = || Some(End::Ended(ResultCode::SUCCESS, String::new()));
        assert_eq!(acts(&[done(ResultCode::SUCCESS, "end", false)]), (vec![prune("end"), as_of("end")], success()));
        assert_eq!(acts(&[done(ResultCode::SUCCESS, "end", true)]), (vec![as_of("end")], success()));
        // Who says nothing of the copy knows nothing of it.
        let heard = [Heard::Done { code: ResultCode::SUCCESS, diagnostic: "", sync: None }];
        assert_eq!(acts(&heard), (vec![], success()));
        let limit = ResultCode::SIZE_LIMIT_EXCEEDED;
        let heard = [entry(SyncState::Add, A, None), done(limit, "end", false)];
        assert_eq!(acts(&heard), (vec![put(A)], Some(End::Ended(limit, String::new()))));
    }

    #[test]
    fn a_cookie_of_which_nothing_is_known_is_of_no_use_and_one_that_was_overtaken_is_rfc4533_3_3_2() {
        let required = ResultCode::SYNC_REFRESH_REQUIRED;
        assert_eq!(acts(&[done(required, "old", false)]), (vec![], Some(End::Unknown)));
        let heard =
            [Heard::Info(SyncInfo::RefreshDelete { cookie: Some(b"1"), done: true }), done(required, "1", false)];
        assert_eq!(acts(&heard), (vec![as_of("1")], Some(End::Ended(required, String::new()))));
    }
}
