//! Items of an OR that ask the same attributes for single values, as one.
//!
//! Owns: when that is less work. Applications look up hundreds of names or numbers with one OR: together, each value of an entry
//! is normalized once and looked for among all.

use std::cmp::Ordering;

use super::{Subject, Test};

/// So few items are sooner held against a value one after the other, mostly without normalizing it.
const FEW: usize = 4;

/// The OR of some parts.
pub(super) fn gather(parts: Vec<Test>) -> Test {
    if parts.len() <= FEW {
        return Test::Or(parts);
    }
    let (mut items, mut kept): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| key(part).is_some());
    items.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut items = items.into_iter().peekable();
    while let Some(first) = items.next() {
        let mut same = vec![first];
        while let Some(next) = items.next_if(|next| is_about_the_same(&same[0], next)) {
            same.push(next);
        }
        if same.len() <= FEW {
            kept.append(&mut same);
        } else {
            kept.extend(among(same));
        }
    }
    if kept.len() == 1 { kept.swap_remove(0) } else { Test::Or(kept) }
}

/// What an item is about, and how it compares, if it can be one of several.
fn key(item: &Test) -> Option<(&Subject, &'static str)> {
    match item {
        Test::Equal { subject, rule, .. } if !subject.checked => Some((subject, rule.oid)),
        _ => None,
    }
}

fn is_about_the_same(a: &Test, b: &Test) -> bool {
    key(a).cmp(&key(b)) == Ordering::Equal
}

/// Items that are about the same, as one.
fn among(items: Vec<Test>) -> Option<Test> {
    let Some(Test::Equal { subject, rule, .. }) = items.first() else { return None };
    let (subject, rule) = (subject.clone(), *rule);
    let of = |item| if let Test::Equal { normalized, .. } = item { Some(normalized) } else { None };
    let mut values: Vec<Vec<u8>> = items.into_iter().filter_map(of).collect();
    values.sort_unstable();
    values.dedup();
    Some(Test::Among { subject, rule, values })
}
