//! What slapd's subschema lists of syntaxes and matching rules is known here too, by the same numbers and names.

use duramen_ldap::message::{Deref, Scope};

use crate::World;
use crate::client::Client;
use crate::request::{Operation, Request, Search};

/// The descriptions of an attribute of the subschema subentry.
fn listed(client: &mut Client, attribute: &str) -> Vec<String> {
    let answer = client.ask(&Request::from(Operation::Search(Search {
        base: "cn=Subschema".to_owned(),
        scope: Scope::Base,
        deref: Deref::Never,
        filter: "(objectClass=subschema)".to_owned(),
        attributes: vec![attribute.to_owned()],
        size_limit: 0,
        types_only: false,
    })));
    let values = answer.raw.iter().flat_map(|(_, attributes)| attributes).flat_map(|(_, values)| values);
    let texts: Vec<String> = values.map(|value| String::from_utf8(value.0.clone()).unwrap()).collect();
    assert!(!texts.is_empty(), "{attribute}: {answer:?}");
    texts
}

/// A description's number, and its name if it has one.
fn identity(description: &str) -> (String, Option<String>) {
    let words: Vec<&str> = description.split_whitespace().collect();
    let name = words.iter().position(|word| *word == "NAME").map(|at| words[at + 1].to_owned());
    (words[1].to_owned(), name)
}

#[test]
fn every_syntax_and_rule_that_slapd_lists_is_listed_rfc4512_4_2() {
    let world = World::with(0, String::new(), "none");
    let mut pair = world.administrator();
    for attribute in ["ldapSyntaxes", "matchingRules"] {
        let ours: Vec<_> = listed(&mut pair.ours, attribute).iter().map(|text| identity(text)).collect();
        for theirs in listed(&mut pair.theirs, attribute) {
            assert!(ours.contains(&identity(&theirs)), "{attribute}: {theirs}");
        }
    }
}
