//! Answers as they are compared.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use duramen_ldap::Payload;
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::control::{
    DereferenceResponse, ListViewResponse, PagedResults, PasswordError, PasswordPolicyResponse, PasswordWarning,
    ReadEntryResponse, SortResponse,
};
use duramen_ldap::dn::{Dn, NamingRules};
use duramen_ldap::matching::{Rule, WithoutSchema};
use duramen_ldap::message::{Control, Response};
use duramen_ldap::oid::control as oid;

use crate::controls::{By, Kind};
use crate::kinds;
use crate::request::{Bytes, Operation, Request, Values};

pub const SUCCESS: u32 = 0;
pub const COMPARE_FALSE: u32 = 5;
pub const COMPARE_TRUE: u32 = 6;
pub const SIZE_LIMIT_EXCEEDED: u32 = 4;
/// What is taken for the code if there was no answer.
pub const HUNG_UP: u32 = u32::MAX;

/// An entry: descriptions in lower case, values in any order.
pub type Entry = BTreeMap<String, BTreeSet<Bytes>>;

/// How an operation ended, and what came before that.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub code: u32,
    /// The diagnostic message; not compared.
    pub text: String,
    pub matched: String,
    pub referrals: BTreeSet<String>,
    pub entries: BTreeMap<String, Entry>,
    /// Names and values as they came, in the order in which they came.
    pub raw: Vec<(String, Vec<Values>)>,
    /// Entries that were found more than once.
    pub twice: BTreeSet<String>,
    pub references: BTreeSet<String>,
    /// Entries before and after a change, by the control that asked for them.
    pub read: BTreeMap<String, Entry>,
    /// Result of sorting.
    pub sorted: Option<u32>,
    /// The target's place in a virtual list view, and the list's length.
    pub list_view: Option<(u32, u32)>,
    /// What an extended operation says.
    pub value: Option<String>,
    /// What a password policy says: that the password will be too old, how often it is still good, what is wrong with it.
    pub policy: (bool, Option<u32>, Option<PasswordError>),
}

impl PartialEq for Answer {
    fn eq(&self, other: &Answer) -> bool {
        // Which entries come before a limit is nobody's promise.
        let limited = self.code == SIZE_LIMIT_EXCEEDED && self.entries.len() == other.entries.len();
        self.code == other.code
            && self.matched == other.matched
            && self.referrals == other.referrals
            && (limited || (self.entries == other.entries && self.references == other.references))
            && self.read == other.read
            && self.sorted == other.sorted
            && self.list_view == other.list_view
            && self.value == other.value
            && self.policy == other.policy
            && self.twice == other.twice
    }
}

impl Answer {
    /// Without attributes of these names.
    pub fn without(mut self, names: &[&str]) -> Answer {
        let entries = self.entries.values_mut().chain(self.read.values_mut());
        entries.for_each(|entry| entry.retain(|name, _| !names.contains(&name.as_str())));
        self
    }

    pub fn hang_up(&mut self) {
        self.code = HUNG_UP;
        self.text = "the server hung up".into();
    }

    /// Whether an update was made, or a search went to its end.
    pub fn is_done(&self) -> bool {
        self.code == SUCCESS
    }

    /// Whether this and another server both made an update, or both did not. slapd says success to some that it has not
    /// made: then it says nothing of the entry that it was to read on the way.
    pub fn did_the_same(&self, other: &Answer, request: &Request) -> bool {
        let reads = request.controls.iter().any(|control| matches!(control.kind, Kind::PreRead(_) | Kind::PostRead(_)));
        self.is_done() == other.is_done() && !(self.is_done() && reads && self.read.is_empty())
    }

    /// Whether it is an answer, not an error.
    pub fn is_success(&self) -> bool {
        [SUCCESS, COMPARE_FALSE, COMPARE_TRUE].contains(&self.code)
    }

    /// Takes a message; the cookie of the next page if it was the last of this.
    pub fn take(
        &mut self,
        request: &Request,
        response: &Response<'_>,
        controls: List<'_, Control<'_>>,
    ) -> Option<Vec<u8>> {
        match response {
            Response::SearchEntry(found) => {
                let name = comparable_name(found.name);
                let mut entry = entry(found.attributes);
                let others = controls.iter().filter(|control| control.oid == oid::DEREFERENCE);
                others.for_each(|control| entry.extend(dereferenced(control.value.unwrap_or_default())));
                if self.entries.insert(name.clone(), entry).is_some() {
                    self.twice.insert(name);
                }
                self.raw.push((found.name.to_owned(), raw(found.attributes)));
            }
            Response::SearchReference(urls) => self.references.extend(urls.iter().map(comparable_url)),
            Response::Extended(extended) => {
                self.value = extended.value.map(|value| said(request, value));
            }
            _ => {}
        }
        let result = response.result()?;
        self.code = result.code.0;
        self.text = result.diagnostic.to_owned();
        self.matched = comparable_name(result.matched_dn);
        self.referrals = result.referral.iter().map(comparable_url).collect();
        let mut cookie = Vec::new();
        for control in controls {
            let value = control.value.unwrap_or_default();
            match control.oid {
                oid::PAGED_RESULTS => cookie = PagedResults::decode(value).unwrap().cookie.to_vec(),
                oid::SORT_RESPONSE => self.sorted = Some(SortResponse::decode(value).unwrap().code.0),
                oid::LIST_VIEW_RESPONSE => {
                    let view = ListViewResponse::decode(value).unwrap();
                    self.list_view = Some((view.position, view.count));
                }
                oid::PASSWORD_POLICY => {
                    let PasswordPolicyResponse { warning, error } = PasswordPolicyResponse::decode(value).unwrap();
                    self.policy = match warning {
                        Some(PasswordWarning::ExpiresIn(_)) => (true, None, error),
                        Some(PasswordWarning::GraceLeft(times)) => (false, Some(times), error),
                        None => (false, None, error),
                    };
                }
                oid::PRE_READ | oid::POST_READ => {
                    let read = ReadEntryResponse::decode(value).unwrap().0;
                    let name = format!("{} {}", control.oid, comparable_name(read.name));
                    self.read.insert(name, entry(read.attributes));
                }
                _ => {}
            }
        }
        Some(cookie)
    }

    /// The values that entries were sorted by, in the order in which they came.
    pub fn order(&self, request: &Request) -> Vec<Vec<Option<BTreeSet<Bytes>>>> {
        let keys = request.controls.iter().find_map(|control| match &control.kind {
            Kind::Sort(keys) => Some(keys),
            _ => None,
        });
        let Some(keys) = keys.filter(|_| self.sorted == Some(SUCCESS)) else { return Vec::new() };
        let keys_of = |entry: &Entry| {
            let values = |by: &By| entry.get(&by.0.to_ascii_lowercase());
            let all = |by: &By, values: &BTreeSet<Bytes>| values.iter().map(|value| sorted_by(by.0, value)).collect();
            keys.iter().map(|by| values(by).map(|values| all(by, values))).collect()
        };
        self.raw.iter().filter_map(|(name, _)| self.entries.get(&comparable_name(name))).map(keys_of).collect()
    }
}

/// A value as far as it says where its entry stands in an order.
fn sorted_by(attribute: &str, value: &Bytes) -> Bytes {
    let mut out = Vec::new();
    let rule = kinds::find(attribute).and_then(|kind| Rule::find(kind.equality));
    match rule.map(|rule| rule.normalize(&value.0, &WithoutSchema, &mut out)) {
        Some(Ok(())) => Bytes(out),
        _ => Bytes(value.0.to_ascii_lowercase()),
    }
}

fn raw(attributes: List<'_, Attribute<'_>>) -> Vec<Values> {
    let values = |attribute: Attribute<'_>| {
        let values = attribute.values.iter().map(|value| Bytes(value.to_vec())).collect();
        (attribute.description.to_owned(), values)
    };
    attributes.iter().map(values).collect()
}

fn entry(attributes: List<'_, Attribute<'_>>) -> Entry {
    let mut entry = Entry::new();
    for attribute in attributes {
        let description = attribute.description.to_ascii_lowercase();
        // Only duramend has these.
        if !["numsubordinates", "memberof"].contains(&description.as_str()) {
            let values = attribute.values.iter().map(|value| comparable(&description, value));
            entry.entry(description.clone()).or_default().extend(values);
        }
    }
    entry
}

/// What is given of the entries that values name: as an attribute of each value, with a value for each of the entry's.
fn dereferenced(value: &[u8]) -> Entry {
    let mut all = Entry::new();
    for one in DereferenceResponse::decode(value).unwrap().0 {
        let name = comparable_name(&String::from_utf8_lossy(one.value));
        let of_entry = all.entry(format!("{} {name}", one.description.to_ascii_lowercase())).or_default();
        for (description, values) in one.attributes.into_iter().flat_map(entry) {
            of_entry.extend(values.iter().map(|value| Bytes([description.as_bytes(), b": ", &value.0].concat())));
        }
    }
    all
}

/// A value as it is compared.
fn comparable(description: &str, value: &[u8]) -> Bytes {
    let text = String::from_utf8_lossy(value);
    match description.split(';').next().unwrap_or_default() {
        "member" | "manager" | "seealso" | "roleoccupant" | "owner" | "secretary" | "uniquemember" | "entrydn"
        | "aliasedobjectname" | "creatorsname" | "modifiersname" | "subschemasubentry" | "kname" | "knameuid"
        | "fname" | "distinguishedname" => comparable_name(&text).as_str().into(),
        // slapd keeps them in lower case.
        "kuuid" => text.to_lowercase().as_str().into(),
        // slapd calls classes by their names.
        "objectclass" if text == "2.5.6.6" => "person".into(),
        // Made up by each server.
        "entryuuid" | "entrycsn" | "createtimestamp" | "modifytimestamp" | "contextcsn" => "made up".into(),
        // With a salt.
        "userpassword" if text.starts_with("{SSHA}") => "{SSHA}".into(),
        _ => Bytes(value.to_vec()),
    }
}

/// How values in names are compared: telephone numbers and the test's own types by their rules, all others without a schema.
struct InNames;

impl NamingRules for InNames {
    fn normalize<'s>(
        &'s self,
        attribute: &'s str,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Cow<'s, str>, &'static str> {
        let of_own = kinds::find(attribute).map(|kind| (kind.name, kind.equality));
        let telephone = attribute.eq_ignore_ascii_case("telephoneNumber");
        let known = of_own.or(telephone.then_some(("telephoneNumber", "telephoneNumberMatch")));
        let rule = known.and_then(|(name, rule)| Some((name, Rule::find(rule)?)));
        let Some((name, rule)) = rule else { return WithoutSchema.normalize(attribute, value, out) };
        rule.normalize_in_name(value, &WithoutSchema, out).map_err(|error| error.expected)?;
        Ok(Cow::Owned(name.to_ascii_lowercase()))
    }
}

/// A name as it is compared: slapd rewrites names, duramend gives back what was sent, and both are the same name.
pub fn comparable_name(name: &str) -> String {
    let mut normalized = String::new();
    let name = &name.replace("0.9.2342.19200300.100.1.1=", "uid=").replace("2.5.4.3=", "cn=");
    match Dn::parse(name).map(|name| name.normalize(&InNames, &mut normalized)) {
        Ok(Ok(())) => normalized,
        _ => name.to_owned(),
    }
}

fn comparable_url(url: &str) -> String {
    match duramen_ldap::url::LdapUrl::parse(url) {
        Ok(mut parsed) => {
            parsed.dn = comparable_name(&parsed.dn);
            parsed.to_string()
        }
        Err(_) => url.to_owned(),
    }
}

/// What an extended operation says, as it is compared.
fn said(request: &Request, value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    match (&request.operation, text.strip_prefix("dn:")) {
        (Operation::PasswordModify { .. }, _) => "a password".into(),
        (_, Some(name)) => format!("dn:{}", comparable_name(name)),
        (_, None) => text.into_owned(),
    }
}
