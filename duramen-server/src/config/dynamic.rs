//! The sections `[[dynamic_list]]`: entries that show what the LDAP URLs in them find.
//!
//! Owns: that each shows one kind of thing. Must not know: what that means, which is the directory's affair.

use std::ops::Range;

use duramen_directory::{DynamicList, DynamicListPart, Shows};
use toml::Spanned;

use super::file;
use super::resolve::Checker;

impl Checker<'_> {
    /// All of them, in their order; of one that says two things the rest is judged all the same.
    pub(super) fn dynamic_lists(&mut self, sections: &[file::DynamicList]) -> Vec<DynamicList> {
        sections.iter().map(|section| self.dynamic_list(section)).collect()
    }

    fn dynamic_list(&mut self, section: &file::DynamicList) -> DynamicList {
        if let (Some(_), Some(renamed)) = (&section.member, section.renamed.first()) {
            let what = "with `member` names of entries are shown, and none of their attributes";
            self.at(renamed.from.span(), what, "leave `member` out, or `renamed`");
        }
        if let (None, Some(member_of)) = (&section.member, &section.member_of)
            && *member_of.get_ref()
        {
            let what = "what has no members counts in nobody's memberOf";
            self.at(member_of.span(), what, "name the attribute of members in `member`, or leave this out");
        }
        let text = |text: &Spanned<String>| text.get_ref().clone();
        let in_member_of = section.member_of.as_ref().is_some_and(|member_of| *member_of.get_ref());
        let shows = match &section.member {
            Some(member) => Shows::Members { attribute: text(member), in_member_of },
            None => Shows::Attributes {
                renamed: section.renamed.iter().map(|pair| (text(&pair.from), text(&pair.to))).collect(),
            },
        };
        let restrict = section.restrict.as_ref().map(text);
        DynamicList { class: text(&section.class), urls: text(&section.urls), shows, restrict }
    }
}

/// Where the file has a part of one.
pub(super) fn span(section: &file::DynamicList, part: DynamicListPart) -> Range<usize> {
    let found = match part {
        DynamicListPart::Class => None,
        DynamicListPart::Urls => Some(section.urls.span()),
        DynamicListPart::Member => section.member.as_ref().map(Spanned::span),
        DynamicListPart::Renamed(n) => section.renamed.get(n).map(|pair| pair.from.span()),
        DynamicListPart::Restrict => section.restrict.as_ref().map(Spanned::span),
    };
    found.unwrap_or(section.class.span())
}
