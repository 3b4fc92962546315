//! Changes at random, for what follows them.

use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::oid::control as oid;

use crate::sample::{BASE, Sample, control};

/// A change at random; most of those that cannot be are passed over.
pub fn change(sample: &Sample, random: &mut fastrand::Rng) {
    let names: Vec<String> = sample.found("(objectClass=*)");
    let known = |random: &mut fastrand::Rng| names[random.usize(..names.len())].clone();
    let (name, other) = (known(random), known(random));
    let rdn = format!("ou={}", ["a", "b", "c", "d"][random.usize(..4)]);
    let value = random.u16(..).to_string();
    let _ = match random.u8(..12) {
        0..=2 => {
            let unit: &[(&str, Vec<&[u8]>)] =
                &[("objectClass", vec![b"organizationalUnit"]), ("ou", vec![&rdn.as_bytes()[3..]])];
            sample.add(&format!("{rdn},{name}"), unit)
        }
        3 => sample.modify(&name, &[(Replace, "description", &[&value])]),
        4 => {
            // As many as stand outside of entries, and fewer.
            let count = [0, 10, 300, 310][random.usize(..4)];
            let values: Vec<String> = (0..count).map(|n| format!("{}{n}", random.u8(..2) * 7)).collect();
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            sample.modify(&name, &[(Replace, "seeAlso", &values)])
        }
        _ if name == BASE => return,
        5 => sample.delete(&name, &[]),
        6 if random.u8(..3) == 0 => sample.delete(&name, &[control(oid::TREE_DELETE)]),
        6..=8 => sample.rename(&name, &rdn, true, None),
        _ => sample.rename(&name, &rdn, true, Some(&other)),
    };
}
