//! What both hold at the beginning.

use duramen_ldap::message::{Deref, Scope};

use crate::controls::Kind;
use crate::request::{Bytes, Operation, Request, Search, Values};
use crate::servers::SUFFIX;

/// Attributes with a value each.
type More = &'static [(&'static str, &'static str)];

/// People, in the order of their numbers: uid, cn, sn, password (the uid, in one scheme each), more.
const PEOPLE: [(&str, &str, &str, &str, More); 9] = [
    (
        "alice",
        "Alice Smith",
        "Smith",
        "{SSHA}mBNGLGuw4bFDzoCiTcKHSRePCBnTfzzJ",
        &[("mail", "alice@example.com"), ("telephoneNumber", "+49 30 1234"), ("employeeType", "boss")],
    ),
    (
        "bob",
        "Bob  Jones",
        "Jones",
        "{SHA}SBgazSKz7a68ikR4aKfffOYpkgo=",
        &[("mail", "bob@example.com"), ("manager", "uid=alice,ou=people,dc=example,dc=com")],
    ),
    (
        "carol",
        "Carol Müller",
        "Müller",
        "{SMD5}tdK0RhmnUifRZgSqDxAXmJDvPrg=",
        &[
            ("givenName", "Carol"),
            ("title", "Engineer"),
            ("description", "likes (parentheses) and *stars*"),
            ("cn;lang-de", "Karoline"),
            ("uniqueIdentifier", "c"),
        ],
    ),
    (
        "dave",
        "dave smith",
        "smith",
        "{MD5}FhCDh0PMkOPk/dp0goLZuA==",
        &[("telephoneNumber", "+493055"), ("l", "Graz"), ("preferredLanguage", "de"), ("l;lang-hu", "Grác")],
    ),
    (
        "erin",
        "Erin O'Neil",
        "O'Neil",
        "{SSHA512}8XoRmM0/Dygj7UsE9OceKsKbUUQjwX4D8kHRyRd+wJNINsdv7eVy21jVSOgayiwUvsRa5v458ohR9IlCNIAKg57O0DJVGGsK",
        &[("seeAlso", "cn=team,ou=groups,dc=example,dc=com"), ("roomNumber", "12 b")],
    ),
    (
        "frank",
        "Frank, the \\Third",
        "Third",
        "{CRYPT}$6$rounds=1000$9pik/czY$Iz721ZleVphCNFhlsfHDfH3ebHPCBuYm6zPLXRjWPghP42tEXujOkOTvdZVtZlC2vv/kzMC61VFXYWJzW/h6.1",
        &[("description", " spaces  inside "), ("x121Address", "12 3")],
    ),
    (
        "grace",
        "Grace Straße",
        "Straße",
        "{PBKDF2-SHA256}10000$a6KIX.L.WMiqST/ZY4u2uA$DPNQiQPk5eg3e95B.IJKI5JyML6jcmiJgNOnIGCzJzY",
        &[("postalAddress", "Street 1$12345 Town"), ("employeeNumber", "7"), ("description;lang-en", "a")],
    ),
    (
        "heidi",
        "Heidi",
        "H",
        "{ARGON2}$argon2i$v=19$m=4096,t=3,p=1$rGoUczuBWoKFkl+Jyi1BQg$m51tKPJa7+/OA6Vn8+lp8OekkFVzRK4+WOZ0X5KoXDs",
        &[("carLicense", "ABC 123"), ("mail", "heidi@example.org"), ("displayName", "Heidi")],
    ),
    ("ivan", "Ivan", "I", "ivan", &[("jpegPhoto", "picture"), ("labeledURI", "http://a/ A"), ("mobile", "+1 2")]),
];

fn values(list: &[(&str, &[&str])]) -> Vec<Values> {
    let bytes = |values: &&[&str]| values.iter().map(|value| Bytes::from(*value)).collect();
    list.iter().map(|(name, values)| (name.to_string(), bytes(values))).collect()
}

fn add(name: String, attributes: Vec<Values>) -> Request {
    Request::from(Operation::Add { name, attributes }).with(Kind::ManageDsaIt.critical())
}

fn people() -> impl Iterator<Item = Request> {
    (0..).zip(PEOPLE).map(|(n, (uid, cn, sn, password, more))| {
        let (number, home) = ((1000 + n).to_string(), format!("/home/{uid}"));
        let classes: &[&str] = match n % 3 {
            0 => &["inetOrgPerson", "posixAccount", "shadowAccount"],
            1 => &["top", "person", "organizationalPerson", "inetOrgPerson"],
            _ => &["inetOrgPerson", "extensibleObject"],
        };
        let mut attributes = values(&[
            ("objectClass", classes),
            ("uid", &[uid]),
            ("cn", &[cn]),
            ("sn", &[sn]),
            ("userPassword", &[password]),
        ]);
        if n % 3 == 0 {
            attributes.extend(values(&[
                ("uidNumber", &[&number]),
                ("gidNumber", &["100"]),
                ("homeDirectory", &[&home]),
            ]));
        }
        // What an inetOrgPerson may not have, it has by extensibleObject.
        let may = |name: &str| name != "uniqueIdentifier" || n % 3 == 2;
        let more = more.iter().filter(|(name, _)| may(name));
        attributes.extend(more.flat_map(|(name, value)| values(&[(*name, &[*value])])));
        add(format!("uid={uid},ou=people,{SUFFIX}"), attributes)
    })
}

/// Requests that add it.
pub fn entries() -> Vec<Request> {
    let mut entries = vec![add(
        SUFFIX.into(),
        values(&[("objectClass", &["dcObject", "organization"]), ("dc", &["example"]), ("o", &["Example"])]),
    )];
    for ou in ["people", "groups", "places"] {
        let attributes = values(&[("objectClass", &["organizationalUnit"]), ("ou", &[ou])]);
        entries.push(add(format!("ou={ou},{SUFFIX}"), attributes));
    }
    entries.extend(people());
    let member = ["uid=alice,ou=people,dc=example,dc=com", "UID=Bob, ou=People,dc=example,dc=com"];
    let list: [(&str, Vec<Values>); 9] = [
        ("cn=team,ou=groups", values(&[("objectClass", &["groupOfNames"]), ("cn", &["team"]), ("member", &member)])),
        (
            "cn=role,ou=groups",
            values(&[
                ("objectClass", &["organizationalRole"]),
                ("cn", &["role", "Rolle"]),
                ("roleOccupant", &member[..1]),
            ]),
        ),
        (
            "cn=unique,ou=groups",
            values(&[
                ("objectClass", &["groupOfUniqueNames"]),
                ("cn", &["unique"]),
                ("uniqueMember", &[member[0], "uid=bob,ou=people,dc=example,dc=com#'01'B"]),
            ]),
        ),
        ("l=Graz,ou=places", values(&[("objectClass", &["locality"]), ("l", &["Graz"])])),
        ("l=Inner\\, City,l=Graz,ou=places", values(&[("objectClass", &["locality"]), ("l", &["Inner, City"])])),
        (
            "cn=link,ou=places",
            values(&[
                ("objectClass", &["alias", "extensibleObject"]),
                ("cn", &["link"]),
                ("aliasedObjectName", &["uid=bob,ou=people,dc=example,dc=com"]),
            ]),
        ),
        (
            "cn=crowd,ou=places",
            values(&[
                ("objectClass", &["alias", "extensibleObject"]),
                ("cn", &["crowd"]),
                ("aliasedObjectName", &["ou=groups,dc=example,dc=com"]),
            ]),
        ),
        (
            "ou=elsewhere,ou=places",
            values(&[
                ("objectClass", &["referral", "extensibleObject"]),
                ("ou", &["elsewhere"]),
                ("ref", &["ldap://elsewhere.example/ou=x,dc=example,dc=com"]),
            ]),
        ),
        (
            "cn=sub,ou=places",
            values(&[
                ("objectClass", &["subentry", "extensibleObject"]),
                ("cn", &["sub"]),
                ("subtreeSpecification", &["{}"]),
            ]),
        ),
    ];
    entries.extend(list.into_iter().map(|(name, attributes)| add(format!("{name},{SUFFIX}"), attributes)));
    entries
}

/// Operational attributes that users set: what an entry with a class that requires them cannot be made again without.
const SET_BY_USERS: [&str; 2] = ["ref", "subtreeSpecification"];

/// Searches that find all attributes that users set of all entries, referrals, aliases and subentries included.
pub fn everything() -> [Request; 2] {
    let search = Request::from(Operation::Search(Search {
        base: SUFFIX.into(),
        scope: Scope::Subtree,
        deref: Deref::Never,
        filter: "(objectClass=*)".into(),
        attributes: std::iter::once("*").chain(SET_BY_USERS).map(str::to_owned).collect(),
        size_limit: 0,
        types_only: false,
    }))
    .with(Kind::ManageDsaIt.critical());
    let subentries = search.clone().with(Kind::Subentries(true).critical());
    [search, subentries]
}
