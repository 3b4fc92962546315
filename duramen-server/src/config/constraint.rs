//! The sections `[[constraint]]`: what values of some attributes have to be like.
//!
//! Owns: that each demands one thing. Must not know: what that means, which is the directory's affair.

use std::ops::Range;

use duramen_directory::{Constraint, ConstraintPart, Demand};
use toml::Spanned;

use super::file;
use super::resolve::{Checker, texts};

impl Checker<'_> {
    /// All of them, in their order; of one that demands nothing, or more than one thing, the rest is judged all the same.
    pub(super) fn constraints(&mut self, sections: &[file::Constraint]) -> Vec<Constraint> {
        sections.iter().map(|section| self.constraint(section)).collect()
    }

    fn constraint(&mut self, section: &file::Constraint) -> Constraint {
        let demands = demands(section);
        match &demands[..] {
            [_] => {}
            [] => {
                let cure = "give regex, negregex, size, count or uri";
                self.at(section.attributes.span(), "a constraint that demands nothing is none", cure);
            }
            [_, (second, _), ..] => {
                let what = "a constraint demands one thing, and this is the second";
                self.at(second.clone(), what, "write it into a section [[constraint]] of its own: all of them hold");
            }
        }
        Constraint {
            attributes: texts(section.attributes.get_ref()),
            demand: demands.into_iter().next().map_or(Demand::CountMax(u64::MAX), |(_, demand)| demand),
            restrict: section.restrict.as_ref().map(|url| url.get_ref().clone()),
        }
    }
}

/// What a section demands, in the order of the file, with the place of each.
fn demands(section: &file::Constraint) -> Vec<(Range<usize>, Demand)> {
    let text = |key: &Option<Spanned<String>>, demand: fn(String) -> Demand| {
        key.as_ref().map(|text| (text.span(), demand(text.get_ref().clone())))
    };
    let number = |key: &Option<Spanned<u64>>, demand: fn(u64) -> Demand| {
        key.as_ref().map(|number| (number.span(), demand(*number.get_ref())))
    };
    let all = [
        text(&section.regex, Demand::Matches),
        text(&section.negregex, Demand::MatchesNot),
        number(&section.size, Demand::SizeMax),
        number(&section.count, Demand::CountMax),
        text(&section.uri, Demand::Listed),
    ];
    let mut given: Vec<_> = all.into_iter().flatten().collect();
    given.sort_by_key(|(place, _)| place.start);
    given
}

/// Where the file has a part of one.
pub(super) fn span(section: &file::Constraint, part: ConstraintPart) -> Range<usize> {
    let attributes = section.attributes.get_ref();
    let found = match part {
        ConstraintPart::Attribute(n) => attributes.get(n).map(Spanned::span),
        ConstraintPart::Demand => demands(section).into_iter().next().map(|(place, _)| place),
        ConstraintPart::Restrict => section.restrict.as_ref().map(Spanned::span),
    };
    found.unwrap_or(section.attributes.span())
}
