// A full life cycle with ldapts: URL, root certificate, administrator, password.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { Attribute, Change, Client, InvalidCredentialsError, NoSuchObjectError } from "ldapts";

const [url, root, administrator, password] = process.argv.slice(2);
const base = "dc=example,dc=com";
const person = `uid=bjensen,${base}`;

const client = new Client({ url });
await client.startTLS({ ca: [readFileSync(root)], servername: "localhost" });
await client.bind(administrator, password);

// Schema discovery.
const dse = (await client.search("", { scope: "base", attributes: ["*", "+"] })).searchEntries[0];
assert.equal(dse.namingContexts, base);
const schema = (await client.search(dse.subschemaSubentry, {
  scope: "base", filter: "(objectClass=subschema)", attributes: ["objectClasses", "attributeTypes"],
})).searchEntries[0];
assert(schema.objectClasses.some((text) => text.includes("NAME 'inetOrgPerson'")));

await client.add(base, { objectClass: ["dcObject", "organization"], dc: "example", o: "Example" });
await client.add(person, { objectClass: "inetOrgPerson", uid: "bjensen", cn: "Babs", sn: "Jensen" });
for (let n = 0; n < 25; n++) {
  await client.add(`uid=u${n},${base}`, { objectClass: "inetOrgPerson", uid: `u${n}`, cn: "Müller", sn: "M" });
}

const search = async (filter, options) => (await client.search(base, { scope: "sub", filter, ...options })).searchEntries;
assert.deepEqual(await search("(sn=jensen)", { attributes: ["cn"] }), [{ dn: person, cn: "Babs" }]);
assert.equal((await search("(cn=müller)", { attributes: ["uid"], paged: { pageSize: 10 } })).length, 25);

const values = (type, ...values) => new Attribute({ type, values });
await client.modify(person, [
  new Change({ operation: "replace", modification: values("cn", "Barbara") }),
  new Change({ operation: "add", modification: values("mail", "b@example.com") }),
]);
assert.equal(await client.compare(person, "cn", "barbara"), true);
assert.equal(await client.compare(person, "cn", "babs"), false);

await client.modify(person, new Change({ operation: "replace", modification: values("userPassword", "first") }));
const other = new Client({ url });
await other.bind(person, "first");
await assert.rejects(other.bind(person, "wrong"), InvalidCredentialsError);
await other.unbind();

await client.modifyDN(person, "uid=babs");
assert.deepEqual((await search("(uid=babs)", { attributes: ["uid"] })).map((entry) => entry.dn), [`uid=babs,${base}`]);
await client.del(`uid=babs,${base}`);
assert.deepEqual(await search("(uid=babs)"), []);
await assert.rejects(client.del(`uid=babs,${base}`), NoSuchObjectError);
await client.unbind();
