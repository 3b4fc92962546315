use super::*;
use crate::schema::AttributeId;

fn sample(bytes: usize) -> Vec<u8> {
    let mut builder = Builder::default();
    builder.attribute(AttributeId(5), (false, false), "cn", ["a", "b"]);
    builder.attribute(AttributeId(5), (false, true), "cn;lang-de", ["x".repeat(bytes)]);
    builder.attribute(AttributeId(9), (true, false), "entryUUID", ["u"]);
    builder.large(LargeAttribute { id: AttributeId(7), count: 3, bytes: 30, description: "member".to_string() });
    builder.finish(17, "cn=a", mark::ALIAS)
}

#[test]
fn what_is_built_is_read() {
    for length in [1, 70_000] {
        let bytes = sample(length);
        let entry = Entry::parse(&bytes).unwrap();
        assert_eq!(
            (entry.parent, entry.rdn(), entry.marks(), entry.attributes().count()),
            (17, "cn=a", mark::ALIAS, 3)
        );
        assert_eq!(Entry::parent_of(&bytes), Some(17));
        let described: Vec<_> =
            entry.of_type(AttributeId(5)).map(|a| (a.decode().description, a.has_options)).collect();
        assert_eq!(described, [("cn", false), ("cn;lang-de", true)]);
        assert_eq!(entry.of_type(AttributeId(5)).next().unwrap().values().iter().collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(entry.of_type(AttributeId(6)).count(), 0);
        let pieces: Vec<u8> = entry.attributes().flat_map(|attribute| attribute.encoded.to_vec()).collect();
        assert_eq!(pieces, entry.all_attributes());
        assert!(pieces.starts_with(entry.user_attributes()) && entry.user_attributes().ends_with(b"x"));
        let large: Vec<_> = entry.large().collect();
        assert_eq!((large[0].count, large[0].bytes, large[0].description.as_str()), (3, 30, "member"));
    }
}

#[test]
fn attributes_of_a_type_are_found_wherever_they_are() {
    for count in [1, 3, 4, 5, 8, 23] {
        let mut builder = Builder::default();
        for n in 0..count {
            let (id, options) = if n % 3 == 0 { (5, n % 2 == 1) } else { (100 + n, false) };
            builder.attribute(AttributeId(id), (false, options), &format!("a{n}"), ["v"]);
        }
        let bytes = builder.finish(1, "cn=a", 0);
        let entry = Entry::parse(&bytes).unwrap();
        let found = entry.of_type(AttributeId(5)).map(|it| it.decode().description.to_string());
        let expected: Vec<String> = (0..count).step_by(3).map(|n| format!("a{n}")).collect();
        assert_eq!(found.collect::<Vec<_>>(), expected, "of {count}");
        assert_eq!(entry.of_type(AttributeId(0)).count(), 0, "of {count}");
    }
}

#[test]
fn no_bytes_make_reading_panic() {
    let bytes = sample(3);
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..20_000 {
        let mut broken = bytes.clone();
        broken.truncate(random.usize(..=bytes.len()));
        if !broken.is_empty() && round % 2 == 0 {
            let at = random.usize(..broken.len());
            broken[at] = random.u8(..);
        }
        let Some(entry) = Entry::parse(&broken) else { continue };
        entry.attributes().for_each(|attribute| assert!(attribute.values().count() < 100));
        entry.of_type(AttributeId(5)).for_each(|attribute| assert!(attribute.encoded.len() < 100));
        assert!(entry.large().count() < 256 && entry.user_attributes().len() < 100);
    }
}
