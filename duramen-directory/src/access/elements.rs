//! What a set comes to.
//!
//! Texts are compared byte by byte, as slapd has them: normalized names and values, what stands in brackets as it is. Where
//! one side of `&` has few texts and the other the values of an attribute, as with `[...]/member & user`, these are asked
//! for in the index, and not gathered.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_ldap::url::LdapUrl;

use super::Target;
use super::asked::Asker;
use super::name::{ancestor, in_hex, normalized_name};
use super::rule::{text_bytes, text_rule};
use super::set::{Join, Part, Set};
use super::template::Parts;
use crate::schema::AttributeId;

/// So many values and entries may be looked at for the sets of a request.
pub(super) const LOOKS_MAX: u64 = 1_000_000;
/// So many of them do not count each time that a set is asked about.
const LOOKS_FREE: u64 = 1_000;
/// So many texts are asked for one by one.
const FEW: usize = 16;
/// So many values are followed before it is looked who has the wanted one, and so many of those before all are followed.
const FOLLOWED_FIRST: usize = 32;
const HOLDERS_FIRST: u64 = 4_096;
/// What is the same for all entries is gathered once if it is no more than this, and asked for each time if it is more.
const KEPT_MAX: u64 = 500;

/// More is to be looked at than may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beyond;

type Elements = HashSet<Vec<u8>>;

/// What a part of a set comes to; `None` if it is too much to be kept.
type Gathered = Result<Option<Elements>, Beyond>;

/// What is kept for all questions of a request.
#[derive(Debug)]
pub(super) struct Kept {
    sets: Box<[OnceLock<Gathered>]>,
    looks: AtomicU64,
}

impl Kept {
    /// With so many places.
    pub fn new(places: usize) -> Kept {
        Kept { sets: (0..places).map(|_| OnceLock::new()).collect(), looks: AtomicU64::new(0) }
    }
}

impl Set {
    /// Whether there is something in it. `target` is there if it needs an entry.
    pub fn holds(&self, asker: Asker<'_>, target: Option<&dyn Target>, parts: &Parts) -> Result<bool, Beyond> {
        if self.names_user() && asker.requester.name.is_empty() {
            return Ok(false);
        }
        // Names are put in as they are compared.
        let hexed = Parts {
            name: parts.name.iter().map(|part| in_hex(part).into_owned()).collect(),
            value: parts.value.clone(),
        };
        let evaluation = Evaluation { asker, target, parts: hexed, looks: Cell::new(0), most: Cell::new(u64::MAX) };
        evaluation.is_empty(&self.part).map(|is_empty| !is_empty)
    }
}

/// A set that is being asked about.
struct Evaluation<'a> {
    asker: Asker<'a>,
    target: Option<&'a dyn Target>,
    parts: Parts,
    looks: Cell<u64>,
    /// At so many looks a part is given up as too much to be kept.
    most: Cell<u64>,
}

impl<'a> Evaluation<'a> {
    /// Counts something that is looked at.
    fn look(&self) -> Result<(), Beyond> {
        let looks = self.looks.get() + 1;
        self.looks.set(looks);
        let all = match self.asker.kept {
            Some(kept) if looks > LOOKS_FREE => kept.looks.fetch_add(1, Ordering::Relaxed),
            _ => looks.saturating_sub(LOOKS_FREE),
        };
        if looks > self.most.get() || all > LOOKS_MAX { Err(Beyond) } else { Ok(()) }
    }

    fn is_empty(&self, part: &Part) -> Result<bool, Beyond> {
        match part {
            Part::This | Part::User | Part::Text(_) => Ok(false),
            Part::Above { of, .. } => self.is_empty(of),
            Part::Once { place, of } => match self.kept(*place, of)? {
                Some(kept) => Ok(kept.is_empty()),
                None => self.is_empty(of),
            },
            Part::Join(one, Join::Either, other) => Ok(self.is_empty(one)? && self.is_empty(other)?),
            Part::Join(one, Join::Behind, other) => Ok(self.is_empty(one)? || self.is_empty(other)?),
            Part::Join(one, Join::Both, other) => self.meet(one, other).map(|both| both.is_empty()),
            Part::Follow { of, attribute, .. } => {
                let mut is_empty = true;
                for base in self.elements(of)?.iter() {
                    self.follow(base, *attribute, &mut |_| {
                        is_empty = false;
                        false
                    })?;
                    if !is_empty {
                        break;
                    }
                }
                Ok(is_empty)
            }
        }
    }

    fn elements<'s>(&'s self, part: &Part) -> Result<Cow<'s, Elements>, Beyond> {
        let found = match part {
            Part::This => Elements::from([self.this().into_owned().into_bytes()]),
            Part::User => Elements::from([self.user().into_owned().into_bytes()]),
            Part::Text(text) => Elements::from([text.expand(&self.parts, str::to_owned).into_bytes()]),
            Part::Follow { of, attribute, again, .. } => {
                let bases = self.elements(of)?;
                self.followed(&bases, *attribute, *again, usize::MAX, None)?.unwrap_or_default()
            }
            Part::Above { of, levels } => self.above(&*self.elements(of)?, *levels)?,
            Part::Join(one, Join::Either, other) => {
                let mut either = self.elements(one)?.into_owned();
                either.extend(self.elements(other)?.into_owned());
                either
            }
            Part::Join(one, Join::Both, other) => self.meet(one, other)?,
            Part::Join(one, Join::Behind, other) => self.behind(&*self.elements(one)?, &*self.elements(other)?)?,
            Part::Once { place, of } => match self.kept(*place, of)? {
                Some(kept) => return Ok(Cow::Borrowed(kept)),
                None => return self.elements(of),
            },
        };
        Ok(Cow::Owned(found))
    }

    /// What is kept of a part that is the same for all entries; `None` if it is too much to be kept.
    fn kept(&self, place: usize, of: &Part) -> Result<Option<&'a Elements>, Beyond> {
        let Some(kept) = self.asker.kept else { return Ok(None) };
        let set = kept.sets[place].get_or_init(|| {
            if is_asked(of) {
                self.most.set(self.looks.get() + KEPT_MAX);
                let found = self.elements(of).map(Cow::into_owned);
                self.most.set(u64::MAX);
                return Ok(found.ok());
            }
            self.elements(of).map(|found| Some(found.into_owned()))
        });
        set.as_ref().map(Option::as_ref).map_err(|beyond| *beyond)
    }

    /// What is in both.
    fn meet(&self, one: &Part, other: &Part) -> Result<Elements, Beyond> {
        let (few, many) = if size(one) <= size(other) { (one, other) } else { (other, one) };
        let mut both = self.elements(few)?.into_owned();
        if both.is_empty() {
            return Ok(both);
        }
        if both.len() > FEW || !is_asked(many) {
            let many = self.elements(many)?;
            both.retain(|element| many.contains(element));
            return Ok(both);
        }
        let mut found = Elements::new();
        for element in both {
            if self.has(many, &element)? {
                found.insert(element);
            }
        }
        Ok(found)
    }

    /// Whether something is in a set, which is not gathered for that.
    fn has(&self, part: &Part, element: &[u8]) -> Result<bool, Beyond> {
        match part {
            Part::This => Ok(self.this().as_bytes() == element),
            Part::User => Ok(self.user().as_bytes() == element),
            Part::Follow { of, attribute, again, .. } => {
                let bases = self.elements(of)?;
                if *again {
                    return self.leads_to(&bases, *attribute, element);
                }
                for base in bases.iter() {
                    if self.is_value(base, *attribute, element)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Part::Join(one, Join::Either, other) => Ok(self.has(one, element)? || self.has(other, element)?),
            Part::Join(one, Join::Both, other) => Ok(self.has(one, element)? && self.has(other, element)?),
            Part::Once { place, of } => match self.kept(*place, of)? {
                Some(kept) => Ok(kept.contains(element)),
                None => self.has(of, element),
            },
            _ => Ok(self.elements(part)?.contains(element)),
        }
    }

    /// Whether values that are followed again and again lead to an element: from these on, for as long as they are few,
    /// or from the element back, over those who have it; whatever is less work.
    fn leads_to(&self, bases: &Elements, attribute: AttributeId, element: &[u8]) -> Result<bool, Beyond> {
        let is_there = |found: Elements| found.contains(element);
        if let Some(found) = self.followed(bases, attribute, true, FOLLOWED_FIRST, Some(element))? {
            return Ok(is_there(found));
        }
        if let Some(answer) = self.led_from(bases, attribute, element)? {
            return Ok(answer);
        }
        Ok(self.followed(bases, attribute, true, usize::MAX, Some(element))?.is_some_and(is_there))
    }

    /// The same, from its end: `None` if it cannot be found out so, or only with too much work.
    fn led_from(&self, bases: &Elements, attribute: AttributeId, element: &[u8]) -> Result<Option<bool>, Beyond> {
        let schema = self.asker.schema;
        let are_names =
            text_rule(schema.attribute(attribute)).is_some_and(|rule| rule.name == "distinguishedNameMatch");
        if !are_names || bases.iter().any(|base| is_url(base)) {
            return Ok(None);
        }
        let bases: HashSet<String> = bases.iter().filter_map(|base| normalized_name(base, schema)).collect();
        let Some(first) = normalized_name(element, schema).filter(|name| in_hex(name).as_bytes() == element) else {
            return Ok(Some(false));
        };
        let (mut seen, mut waiting) = (HashSet::from([first.clone()]), vec![first]);
        let (mut left, mut is_found) = (HOLDERS_FIRST, false);
        while let Some(name) = waiting.pop() {
            let is_known = self.asker.groups.holders(attribute, name.as_bytes(), &mut |holder| {
                left -= 1;
                is_found = bases.contains(holder);
                if !is_found && seen.insert(holder.to_owned()) {
                    waiting.push(holder.to_owned());
                }
                !is_found && left > 0
            });
            if is_found {
                return Ok(Some(true));
            }
            if !is_known || left == 0 {
                return Ok(None);
            }
            self.look()?;
        }
        Ok(Some(false))
    }

    /// The values of an attribute of what stands in `bases`, and of these again, and so on. `None` if there are more than
    /// `most`; those who look for one element need no more once it is found.
    fn followed(
        &self,
        bases: &Elements,
        attribute: AttributeId,
        again: bool,
        most: usize,
        wanted: Option<&[u8]>,
    ) -> Result<Option<Elements>, Beyond> {
        let (mut found, mut waiting) = (Elements::new(), Vec::new());
        let mut bases: Vec<Cow<'_, [u8]>> = bases.iter().map(|base| Cow::Borrowed(&base[..])).collect();
        while let Some(base) = bases.pop() {
            let mut is_wanted = false;
            self.follow(&base, attribute, &mut |value| {
                is_wanted |= wanted == Some(&value[..]);
                if again && !found.contains(&value) {
                    waiting.push(value.clone());
                }
                found.insert(value);
                !is_wanted && found.len() <= most
            })?;
            if is_wanted {
                break;
            }
            if found.len() > most {
                return Ok(None);
            }
            bases.extend(waiting.drain(..).map(Cow::Owned));
        }
        Ok(Some(found))
    }

    /// Calls `each` with the values of an attribute of the entry of a name, or of what a URL finds, until it returns false.
    fn follow(&self, base: &[u8], attribute: AttributeId, each: &mut dyn FnMut(Vec<u8>) -> bool) -> Result<(), Beyond> {
        if is_url(base) {
            return self.search(base, attribute, each);
        }
        let Some(name) = normalized_name(base, self.asker.schema) else { return Ok(()) };
        let mut looks = self.look();
        if attribute == self.asker.schema.known().entry_dn {
            each(in_hex(&name).into_owned().into_bytes());
            return looks;
        }
        let mut each = |value: &[u8]| {
            looks = looks.and_then(|()| self.look());
            looks.is_ok() && each(self.element(attribute, value))
        };
        match self.target_of(&name) {
            Some(target) => target.values(attribute, &mut each),
            None => self.asker.groups.values(&name, attribute, &mut each),
        }
        looks
    }

    /// Of what a URL finds, the values of an attribute and of those that the URL names.
    fn search(&self, url: &[u8], attribute: AttributeId, each: &mut dyn FnMut(Vec<u8>) -> bool) -> Result<(), Beyond> {
        let Some(url) = std::str::from_utf8(url).ok().and_then(|url| LdapUrl::parse(url).ok()) else { return Ok(()) };
        let schema = self.asker.schema;
        let named = url.attributes.iter().filter_map(|name| schema.find(name)).map(|attribute| attribute.id);
        let attributes: Vec<AttributeId> = named.chain([attribute]).collect();
        let mut looks = Ok(());
        self.asker.groups.find(&url, &mut |target| {
            looks = looks.and_then(|()| self.look());
            let mut more = looks.is_ok();
            for &attribute in attributes.iter().filter(|_| target.is_some()) {
                let Some(target) = target else { continue };
                if attribute == schema.known().entry_dn {
                    more = more && each(target.name_in_hex().into_owned().into_bytes());
                    continue;
                }
                target.values(attribute, &mut |value| {
                    looks = looks.and_then(|()| self.look());
                    more = more && looks.is_ok() && each(self.element(attribute, value));
                    more
                });
            }
            more
        });
        looks
    }

    /// Whether an element is a value of an attribute of the entry of a name, or of what a URL finds.
    fn is_value(&self, base: &[u8], attribute: AttributeId, element: &[u8]) -> Result<bool, Beyond> {
        let schema = self.asker.schema;
        let rule = text_rule(schema.attribute(attribute)).filter(|_| attribute != schema.known().entry_dn);
        let (Some(rule), false) = (rule, is_url(base)) else {
            let mut is_found = false;
            self.follow(base, attribute, &mut |value| {
                is_found |= value == element;
                !is_found
            })?;
            return Ok(is_found);
        };
        self.look()?;
        let mut form = Vec::new();
        // What no value is written as when it is normalized is none.
        let is_normal = text_bytes(element, Some(rule), schema) == element;
        if !is_normal || rule.normalize(element, schema, &mut form).is_err() {
            return Ok(false);
        }
        let Some(name) = normalized_name(base, schema) else { return Ok(false) };
        Ok(match self.target_of(&name) {
            Some(target) => target.has_value(attribute, &form),
            None => self.asker.groups.has_value(&name, attribute, &form),
        })
    }

    /// A value as it stands in a set.
    fn element(&self, attribute: AttributeId, value: &[u8]) -> Vec<u8> {
        let schema = self.asker.schema;
        text_bytes(value, text_rule(schema.attribute(attribute)), schema)
    }

    /// The entry that the rule is about, if it has this name: it need not be stored yet.
    fn target_of(&self, name: &str) -> Option<&'a dyn Target> {
        self.target.filter(|target| target.name() == name)
    }

    fn this(&self) -> Cow<'a, str> {
        self.target.map_or(Cow::Borrowed(""), |target| target.name_in_hex())
    }

    fn user(&self) -> Cow<'a, str> {
        in_hex(&self.asker.requester.name.normalized)
    }

    fn above(&self, names: &Elements, levels: Option<usize>) -> Result<Elements, Beyond> {
        let mut above = Elements::new();
        for name in names.iter().filter_map(|name| std::str::from_utf8(name).ok()) {
            self.look()?;
            let Some(levels) = levels else {
                let all = (0..).map_while(|levels| ancestor(name, levels));
                above.extend(all.map(|name| name.as_bytes().to_vec()));
                continue;
            };
            above.insert(ancestor(name, levels).unwrap_or_default().as_bytes().to_vec());
        }
        Ok(above)
    }

    fn behind(&self, one: &Elements, other: &Elements) -> Result<Elements, Beyond> {
        let mut both = Elements::new();
        for first in one {
            for second in other {
                self.look()?;
                both.insert([&first[..], second].concat());
            }
        }
        Ok(both)
    }
}

fn is_url(base: &[u8]) -> bool {
    base.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"ldap:///"))
}

/// How much may be in a set: what is least is gathered first.
fn size(part: &Part) -> u8 {
    match part {
        Part::This | Part::User | Part::Text(_) => 0,
        Part::Above { of, .. } | Part::Once { of, .. } => size(of),
        Part::Follow { of, again, .. } => {
            let of_text = if names_text(of) { 2 } else { 1 };
            size(of).max(of_text + if *again { 2 } else { 0 })
        }
        Part::Join(one, Join::Both, other) => size(one).min(size(other)),
        Part::Join(one, _, other) => size(one).max(size(other)),
    }
}

/// Whether a text stands in it: groups are named so, which have more members than people have attributes.
fn names_text(part: &Part) -> bool {
    match part {
        Part::This | Part::User => false,
        Part::Text(_) => true,
        Part::Follow { of, .. } | Part::Above { of, .. } | Part::Once { of, .. } => names_text(of),
        Part::Join(one, _, other) => names_text(one) || names_text(other),
    }
}

/// Whether it can be told of one text whether it is in a set, for less than gathering all.
fn is_asked(part: &Part) -> bool {
    match part {
        Part::This | Part::User => true,
        Part::Text(_) | Part::Above { .. } => false,
        Part::Follow { of, .. } => !makes_urls(of),
        Part::Once { of, .. } => is_asked(of),
        Part::Join(_, Join::Behind, _) => false,
        Part::Join(one, _, other) => is_asked(one) && is_asked(other),
    }
}

/// Whether there may well be URLs in a set.
fn makes_urls(part: &Part) -> bool {
    match part {
        Part::This | Part::User | Part::Follow { .. } | Part::Above { .. } => false,
        Part::Text(text) => is_url(text.beginning().as_bytes()),
        Part::Once { of, .. } => makes_urls(of),
        Part::Join(one, _, other) => makes_urls(one) || makes_urls(other),
    }
}
