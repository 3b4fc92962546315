//! Writes a sample directory as LDIF: the same bytes for the same arguments.
//!
//! ```sh
//! cargo run -p duramen-server --example sample_directory -- 10000 200 > sample.ldif
//! ```

use std::io::{self, BufWriter, Write};

const SUFFIX: &str = "dc=example,dc=com";

const GIVEN: [&str; 32] = [
    "Barbara", "Bjorn", "Carla", "Chidi", "Dara", "Emeka", "Fatima", "Finn", "Greta", "Hana", "Ines", "Ivan", "Jin",
    "Jonas", "Kofi", "Lara", "Leila", "Marco", "Mina", "Nadia", "Nils", "Olga", "Omar", "Priya", "Rosa", "Sven",
    "Tariq", "Uma", "Vera", "Wanda", "Yusuf", "Zoe",
];
const FAMILY: [&str; 40] = [
    "Abe", "Adeyemi", "Andersen", "Baker", "Berg", "Castro", "Chen", "Costa", "Dubois", "Eriksson", "Fischer",
    "Garcia", "Haddad", "Hansen", "Ito", "Jensen", "Kaya", "Keller", "Kim", "Kowalski", "Larsen", "Lopez", "Martin",
    "Meyer", "Moreau", "Müller", "Nakamura", "Nguyen", "Novak", "Okafor", "Patel", "Petrov", "Rossi", "Santos",
    "Schmidt", "Silva", "Smith", "Tanaka", "Weber", "Yilmaz",
];
const UNITS: [&str; 8] =
    ["Accounting", "Engineering", "Human Resources", "Legal", "Marketing", "Operations", "Research", "Support"];
const TOWNS: [(&str, &str); 6] = [
    ("Oslo", "+47 22"),
    ("Lagos", "+234 1"),
    ("Kyoto", "+81 75"),
    ("Porto", "+351 22"),
    ("Quito", "+593 2"),
    ("Vienna", "+43 1"),
];

/// A small generator of numbers that look random (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

fn main() -> io::Result<()> {
    let mut counts = std::env::args().skip(1).map(|count| count.parse().expect("how many people, how many groups"));
    let (people, groups) = (counts.next().unwrap_or(10_000), counts.next().unwrap_or(200));
    let mut out = BufWriter::new(io::stdout().lock());
    let mut numbers = Numbers(1);
    top(&mut out)?;
    for number in 0..people {
        person(&mut out, &mut numbers, number, people)?;
    }
    for number in 0..groups {
        group(&mut out, &mut numbers, number, people)?;
    }
    out.flush()
}

fn top(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "version: 1\n")?;
    writeln!(out, "dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example, Inc.\n")?;
    for unit in ["people", "groups"] {
        writeln!(out, "dn: ou={unit},{SUFFIX}\nobjectClass: organizationalUnit\nou: {unit}\n")?;
    }
    Ok(())
}

fn uid(number: usize) -> String {
    format!("user{number:05}")
}

fn person(out: &mut impl Write, numbers: &mut Numbers, number: usize, people: usize) -> io::Result<()> {
    let (given, family) = (*numbers.pick(&GIVEN), *numbers.pick(&FAMILY));
    let (unit, &(town, prefix)) = (*numbers.pick(&UNITS), numbers.pick(&TOWNS));
    let (uid, phone) = (uid(number), numbers.below(1_000_000));
    writeln!(out, "dn: uid={uid},ou=people,{SUFFIX}")?;
    for class in ["inetOrgPerson", "posixAccount"] {
        writeln!(out, "objectClass: {class}")?;
    }
    text(out, "cn", &format!("{given} {family}"))?;
    text(out, "sn", family)?;
    writeln!(out, "givenName: {given}\nuid: {uid}\nmail: {uid}@example.com")?;
    writeln!(out, "uidNumber: {}\ngidNumber: 100\nhomeDirectory: /home/{uid}", 10_000 + number)?;
    writeln!(out, "employeeNumber: {number}\nou: {unit}\nl: {town}\ntelephoneNumber: {prefix} {phone:06}")?;
    if number > 0 {
        writeln!(out, "manager: uid={},ou=people,{SUFFIX}", self::uid(numbers.below(number.min(people))))?;
    }
    writeln!(out, "userPassword: secret-{number}\n")
}

/// Text that is not ASCII goes into LDIF as base64.
fn text(out: &mut impl Write, attribute: &str, value: &str) -> io::Result<()> {
    let mut line = Vec::new();
    duramen_ldap::ldif::write_pair(&mut line, attribute, value.as_bytes());
    out.write_all(&line)
}

fn group(out: &mut impl Write, numbers: &mut Numbers, number: usize, people: usize) -> io::Result<()> {
    writeln!(out, "dn: cn=group{number:03},ou=groups,{SUFFIX}\nobjectClass: groupOfNames\ncn: group{number:03}")?;
    let mut members = vec![false; people];
    for _ in 0..=numbers.below(100) {
        members[numbers.below(people)] = true;
    }
    for (member, _) in members.iter().enumerate().filter(|(_, is_in)| **is_in) {
        writeln!(out, "member: uid={},ou=people,{SUFFIX}", uid(member))?;
    }
    writeln!(out)
}
