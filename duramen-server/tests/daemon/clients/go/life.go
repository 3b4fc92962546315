// A full life cycle with go-ldap: URL, root certificate, administrator, password.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"

	"github.com/go-ldap/ldap/v3"
)

const base = "dc=example,dc=com"
const person = "uid=bjensen," + base

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(right bool, said ...interface{}) {
	if !right {
		log.Fatal(said...)
	}
}

func search(conn *ldap.Conn, where string, scope int, filter string, attributes ...string) *ldap.SearchResult {
	request := ldap.NewSearchRequest(where, scope, ldap.NeverDerefAliases, 0, 0, false, filter, attributes, nil)
	result, err := conn.Search(request)
	must(err)
	return result
}

func main() {
	log.SetFlags(log.Lshortfile)
	url, root, administrator, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	pem, err := os.ReadFile(root)
	must(err)
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(pem), "no root certificate")
	conn, err := ldap.DialURL(url)
	must(err)
	defer conn.Close()
	must(conn.StartTLS(&tls.Config{RootCAs: roots, ServerName: "localhost"}))
	must(conn.Bind(administrator, password))
	who, err := conn.WhoAmI(nil)
	must(err)
	check(who.AuthzID == "dn:"+administrator, who.AuthzID)

	// Schema discovery.
	dse := search(conn, "", ldap.ScopeBaseObject, "(objectClass=*)", "*", "+").Entries[0]
	check(dse.GetAttributeValue("namingContexts") == base, dse)
	subschema := dse.GetAttributeValue("subschemaSubentry")
	schema := search(conn, subschema, ldap.ScopeBaseObject, "(objectClass=subschema)", "objectClasses", "attributeTypes").Entries[0]
	check(len(schema.GetAttributeValues("objectClasses")) > 20, schema)

	add := func(name string, attributes map[string][]string) {
		request := ldap.NewAddRequest(name, nil)
		for attribute, values := range attributes {
			request.Attribute(attribute, values)
		}
		must(conn.Add(request))
	}
	add(base, map[string][]string{"objectClass": {"dcObject", "organization"}, "dc": {"example"}, "o": {"Example"}})
	add(person, map[string][]string{"objectClass": {"inetOrgPerson"}, "uid": {"bjensen"}, "cn": {"Babs"}, "sn": {"Jensen"}})
	for n := 0; n < 25; n++ {
		uid := fmt.Sprintf("u%d", n)
		add("uid="+uid+","+base, map[string][]string{"objectClass": {"inetOrgPerson"}, "uid": {uid}, "cn": {"Müller"}, "sn": {"M"}})
	}

	found := search(conn, base, ldap.ScopeWholeSubtree, "(sn=jensen)", "cn").Entries
	check(len(found) == 1 && found[0].DN == person && found[0].GetAttributeValue("cn") == "Babs", found)
	request := ldap.NewSearchRequest(base, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, 0, 0, false, "(cn=müller)", []string{"uid"}, nil)
	pages, err := conn.SearchWithPaging(request, 10)
	must(err)
	check(len(pages.Entries) == 25, len(pages.Entries))

	modify := ldap.NewModifyRequest(person, nil)
	modify.Replace("cn", []string{"Barbara"})
	modify.Add("mail", []string{"b@example.com"})
	must(conn.Modify(modify))
	same, err := conn.Compare(person, "cn", "barbara")
	must(err)
	check(same, "not the same")
	same, err = conn.Compare(person, "cn", "babs")
	must(err)
	check(!same, "the same")

	_, err = conn.PasswordModify(ldap.NewPasswordModifyRequest(person, "", "first"))
	must(err)
	generated, err := conn.PasswordModify(ldap.NewPasswordModifyRequest(person, "first", ""))
	must(err)
	other, err := ldap.DialURL(url)
	must(err)
	defer other.Close()
	must(other.Bind(person, generated.GeneratedPassword))
	check(ldap.IsErrorWithCode(other.Bind(person, "first"), ldap.LDAPResultInvalidCredentials), "a wrong password was taken")

	must(conn.ModifyDN(ldap.NewModifyDNRequest(person, "uid=babs", true, "")))
	found = search(conn, base, ldap.ScopeWholeSubtree, "(uid=babs)", "uid").Entries
	check(len(found) == 1 && found[0].GetAttributeValue("uid") == "babs", found)
	must(conn.Del(ldap.NewDelRequest("uid=babs,"+base, nil)))
	check(len(search(conn, base, ldap.ScopeWholeSubtree, "(uid=babs)").Entries) == 0, "still there")
	check(ldap.IsErrorWithCode(conn.Del(ldap.NewDelRequest("uid=babs,"+base, nil)), ldap.LDAPResultNoSuchObject), "gone")
}
