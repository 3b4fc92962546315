"""A copy kept by python-ldap's SyncreplConsumer: asked for twice, and told what happens. Arguments: URL, administrator, password."""

import sys

import ldap
import ldap.modlist
from ldap.ldapobject import ReconnectLDAPObject
from ldap.syncrepl import SyncreplConsumer

URL, NAME, PASSWORD = sys.argv[1:]
BASE = "dc=example,dc=com"
PEOPLE = "ou=people," + BASE


class Copy(ReconnectLDAPObject, SyncreplConsumer):
    def __init__(self, *args, **kwargs):
        self.entries, self.present, self.cookie, self.told, self.refreshed = {}, set(), None, 0, False
        super().__init__(*args, **kwargs)

    def syncrepl_get_cookie(self):
        return self.cookie

    def syncrepl_set_cookie(self, cookie):
        self.cookie = cookie

    def syncrepl_entry(self, dn, attributes, uuid):
        self.entries[uuid] = (dn, attributes)
        self.told += 1

    def syncrepl_delete(self, uuids):
        for uuid in uuids:
            self.entries.pop(uuid, None)

    def syncrepl_present(self, uuids, refreshDeletes=False):
        if uuids is not None:
            self.present.update(uuids)
            return
        if not refreshDeletes:
            self.entries = {uuid: entry for uuid, entry in self.entries.items() if uuid in self.present}
        self.present = set()

    def syncrepl_refreshdone(self):
        self.refreshed = True

    def names(self):
        return sorted(dn for dn, _ in self.entries.values())


def refresh(copy):
    copy.told = 0
    message = copy.syncrepl_search(BASE, ldap.SCOPE_SUBTREE, mode="refreshOnly", filterstr="(objectClass=*)")
    copy.syncrepl_poll(msgid=message, timeout=30, all=1)


def person(uid):
    return [("objectClass", [b"inetOrgPerson"]), ("uid", [uid.encode()]), ("cn", [b"N"]), ("sn", [b"S"])]


writer = ldap.initialize(URL)
writer.simple_bind_s(NAME, PASSWORD)
copy = Copy(URL)
copy.simple_bind_s(NAME, PASSWORD)

refresh(copy)
assert copy.names() == [BASE, PEOPLE], copy.names()
assert copy.told == 2
writer.add_s("uid=a," + PEOPLE, person("a"))
writer.add_s("uid=b," + PEOPLE, person("b"))
refresh(copy)
assert copy.told == 2 and len(copy.entries) == 4, copy.names()
writer.delete_s("uid=a," + PEOPLE)
writer.rename_s("uid=b," + PEOPLE, "uid=c")
refresh(copy)
assert copy.told == 1 and copy.names() == [BASE, PEOPLE, "uid=c," + PEOPLE], copy.names()

message = copy.syncrepl_search(BASE, ldap.SCOPE_SUBTREE, mode="refreshAndPersist", filterstr="(objectClass=*)")


def hear(until):
    while not until():
        assert copy.syncrepl_poll(msgid=message, timeout=30)


hear(lambda: copy.refreshed)
cookie = copy.cookie
writer.add_s("uid=d," + PEOPLE, person("d"))
hear(lambda: "uid=d," + PEOPLE in copy.names())
writer.modify_s("uid=d," + PEOPLE, [(ldap.MOD_REPLACE, "cn", [b"Other"])])
hear(lambda: any(attributes.get("cn") == [b"Other"] for _, attributes in copy.entries.values()))
writer.delete_s("uid=c," + PEOPLE)
hear(lambda: "uid=c," + PEOPLE not in copy.names())
assert copy.cookie != cookie
copy.cancel_s(message)
refresh(copy)
assert copy.told == 0 and copy.names() == [BASE, PEOPLE, "uid=d," + PEOPLE], copy.names()
