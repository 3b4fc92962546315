//! Which description counts where files have several with one number or one name.
//!
//! Files often have what is built in, or what another file has, too: the same number and a name in common, and often
//! not quite the same words. Of those the last one counts. Whatever else meets in a number or a name is a mistake, and
//! whoever looked it up would get one of the two.
//!
//! Owns: that numbers and names are unique among descriptions of a kind. Must not know: what descriptions say besides.

use duramen_ldap::schema::{self as text, Builtin, Definition, Description, Located};
use rustc_hash::FxHashMap;

use super::bind::{BindError, error};

/// Leaves one description of each number, and sees to it that each name is of one. Content rules are not looked at:
/// those of a class meet when they are bound.
pub(super) fn make_unique(source: &mut text::Schema) -> Result<(), BindError> {
    give_names_away(&mut source.attribute_types, |item| &mut item.definition);
    give_names_away(&mut source.object_classes, |item| &mut item.definition);
    one_of_each_number(&mut source.attribute_types)?;
    one_of_each_number(&mut source.object_classes)?;
    one_of_each_number(&mut source.name_forms)?;
    one_of_each_number(&mut source.structure_rules)?;
    one_of_each_name(&source.attribute_types)?;
    one_of_each_name(&source.object_classes)?;
    one_of_each_name(&source.name_forms)?;
    one_of_each_name(&source.structure_rules)
}

/// Leaves names to files that give them to other numbers, where what is built in is no standard: a draft that never became
/// one, and what servers have agreed on. Files have some of these names for something else.
fn give_names_away<T: Description>(list: &mut [Located<T>], own: fn(&mut T) -> &mut Definition) {
    let parts =
        [Builtin::PasswordPolicy, Builtin::DynamicGroup].map(|part| format!("{}{}", text::BUILT_IN, part.name()));
    let gives = |of: &Located<T>| parts.iter().any(|part| *of.file == **part);
    let mut named: FxHashMap<String, String> = FxHashMap::default();
    for definition in list.iter().filter(|of| !gives(of)).map(|of| of.item.definition()) {
        named.extend(definition.names.iter().map(|name| (name.to_ascii_lowercase(), definition.oid.clone())));
    }
    for of in list.iter_mut().filter(|of| gives(of)) {
        let definition = own(&mut of.item);
        let is_own = |name: &String| named.get(&name.to_ascii_lowercase()).is_none_or(|oid| *oid == definition.oid);
        definition.names.retain(is_own);
    }
}

fn one_of_each_number<T: Description + PartialEq>(list: &mut Vec<Located<T>>) -> Result<(), BindError> {
    let mut last: FxHashMap<&str, &Located<T>> = FxHashMap::default();
    for of in list.iter() {
        if let Some(before) = last.insert(&of.item.definition().oid, of) {
            check_repetition(before, of)?;
        }
    }
    let counts: Vec<bool> = list.iter().map(|of| std::ptr::eq(last[&*of.item.definition().oid], of)).collect();
    let mut counts = counts.into_iter();
    list.retain(|_| counts.next().unwrap_or(true));
    Ok(())
}

fn check_repetition<T: Description + PartialEq>(before: &Located<T>, of: &Located<T>) -> Result<(), BindError> {
    let (first, second) = (before.item.definition(), of.item.definition());
    let place = before.place();
    let what = if !are_named_alike(first, second) {
        format!("its number {} is that of {} ({place}): give it a number of its own", second.oid, first.name())
    } else if before.file == of.file && before.item != of.item {
        format!("it is there already, and not the same ({place}): leave one of the two out")
    } else {
        return Ok(());
    };
    Err(error(of, second, what))
}

/// Whether two descriptions have a name in common, or neither has any.
fn are_named_alike(a: &Definition, b: &Definition) -> bool {
    let is_of_a = |name: &String| a.names.iter().any(|other| other.eq_ignore_ascii_case(name));
    b.names.iter().any(is_of_a) || (a.names.is_empty() && b.names.is_empty())
}

fn one_of_each_name<T: Description>(list: &[Located<T>]) -> Result<(), BindError> {
    let mut named: FxHashMap<String, &Located<T>> = FxHashMap::default();
    for of in list {
        let definition = of.item.definition();
        for name in &definition.names {
            let before = named.insert(name.to_ascii_lowercase(), of);
            let Some(before) = before.filter(|before| !std::ptr::eq(*before, of)) else { continue };
            let (number, place) = (&before.item.definition().oid, before.place());
            let what =
                format!("the name {name} is that of {number} ({place}): give it a name of its own, or that number");
            return Err(error(of, definition, what));
        }
    }
    Ok(())
}
