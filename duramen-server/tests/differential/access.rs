//! Random access rules, the same for both servers.

use fastrand::Rng;

const WHAT: [&str; 22] = [
    "*",
    "dn.subtree=\"ou=people,dc=example,dc=com\"",
    "dn.one=\"ou=people,dc=example,dc=com\"",
    "dn.children=\"dc=example,dc=com\"",
    "dn.exact=\"uid=alice,ou=people,dc=example,dc=com\"",
    "dn.base=\"dc=example,dc=com\"",
    "dn.regex=\"^uid=([^,]+),ou=people,dc=example,dc=com$\"",
    "filter=(objectClass=person)",
    "filter=(!(objectClass=inetOrgPerson))",
    "attrs=cn,sn",
    "attrs=cn",
    "attrs=name",
    "attrs=entry",
    "attrs=children",
    "attrs=entry,children",
    "attrs=mail,telephoneNumber",
    "attrs=member",
    "attrs=description",
    "attrs=objectClass",
    "attrs=@posixAccount",
    "attrs=title val=\"Engineer\"",
    "dn.subtree=\"ou=people,dc=example,dc=com\" filter=(uidNumber=1000) attrs=uid,cn,description",
];

const WHO: [&str; 14] = [
    "*",
    "*",
    "anonymous",
    "users",
    "users",
    "self",
    "self",
    "dn.exact=\"uid=alice,ou=people,dc=example,dc=com\"",
    "dn.exact=\"uid=bob,ou=people,dc=example,dc=com\"",
    "dn.subtree=\"ou=people,dc=example,dc=com\"",
    "dn.regex=\"^uid=[a-b].*,dc=com$\"",
    "dnattr=manager",
    "dnattr=member",
    "group.exact=\"cn=team,ou=groups,dc=example,dc=com\"",
];

const LEVEL: [&str; 24] = [
    "none", "disclose", "auth", "compare", "search", "read", "read", "read", "write", "write", "write", "manage",
    "=rsc", "=rscxd", "+w", "-r", "+rs", "=w", "=a", "=z", "add", "delete", "+0", "=wrscxd",
];

fn of(rng: &mut Rng, list: &[&'static str]) -> &'static str {
    list[rng.usize(..list.len())]
}

fn clause(rng: &mut Rng) -> String {
    let control = of(rng, &["", "", "", " stop", " continue", " break"]);
    format!(" by {} {}{control}", of(rng, &WHO), of(rng, &LEVEL))
}

/// Rules as they stand in both configurations. Every fourth world has plain ones.
pub fn rules(seed: u64) -> String {
    let mut rng = Rng::with_seed(seed ^ 0xACCE55);
    let mut text = "access to attrs=userPassword by self =xw by anonymous auth by * none\n".to_owned();
    if seed % 4 == 1 {
        return text + "access to * by users write by * read\n";
    }
    for _ in 0..rng.u32(1..5) {
        let clauses: String = (0..rng.u32(1..4)).map(|_| clause(&mut rng)).collect();
        text += &format!("access to {}{clauses}\n", of(&mut rng, &WHAT));
    }
    text + of(&mut rng, &["", "access to * by users write by * read\n", "access to * by * read\n"])
}
