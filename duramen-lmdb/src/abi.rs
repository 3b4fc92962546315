//! The names, numbers and layouts that programs compiled for LMDB have in them.
//!
//! Owns: types and constants of the C interface. Must not know: the engine.
#![allow(missing_docs, reason = "lmdb.h says what each name means")]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Bytes that pass the border: a key, a value, or room for one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MdbVal {
    /// How many.
    pub mv_size: usize,
    /// Where.
    pub mv_data: *mut c_void,
}

/// What a table, or the main one, consists of.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MdbStat {
    /// Bytes in a page.
    pub ms_psize: c_uint,
    /// Levels of the tree.
    pub ms_depth: c_uint,
    /// Branch pages.
    pub ms_branch_pages: usize,
    /// Leaf pages.
    pub ms_leaf_pages: usize,
    /// Overflow pages.
    pub ms_overflow_pages: usize,
    /// Entries, each duplicate counted.
    pub ms_entries: usize,
}

/// The environment in numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MdbEnvinfo {
    /// Where the map was asked to be; never asked for here.
    pub me_mapaddr: *mut c_void,
    /// The limit that was set, in bytes.
    pub me_mapsize: usize,
    /// Number of the file's last page in use.
    pub me_last_pgno: usize,
    /// Number of the newest commit.
    pub me_last_txnid: usize,
    /// Readers that there may be.
    pub me_maxreaders: c_uint,
    /// Readers that there were at most.
    pub me_numreaders: c_uint,
}

/// Compares two keys, or two duplicates.
pub type MdbCmp = unsafe extern "C" fn(*const MdbVal, *const MdbVal) -> c_int;
/// Takes a line of text.
pub type MdbMsg = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
/// Is told of an inconsistency.
pub type MdbAssert = unsafe extern "C" fn(*mut crate::env::Env, *const c_char);
/// Would move position-dependent values; never called, by LMDB neither.
pub type MdbRel = unsafe extern "C" fn(*mut MdbVal, *mut c_void, *mut c_void, *mut c_void);
/// Would encrypt or decrypt a page; never called.
pub type MdbEnc = unsafe extern "C" fn(*const MdbVal, *mut MdbVal, *const MdbVal, c_int) -> c_int;
/// Would sum up a page; never called.
pub type MdbSum = unsafe extern "C" fn(*const MdbVal, *mut MdbVal, *const MdbVal);

/// Flags of an environment.
pub mod env {
    use std::ffi::c_uint;
    pub const FIXEDMAP: c_uint = 0x01;
    pub const ENCRYPT: c_uint = 0x2000;
    pub const NOSUBDIR: c_uint = 0x4000;
    pub const NOSYNC: c_uint = 0x1_0000;
    pub const RDONLY: c_uint = 0x2_0000;
    pub const NOMETASYNC: c_uint = 0x4_0000;
    pub const WRITEMAP: c_uint = 0x8_0000;
    pub const MAPASYNC: c_uint = 0x10_0000;
    pub const NOTLS: c_uint = 0x20_0000;
    pub const NOLOCK: c_uint = 0x40_0000;
    pub const NORDAHEAD: c_uint = 0x80_0000;
    pub const NOMEMINIT: c_uint = 0x100_0000;
    pub const PREVSNAPSHOT: c_uint = 0x200_0000;
    pub const REMAP_CHUNKS: c_uint = 0x400_0000;
    /// May be changed while the environment is open.
    pub const CHANGEABLE: c_uint = NOSYNC | NOMETASYNC | MAPASYNC | NOMEMINIT;
    /// May be chosen when it is opened.
    pub const CHANGELESS: c_uint = FIXEDMAP | NOSUBDIR | RDONLY | WRITEMAP | NOTLS | NOLOCK | NORDAHEAD;
    /// As well, in the interface of 1.0.
    pub const LATER: c_uint = REMAP_CHUNKS;
}

/// Flags of a table.
pub mod db {
    use std::ffi::c_uint;
    pub const REVERSEKEY: c_uint = 0x02;
    pub const DUPSORT: c_uint = 0x04;
    pub const INTEGERKEY: c_uint = 0x08;
    pub const DUPFIXED: c_uint = 0x10;
    pub const INTEGERDUP: c_uint = 0x20;
    pub const REVERSEDUP: c_uint = 0x40;
    pub const CREATE: c_uint = 0x4_0000;
    /// Those that stay with the table.
    pub const PERSISTENT: c_uint = REVERSEKEY | DUPSORT | INTEGERKEY | DUPFIXED | INTEGERDUP | REVERSEDUP;
}

/// Flags of writing.
pub mod put {
    use std::ffi::c_uint;
    pub const NOOVERWRITE: c_uint = 0x10;
    pub const NODUPDATA: c_uint = 0x20;
    pub const CURRENT: c_uint = 0x40;
    pub const RESERVE: c_uint = 0x1_0000;
    pub const APPEND: c_uint = 0x2_0000;
    pub const APPENDDUP: c_uint = 0x4_0000;
    pub const MULTIPLE: c_uint = 0x8_0000;
}

/// Flag of copying: leave out what is free.
pub const CP_COMPACT: c_uint = 0x01;

/// Longest key, and longest duplicate.
pub const KEY_BYTES_MAX: usize = 511;
/// Longest value.
pub const VALUE_BYTES_MAX: usize = 0xffff_ffff;

/// Table handles that exist without being opened: the free list's, which is none here, and the main table's.
pub const CORE_DBS: usize = 2;
/// The list of free pages.
pub const FREE_DBI: u32 = 0;
/// The main table.
pub const MAIN_DBI: u32 = 1;

/// A number of the engine's as a `size_t`: both have 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the engine is for addresses of 64 bits")]
pub(crate) const fn size(n: u64) -> usize {
    n as usize
}

impl MdbVal {
    /// Nothing, nowhere.
    pub const NONE: MdbVal = MdbVal { mv_size: 0, mv_data: std::ptr::null_mut() };

    /// The bytes of a slice.
    pub fn of(bytes: &[u8]) -> MdbVal {
        MdbVal { mv_size: bytes.len(), mv_data: bytes.as_ptr().cast_mut().cast() }
    }
}

/// Movements, which have the numbers 0, 1, 2 and so on.
macro_rules! movements {
    ($($name:ident)*) => {
        /// Movements of a cursor, by number.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Op {
            $($name),*
        }

        impl Op {
            /// The movement of this number.
            pub fn of(number: c_uint) -> Option<Op> {
                match number {
                    $(n if n == Op::$name as c_uint => Some(Op::$name),)*
                    _ => None,
                }
            }
        }
    };
}

movements! {
    First FirstDup GetBoth GetBothRange GetCurrent GetMultiple Last LastDup Next NextDup NextMultiple NextNodup Prev PrevDup
    PrevNodup Set SetKey SetRange PrevMultiple
}
