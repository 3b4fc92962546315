//! Attribute types that the program itself gives a meaning.

use super::AttributeId;

macro_rules! well_known {
    ($($field:ident $name:literal,)*) => {
        /// Attribute types that the program itself gives a meaning. All are built in.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the names are the RFCs'")]
        pub struct WellKnown {
            $(pub $field: AttributeId,)*
        }

        impl WellKnown {
            /// Looks each up; the name of the first that is not there otherwise.
            pub(super) fn find(find: impl Fn(&str) -> Option<AttributeId>) -> Result<WellKnown, &'static str> {
                Ok(WellKnown { $($field: find($name).ok_or($name)?,)* })
            }
        }
    };
}

well_known! {
    object_class "objectClass",
    structural_object_class "structuralObjectClass",
    entry_uuid "entryUUID",
    entry_csn "entryCSN",
    context_csn "contextCSN",
    entry_dn "entryDN",
    creators_name "creatorsName",
    create_timestamp "createTimestamp",
    modifiers_name "modifiersName",
    modify_timestamp "modifyTimestamp",
    subschema_subentry "subschemaSubentry",
    has_subordinates "hasSubordinates",
    num_subordinates "numSubordinates",
    member_of "memberOf",
    member "member",
    unique_member "uniqueMember",
    aliased_object_name "aliasedObjectName",
    reference "ref",
    user_password "userPassword",
    account_locked_time "pwdAccountLockedTime",
    password_start_time "pwdStartTime",
    password_end_time "pwdEndTime",
    authz_to "authzTo",
    authz_from "authzFrom",
    labeled_uri "labeledURI",
}

impl WellKnown {
    /// Whether its values are made when an entry is read, and are never stored.
    pub fn is_derived(&self, id: AttributeId) -> bool {
        id == self.entry_dn
            || id == self.subschema_subentry
            || id == self.has_subordinates
            || id == self.num_subordinates
            || id == self.member_of
            || id == self.context_csn
    }

    /// Whether it is set by the directory when an entry is added or changed.
    pub fn is_maintained(&self, id: AttributeId) -> bool {
        id == self.structural_object_class
            || id == self.entry_uuid
            || id == self.entry_csn
            || id == self.creators_name
            || id == self.create_timestamp
            || id == self.modifiers_name
            || id == self.modify_timestamp
    }
}
