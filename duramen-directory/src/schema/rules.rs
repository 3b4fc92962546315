//! Rules about entries as a whole: what those of a class may be and have besides (RFC 4512 section 4.1.6), what they
//! are named by, and below what they stand (section 4.1.7).
//!
//! Owns: the rules bound to the schema, and which of them govern an entry. Must not know: entries.

use rustc_hash::FxHashMap;

use super::{AttributeId, ClassId};

/// A DIT content rule.
#[derive(Debug)]
pub struct ContentRule {
    /// Its first name, or the OID of its class.
    pub name: String,
    /// Auxiliary classes that entries may be of.
    pub auxiliary: Vec<ClassId>,
    /// Attributes that they have to have.
    pub must: Vec<AttributeId>,
    /// Attributes that they may have.
    pub may: Vec<AttributeId>,
    /// Attributes that they must not have.
    pub not: Vec<AttributeId>,
}

/// A name form.
#[derive(Debug)]
pub struct NameForm {
    /// Its first name, or its OID.
    pub name: String,
    /// The structural class.
    pub class: ClassId,
    /// Attributes that an RDN has to have.
    pub must: Vec<AttributeId>,
    /// Attributes that it may have.
    pub may: Vec<AttributeId>,
}

/// A DIT structure rule.
#[derive(Debug)]
pub struct StructureRule {
    /// Its first name, or its number.
    pub name: String,
    /// Place of its name form.
    pub form: usize,
    /// Places of the rules of which one has to govern the entry above. Without any, it is about suffixes.
    pub superiors: Vec<usize>,
}

/// All rules that are in force.
#[derive(Debug, Default)]
pub struct Rules {
    /// Content rules by structural class.
    pub contents: FxHashMap<ClassId, ContentRule>,
    /// Name forms.
    pub forms: Vec<NameForm>,
    /// Structure rules.
    pub structures: Vec<StructureRule>,
}

impl ContentRule {
    /// Whether it allows an attribute: what it requires, too.
    pub fn allows(&self, id: AttributeId) -> bool {
        self.must.contains(&id) || self.may.contains(&id)
    }
}

impl NameForm {
    /// Whether an RDN of these attributes follows it.
    fn fits(&self, rdn: &[AttributeId]) -> bool {
        self.must.iter().all(|id| rdn.contains(id))
            && rdn.iter().all(|id| self.must.contains(id) || self.may.contains(id))
    }
}

impl Rules {
    /// Whether there are any about names and places.
    pub fn are_about_names(&self) -> bool {
        !self.forms.is_empty()
    }

    /// Name forms of a structural class.
    pub fn forms_of(&self, class: ClassId) -> impl Iterator<Item = (usize, &NameForm)> {
        self.forms.iter().enumerate().filter(move |(_, form)| form.class == class)
    }

    /// Whether an RDN of these attributes is one for a class: it follows a name form, or there is none for the class.
    pub fn allow_rdn(&self, class: ClassId, rdn: &[AttributeId]) -> bool {
        let mut forms = self.forms_of(class).peekable();
        forms.peek().is_none() || forms.any(|(_, form)| form.fits(rdn))
    }

    /// Places of the structure rules that an entry can be governed by, as far as its class and its RDN say.
    pub fn candidates(&self, class: ClassId, rdn: &[AttributeId]) -> Vec<usize> {
        let fits = |rule: &StructureRule| {
            let form = &self.forms[rule.form];
            form.class == class && form.fits(rdn)
        };
        (0..self.structures.len()).filter(|&place| fits(&self.structures[place])).collect()
    }

    /// Those of some candidates that govern an entry below one that these govern; `None` stands for above a suffix.
    pub fn governing(&self, candidates: &[usize], above: Option<&[usize]>) -> Vec<usize> {
        let fits = |rule: &StructureRule| match above {
            None => rule.superiors.is_empty(),
            Some(above) => rule.superiors.iter().any(|superior| above.contains(superior)),
        };
        candidates.iter().copied().filter(|&place| fits(&self.structures[place])).collect()
    }
}
