"""A full life cycle with python-ldap: URL, root certificate, administrator, password."""
import sys

import ldap
import ldap.modlist
import ldap.schema
from ldap.controls import SimplePagedResultsControl
from ldap.controls.readentry import PostReadControl
from ldap.controls.sss import SSSRequestControl

url, root, administrator, password = sys.argv[1:]
base = "dc=example,dc=com"
person = f"uid=bjensen,{base}"

connection = ldap.initialize(url)
connection.set_option(ldap.OPT_X_TLS_CACERTFILE, root)
connection.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
connection.start_tls_s()
connection.simple_bind_s(administrator, password)
assert connection.whoami_s() == f"dn:{administrator}"

# Schema discovery.
dse = connection.read_rootdse_s(attrlist=["*", "+"])
assert dse["namingContexts"] == [base.encode()], dse
schema = ldap.schema.SubSchema(connection.read_subschemasubentry_s(connection.search_subschemasubentry_s()))
assert schema.get_obj(ldap.schema.ObjectClass, "inetOrgPerson").sup == ("organizationalPerson",)
assert schema.get_obj(ldap.schema.AttributeType, "uidNumber").single_value
assert schema.get_inheritedattr(ldap.schema.AttributeType, "cn", "syntax") == "1.3.6.1.4.1.1466.115.121.1.15"

def added(name, **attributes):
    values = {of: [v.encode() for v in value] for of, value in attributes.items()}
    connection.add_s(name, ldap.modlist.addModlist(values))

added(base, objectClass=["dcObject", "organization"], dc=["example"], o=["Example"])
added(person, objectClass=["inetOrgPerson"], uid=["bjensen"], cn=["Babs"], sn=["Jensen"])
for n in range(25):
    added(f"uid=u{n},{base}", objectClass=["inetOrgPerson"], uid=[f"u{n}"], cn=["Müller"], sn=["M"])

assert connection.search_s(base, ldap.SCOPE_SUBTREE, "(sn=jensen)", ["cn"]) == [(person, {"cn": [b"Babs"]})]

page, found = SimplePagedResultsControl(True, size=10, cookie=""), []
while True:
    request = connection.search_ext(base, ldap.SCOPE_SUBTREE, "(cn=müller)", ["uid"], serverctrls=[page])
    _, entries, _, controls = connection.result3(request)
    found += entries
    page.cookie = controls[0].cookie
    if not page.cookie:
        break
assert len({name for name, _ in found}) == 25
request = connection.search_ext(base, ldap.SCOPE_SUBTREE, "(uid=u2*)", ["uid"], serverctrls=[SSSRequestControl(True, ["-uid"])])
entries = connection.result3(request)[1]
assert [entry["uid"] for _, entry in entries] == [[f"u{n}".encode()] for n in (24, 23, 22, 21, 20, 2)], entries

request = connection.modify_ext(person, [(ldap.MOD_REPLACE, "cn", b"Barbara")], serverctrls=[PostReadControl(True, ["cn"])])
controls = connection.result3(request)[3]
assert controls[0].entry == {"cn": [b"Barbara"]}, controls[0].entry
assert connection.compare_s(person, "cn", b"barbara")
assert not connection.compare_s(person, "cn", b"babs")
connection.passwd_s(person, None, "first")
generated = connection.passwd_s(person, "first", None, extract_newpw=True)[1].genPasswd
other = ldap.initialize(url)
other.simple_bind_s(person, generated.decode())
try:
    other.simple_bind_s(person, "first")
    raise SystemExit("a wrong password was taken")
except ldap.INVALID_CREDENTIALS:
    pass
for unknown in (f"uid=absent,{base}", "dc=elsewhere"):
    try:
        connection.delete_s(unknown)
        raise SystemExit("what is not there was deleted")
    except (ldap.NO_SUCH_OBJECT, ldap.UNWILLING_TO_PERFORM):
        pass

connection.rename_s(person, "uid=babs", delold=1)
assert connection.search_s(base, ldap.SCOPE_SUBTREE, "(uid=babs)", ["uid"])[0][1] == {"uid": [b"babs"]}
connection.delete_s(f"uid=babs,{base}")
assert connection.search_s(base, ldap.SCOPE_SUBTREE, "(uid=babs)") == []
connection.unbind_s()
