//! Updates that are made together or not at all, and such as are not to be made.

use std::fs;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use duramen_directory::{AuditLog, Config, NotMade, PreparedUpdate, Proof, Requester, Updated};
use duramen_ldap::Payload;
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::control::{ReadEntryRequest, ReadEntryResponse};
use duramen_ldap::message::ChangeKind::{Add, Replace};
use duramen_ldap::message::{AddRequest, Change, Control, ModifyDnRequest, ModifyRequest, Request, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";
const TEAMS: &str = "ou=Teams,dc=example,dc=com";

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

/// Updates in the making.
struct Together<'s> {
    sample: &'s Sample,
    updates: Vec<PreparedUpdate>,
}

impl Together<'_> {
    fn of(sample: &Sample) -> Together<'_> {
        Together { sample, updates: Vec::new() }
    }

    fn with(mut self, request: Request<'_>, controls: &[Control<'_>]) -> Self {
        let mut buffer = Vec::new();
        let controls = List::build(&mut buffer, controls.iter().copied());
        let directory = &self.sample.directory;
        let prepared = directory.prepare_update(&Requester::internal(), &request, controls, Proof::default());
        self.updates.push(prepared.unwrap());
        self
    }

    fn add(self, name: &str, class: &str, more: &[(&str, &str)]) -> Self {
        let pairs: Vec<_> = [("objectClass", class)].into_iter().chain(more.iter().copied()).collect();
        let mut values: Vec<Vec<u8>> = pairs.iter().map(|_| Vec::new()).collect();
        let attributes = pairs.iter().zip(&mut values).map(|((description, value), buffer)| Attribute {
            description,
            values: List::build(buffer, [value.as_bytes()]),
        });
        let mut list = Vec::new();
        let attributes = List::build(&mut list, attributes);
        self.with(Request::Add(AddRequest { name, attributes }), &[])
    }

    fn replace(self, name: &str, description: &str, value: &str, controls: &[Control<'_>]) -> Self {
        let (mut values, mut changes) = (Vec::new(), Vec::new());
        let attribute = Attribute { description, values: List::build(&mut values, [value.as_bytes()]) };
        let changes = List::build(&mut changes, [Change { kind: Replace, attribute }]);
        self.with(Request::Modify(ModifyRequest { name, changes }), controls)
    }

    fn move_to(self, name: &str, new_rdn: &str, superior: &str) -> Self {
        let new_superior = Some(superior);
        self.with(Request::ModifyDn(ModifyDnRequest { name, new_rdn, delete_old_rdn: true, new_superior }), &[])
    }

    fn made(self) -> Result<Vec<Updated>, NotMade> {
        wait(self.sample.directory.update_together(self.updates))
    }
}

#[test]
fn each_is_made_in_the_state_that_those_before_it_leave_rfc5805_3_4() {
    let sample = Sample::people();
    let mut value = Vec::new();
    ReadEntryRequest(List::build(&mut Vec::new(), ["description"])).encode(&mut value);
    let post_read = Control { oid: oid::POST_READ, critical: true, value: Some(&value) };
    let made = Together::of(&sample)
        .add(TEAMS, "organizationalUnit", &[])
        .add(&format!("ou=One,{TEAMS}"), "organizationalUnit", &[])
        .move_to(SMITH, "uid=smith", &format!("ou=One,{TEAMS}"))
        .replace(&format!("uid=smith,ou=One,{TEAMS}"), "description", "here", &[])
        .replace(&format!("uid=smith,ou=One,{TEAMS}"), "description", "there", &[post_read])
        .with(Request::Delete(JENSEN), &[])
        .made()
        .unwrap();
    assert_eq!(made.len(), 6);
    assert!(made[..4].iter().all(|updated| updated.controls.is_empty()));
    let control: Control<'_> = List::trusted(&made[4].controls).iter().next().unwrap();
    let after = ReadEntryResponse::decode(control.value.unwrap()).unwrap();
    assert_eq!(after.0.name, format!("uid=smith,ou=One,{TEAMS}"));
    assert_eq!(sample.found("(description=there)"), [format!("uid=smith,ou=One,{TEAMS}")]);
    assert_eq!(sample.found("(uid=*)").len(), 1);
    assert_eq!(sample.read(TEAMS, &["numSubordinates"]).values("numSubordinates"), ["1"]);
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn where_one_fails_nothing_is_left_of_the_others_rfc5805_3_4() {
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("audit.ldif");
    let sample =
        Sample::with(Config { audit: Some(AuditLog { file: audit.clone(), flush: false }), ..Config::default() });
    sample.load(PEOPLE);
    let (said, before) = (fs::read(&audit).unwrap(), sample.found("(objectClass=*)"));
    let csn = |sample: &Sample| format!("{:?}", sample.read(BASE, &["+"]).entries);
    let stamps = csn(&sample);
    let attempt = || {
        Together::of(&sample)
            .add(TEAMS, "organizationalUnit", &[])
            .move_to("ou=People,dc=example,dc=com", "ou=All", TEAMS)
            .replace(&format!("uid=jsmith,ou=All,{TEAMS}"), "description", "moved", &[])
    };
    let failed = attempt().add(&format!("cn=x,{TEAMS}"), "person", &[]).replace(BASE, "dc", "example", &[]).made();
    let NotMade { which, failure } = failed.unwrap_err();
    assert_eq!((which, failure.code), (Some(3), ResultCode::OBJECT_CLASS_VIOLATION), "{failure}");
    assert_eq!((sample.found("(objectClass=*)"), csn(&sample)), (before, stamps));
    assert_eq!(sample.found("(description=moved)").len(), 0);
    assert_eq!(fs::read(&audit).unwrap(), said, "of what was not made the audit log has nothing");
    sample.modify(SMITH, &[(Add, "description", &["found by its old name"])]).unwrap();
    assert_eq!(problems(&sample), Vec::<String>::new());
    attempt().made().unwrap();
    assert_eq!(sample.found("(description=moved)"), [format!("uid=jsmith,ou=All,{TEAMS}")]);
    assert!(fs::read(&audit).unwrap().len() > said.len());
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn of_no_updates_nothing_comes() {
    assert_eq!(Together::of(&Sample::people()).made().unwrap(), []);
}

#[test]
fn an_update_with_the_no_op_control_is_judged_and_not_made() {
    let sample = Sample::people();
    let before = sample.read(SMITH, &["*", "+"]).entries;
    for no_op in [control(oid::NO_OP), control(oid::NO_OP_OPENLDAP)] {
        let person: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"person"]), ("sn", vec![b"New"])];
        let (none, internal) = ("cn=none,dc=example,dc=com", Requester::internal());
        for controls in [&[no_op][..], &[Control { critical: false, ..no_op }]] {
            let added = sample.add_as(&internal, "cn=New,dc=example,dc=com", person, controls);
            assert_eq!(code(added), ResultCode::NO_OPERATION);
            let modified = sample.modify_as(&internal, SMITH, &[(Replace, "sn", &["New"])], controls);
            assert_eq!(code(modified), ResultCode::NO_OPERATION);
            assert_eq!(code(sample.rename_with(SMITH, "uid=new", controls)), ResultCode::NO_OPERATION);
            assert_eq!(code(sample.delete(SMITH, controls)), ResultCode::NO_OPERATION);
            assert_eq!(code(sample.delete(none, controls)), ResultCode::NO_SUCH_OBJECT);
            let wrong = sample.modify_as(&internal, SMITH, &[(Replace, "sn", &[])], controls);
            assert_eq!(code(wrong), ResultCode::OBJECT_CLASS_VIOLATION);
            let ask = Ask { controls: controls.to_vec(), ..Ask::default() };
            assert_eq!(sample.search(BASE, "(uid=jsmith)", &ask).unwrap().names(), [SMITH], "searches change nothing");
        }
    }
    assert_eq!(sample.read(SMITH, &["*", "+"]).entries, before);
    assert_eq!(sample.found("(|(cn=New)(sn=New))").len(), 0);
}
