"""A full life cycle with ldap3: URL, root certificate, administrator, password."""
import ssl
import sys

import ldap3
from ldap3.core.exceptions import LDAPBindError

url, root, administrator, password = sys.argv[1:]
base = "dc=example,dc=com"
person = f"uid=bjensen,{base}"

tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=root)
server = ldap3.Server(url, get_info=ldap3.ALL, tls=tls)
connection = ldap3.Connection(server, administrator, password, auto_bind=ldap3.AUTO_BIND_TLS_BEFORE_BIND, raise_exceptions=True)

# Schema discovery.
assert server.info.naming_contexts == [base], server.info.naming_contexts
assert "1.2.840.113556.1.4.319" in [control[0] for control in server.info.supported_controls]
assert server.schema.object_classes["inetOrgPerson"].superior == ["organizationalPerson"]
assert server.schema.attribute_types["uidNumber"].single_value
assert connection.extend.standard.who_am_i() == f"dn:{administrator}"

connection.add(base, ["dcObject", "organization"], {"dc": "example", "o": "Example"})
connection.add(person, "inetOrgPerson", {"uid": "bjensen", "cn": "Babs", "sn": "Jensen", "jpegPhoto": b"\xff\x00\xfe"})
for n in range(25):
    connection.add(f"uid=u{n},{base}", "inetOrgPerson", {"uid": f"u{n}", "cn": "Müller", "sn": "M"})

connection.search(base, "(&(sn=jensen)(uid=*))", attributes=["cn", "jpegPhoto", "+"])
entry = connection.entries[0]
assert entry.entry_dn == person and entry.cn.value == "Babs" and entry.jpegPhoto.value == b"\xff\x00\xfe", entry
assert entry.entryUUID.value and entry.createTimestamp.value.tzinfo, entry
pages = connection.extend.standard.paged_search(base, "(cn=müller)", attributes=["uid"], paged_size=10, generator=False)
assert len({page["dn"] for page in pages}) == 25

connection.modify(person, {"cn": [(ldap3.MODIFY_REPLACE, ["Barbara"])], "mail": [(ldap3.MODIFY_ADD, ["b@example.com"])]})
assert connection.compare(person, "cn", "barbara")
assert not connection.compare(person, "cn", "babs")
connection.extend.standard.modify_password(person, new_password="first")
ldap3.Connection(server, person, "first", auto_bind=ldap3.AUTO_BIND_TLS_BEFORE_BIND, raise_exceptions=True).unbind()
try:
    ldap3.Connection(server, person, "wrong", auto_bind=ldap3.AUTO_BIND_TLS_BEFORE_BIND)
    raise SystemExit("a wrong password was taken")
except LDAPBindError:
    pass
generated = connection.extend.standard.modify_password(person)
plain = ldap3.Connection(server, authentication=ldap3.SASL, sasl_mechanism=ldap3.PLAIN, sasl_credentials=(None, "bjensen", generated))
assert plain.start_tls() and plain.bind(), plain.result

connection.modify_dn(person, "uid=babs", delete_old_dn=True)
connection.search(base, "(uid=babs)", attributes=["uid"])
assert connection.entries[0].uid.values == ["babs"], connection.entries
connection.delete(f"uid=babs,{base}")
connection.search(base, "(uid=babs)")
assert not connection.entries
connection.unbind()
