//! Where duramend is meant to answer otherwise than slapd, and why.

use duramen_ldap::message::{Deref, Scope};

use crate::answer::{Answer, SUCCESS, comparable_name};
use crate::controls::Kind;
use crate::request::{Operation, Request, Search};
use crate::servers::SUFFIX;

/// What was asked, and both answers.
pub struct Case<'a> {
    pub request: &'a Request,
    pub theirs: &'a Answer,
    pub ours: &'a Answer,
}

impl Case<'_> {
    fn codes(&self) -> (u32, u32) {
        (self.theirs.code, self.ours.code)
    }

    fn said(&self, words: &str) -> bool {
        self.theirs.text.contains(words)
    }

    fn search(&self) -> Option<&Search> {
        match &self.request.operation {
            Operation::Search(search) => Some(search),
            _ => None,
        }
    }

    /// Whether the filter of a search, or one in a control, has some words.
    fn filters_have(&self, words: &str) -> bool {
        let has = |kind: &Kind| match kind {
            Kind::Assertion(filter) => filter.contains(words),
            Kind::MatchedValues(filters) => filters.iter().any(|filter| filter.contains(words)),
            _ => false,
        };
        self.search().is_some_and(|search| search.filter.contains(words)) || self.has(has)
    }

    fn has(&self, wanted: impl Fn(&Kind) -> bool) -> bool {
        self.request.controls.iter().any(|control| wanted(&control.kind))
    }

    fn attribute_is(&self, names: &[&str]) -> bool {
        matches!(&self.request.operation, Operation::Compare { attribute, .. } if names.contains(&attribute.as_str()))
    }

    /// Parts of the request that can be wrong each by itself.
    fn parts(&self) -> usize {
        let parts = match &self.request.operation {
            Operation::Add { attributes, .. } => 1 + attributes.len(),
            Operation::Modify { changes, .. } => 1 + changes.len(),
            Operation::ModifyDn { superior, .. } => 2 + usize::from(superior.is_some()),
            Operation::Compare { .. } => 2,
            _ => 1,
        };
        parts + self.request.controls.len()
    }
}

/// A difference that is meant.
struct Difference {
    /// The clause, and what it says.
    why: &'static str,
    applies: fn(&Case<'_>) -> bool,
}

/// Errors that can be seen in a request and in who sends it.
const IN_REQUEST: [u32; 13] = [2, 8, 12, 17, 18, 19, 20, 21, 34, 53, 64, 65, 123];

const fn difference(why: &'static str, applies: fn(&Case<'_>) -> bool) -> Difference {
    Difference { why, applies }
}

static DIFFERENCES: [Difference; 44] = [
    difference("RFC 4511 section 4.1.9: of several errors that a request has in itself, one is told", |case| {
        let (theirs, ours) = case.codes();
        case.parts() > 1 && IN_REQUEST.contains(&theirs) && IN_REQUEST.contains(&ours) && theirs != ours
    }),
    difference("RFC 4511 section 4.5.1.7.6: what ~= matches is a server's own affair", |case| {
        case.filters_have("~=") && (case.search().is_none() || case.theirs.code == case.ours.code)
    }),
    difference(
        "RFC 4511 section 4.5.1.3: an entry that aliases lead to again is given once. slapd gives it again",
        |case| {
            let once = Answer { twice: Default::default(), ..case.theirs.clone() };
            case.ours.twice.is_empty() && !case.theirs.twice.is_empty() && once == *case.ours
        },
    ),
    difference(
        "RFC 2891 section 2: that entries cannot be sorted fails a search only if the control is critical (12). \
         Without an ordering rule there is a default order. slapd fails (16, 18)",
        |case| case.said("serverSort control:") && [16, 18].contains(&case.theirs.code),
    ),
    difference(
        "RFC 2891 section 1.2: sorting is about entries; references are given. slapd's overlay loses them",
        |case| {
            let with = Answer { references: case.ours.references.clone(), ..case.theirs.clone() };
            case.has(|kind| matches!(kind, Kind::Sort(_))) && case.theirs.references.is_empty() && with == *case.ours
        },
    ),
    difference(
        "RFC 4511 appendix A.2: a name below which there is no data is that of no object (32). slapd refers to nobody",
        |case| {
            case.said("no global superior knowledge") && (case.ours.code == 32 || IN_REQUEST.contains(&case.ours.code))
        },
    ),
    difference("RFC 4512 section 5.1: the root DSE is read by a search; for all else it is no entry (32)", |case| {
        let name = match &case.request.operation {
            Operation::Compare { name, .. } => name,
            _ => case.request.updated().unwrap_or("x"),
        };
        name.is_empty() && case.ours.code == 32
    }),
    difference(
        "RFC 4511 section 4.6: what the entry is named by is not removed (67). slapd says that the name lacks it (64)",
        |case| case.codes() == (64, 67),
    ),
    difference(
        "RFC 4511 section 4.9: a suffix is not renamed here (53). slapd sees a move to another server (71)",
        |case| matches!(case.request.operation, Operation::ModifyDn { .. }) && case.codes() == (71, 53),
    ),
    difference(
        "RFC 4511 section 4.1.9: that an entry would be above or below itself (53) is told after that the superior is not \
         there (32) or the name is taken (68)",
        |case| case.said("cannot place an entry below itself") && [32, 68, 50, 8].contains(&case.ours.code),
    ),
    difference(
        "RFC 4511 section 4.1.9, appendix A.2: who may not know of an entry is told that there is none (32). slapd says \
         insufficientAccessRights (50)",
        |case| [10, 50, 122].contains(&case.theirs.code) && case.ours.code == 32 && case.ours.matched.is_empty(),
    ),
    difference("RFC 4511 section 4.1.9: matchedDN names nothing that is not to be known of", |case| {
        let same = Answer { matched: case.ours.matched.clone(), ..case.theirs.clone() };
        case.theirs.code == 32 && case.theirs.matched.ends_with(&case.ours.matched) && same == *case.ours
    }),
    difference("RFC 4511 section 4.1.9: matchedDN is told of every name. slapd does not, of some", |case| {
        let same = Answer { matched: case.ours.matched.clone(), ..case.theirs.clone() };
        case.theirs.code == 32 && case.theirs.matched.is_empty() && same == *case.ours
    }),
    difference("RFC 4512 section 2.5: which options are known is a server's own affair", |case| {
        case.said("unrecognized option")
            || case.filters_have("x-more")
            || (case.theirs.code == 17 && case.attribute_is(&["description;lang-en;x-more"]))
    }),
    difference(
        "RFC 4527 section 3: attributes are listed as in a search: @CLASS too, and unknown ones are left out",
        |case| {
            let has = |list: &[String]| list.iter().any(|name| name.starts_with('@') || name == "nothing");
            let listed = |kind: &Kind| matches!(kind, Kind::PreRead(list) | Kind::PostRead(list) if has(list));
            case.has(listed) && case.theirs.code == 17
        },
    ),
    difference("RFC 3876 section 2: a filter of matched values has no dnAttributes (2)", |case| {
        case.has(|kind| matches!(kind, Kind::MatchedValues(list) if list.iter().any(|item| item.contains(":dn:"))))
            && case.ours.code == 2
    }),
    difference(
        "RFC 3876 section 2: attributes without values that match are left out. slapd keeps those that it makes",
        |case| {
            let made = ["entrydn", "hassubordinates", "subschemasubentry"];
            let without = |answer: &Answer| answer.clone().without(&made);
            case.has(|kind| matches!(kind, Kind::MatchedValues(_))) && without(case.theirs) == without(case.ours)
        },
    ),
    difference(
        "RFC 4370 section 3: proxied authorization that is not critical is a protocolError. slapd takes it",
        |case| {
            let loose =
                |control: &crate::controls::Control| matches!(control.kind, Kind::Proxied(_)) && !control.critical;
            case.request.controls.iter().any(loose) && case.ours.code == 2
        },
    ),
    difference(
        "RFC 4512 sections 3.4 and 4.2: operational attributes are compared as others are. slapd makes exceptions",
        |case| case.attribute_is(&["subschemaSubentry", "entryDN", "hasSubordinates", "structuralObjectClass"]),
    ),
    difference("RFC 4512 section 4.2: every entry has subschemaSubentry. slapd does not find it by a filter", |case| {
        case.filters_have("subschemaSubentry")
    }),
    difference(
        "RFC 4517 section 4.2.26: a class is equal to itself only; structuralObjectClass is no list of all above",
        |case| case.filters_have("structuralObjectClass"),
    ),
    difference("RFC 4514 section 2.4: a value may be written in hexadecimal digits. slapd refuses it", |case| {
        case.theirs.code == 34 && format!("{}", case.request).contains("=#04036e6577")
    }),
    difference(
        "draft-zeilenga-ldap-relax: the administrator may break rules of the schema. slapd keeps to some",
        |case| case.has(|kind| matches!(kind, Kind::Relax)) && case.theirs.code == 65,
    ),
    difference(
        "RFC 4511 section 4.7: attributes of a new entry are a list. slapd refuses one that is in it twice",
        |case| {
            matches!(case.request.operation, Operation::Add { .. })
                && case.said("provided more than once")
                && case.theirs.code == 20
        },
    ),
    difference(
        "RFC 4525 section 1: an attribute that is not there cannot be incremented (16). slapd lets it pass",
        |case| {
            case.has(|kind| matches!(kind, Kind::Permissive))
                && case.codes() == (SUCCESS, 16)
                && format!("{}", case.request).contains("Increment")
        },
    ),
    difference(
        "RFC 3296 section 3: with ManageDsaIT, a referral object is an entry like others, so there can be some below",
        |case| case.has(|kind| matches!(kind, Kind::ManageDsaIt)) && [(10, SUCCESS), (10, 32)].contains(&case.codes()),
    ),
    difference("RFC 4518 section 2.2: the German sharp s is two letters s. slapd does not fold it", |case| {
        ["STRASSE", "Straße", "straße", "strasse"].iter().any(|word| format!("{}", case.request).contains(word))
            && case.theirs.code == case.ours.code
    }),
    difference(
        "RFC 4511 section 4.8: a suffix is deleted by whoever may delete it. slapd wants leave of the root DSE",
        |case| {
            let Operation::Delete { name } = &case.request.operation else { return false };
            comparable_name(name) == SUFFIX && case.theirs.code == 50
        },
    ),
    difference(
        "RFC 3062 section 2: the old password is verified as in a bind. slapd asks who changes it for leave",
        |case| case.said("unwilling to verify old password"),
    ),
    difference("slapd's own fault: what it says is about an earlier request", |case| {
        case.theirs.code == 2 && case.said("error decoding filter")
    }),
    difference("RFC 4527 section 3: what may not be read is left out. slapd fails by halves (1)", |case| {
        case.has(|kind| matches!(kind, Kind::PreRead(_) | Kind::PostRead(_))) && case.codes() == (1, SUCCESS)
    }),
    difference("RFC 3672 section 2: a subentry has none below it. slapd lets entries be moved there", |case| {
        matches!(case.request.operation, Operation::ModifyDn { .. }) && case.codes() == (SUCCESS, 65)
    }),
    difference(
        "permissive modify is about values that are there or not. slapd refuses values of classes all the same",
        |case| case.has(|kind| matches!(kind, Kind::Permissive)) && case.codes() == (16, SUCCESS),
    ),
    difference("RFC 4511 section 4.5.1.7.7: a rule is used with attributes that it is about, in names too", |case| {
        case.filters_have(":dn:") && case.theirs.code == case.ours.code
    }),
    difference(
        "RFC 4511 section 4.9: the superior is no place for it (10, 32, 34, 71), whichever of these is said",
        |case| {
            let bad = [10, 32, 34, 53, 71];
            matches!(case.request.operation, Operation::ModifyDn { superior: Some(_), .. })
                && bad.contains(&case.theirs.code)
                && (bad.contains(&case.ours.code) || case.ours.code == 122)
        },
    ),
    difference(
        "RFC 4511 section 4.1.9: of several errors of a change, one is told: rights, assertion, values, classes",
        |case| {
            let one = [10, 16, 18, 19, 20, 21, 50, 65, 66, 67, 69, 122];
            case.request.updated().is_some()
                && case.parts() > 2
                && one.contains(&case.theirs.code)
                && one.contains(&case.ours.code)
        },
    ),
    difference(
        "RFC 4511 section 4.5.1.3: aliases in scope are followed below the base too. slapd does not, if the base itself is \
                not in scope",
        |case| {
            let follows = |search: &Search| matches!(search.deref, Deref::InSearching | Deref::Always);
            let below = case.search().is_some_and(|search| follows(search) && search.scope == Scope::Subordinates);
            below
                && case.theirs.code == case.ours.code
                && case.theirs.entries.iter().all(|(name, entry)| case.ours.entries.get(name) == Some(entry))
        },
    ),
    difference("RFC 4511 section 4.1.9: an entry that is not there has no parent to ask for leave (32)", |case| {
        case.said("no write access to parent's children") && case.ours.code == 32
    }),
    difference(
        "RFC 4527 section 3.1: what may not be read is left out of an update. slapd leaves out the update, and says success",
        |case| {
            case.has(|kind| matches!(kind, Kind::PreRead(_) | Kind::PostRead(_)))
                && case.theirs.is_done()
                && case.theirs.read.is_empty()
        },
    ),
    difference("RFC 2891 section 2: rights to search and to read are those of a search that is not sorted", |case| {
        case.has(|kind| matches!(kind, Kind::Sort(_))) && case.codes() == (50, SUCCESS)
    }),
    difference(
        "RFC 4511 section 4.1.10: a referral is told to whoever may know of the entry. slapd wants leave to search",
        |case| case.codes() == (50, 10),
    ),
    difference(
        "RFC 4511 appendix A.2: an alias that leads nowhere is an aliasProblem (33), if it may be known of",
        |case| case.said("aliasedObject not found") && case.codes() == (32, 33),
    ),
    difference(
        "RFC 4528 section 3: the assertion comes before all else. slapd asks for rights to compare first",
        |case| case.has(|kind| matches!(kind, Kind::Assertion(_))) && [(50, 122), (32, 122)].contains(&case.codes()),
    ),
    difference("tree delete is an extension (draft-armijo-ldap-treedelete) that slapd lacks (12, 66)", |case| {
        case.has(|kind| matches!(kind, Kind::TreeDelete)) && [12, 66].contains(&case.theirs.code)
    }),
];

/// Whether two answers are meant to differ so: the reason.
pub fn intended(case: &Case<'_>) -> Option<&'static str> {
    let mut known = DIFFERENCES.iter();
    known.find(|difference| (difference.applies)(case)).map(|difference| difference.why)
}
