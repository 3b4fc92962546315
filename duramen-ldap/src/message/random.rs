//! Random messages, encoded.

use std::ops::Range;

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;

use super::*;
use crate::ber::List;
use crate::filter::FilterBuf;

/// What messages are made of.
#[derive(Debug, Clone)]
struct Parts {
    id: u32,
    name: String,
    words: Vec<String>,
    attributes: Vec<(String, Vec<Vec<u8>>)>,
    value: Vec<u8>,
    option: Option<Vec<u8>>,
    filter: FilterBuf,
    flags: [bool; 3],
    numbers: [u32; 3],
    controls: Vec<(String, bool, Option<Vec<u8>>)>,
}

/// Buffers that the lists of a message live in.
#[derive(Default)]
struct Buffers([Vec<u8>; 4]);

impl Parts {
    /// Encodes the operation of this kind, lists going into the buffers.
    fn encode(&self, kind: usize, requests: bool) -> Vec<u8> {
        let mut buffers = Buffers::default();
        let [words, attributes, controls, changes] = &mut buffers.0;
        let words = List::build(words, self.words.iter().map(String::as_str));
        let mut values = vec![Vec::new(); self.attributes.len()];
        let attribute = |((description, all), buffer)| {
            let (all, buffer): (&'_ Vec<Vec<u8>>, &'_ mut Vec<u8>) = (all, buffer);
            let description: &String = description;
            Attribute { description, values: List::build(buffer, all.iter().map(|value| &value[..])) }
        };
        let every: Vec<_> = self.attributes.iter().map(|(d, v)| (d, v)).zip(&mut values).map(attribute).collect();
        let kinds = [ChangeKind::Add, ChangeKind::Delete, ChangeKind::Replace];
        let change = |(n, attribute): (usize, &_)| Change { kind: kinds[n % 3], attribute: *attribute };
        let changes = List::build(changes, every.iter().enumerate().map(change));
        let attributes = List::build(attributes, every);
        let control =
            |(oid, critical, value): &'_ (String, bool, Option<Vec<u8>>)| (oid.clone(), *critical, value.clone());
        let owned: Vec<_> = self.controls.iter().map(control).collect();
        let borrowed =
            owned.iter().map(|(oid, critical, value)| Control { oid, critical: *critical, value: value.as_deref() });
        let controls = List::build(controls, borrowed);

        let mut out = Vec::new();
        if requests {
            let operation = self.request(kind, words, attributes, changes);
            Message { id: self.id, operation, controls }.encode(&mut out);
        } else {
            let operation = self.response(kind, words, attributes);
            Message { id: self.id, operation, controls }.encode(&mut out);
        }
        out
    }

    fn request<'a>(
        &'a self,
        kind: usize,
        words: List<'a, &'a str>,
        attributes: List<'a, Attribute<'a>>,
        changes: List<'a, Change<'a>>,
    ) -> Request<'a> {
        let [flag, second, _] = self.flags;
        let (name, new_rdn) = (&self.name[..], &self.words[0][..]);
        match kind {
            0 => Request::Bind(BindRequest { version: 3, name, authentication: Authentication::Simple(&self.value) }),
            1 => {
                let authentication = Authentication::Sasl { mechanism: new_rdn, credentials: self.option.as_deref() };
                Request::Bind(BindRequest { version: 3, name, authentication })
            }
            2 => Request::Search(SearchRequest {
                base: name,
                scope: [Scope::Base, Scope::One, Scope::Subtree][self.numbers[0] as usize % 3],
                deref: [Deref::Never, Deref::InSearching, Deref::FindingBase, Deref::Always]
                    [self.numbers[1] as usize % 4],
                size_limit: self.numbers[1],
                time_limit: self.numbers[2],
                types_only: flag,
                filter: self.filter.as_filter(),
                attributes: words,
            }),
            3 => Request::Modify(ModifyRequest { name, changes }),
            4 => Request::Add(AddRequest { name, attributes }),
            5 => Request::Delete(name),
            6 => {
                let new_superior = second.then_some(name);
                Request::ModifyDn(ModifyDnRequest { name, new_rdn, delete_old_rdn: flag, new_superior })
            }
            7 => Request::Compare(CompareRequest {
                name,
                assertion: Assertion { description: "cn", value: &self.value },
            }),
            8 => Request::Abandon(self.numbers[2]),
            9 => Request::Unbind,
            _ => Request::Extended(ExtendedRequest { name: "1.3.6.1.4.1.1466.20037", value: self.option.as_deref() }),
        }
    }

    fn response<'a>(
        &'a self,
        kind: usize,
        words: List<'a, &'a str>,
        attributes: List<'a, Attribute<'a>>,
    ) -> Response<'a> {
        let codes = [ResultCode::SUCCESS, ResultCode::NO_SUCH_OBJECT, ResultCode::OTHER, ResultCode::BUSY];
        // Results of one word have no referral.
        let referral = self.words.len() > 1;
        let result = LdapResult {
            code: if referral { ResultCode::REFERRAL } else { codes[self.numbers[0] as usize % 4] },
            matched_dn: &self.name,
            diagnostic: &self.words[0],
            referral: if referral { words } else { List::default() },
        };
        let value = self.option.as_deref();
        match kind {
            0 => Response::Bind(BindResponse { result, sasl_credentials: value }),
            1 => Response::SearchEntry(SearchEntry { name: &self.name, attributes }),
            2 => Response::SearchReference(words),
            3 => Response::SearchDone(result),
            4 => Response::Modify(result),
            5 => Response::Add(result),
            6 => Response::Delete(result),
            7 => Response::ModifyDn(result),
            8 => Response::Compare(result),
            9 => Response::Intermediate(IntermediateResponse { name: self.flags[1].then_some("1.2.3"), value }),
            _ => Response::Extended(ExtendedResponse { result, name: self.flags[1].then_some("1.2.3"), value }),
        }
    }
}

/// Encoded requests or responses with values and filters of some kind.
fn messages(
    requests: bool,
    kinds: Range<usize>,
    words: Range<usize>,
    values: BoxedStrategy<Vec<u8>>,
    options: BoxedStrategy<Option<Vec<u8>>>,
    filters: BoxedStrategy<FilterBuf>,
) -> BoxedStrategy<Vec<u8>> {
    let several = prop::collection::vec(values.clone(), 1..4);
    let attribute = ("[a-z][a-zA-Z;-]{0,8}", several);
    let control = ("1\\.2\\.[1-9]{1,3}", any::<bool>(), prop::option::of(values.clone()));
    let head = (1..=i32::MAX as u32, "[a-z=,é]{0,200}", prop::collection::vec("[a-zA-Z0-9é:/.+*]{1,12}", words));
    let tail = (
        prop::collection::vec(attribute, 1..4),
        values.clone(),
        options,
        filters,
        any::<[bool; 3]>(),
        prop::array::uniform3(0..=i32::MAX as u32),
        prop::collection::vec(control, 0..3),
    );
    let parts =
        (head, tail).prop_map(|((id, name, words), (attributes, value, option, filter, flags, numbers, controls))| {
            Parts { id, name, words, attributes, value, option, filter, flags, numbers, controls }
        });
    (parts, kinds).prop_map(move |(parts, kind)| parts.encode(kind, requests)).boxed()
}

/// Any message: values of all bytes, filters of all kinds.
pub(super) fn any_messages(requests: bool) -> BoxedStrategy<Vec<u8>> {
    let values = prop::collection::vec(any::<u8>(), 0..200).boxed();
    let options = prop::option::of(values.clone()).boxed();
    messages(requests, 0..11, 1..4, values, options, crate::filter::tests::any_filter().boxed())
}

/// Messages for those who take all values for text, and fields that are absent for empty ones.
pub(super) fn plain_messages(requests: bool) -> BoxedStrategy<Vec<u8>> {
    let values = "[a-zé ]{1,200}".prop_map(String::into_bytes).boxed();
    let options = values.clone().prop_map(Some).boxed();
    let filters = ["(a=b)", "(&(a=b)(!(c=*)))", "(|(a>=b)(c<=d)(e~=f))", "(a=b*c*d)", "(a=*b*)", "(cn:dn:=b)"];
    let filter = prop::sample::select(filters.to_vec()).prop_map(|text| FilterBuf::parse(text).unwrap());
    // They take no credentials, notices or referrals of a server as we do.
    let kinds = if requests { 0..11 } else { 1..9 };
    let words = if requests { 1..4 } else { 1..2 };
    messages(requests, kinds, words, values, options, filter.boxed())
}
