//! Random access rules, the same for both servers.

use fastrand::Rng;

const WHAT: [&str; 29] = [
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
    "dn.regex=\"^(.+,)?(ou=[^,]+,dc=example,dc=com)$\"",
    "attrs=member val.regex=\"^uid=a\"",
    "attrs=cn val.regex=\"^[a-c][^ ]+ [^ ]+$\"",
    "attrs=mail val.regex=\"@(example).com$\"",
    "attrs=manager,seeAlso",
    "attrs=!inetOrgPerson",
    "attrs=member val.one=\"ou=people,dc=example,dc=com\"",
];

const WHO: [&str; 38] = [
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
    "group/groupOfUniqueNames/uniqueMember=\"cn=unique,ou=groups,dc=example,dc=com\"",
    "peername.ip=127.0.0.0%255.0.0.0",
    "peername.ip=10.0.0.0%255.0.0.0",
    "ssf=1",
    "users ssf=1",
    "self.level{1}",
    "self.level{-1}",
    "dn.one=\"ou=people,dc=example,dc=com\"",
    "dn.exact,expand=\"uid=alice,$2\"",
    "set=\"this/manager & user\"",
    "set=\"this/member & user\"",
    "set=\"[a] | user\"",
    "set=\"[cn=team,ou=groups,dc=example,dc=com]/member* & user\"",
    "set=\"(this | this/seeAlso/member | this/manager*) & user\"",
    "set=\"this/-1 & user/-1\"",
    "set=\"user/-* & [ou=people,dc=example,dc=com] & this/-*\"",
    "set=\"user/mail & ([alice@example.com] | user/uid + [@example.org])\"",
    "set=\"[ldap:///ou=people,dc=example,dc=com??sub?(mail=*)]/entryDN & user\"",
    "set=\"([ldap:///ou=people,dc=example,dc=com?seeAlso?one?(uid=] + user/uid + [)])/manager & this\"",
    "set=\"[ldap:///dc=example,dc=com??sub?(objectClass=groupOfNames)]/member & user & this\"",
    "set=\"[ldap:///dc=example,dc=com??sub?(telephoneNumber=*)]/entryDN & this\"",
    "set=\"[UID=Alice, ou=people,dc=example,dc=com]/entryDN & user\"",
    "set.expand=\"[uid=alice,$2] & user\"",
    "set.expand=\"user/-* & [$2]\"",
];

const LEVEL: [&str; 28] = [
    "none",
    "disclose",
    "auth",
    "compare",
    "search",
    "read",
    "read",
    "read",
    "write",
    "write",
    "write",
    "manage",
    "=rsc",
    "=rscxd",
    "+w",
    "-r",
    "+rs",
    "=w",
    "=a",
    "=z",
    "add",
    "delete",
    "+0",
    "=wrscxd",
    "selfwrite",
    "selfread",
    "selfadd",
    "=s",
];

fn of(rng: &mut Rng, list: &[&'static str]) -> &'static str {
    list[rng.usize(..list.len())]
}

/// Parts of names are referred to where they are of an expression with two: elsewhere it is refused.
fn clause(rng: &mut Rng, what: &str) -> String {
    let control = of(rng, &["", "", "", " stop", " continue", " break"]);
    let who = of(rng, &WHO);
    let who = if who.contains("$2") && !what.contains(")?(") { "users" } else { who };
    format!(" by {who} {}{control}", of(rng, &LEVEL))
}

/// Rules as they stand in both configurations. Every fourth world has plain ones.
pub fn rules(seed: u64) -> String {
    let mut rng = Rng::with_seed(seed ^ 0xACCE55);
    let mut text = "access to attrs=userPassword by self =xw by anonymous auth by * none\n".to_owned();
    if seed % 4 == 1 {
        return text + "access to * by users write by * read\n";
    }
    for _ in 0..rng.u32(1..5) {
        let what = of(&mut rng, &WHAT);
        let clauses: String = (0..rng.u32(1..4)).map(|_| clause(&mut rng, what)).collect();
        text += &format!("access to {what}{clauses}\n");
    }
    text + of(&mut rng, &["", "access to * by users write by * read\n", "access to * by * read\n"])
}
