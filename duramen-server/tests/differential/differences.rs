//! Where duramend is meant to answer otherwise than slapd, and why.

use duramen_ldap::dn::{Dn, Rdn};
use duramen_ldap::message::{Deref, Scope};
use duramen_ldap::oid::control as oid;
use duramen_ldap::url::LdapUrl;

use crate::answer::{Answer, COMPARE_FALSE, COMPARE_TRUE, Entry, SIZE_LIMIT_EXCEEDED, SUCCESS, comparable_name};
use crate::case::{Case, without_sharp_s};
use crate::controls::{Control, Kind};
use crate::details;
use crate::request::{Operation, Search};
use crate::servers::SUFFIX;

/// A difference that is meant.
struct Difference {
    /// The clause, and what it says.
    why: &'static str,
    applies: fn(&Case<'_>) -> bool,
}

/// Errors that can be seen in a request and in who sends it.
const IN_REQUEST: [u32; 13] = [2, 8, 12, 17, 18, 19, 20, 21, 34, 53, 64, 65, 123];

/// The group that access rules name.
const GROUP: &str = "cn=team,ou=groups,dc=example,dc=com";

/// Attributes of which access rules name values.
const WITH_VALUES: [&str; 4] = ["title", "cn", "mail", "member"];

const fn difference(why: &'static str, applies: fn(&Case<'_>) -> bool) -> Difference {
    Difference { why, applies }
}

static DIFFERENCES: [Difference; 84] = [
    difference("RFC 4511 section 4.1.9: of several errors that a request has in itself, one is told", |case| {
        let (theirs, ours) = case.codes();
        let both = IN_REQUEST.contains(&theirs) && IN_REQUEST.contains(&ours) && theirs != ours;
        both && case.parts() > 1 && case.can_be(theirs) && case.can_be(ours)
    }),
    difference(
        "RFC 4511 section 4.1.9: of an entry that is not there (32) and of what is wrong with the request, one is told",
        |case| {
            let (theirs, ours) = case.codes();
            let one = |this, other| IN_REQUEST.contains(&this) && other == 32;
            let has_a_name = case.request.updated().is_some() || case.request.operation.kind() == "compare";
            has_a_name && (one(theirs, ours) || one(ours, theirs))
        },
    ),
    difference("RFC 4511 section 4.5.1.7.6: what ~= matches is a server's own affair", |case| {
        case.filters_have("~=") && (case.search().is_none() || case.theirs.code == case.ours.code)
    }),
    difference(
        "RFC 2891 section 2: that entries cannot be sorted fails a search only if the control is critical (12). \
         Without an ordering rule there is a default order. slapd fails (16, 18)",
        |case| case.said("serverSort control:") && [16, 18].contains(&case.theirs.code),
    ),
    difference(
        "slapd.access(5): rights to search are about whatever tells of values, and an order does. slapd sorts by what may not \
         be searched for",
        |case| {
            case.has(|kind| matches!(kind, Kind::Sort(_))) && case.may_be_bound_by_rules() && case.theirs == case.ours
        },
    ),
    difference(
        "RFC 2891 section 1.2: sorting is about entries; references are given. slapd's overlay loses them",
        |case| {
            let with = Answer { references: case.ours.references.clone(), ..case.theirs.clone() };
            case.has(|kind| matches!(kind, Kind::Sort(_))) && case.theirs.references.is_empty() && with == *case.ours
        },
    ),
    difference(
        "RFC 4511 section 4.5.1.4: as many entries as the limit allows are given, sorted or not. slapd gives none of them, or \
         some that it has not sorted",
        |case| {
            let codes = (SIZE_LIMIT_EXCEEDED, SIZE_LIMIT_EXCEEDED);
            let is_unsorted = case.theirs.entries.is_empty() || case.theirs.sorted.is_none();
            case.has(|kind| matches!(kind, Kind::Sort(_))) && case.codes() == codes && is_unsorted
        },
    ),
    difference(
        "RFC 4511 appendix A.2: a name below which there is no data is that of no object (32). slapd refers to nobody",
        |case| {
            case.said("no global superior knowledge") && (case.ours.code == 32 || IN_REQUEST.contains(&case.ours.code))
        },
    ),
    difference(
        "RFC 4512 section 5.1: the root DSE is read and compared; it is not changed (53), and no user (32)",
        |case| {
            let name = case.request.updated().unwrap_or("x");
            name.is_empty() && ([32, 53].contains(&case.ours.code) || (case.ours.code == 8 && case.may_be_nobody()))
        },
    ),
    difference(
        "RFC 4512 section 5.1: the root DSE need not say which of its classes is structural. slapd's does",
        |case| {
            let is_compared = matches!(&case.request.operation, Operation::Compare { name, .. } if name.is_empty());
            is_compared && case.attribute_is(&["structuralObjectClass"]) && case.ours.code == 16
        },
    ),
    difference("RFC 4512 section 2.6: an alias is nobody, so that it has no password which could be right", |case| {
        let is_asked = matches!(&case.request.operation, Operation::PasswordModify { old: Some(_), .. });
        is_asked && case.codes() == (SUCCESS, 53) && case.may_be_administrator()
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
        |case| {
            ["below", "above"].iter().any(|place| case.said(&format!("cannot place an entry {place} itself")))
                && [32, 68, 50, 8].contains(&case.ours.code)
        },
    ),
    difference(
        "RFC 4511 section 4.1.9, appendix A.2: who may not know of an entry is told that there is none (32). slapd says \
         insufficientAccessRights (50), or that it is there (68)",
        |case| {
            let is_above = |name: &&str| comparable_name(name).ends_with(&case.ours.matched);
            [10, 50, 68, 122].contains(&case.theirs.code) && case.ours.code == 32 && case.names().iter().any(is_above)
        },
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
            let is_other = |name: &String| name.starts_with('@') || ["nothing", "cn;binary"].contains(&name.as_str());
            let has = |list: &[String]| list.iter().any(is_other);
            let listed = |kind: &Kind| matches!(kind, Kind::PreRead(list) | Kind::PostRead(list) if has(list));
            let is_less = |(name, entry): (&String, &Entry)| {
                let other = case.ours.read.get(name);
                other.is_some_and(|other| entry.iter().all(|(name, values)| other.get(name) == Some(values)))
            };
            case.has(listed)
                && (case.theirs.code == 17
                    || (case.codes() == (SUCCESS, SUCCESS) && case.theirs.read.iter().all(is_less)))
        },
    ),
    difference("RFC 3876 section 2: a filter of matched values has no dnAttributes (2)", |case| {
        case.has(|kind| matches!(kind, Kind::MatchedValues(list) if list.iter().any(|item| item.contains(":dn:"))))
            && case.ours.code == 2
    }),
    difference(
        "RFC 4511 section 4.5.1.8: what is asked for and is not known is passed over. slapd refuses a dereference control that \
         has such a type, or follows one whose values are no names (2)",
        |case| {
            let is_other = |(followed, wanted): &(&str, Vec<String>)| {
                ["cn", "nothing"].contains(followed) || wanted.contains(&"nothing".into())
            };
            case.theirs.code == 2
                && case.said("Dereference control:")
                && case.has(|kind| matches!(kind, Kind::Dereference(list) if list.iter().any(is_other)))
        },
    ),
    difference(
        "RFC 4370 section 3: proxied authorization that is not critical is a protocolError. slapd takes it",
        |case| {
            let loose = |control: &Control| matches!(control.kind, Kind::Proxied(_)) && !control.critical;
            case.request.controls.iter().any(loose) && case.ours.code == 2
        },
    ),
    difference(
        "RFC 4370 section 4: who may act for whom is a server's own affair; the administrator may, for everybody. slapd \
         forgets that when the administrator binds again",
        |case| {
            case.has(|kind| matches!(kind, Kind::Proxied(_))) && case.theirs.code == 123 && case.may_be_administrator()
        },
    ),
    difference(
        "RFC 4512 sections 3.4 and 4.2: operational attributes are compared as others are. slapd makes exceptions",
        |case| case.attribute_is(&["subschemaSubentry", "entryDN", "hasSubordinates"]),
    ),
    difference("RFC 4512 section 4.2: every entry has subschemaSubentry. slapd does not find it by a filter", |case| {
        case.filters_have("subschemaSubentry")
    }),
    difference(
        "RFC 4511 section 4.5.1.7.7: without a rule, an extensible match is one for equality. slapd looks only at what is \
         stored, and there finds no entry by its entryUUID",
        |case| {
            let items = ["(hasSubordinates:", "(entryUUID:", "(kUuid:", "(KUUID:", "(kUuid;", "UUIDMatch:="];
            items.iter().any(|item| case.filters_have(item)) && (case.ours_is_truer() || case.ours_shows_more())
        },
    ),
    difference("RFC 4512 section 2.1: a new entry has no subordinates. slapd does not know yet", |case| {
        matches!(case.request.operation, Operation::Add { .. })
            && case.filters_have("(hasSubordinates")
            && [(122, SUCCESS), (SUCCESS, 122)].contains(&case.codes())
    }),
    difference(
        "RFC 4517 section 4.2.26: a class is equal to itself only; structuralObjectClass is no list of all above",
        |case| {
            let is_compared = case.attribute_is(&["structuralObjectClass"]);
            (details::asks_for_superior_class(case) && case.theirs_is_truer())
                || (is_compared && case.codes() == (COMPARE_TRUE, COMPARE_FALSE))
        },
    ),
    difference(
        "RFC 4512 section 3.3: classes have the rule objectIdentifierMatch. slapd calls it undefined of them",
        |case| {
            let of = ["bjectClass", "bjectClass:dn", "(", "(:dn"].map(|what| format!("{what}:objectIdentifierMatch:="));
            of.iter().any(|item| case.filters_have(item))
        },
    ),
    difference(
        "RFC 4514 section 2.4: a number sign behind a backslash is the name's. slapd takes what follows for a bit string, and \
         then what stands before it for no name",
        |case| {
            let text = format!("{}", case.request).replace(r"\\", r"\");
            let is_written = [r"a\#'1'B", r"a\5c#'1'B", r"a\5c\23\271\27B"].iter().any(|name| text.contains(name));
            let is_refused = [21, 34].contains(&case.theirs.code);
            is_written && (is_refused || case.ours_is_truer() || case.ours_shows_more())
        },
    ),
    difference("RFC 4514 section 2.4: a value may be written in hexadecimal digits. slapd refuses it", |case| {
        case.theirs.code == 34 && format!("{}", case.request).contains("=#04036e6577")
    }),
    difference(
        "draft-zeilenga-ldap-relax: the administrator may break rules of the schema. slapd keeps to some",
        |case| {
            case.has(|kind| matches!(kind, Kind::Relax))
                && [(65, SUCCESS), (65, 32), (65, 33)].contains(&case.codes())
                && case.may_be_administrator()
        },
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
        "RFC 4518 section 2.6.1: a space at the end of a piece is one that the value has. slapd leaves it out in IA5 strings",
        |case| {
            let is_truer = case.theirs_is_truer() || case.ours_is_truer();
            has_edges(case, "kascii") && (is_truer || case.theirs_shows_more() || case.ours_shows_more())
        },
    ),
    difference(
        "RFC 4517 section 4.2.13: parts match lines as they match strings, each with a space at both its ends. slapd has them where \
         there are some",
        |case| has_edges(case, "kpostal") && (case.theirs_is_truer() || case.ours_is_truer()),
    ),
    difference(
        "Microsoft's rules for bits are about each value. slapd looks no further than one that is too long for a machine word",
        |case| ["4.803:=", "4.804:="].iter().any(|rule| case.filters_have(rule)) && case.ours_is_truer(),
    ),
    difference("RFC 4517 section 3.3.16: integers are of any size. slapd increments those of a machine word", |case| {
        (case.said("modify/increment: invalid syntax of original value") && case.ours.is_done())
            || case.ours.text.contains("the number becomes too great")
    }),
    difference(
        "RFC 4511 section 4.5.1.7.1: a value of a kind of the asserted type is compared by that type's rule, whatever its own is. \
         slapd takes the kind's own",
        |case| {
            let names = ["fTop", "fHead", "FTOP", "1.3.6.1.4.1.99999.9.1"];
            let is_asked = names.iter().any(|name| case.filters_have(&format!("({name}")));
            (is_asked && (case.ours_is_truer() || case.ours_shows_more()))
                || (case.attribute_is(&names) && case.codes() == (COMPARE_FALSE, COMPARE_TRUE))
        },
    ),
    difference(
        "RFC 4512 sections 4.1.1 and 4.1.2: what is OBSOLETE is for its administrators to take out of entries. slapd takes it in \
         none, and lets nobody take values away",
        |case| (case.said("is OBSOLETE") || case.said("attribute is obsolete")) && case.request.updated().is_some(),
    ),
    difference(
        "RFC 4525 section 1: an attribute that is not there cannot be incremented (16). slapd lets it pass",
        |case| {
            case.has(|kind| matches!(kind, Kind::Permissive))
                // What the change makes of the entry's name, slapd comes to then.
                && [(SUCCESS, 16), (64, 16)].contains(&case.codes())
                && format!("{}", case.request).contains("Increment")
        },
    ),
    difference(
        "RFC 3296 section 3: with ManageDsaIT, a referral object is an entry like others, so there can be some below",
        |case| {
            let as_others = [SUCCESS, 32].contains(&case.ours.code) || case.can_be(case.ours.code);
            case.has(|kind| matches!(kind, Kind::ManageDsaIt)) && case.theirs.code == 10 && as_others
        },
    ),
    difference("RFC 4518 section 2.2: the German sharp s is two letters s. slapd does not fold it", |case| {
        let codes = [(COMPARE_FALSE, COMPARE_TRUE), (SUCCESS, 20), (16, SUCCESS)];
        let is_more = case.search().is_some() && (case.ours_is_truer() || case.ours_shows_more());
        case.is_about_sharp_s() && (codes.contains(&case.codes()) || is_more)
    }),
    difference(
        "RFC 4518 section 2.2: a value with a sharp s is there already, so permissive modify does not add it. slapd does",
        |case| {
            let folded = |answer: &Answer| {
                let mut answer = answer.clone();
                let values = answer.entries.values_mut().flat_map(|entry| entry.values_mut());
                values.for_each(|values| *values = std::mem::take(values).into_iter().map(without_sharp_s).collect());
                answer
            };
            case.search().is_some() && case.theirs != case.ours && folded(case.theirs) == folded(case.ours)
        },
    ),
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
    difference(
        "RFC 3876 section 2: what is no list of filters is a protocolError (2). slapd says so in words only, or not at all",
        |case| {
            let is_none = |kind: &Kind| matches!(kind, Kind::Nonsense(oid::MATCHED_VALUES));
            case.ours.code == 2 && (case.said("error decoding vrFilter") || case.has(is_none))
        },
    ),
    difference("the test's own: after a difference that was meant, others have made entries the same again", |case| {
        let is_filtered = ["(creatorsName", "(modifiersName"].iter().any(|item| case.filters_have(item));
        let compared = [(COMPARE_TRUE, COMPARE_FALSE), (COMPARE_FALSE, COMPARE_TRUE)].contains(&case.codes());
        let is_compared = compared && case.attribute_is(&["creatorsName", "modifiersName"]);
        // What is said of more entries may be said of more than the limit.
        let limited = [(SUCCESS, SIZE_LIMIT_EXCEEDED), (SIZE_LIMIT_EXCEEDED, SUCCESS)].contains(&case.codes());
        case.mended && (is_compared || (is_filtered && (limited || case.found_in_common())))
    }),
    difference(
        "RFC 4511 appendix A.2: an attribute type that is not known is undefined (17). slapd takes it for one once it has \
         heard of it (16), or says so in words only",
        |case| {
            let words = ["attribute type undefined", "not supported with type", "with options undefined"];
            case.attribute_is(&["nothing", "title;binary", "modifyTimestamp;lang-de"])
                && case.ours.code == 17
                && (case.theirs.code == 16 || words.iter().any(|words| case.said(words)))
        },
    ),
    difference(
        "slapd.access(5): rights to search are about the attribute that has the value. slapd asks for those of the type in \
         the filter, which may be above it",
        |case| case.filters_have("(name") && case.may_be_bound_by_rules() && case.ours_is_truer(),
    ),
    difference(
        "slapd.access(5): rights to search are about the attribute that has the value. In an extensible match slapd asks \
         only for those of the type in the filter",
        |case| case.filters_have("(name:") && case.may_be_bound_by_rules() && case.theirs_is_truer(),
    ),
    difference(
        "slapd.access(5): rights to search are about the value, where a rule names one. slapd asks for those of the type alone \
         if a part of a value is asserted",
        |case| {
            let is_part = |(name, pattern): &(&str, &str)| {
                (*name == "name" || WITH_VALUES.contains(name)) && pattern.contains('*')
            };
            case.items().iter().any(is_part) && case.may_be_bound_by_rules() && case.theirs_is_truer()
        },
    ),
    difference(
        "slapd.access(5): rights to compare are about the attribute that has the value. slapd ends at the first kind of a type \
         that may not be compared",
        |case| case.attribute_is(&["name"]) && case.may_be_bound_by_rules() && case.codes() == (50, COMPARE_TRUE),
    ),
    difference(
        "RFC 4511 section 4.5.1.7.7: by an ordering rule what is less matches. Of values (RFC 3876) slapd shows what is equal",
        |case| {
            let is_ordering = |item: &String| item.contains("OrderingMatch:=");
            case.has(|kind| matches!(kind, Kind::MatchedValues(list) if list.iter().any(is_ordering)))
                && case.theirs.entries.keys().eq(case.ours.entries.keys())
                && Answer { entries: case.ours.entries.clone(), ..case.theirs.clone() } == *case.ours
        },
    ),
    difference(
        "RFC 4511 section 4.5.1.7: an item about nothing that may be searched is undefined. slapd says false if it names a rule \
         and no type",
        |case| case.filters_have("(:") && case.may_be_bound_by_rules() && case.theirs_is_truer(),
    ),
    difference(
        "RFC 4511 section 4.5.1.6: types without values are those that would come with values. slapd gives one whose values \
         may not be read, too",
        |case| {
            let without = |answer: &Answer| answer.clone().without(&WITH_VALUES);
            let is_part = |(name, ours): (&String, &Entry)| {
                case.theirs.entries.get(name).is_some_and(|theirs| ours.keys().all(|kind| theirs.contains_key(kind)))
            };
            case.search().is_some_and(|search| search.types_only)
                && case.may_be_bound_by_rules()
                && case.ours.entries.iter().all(is_part)
                && without(case.theirs) == without(case.ours)
        },
    ),
    difference(
        "RFC 4511 section 4.5.1.4: the limit is one of entries that are given. slapd counts one that may not be read, too, or, \
         where it follows aliases, one that it does not give without a limit either",
        |case| {
            let limit = case.search().map_or(0, |search| search.size_limit as usize);
            limit > 0
                && (case.may_be_bound_by_rules() || case.search().is_some_and(follows_aliases))
                && case.codes() == (SIZE_LIMIT_EXCEEDED, SUCCESS)
                && case.ours.entries.len() == limit
                && case.theirs.entries == case.ours.entries
        },
    ),
    difference(
        "RFC 4518 section 2.6.3: of hyphens and spaces in a telephone number nothing is left, which is part of every one. slapd \
         finds none",
        |case| {
            let is_blank = |piece: &str| !piece.is_empty() && piece.chars().all(|c| "- ".contains(c));
            let is_about = |(name, pattern): (&str, &str)| {
                ["telephoneNumber", "mobile", "kTelephone", "KTELEPHONE", "kFaxNumber", "KFAXNUMBER"].contains(&name)
                    && pattern.contains('*')
                    && pattern.split('*').any(is_blank)
            };
            case.items().into_iter().any(is_about) && (case.ours_is_truer() || case.ours_shows_more())
        },
    ),
    difference("RFC 4518 section 2.6.1: every value begins and ends with a space, as far as substrings go", |case| {
        let is_at_edge = |piece: &str| piece.starts_with(' ') || piece.ends_with(' ');
        let items = case.items();
        items.iter().any(|(_, pattern)| pattern.contains('*') && pattern.split('*').any(is_at_edge))
            && (case.ours_is_truer() || case.ours_shows_more())
    }),
    difference(
        "RFC 4511 section 4.1.9: a referral is told before what its server would say of the new name. slapd judges its \
         naming attributes first",
        |case| case.theirs.code == 64 && case.said("is operational") && [10, 33].contains(&case.ours.code),
    ),
    difference(
        "slapd.access(5): modrdn needs leave to write the values of the new name. slapd's code does not ask for it",
        |case| {
            let is_rename = matches!(case.request.operation, Operation::ModifyDn { .. });
            let refused = case.ours.text.contains("let you change attribute") || case.ours.code == 32;
            is_rename && case.may_be_bound_by_rules() && refused && [SUCCESS, 65].contains(&case.theirs.code)
        },
    ),
    difference(
        "RFC 3296 section 5.2: the referral object's name is replaced by the URL's, however it was spelt. slapd compares \
         spellings, and keeps it if they differ",
        |case| {
            let same = Answer { referrals: case.ours.referrals.clone(), ..case.theirs.clone() };
            let name = case.names().first().map(|name| comparable_name(name));
            let named = |url: &String| LdapUrl::parse(url).map(|url| comparable_name(&url.dn)).ok();
            let is_kept = |url: &String| name.is_some() && named(url) == name;
            case.codes() == (10, 10) && same == *case.ours && case.theirs.referrals.iter().all(is_kept)
        },
    ),
    difference(
        "RFC 4511 section 4.9: an entry that keeps its RDN loses no value. slapd asks for leave to delete it",
        |case| {
            let Operation::ModifyDn { name, rdn, delete_old: true, .. } = &case.request.operation else { return false };
            let name = comparable_name(name);
            let is_kept = name.strip_prefix(&comparable_name(rdn)).is_some_and(|rest| rest.starts_with(','));
            is_kept && case.codes() == (50, SUCCESS)
        },
    ),
    difference(
        "RFC 3062 section 2: the user need not be a name; one that nobody knows belongs to no entry (32)",
        |case| {
            let is_no_name = case.names().iter().any(|name| Dn::parse(name).is_err());
            // That an empty password is none, slapd sees before it; nobody's old password is right.
            let is_told = [(21, 32), (21, 53)].contains(&case.codes())
                || (case.codes() == (53, 32) && case.said("password value is empty"));
            matches!(case.request.operation, Operation::PasswordModify { .. }) && is_no_name && is_told
        },
    ),
    difference("RFC 3062 section 2: whose entry may not be known of is told that there is none (32)", |case| {
        matches!(case.request.operation, Operation::PasswordModify { .. })
            && case.said("referral missing")
            && case.ours.code == 32
    }),
    difference("RFC 4511 section 4.1.10: a referral says where to go (10). slapd has forgotten that (53)", |case| {
        matches!(case.request.operation, Operation::PasswordModify { .. })
            && case.said("referral missing")
            && case.ours.code == 10
            && !case.ours.referrals.is_empty()
    }),
    difference("RFC 4527 section 3: what may not be read is left out. slapd fails by halves (1)", |case| {
        // What else is wrong with the request, slapd comes to later.
        case.has(|kind| matches!(kind, Kind::PreRead(_) | Kind::PostRead(_)))
            && [(1, SUCCESS), (1, 66)].contains(&case.codes())
    }),
    difference("RFC 3672 section 2: a subentry has none below it. slapd lets entries be moved there", |case| {
        matches!(case.request.operation, Operation::ModifyDn { .. }) && case.codes() == (SUCCESS, 65)
    }),
    difference(
        "permissive modify is about values that are there or not. slapd refuses values of classes all the same",
        |case| case.has(|kind| matches!(kind, Kind::Permissive)) && case.codes() == (16, SUCCESS),
    ),
    difference("RFC 4511 section 4.5.1.7.7: a rule is used with attributes that it is about, in names too", |case| {
        case.filters_have(":dn:") && case.theirs_is_truer()
    }),
    difference(
        "RFC 4511 section 4.9: the superior is no place for it (10, 32, 34, 71), whichever of these is said",
        |case| {
            let bad = [10, 32, 34, 53, 71];
            matches!(case.request.operation, Operation::ModifyDn { superior: Some(_), .. })
                && bad.contains(&case.theirs.code)
                && (bad.contains(&case.ours.code)
                    || [50, 122].iter().any(|code| case.ours.code == *code && case.can_be(*code)))
        },
    ),
    difference(
        "RFC 4511 section 4.1.9: of several errors of a change, one is told: rights, assertion, values, classes, place",
        |case| {
            let one = [10, 16, 18, 19, 20, 21, 33, 34, 50, 64, 65, 66, 67, 68, 69, 122];
            let (theirs, ours) = case.codes();
            let both = one.contains(&theirs) && one.contains(&ours) && theirs != ours;
            both && case.request.updated().is_some() && case.parts() > 1 && case.can_be(theirs) && case.can_be(ours)
        },
    ),
    difference(
        "RFC 4511 section 4.5.1.3: aliases in scope are followed below the base too. slapd does not, if the base itself is \
                not in scope",
        |case| {
            let below = |search: &Search| follows_aliases(search) && search.scope == Scope::Subordinates;
            // Which entries are given up to a limit is each server's own affair.
            let is_limited = case.codes() == (SUCCESS, SIZE_LIMIT_EXCEEDED);
            let is_more = || {
                case.theirs.code == case.ours.code
                    && case.theirs.entries.iter().all(|(name, entry)| case.ours.entries.get(name) == Some(entry))
            };
            case.search().is_some_and(below) && (is_limited || is_more())
        },
    ),
    difference(
        "RFC 4511 section 4.5.1.3: a search of one level is applied to what aliases lead to, and not to what is below that. \
         slapd does so too, but not in pages, and not always without",
        |case| {
            let is_one_below = |name: &String, base: &str| {
                comparable_name(name).strip_suffix(&format!(",{}", comparable_name(base))).is_some_and(is_rdn)
            };
            let more = || case.theirs.entries.keys().filter(|name| !case.ours.entries.contains_key(*name));
            let is_about = |search: &Search| {
                follows_aliases(search)
                    && search.scope == Scope::One
                    && !more().any(|name| is_one_below(name, &search.base))
            };
            let refers_to_more =
                || case.agrees_about_entries() && case.ours.references.is_subset(&case.theirs.references);
            case.search().is_some_and(is_about)
                && (case.found_in_common() || refers_to_more())
                && case.ours.entries.keys().all(|name| case.theirs.entries.contains_key(name))
        },
    ),
    difference(
        "slapd.access(5): who may rename an entry is told by the rules for it as it is. slapd asks for leave to change its values \
         when it has its new name already, which other rules are about",
        |case| {
            let Operation::ModifyDn { name, rdn, superior, .. } = &case.request.operation else { return false };
            let renamed = Dn::parse(name).ok().and_then(|old| {
                let superior = superior.as_deref().map(Dn::parse).transpose().ok()?;
                old.renamed(Rdn::parse(rdn).ok()?, superior)
            });
            let is_seen_otherwise = renamed.is_some_and(|new| rules_about(name) != rules_about(&new));
            is_seen_otherwise && case.may_be_bound_by_rules() && [(50, SUCCESS), (SUCCESS, 50)].contains(&case.codes())
        },
    ),
    difference("docs/access.md: a rename within the parent, named as the new one, takes leave to add there", |case| {
        let Operation::ModifyDn { name, superior: Some(above), .. } = &case.request.operation else { return false };
        let is_below = comparable_name(name).ends_with(&comparable_name(above));
        is_below && case.may_be_bound_by_rules() && case.codes() == (SUCCESS, 50)
    }),
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
    difference(
        "RFC 4511 section 4.1.9: of an assertion that fails (122) and a type that nobody knows (17), one is told",
        |case| case.can_be(122) && case.request.operation.kind() == "compare" && case.codes() == (122, 17),
    ),
    difference("tree delete is an extension (draft-armijo-ldap-treedelete) that slapd lacks (12, 66)", |case| {
        case.has(|kind| matches!(kind, Kind::TreeDelete)) && [12, 66].contains(&case.theirs.code)
    }),
];

/// Whether parts with spaces at their ends are asked for, of types whose names begin so.
fn has_edges(case: &Case<'_>, start: &str) -> bool {
    let is_at_edge = |piece: &str| piece.starts_with(' ') || piece.ends_with(' ');
    let is_about = |(name, pattern): &(&str, &str)| {
        name.to_ascii_lowercase().starts_with(start) && pattern.split('*').any(is_at_edge)
    };
    case.items().iter().any(is_about)
}

fn is_rdn(name: &str) -> bool {
    Rdn::parse(name).is_ok()
}

/// Which of the names and places that access rules are about are an entry's, or below it.
fn rules_about(name: &str) -> [bool; 5] {
    let name = comparable_name(name);
    let people = format!(",ou=people,{SUFFIX}");
    let within = name.strip_suffix(&people);
    let is_one_below = within.is_some_and(is_rdn);
    let is_user = is_one_below && name.starts_with("uid=");
    [GROUP.ends_with(&name), within == Some("uid=alice"), within.is_some(), is_one_below, is_user]
}

/// Whether aliases below the base are followed.
fn follows_aliases(search: &Search) -> bool {
    matches!(search.deref, Deref::InSearching | Deref::Always)
}

/// Whether two answers are meant to differ so: the reason.
pub fn intended(case: &Case<'_>) -> Option<&'static str> {
    let rule = |case: &Case<'_>| DIFFERENCES.iter().find(|difference| (difference.applies)(case));
    if let Some(difference) = rule(case) {
        return Some(difference.why);
    }
    let (mut theirs, mut why) = (case.theirs.clone(), None);
    for detail in &details::DETAILS {
        let before = theirs.clone();
        (detail.settle)(case, &mut theirs);
        if theirs != before {
            why = Some(detail.why);
        }
    }
    let is_settled = theirs == *case.ours || rule(&Case { theirs: &theirs, ..*case }).is_some();
    why.filter(|_| is_settled)
}
