//! The people and groups that both servers hold: the same for the same number, on every machine.

use std::io::{self, Write};

pub const SUFFIX: &str = "dc=example,dc=com";
pub const PEOPLE: &str = "ou=people,dc=example,dc=com";
pub const GROUPS: &str = "ou=groups,dc=example,dc=com";
pub const ADMINISTRATOR: &str = "cn=admin,dc=example,dc=com";
pub const PASSWORD: &str = "secret";
/// OpenLDAP's `slappasswd` made it of "secret". Everybody has it.
pub const STORED: &str = "{SSHA}dzt5vACMzqkoTEQ/tdLnMbbmebFxgLnX";
/// The group whose members are many, and how many at most.
pub const EVERYONE: &str = "cn=everyone,ou=groups,dc=example,dc=com";
pub const EVERYONE_MEMBERS_MAX: u64 = 100_000;
/// Numbers of Unix's users begin here.
pub const FIRST_UID_NUMBER: u64 = 10_000;
const GROUP_MEMBERS: u64 = 1_000;

const FIRST: [&str; 16] = [
    "Ada", "Boris", "Clara", "Dmitri", "Elena", "Farid", "Greta", "Hiro", "Ines", "Jonas", "Keiko", "Lars", "Maria",
    "Nadia", "Oskar", "Priya",
];
const SYLLABLES: [&str; 32] = [
    "ba", "ber", "bo", "cas", "co", "da", "del", "den", "er", "fal", "gar", "go", "han", "in", "ja", "kel", "la",
    "ler", "ma", "mon", "na", "nor", "pe", "ra", "rin", "sa", "son", "ta", "ten", "ul", "vi", "wen",
];
const TOWNS: [&str; 8] = ["Aarhus", "Bremen", "Cork", "Dijon", "Espoo", "Faro", "Graz", "Hasselt"];

/// Numbers that look random, always the same for the same `n`.
pub fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Somebody's name. Each surname is that of about one person in 30,000.
pub fn first_name(n: u64) -> &'static str {
    FIRST[(mix(n) % 16) as usize]
}

pub fn surname(n: u64) -> String {
    let bits = mix(n) >> 8;
    let mut name: String = (0..3).map(|at| SYLLABLES[(bits >> (5 * at)) as usize & 31]).collect();
    name[..1].make_ascii_uppercase();
    name
}

pub fn uid(n: u64) -> String {
    format!("user{n}")
}

pub fn person(n: u64) -> String {
    format!("uid=user{n},{PEOPLE}")
}

/// Somebody as LDIF, without a line end behind.
pub fn person_ldif(n: u64) -> String {
    let (first, last, town) = (first_name(n), surname(n), TOWNS[(mix(n ^ 0x55) % 8) as usize]);
    let chance = mix(n ^ 0xABCD);
    format!(
        "dn: {}\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\nuid: user{n}\ncn: {first} {last} {n}\nsn: {last}\n\
         givenName: {first}\ndisplayName: {first} {last}\nmail: user{n}@example.com\nmail: {first}.{last}.{n}@mail.example.com\n\
         telephoneNumber: +49 30 {}\nmobile: +49 170 {}\nemployeeNumber: {n}\nemployeeType: {}\ndepartmentNumber: {}\n\
         title: Engineer of grade {}\nl: {town}\npostalCode: {}\npostalAddress: {first} {last}$Main Street {}${town}\n\
         uidNumber: {}\ngidNumber: {}\nhomeDirectory: /home/user{n}\nloginShell: /bin/bash\n\
         description: {first} {last} of {town} with number {n}{}\nuserPassword: {STORED}\n",
        person(n),
        10_000_000 + chance % 90_000_000,
        1_000_000 + (chance >> 32) % 9_000_000,
        ["staff", "guest", "student"][(chance % 3) as usize],
        chance % 200,
        chance % 9,
        10_000 + chance % 90_000,
        chance % 400,
        FIRST_UID_NUMBER + n,
        5_000 + chance % 500,
        ", who likes long walks by the sea".repeat((chance % 5) as usize),
    )
}

/// Writes everything.
pub fn write_ldif(people: u64, out: &mut impl Write) -> io::Result<()> {
    write!(out, "dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n")?;
    for ou in ["people", "groups"] {
        write!(out, "dn: ou={ou},{SUFFIX}\nobjectClass: organizationalUnit\nou: {ou}\n\n")?;
    }
    for n in 0..people {
        writeln!(out, "{}", person_ldif(n))?;
    }
    for group in 0..people.div_ceil(GROUP_MEMBERS) {
        let members = (group * GROUP_MEMBERS..people).take(1 + (mix(group) % GROUP_MEMBERS) as usize);
        write_group(&format!("group{group}"), members, out)?;
    }
    write_group("everyone", 0..people.min(EVERYONE_MEMBERS_MAX), out)
}

fn write_group(name: &str, members: impl Iterator<Item = u64>, out: &mut impl Write) -> io::Result<()> {
    write!(out, "dn: cn={name},{GROUPS}\nobjectClass: groupOfNames\ncn: {name}\n")?;
    for member in members {
        writeln!(out, "member: {}", person(member))?;
    }
    writeln!(out)
}
