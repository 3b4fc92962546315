//! What random requests are made of.

use crate::request::Bytes;

/// Attributes, and values of them: equal ones that look different, and wrong ones. Behind a `\u{1}` stand hex digits.
pub const VALUES: [(&str, &[&str]); 52] = [
    (
        "cn",
        &[
            "Alice Smith",
            "alice  smith",
            "ALICE SMITH",
            "Bob Jones",
            "x",
            "Carol Müller",
            "role",
            "Frank, the \\Third",
            "new",
        ],
    ),
    ("sn", &["Smith", "SMITH", "Jones", "Straße", "STRASSE", "H", "x", ""]),
    ("givenName", &["Carol", "carol ", "Eve", " Eve"]),
    ("uid", &["alice", "ALICE", "bob", "zoe", "carol"]),
    ("mail", &["alice@example.com", "ALICE@EXAMPLE.COM", "heidi@example.org", "é@x"]),
    ("telephoneNumber", &["+49 30 1234", "+49301234", "+493055", "+49-30-55", "?"]),
    ("uidNumber", &["1000", "1002", "-5", "01000", "abc", "4294967297", "-0"]),
    ("gidNumber", &["100", "0", "1 "]),
    ("homeDirectory", &["/home/alice", "/HOME/ALICE", "/home/x"]),
    ("employeeType", &["boss", "Boss", "clerk"]),
    ("description", &["likes (parentheses) and *stars*", "spaces inside", "a", "ä", "likes", " spaces  inside "]),
    ("title", &["Engineer", "engineer"]),
    ("l", &["Graz", "graz", "Wien"]),
    ("manager", &["uid=alice,ou=people,dc=example,dc=com", "UID=Alice, ou=People, dc=example,dc=com", "not a name"]),
    ("member", &["uid=alice,ou=people,dc=example,dc=com", "uid=bob,ou=people,dc=example,dc=com", "uid=zoe", "no name"]),
    ("seeAlso", &["cn=team,ou=groups,dc=example,dc=com", "cn=nobody", ""]),
    (
        "objectClass",
        &["inetOrgPerson", "person", "posixAccount", "groupOfNames", "extensibleObject", "2.5.6.6", "nothing", "top"],
    ),
    ("ou", &["people", "sales"]),
    ("postalAddress", &["Street 1$12345 Town", "street 1$12345  town", "one line"]),
    ("nothing", &["x"]),
    ("cn;lang-de", &["Alice Schmidt", "x"]),
    ("description;lang-en", &["spaces inside", "a"]),
    ("description;lang-en;x-more", &["a"]),
    ("name", &["Alice Smith", "Smith"]),
    ("2.5.4.4", &["smith"]),
    ("surname", &["Smith"]),
    ("jpegPhoto", &["\u{1}ffd8ff00", "\u{1}ffd8ff01", "plain"]),
    ("userPassword", &["new", "secret", "{SSHA}nonsense"]),
    ("labeledURI", &["http://a/ A", "HTTP://a/ A"]),
    ("x121Address", &["123 45", "12345", "12a"]),
    ("facsimileTelephoneNumber", &["+49 30 1", "+49 30 1$fineResolution"]),
    ("preferredDeliveryMethod", &["telephone", "mhs $ ia5", "TELEX", "pigeon"]),
    ("uniqueMember", &["uid=alice,ou=people,dc=example,dc=com", "UID=ALICE,ou=people,dc=example,dc=com#'01'B", "x"]),
    ("mobile", &["+1 2", "+12"]),
    ("displayName", &["Alice", "ALICE", "Bob"]),
    ("employeeNumber", &["7", "007"]),
    ("departmentNumber", &["1", "one"]),
    ("gecos", &["Alice", "alice", "é"]),
    ("loginShell", &["/bin/sh", "/BIN/SH"]),
    ("shadowLastChange", &["12345", "0"]),
    ("owner", &["cn=role,ou=groups,dc=example,dc=com", "dc=com"]),
    ("c", &["AT", "at", "AUT"]),
    ("o", &["Example", "EXAMPLE"]),
    ("internationaliSDNNumber", &["1 2", "12"]),
    ("destinationIndicator", &["abc", "ABC", "a_c"]),
    ("secretary", &["uid=bob,ou=people,dc=example,dc=com", "cn=Bob\\2c x"]),
    ("preferredLanguage", &["de", "DE", "en"]),
    ("title;binary", &["Engineer"]),
    ("modifyTimestamp;lang-de", &["20260102030405Z"]),
    ("objectClass;lang-de", &["posixAccount", "nothing"]),
    ("userPassword;lang-de", &["new"]),
    ("audio", &["\u{1}00ff", "x"]),
];

/// An attribute, and right values of it.
pub type Right = (&'static str, &'static [&'static str]);

/// What people may have.
pub const OF_PEOPLE: [Right; 12] = [
    ("givenName", &["Carol", "carol ", "Eve"]),
    ("mail", &["alice@example.com", "ALICE@EXAMPLE.COM", "heidi@example.org"]),
    ("telephoneNumber", &["+49 30 1234", "+49301234", "+49-30-55"]),
    ("employeeType", &["boss", "Boss", "clerk"]),
    ("description", &["likes (parentheses) and *stars*", "spaces inside", "a", "ä"]),
    ("title", &["Engineer", "engineer"]),
    ("l", &["Graz", "graz", "Wien"]),
    ("manager", &["uid=alice,ou=people,dc=example,dc=com", "UID=Alice, ou=People, dc=example,dc=com"]),
    ("cn;lang-de", &["Alice Schmidt", "x"]),
    ("jpegPhoto", &["plain", "other"]),
    ("displayName", &["Alice", "ALICE", "Bob"]),
    ("employeeNumber", &["7", "007"]),
];

/// What persons and units may have.
const OF_OTHERS: [Right; 2] = [("description", &["a"]), ("telephoneNumber", &["+1 2"])];

/// What places may have, and by the content rule of the test's own schema must not.
const OF_PLACES: [Right; 5] = [
    ("description", &["a", "b  c"]),
    ("st", &["Styria"]),
    ("seeAlso", &["cn=team,ou=groups,dc=example,dc=com"]),
    ("mail", &["graz@example.com"]),
    ("street", &["Street 1"]),
];

/// An entry as it should be.
pub struct Fitting {
    pub class: &'static str,
    /// The attribute of its name.
    pub naming: &'static str,
    /// What the class requires besides.
    pub must: &'static [(&'static str, &'static str)],
    pub may: &'static [Right],
}

pub const FITTING: [Fitting; 6] = [
    Fitting { class: "inetOrgPerson", naming: "uid", must: &[("cn", "New One"), ("sn", "One")], may: &OF_PEOPLE },
    Fitting { class: "inetOrgPerson", naming: "cn", must: &[("sn", "Straight")], may: &OF_PEOPLE },
    Fitting { class: "person", naming: "cn", must: &[("sn", "Plain")], may: &OF_OTHERS },
    Fitting { class: "organizationalUnit", naming: "ou", must: &[], may: &OF_OTHERS },
    Fitting { class: "locality", naming: "l", must: &[], may: &OF_PLACES },
    Fitting {
        class: "groupOfNames",
        naming: "cn",
        must: &[("member", "uid=alice,ou=people,dc=example,dc=com")],
        may: &[("description", &["a"])],
    },
];

/// Attributes that only filters, selections and comparisons name, with values.
pub const ASKED: [(&str, &[&str]); 14] = [
    ("aliasedObjectName", &["uid=bob,ou=people,dc=example,dc=com", "ou=groups, dc=example,dc=com", "x"]),
    ("modifyTimestamp", &["20200101000000Z", "9999123123Z", "20200101000000"]),
    ("supportedControl", &["1.2.3", "x"]),
    ("roleOccupant", &["uid=alice,ou=people,dc=example,dc=com"]),
    ("l;lang-hu", &["Grác", "GRÁC", "graz"]),
    ("structuralObjectClass", &["inetOrgPerson", "person", "2.5.6.7"]),
    ("entryDN", &["uid=alice,ou=people,dc=example,dc=com", "UID=BOB, ou=people,dc=example,dc=com", "x"]),
    ("creatorsName", &["cn=admin,dc=example,dc=com", "cn=x"]),
    ("modifiersName", &["cn=admin,dc=example,dc=com"]),
    ("hasSubordinates", &["TRUE", "FALSE", "true"]),
    ("subschemaSubentry", &["cn=Subschema", "cn=x"]),
    ("createTimestamp", &["20200101000000Z", "99991231235959Z", "x"]),
    ("entryUUID", &["597ae2f6-16a6-1027-98f4-d28b5365dc14", "x"]),
    ("ref", &["ldap://elsewhere.example/dc=x"]),
];

pub const RDNS: [&str; 26] = [
    "uid=zoe",
    "uid=alice",
    "givenName=Eve+sn=Stone+cn=Eve",
    "o=\\E6\\97\\A5\\E6\\9C\\AC",
    "CN=e\\CC\\81",
    "displayName=Alice\\2C \\22A\\22",
    "cn=new",
    "cn=Alice Smith",
    "uid=zoe+cn=Zoe",
    "cn=Zoe + uid=zoe",
    "ou=sales",
    "l=Wien",
    "uid=",
    "nothing=x",
    "zoe",
    "cn=a\\,b",
    "UID=Carol",
    "2.5.4.3=new",
    "cn=Caf\\C3\\A9",
    "cn=\\20x\\20",
    "cn=#04036e6577",
    "cn=x\\+y\\=z",
    "telephoneNumber=\\+49 30 55",
    "cn=Zoe+cn=Zoe",
    "uid=zoe+uid=yve",
    "entryUUID=597ae2f6-16a6-1027-98f4-d28b5365dc14",
];

pub const CLASSES: [&str; 14] = [
    "inetOrgPerson",
    "inetOrgPerson",
    "inetOrgPerson",
    "organizationalUnit",
    "locality",
    "person",
    "groupOfNames",
    "nothing",
    "posixAccount",
    "organizationalRole",
    "alias",
    "referral",
    "top",
    "country",
];

pub const SELECTIONS: [&[&str]; 35] = [
    &["CN;LANG-DE", "cn"],
    &["cn;lang-de;lang-en"],
    &["name;lang-de"],
    &["+", "cn"],
    &["*", "1.1"],
    &["cn", "CN", "2.5.4.3"],
    &["cn;binary", "mail"],
    &["objectClass;lang-de"],
    &["@top"],
    &["@alias", "@2.5.6.6"],
    &["@"],
    &["l;lang-hu;lang-de", "l;lang-hu"],
    &["cn;x-", "description;lang-"],
    &[],
    &[],
    &["*"],
    &["1.1"],
    &["1.1", "cn"],
    &["cn"],
    &["name"],
    &["CN", "2.5.4.4"],
    &["@person"],
    &["@posixAccount", "@nothing"],
    &["sn", "nothing", "mail"],
    &["*", "cn"],
    &["structuralObjectClass"],
    &["cn;lang-de"],
    &["cn;lang-"],
    &["description;lang-en"],
    &["+"],
    &["*", "+"],
    &["entryDN", "hasSubordinates", "subschemaSubentry"],
    &["creatorsName", "modifiersName", "createTimestamp"],
    &["objectClass"],
    &["userPassword", "jpegPhoto"],
];

/// Rules for extensible matches.
pub const RULES: [&str; 28] = [
    "caseExactMatch",
    "caseIgnoreMatch",
    "2.5.13.5",
    "caseExactIA5Match",
    "integerMatch",
    "distinguishedNameMatch",
    "dnSubtreeMatch",
    "dnOneLevelMatch",
    "dnSubordinateMatch",
    "dnSuperiorMatch",
    "caseIgnoreOrderingMatch",
    "integerOrderingMatch",
    "caseIgnoreSubstringsMatch",
    "1.2.840.113556.1.4.803",
    "1.2.840.113556.1.4.804",
    "octetStringMatch",
    "telephoneNumberMatch",
    "numericStringMatch",
    "caseIgnoreListMatch",
    "objectIdentifierMatch",
    "uniqueMemberMatch",
    "booleanMatch",
    "UUIDMatch",
    "generalizedTimeMatch",
    "generalizedTimeOrderingMatch",
    "certificateExactMatch",
    "caseExactSubstringsMatch",
    "noSuchMatch",
];

/// Attributes to sort by.
pub const KEYS: [&str; 16] = [
    "gidNumber",
    "homeDirectory",
    "employeeNumber",
    "manager",
    "postalAddress",
    "structuralObjectClass",
    "uid",
    "cn",
    "sn",
    "uidNumber",
    "mail",
    "objectClass",
    "jpegPhoto",
    "nothing",
    "telephoneNumber",
    "description",
];

pub const PASSWORDS: [&str; 8] = ["alice", "bob", "carol", "dave", "secret", "new", "wrong", ""];

/// The bytes that a word stands for.
pub fn bytes(word: &str) -> Bytes {
    match word.strip_prefix('\u{1}') {
        Some(digits) => {
            let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            Bytes((0..digits.len()).step_by(2).map(byte).collect())
        }
        None => word.into(),
    }
}

/// A value as it stands in a filter.
pub fn escape(value: &[u8]) -> String {
    let mut text = String::new();
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            if "()*\\\0".contains(c) { text += &format!("\\{:02x}", c as u32) } else { text.push(c) }
        }
        chunk.invalid().iter().for_each(|byte| text += &format!("\\{byte:02x}"));
    }
    text
}
