//! A directory for tests, asked in text.

use duramen_directory::{Config, Directory, Entries, Failure, Progress, Requester, Updated};
use duramen_ldap::Payload;
use duramen_ldap::attribute::{Assertion, Attribute};
use duramen_ldap::ber::List;
use duramen_ldap::control::PagedResults;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::ldif::{Body, LdifReader};
use duramen_ldap::message::{
    AddRequest, Change, ChangeKind, CompareRequest, Control, Deref, ModifyDnRequest, ModifyRequest, Request,
    ResultCode, Scope, SearchRequest,
};
use duramen_ldap::oid::control as oid;

/// A directory in a folder that goes with it.
pub struct Sample {
    pub directory: Directory,
    pub folder: tempfile::TempDir,
}

/// What a search is asked for besides base and filter.
#[derive(Clone)]
pub struct Ask<'a> {
    pub scope: Scope,
    pub deref: Deref,
    pub attributes: &'a [&'a str],
    pub types_only: bool,
    pub size_limit: u32,
    pub controls: Vec<Control<'a>>,
    pub requester: Requester,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Ask {
            scope: Scope::Subtree,
            deref: Deref::Never,
            attributes: &[],
            types_only: false,
            size_limit: 0,
            controls: Vec::new(),
            requester: Requester::internal(),
        }
    }
}

/// An entry that was found: its name, and its attributes with their values.
pub type Found = (String, Vec<(String, Vec<String>)>);

/// What a search gave.
#[derive(Debug)]
pub struct Given {
    pub entries: Vec<Found>,
    pub references: Vec<Vec<String>>,
    pub failure: Option<Failure>,
    pub controls: Vec<u8>,
    pub plan: String,
}

impl Given {
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub fn code(&self) -> ResultCode {
        self.failure.as_ref().map_or(ResultCode::SUCCESS, |failure| failure.code)
    }

    /// The values of an attribute of the first entry.
    pub fn values(&self, description: &str) -> Vec<&str> {
        let found = self.entries.first().and_then(|(_, all)| all.iter().find(|(name, _)| name == description));
        found.map(|(_, values)| values.iter().map(String::as_str).collect()).unwrap_or_default()
    }
}

pub const BASE: &str = "dc=example,dc=com";

pub const PEOPLE: &str = "
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
ou: People

dn: uid=bjensen,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: bjensen
cn: Barbara Jensen
cn;lang-de: Barbara von Jensen
sn: Jensen
mail: bjensen@example.com
telephoneNumber: +1 408 555 1862

dn: uid=jsmith,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
objectClass: posixAccount
uid: jsmith
cn: John Smith
sn: Smith
givenName: John
uidNumber: 1000
gidNumber: 100
homeDirectory: /home/jsmith

dn: ou=Groups,dc=example,dc=com
objectClass: organizationalUnit
ou: Groups

dn: cn=admins,ou=Groups,dc=example,dc=com
objectClass: groupOfNames
cn: admins
member: UID=bjensen, ou=people,dc=example,dc=com
";

/// One of them.
pub const JENSEN: &str = "uid=bjensen,ou=People,dc=example,dc=com";

impl Sample {
    pub fn empty() -> Sample {
        Sample::with(Config::default())
    }

    pub fn with(config: Config) -> Sample {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { suffixes: vec![BASE.into()], ..config };
        Sample { directory: Directory::open(folder.path(), config).unwrap(), folder }
    }

    pub fn people() -> Sample {
        let sample = Sample::empty();
        sample.load(PEOPLE);
        sample
    }

    /// Adds the entries of an LDIF.
    pub fn load(&self, ldif: &str) {
        let mut reader = LdifReader::new("test", ldif.as_bytes());
        while let Some(record) = reader.next_record().unwrap() {
            let Body::Entry(pairs) = record.body else { panic!("an entry, please") };
            let mut attributes: Vec<(&str, Vec<&[u8]>)> = Vec::new();
            for pair in &pairs {
                match attributes.iter_mut().find(|(name, _)| *name == pair.description) {
                    Some((_, values)) => values.push(&pair.value),
                    None => attributes.push((pair.description, vec![&pair.value])),
                }
            }
            self.add(&record.dn, &attributes).unwrap_or_else(|failure| panic!("{}: {failure}", record.dn));
        }
    }

    pub fn add(&self, name: &str, attributes: &[(&str, Vec<&[u8]>)]) -> Result<Updated, Failure> {
        self.add_as(&Requester::internal(), name, attributes, &[])
    }

    pub fn add_as(
        &self,
        requester: &Requester,
        name: &str,
        attributes: &[(&str, Vec<&[u8]>)],
        controls: &[Control<'_>],
    ) -> Result<Updated, Failure> {
        let mut buffers: Vec<Vec<u8>> = attributes.iter().map(|_| Vec::new()).collect();
        let lists: Vec<Attribute<'_>> = attributes
            .iter()
            .zip(&mut buffers)
            .map(|((description, values), buffer)| Attribute {
                description,
                values: List::build(buffer, values.iter().copied()),
            })
            .collect();
        let mut buffer = Vec::new();
        let request = AddRequest { name, attributes: List::build(&mut buffer, lists) };
        let mut buffer = Vec::new();
        let controls = List::build(&mut buffer, controls.iter().copied());
        self.directory.update(requester, &Request::Add(request), controls)
    }

    pub fn delete(&self, name: &str, controls: &[Control<'_>]) -> Result<Updated, Failure> {
        let mut buffer = Vec::new();
        let controls = List::build(&mut buffer, controls.iter().copied());
        self.directory.update(&Requester::internal(), &Request::Delete(name), controls)
    }

    pub fn modify(&self, name: &str, changes: &[(ChangeKind, &str, &[&str])]) -> Result<Updated, Failure> {
        self.modify_as(&Requester::internal(), name, changes, &[])
    }

    /// One change, of values that need not be text.
    pub fn change(
        &self,
        name: &str,
        kind: ChangeKind,
        description: &str,
        values: &[&[u8]],
    ) -> Result<Updated, Failure> {
        let (mut buffer, mut changes) = (Vec::new(), Vec::new());
        let attribute = Attribute { description, values: List::build(&mut buffer, values.iter().copied()) };
        let request = ModifyRequest { name, changes: List::build(&mut changes, [Change { kind, attribute }]) };
        self.directory.update(&Requester::internal(), &Request::Modify(request), List::default())
    }

    pub fn modify_as(
        &self,
        requester: &Requester,
        name: &str,
        changes: &[(ChangeKind, &str, &[&str])],
        controls: &[Control<'_>],
    ) -> Result<Updated, Failure> {
        let mut buffers: Vec<Vec<u8>> = changes.iter().map(|_| Vec::new()).collect();
        let built: Vec<Change<'_>> = changes
            .iter()
            .zip(&mut buffers)
            .map(|((kind, description, values), buffer)| {
                let values = List::build(buffer, values.iter().map(|value| value.as_bytes()));
                Change { kind: *kind, attribute: Attribute { description, values } }
            })
            .collect();
        let mut buffer = Vec::new();
        let request = ModifyRequest { name, changes: List::build(&mut buffer, built) };
        let mut buffer = Vec::new();
        let controls = List::build(&mut buffer, controls.iter().copied());
        self.directory.update(requester, &Request::Modify(request), controls)
    }

    pub fn rename(
        &self,
        name: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        new_superior: Option<&str>,
    ) -> Result<Updated, Failure> {
        self.rename_as(&Requester::internal(), name, new_rdn, delete_old_rdn, new_superior)
    }

    pub fn rename_as(
        &self,
        requester: &Requester,
        name: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        new_superior: Option<&str>,
    ) -> Result<Updated, Failure> {
        let request = ModifyDnRequest { name, new_rdn, delete_old_rdn, new_superior };
        self.directory.update(requester, &Request::ModifyDn(request), List::default())
    }

    /// Renames with controls; the old value stays.
    pub fn rename_with(&self, name: &str, new_rdn: &str, controls: &[Control<'_>]) -> Result<Updated, Failure> {
        let request = ModifyDnRequest { name, new_rdn, delete_old_rdn: false, new_superior: None };
        let mut buffer = Vec::new();
        let controls = List::build(&mut buffer, controls.iter().copied());
        self.directory.update(&Requester::internal(), &Request::ModifyDn(request), controls)
    }

    pub fn compare(&self, name: &str, description: &str, value: &str) -> Result<bool, Failure> {
        let request = CompareRequest { name, assertion: Assertion { description, value: value.as_bytes() } };
        self.directory.compare(&Requester::internal(), &request, List::default())
    }

    pub fn search(&self, base: &str, filter: &str, ask: &Ask<'_>) -> Result<Given, Failure> {
        let filter = FilterBuf::parse(filter).unwrap();
        let (mut attributes, mut controls) = (Vec::new(), Vec::new());
        let request = SearchRequest {
            base,
            scope: ask.scope,
            deref: ask.deref,
            size_limit: ask.size_limit,
            time_limit: 0,
            types_only: ask.types_only,
            filter: filter.as_filter(),
            attributes: List::build(&mut attributes, ask.attributes.iter().copied()),
        };
        let controls = List::build(&mut controls, ask.controls.iter().copied());
        let mut search = self.directory.search(&ask.requester, &request, controls)?;
        let mut sink = Entries::default();
        let Progress::Done(done) = search.run(&mut sink) else { panic!("this sink is never full") };
        let read = |(name, bytes): (String, Vec<u8>)| {
            let list: List<'_, Attribute<'_>> = List::trusted(&bytes);
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let attributes = list.iter().map(|a| (a.description.to_string(), a.values.iter().map(text).collect()));
            (name, attributes.collect())
        };
        Ok(Given {
            entries: sink.entries.into_iter().map(read).collect(),
            references: sink.references,
            failure: done.failure,
            controls: done.controls,
            plan: search.plan(),
        })
    }

    /// How a search would be carried out.
    pub fn plan(&self, base: &str, scope: Scope, filter: &str) -> String {
        let filter = FilterBuf::parse(filter).unwrap();
        let request = SearchRequest {
            base,
            scope,
            deref: Deref::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: filter.as_filter(),
            attributes: List::default(),
        };
        self.directory.explain(&Requester::internal(), &request).unwrap().join("; ")
    }

    /// Names of what a filter finds in all of the directory.
    pub fn found(&self, filter: &str) -> Vec<String> {
        let given = self.search(BASE, filter, &Ask::default()).unwrap();
        assert_eq!(given.failure, None, "{filter}");
        given.entries.into_iter().map(|(name, _)| name).collect()
    }

    /// One entry, with the attributes asked for.
    pub fn read(&self, name: &str, attributes: &[&str]) -> Given {
        let ask = Ask { scope: Scope::Base, attributes, ..Ask::default() };
        self.search(name, "(objectClass=*)", &ask).unwrap_or_else(|failure| panic!("{name}: {failure}"))
    }
}

/// How an update ended.
pub fn ended(result: Result<Updated, Failure>) -> ResultCode {
    result.map_or_else(|failure| failure.code, |_| ResultCode::SUCCESS)
}

/// The code of a failure.
pub fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> ResultCode {
    result.expect_err("it should fail").code
}

/// A control without a value.
pub fn control(oid: &str) -> Control<'_> {
    Control { oid, critical: true, value: None }
}

/// The controls of a response: their OIDs and values.
pub fn controls(given: &Given) -> Vec<(String, Vec<u8>)> {
    let list: List<'_, Control<'_>> = List::trusted(&given.controls);
    list.iter().map(|control| (control.oid.to_string(), control.value.unwrap_or_default().to_vec())).collect()
}

/// A page of a search, and the cookie of the next one.
pub fn page_of(
    sample: &Sample,
    filter: &str,
    size: u32,
    cookie: &[u8],
    more: Option<Control<'_>>,
) -> Result<(Vec<String>, Vec<u8>), Failure> {
    let mut value = Vec::new();
    PagedResults { size, cookie }.encode(&mut value);
    let page = Control { oid: oid::PAGED_RESULTS, critical: true, value: Some(&value) };
    let ask = Ask { controls: more.into_iter().chain([page]).collect(), ..Ask::default() };
    let given = sample.search(BASE, filter, &ask)?;
    let (_, value) = controls(&given).into_iter().find(|(oid, _)| oid == oid::PAGED_RESULTS).unwrap();
    let cookie = PagedResults::decode(&value).unwrap().cookie.to_vec();
    Ok((given.entries.into_iter().map(|(name, _)| name).collect(), cookie))
}

/// What [`duramen_directory::Directory::check`] finds.
pub fn problems(sample: &Sample) -> Vec<String> {
    let mut found = Vec::new();
    sample.directory.check(&mut |problem| found.push(problem), &mut |_, _| {}).unwrap();
    found
}
