//! The oldest form of `crypt`: 25 rounds of DES (FIPS 46-3) over zeros, the key of which is the password's first eight
//! characters. Only verified, for passwords that are there already: it is long broken.

use super::crypt64::ALPHABET;
use super::same;

/// Two characters of salt, and eleven.
const TEXT_BYTES: usize = 13;
const SALT_BYTES: usize = 2;
const ITERATIONS: usize = 25;

/// Whether a text has this form.
pub(super) fn is(text: &str) -> bool {
    text.len() == TEXT_BYTES && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

pub(super) fn verify(text: &str, password: &[u8]) -> bool {
    if !is(text) {
        return false;
    }
    let (salt, expected) = text.as_bytes().split_at(SALT_BYTES);
    same(expected, &print(compute(password, salt)))
}

fn compute(password: &[u8], salt: &[u8]) -> u64 {
    let keys =
        keys(password.iter().take(8).chain(&[0; 8]).take(8).fold(0, |key, byte| key << 8 | u64::from(byte << 1)));
    let swapped = swapped(salt);
    (0..ITERATIONS).fold(0, |block, _| encrypt(block, &keys, swapped))
}

/// Bits of each half of what the expansion gives that the salt has change places, the first of them highest.
fn swapped(salt: &[u8]) -> u64 {
    let number = |byte| ALPHABET.iter().position(|known| *known == byte).unwrap_or(0) as u64;
    let bits = salt.iter().rev().fold(0, |bits, &byte| bits << 6 | number(byte));
    (0..24).filter(|bit| bits >> bit & 1 == 1).fold(0, |mask, bit| mask | 1 << (23 - bit))
}

fn encrypt(block: u64, keys: &[u64; 16], swapped: u64) -> u64 {
    let start = permute(block, 64, &INITIAL);
    let (left, right) = keys
        .iter()
        .fold((start >> 32, start & 0xFFFF_FFFF), |(left, right), key| (right, left ^ scramble(right, *key, swapped)));
    permute(right << 32 | left, 64, &FINAL)
}

fn scramble(half: u64, key: u64, swapped: u64) -> u64 {
    let expanded = permute(half, 32, &EXPANSION);
    let differing = (expanded >> 24 ^ expanded) & swapped;
    let mixed = expanded ^ differing << 24 ^ differing ^ key;
    let substituted = BOXES.iter().enumerate().fold(0, |all, (n, table)| {
        let six = (mixed >> (42 - 6 * n) & 0x3F) as usize;
        // The outer two bits are the row, the inner four the column.
        let (row, column) = (six >> 4 & 2 | six & 1, six >> 1 & 0xF);
        all << 4 | u64::from(table[row * 16 + column])
    });
    permute(substituted, 32, &PERMUTATION)
}

/// The 48 bits of the key for each of the rounds.
fn keys(key: u64) -> [u64; 16] {
    let chosen = permute(key, 64, &CHOICE_1);
    let (mut left, mut right) = (chosen >> 28, chosen & 0xFFF_FFFF);
    ROTATIONS.map(|by| {
        [left, right] = [left, right].map(|half| (half << by | half >> (28 - by)) & 0xFFF_FFFF);
        permute(left << 28 | right, 56, &CHOICE_2)
    })
}

/// The bits of `from`, which are so many and the highest of which is 1, in this order.
fn permute(from: u64, bits: u8, order: &[u8]) -> u64 {
    order.iter().fold(0, |to, place| to << 1 | from >> (bits - place) & 1)
}

/// Six bits in a character, from the highest on; two zeros are added.
fn print(block: u64) -> [u8; TEXT_BYTES - SALT_BYTES] {
    let bits = u128::from(block) << 2;
    std::array::from_fn(|n| ALPHABET[(bits >> (60 - 6 * n) & 0x3F) as usize])
}

const ROTATIONS: [u8; 16] = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];

#[rustfmt::skip]
const INITIAL: [u8; 64] = [
    58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6, 64, 56, 48, 40, 32, 24, 16, 8,
    57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61, 53, 45, 37, 29, 21, 13, 5, 63, 55, 47, 39, 31, 23, 15, 7,
];

#[rustfmt::skip]
const FINAL: [u8; 64] = [
    40, 8, 48, 16, 56, 24, 64, 32, 39, 7, 47, 15, 55, 23, 63, 31, 38, 6, 46, 14, 54, 22, 62, 30, 37, 5, 45, 13, 53, 21, 61, 29,
    36, 4, 44, 12, 52, 20, 60, 28, 35, 3, 43, 11, 51, 19, 59, 27, 34, 2, 42, 10, 50, 18, 58, 26, 33, 1, 41, 9, 49, 17, 57, 25,
];

#[rustfmt::skip]
const EXPANSION: [u8; 48] = [
    32, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9, 8, 9, 10, 11, 12, 13, 12, 13, 14, 15, 16, 17,
    16, 17, 18, 19, 20, 21, 20, 21, 22, 23, 24, 25, 24, 25, 26, 27, 28, 29, 28, 29, 30, 31, 32, 1,
];

#[rustfmt::skip]
const PERMUTATION: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25,
];

#[rustfmt::skip]
const CHOICE_1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36,
    63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
];

#[rustfmt::skip]
const CHOICE_2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2,
    41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];

#[rustfmt::skip]
const BOXES: [[u8; 64]; 8] = [
    [
        14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7, 0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12, 11, 9, 5, 3, 8,
        4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0, 15, 12, 8, 2, 4, 9, 1, 7, 5, 11, 3, 14, 10, 0, 6, 13,
    ],
    [
        15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10, 3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1, 10, 6, 9, 11, 5,
        0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15, 13, 8, 10, 1, 3, 15, 4, 2, 11, 6, 7, 12, 0, 5, 14, 9,
    ],
    [
        10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8, 13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5, 14, 12, 11, 15, 1,
        13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7, 1, 10, 13, 0, 6, 9, 8, 7, 4, 15, 14, 3, 11, 5, 2, 12,
    ],
    [
        7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15, 13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2, 12, 1, 10, 14, 9,
        10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4, 3, 15, 0, 6, 10, 1, 13, 8, 9, 4, 5, 11, 12, 7, 2, 14,
    ],
    [
        2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9, 14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15, 10, 3, 9, 8, 6,
        4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14, 11, 8, 12, 7, 1, 14, 2, 13, 6, 15, 0, 9, 10, 4, 5, 3,
    ],
    [
        12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11, 10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13, 14, 0, 11, 3, 8,
        9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6, 4, 3, 2, 12, 9, 5, 15, 10, 11, 14, 1, 7, 6, 0, 8, 13,
    ],
    [
        4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1, 13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5, 12, 2, 15, 8, 6,
        1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2, 6, 11, 13, 8, 1, 4, 10, 7, 9, 5, 0, 15, 14, 2, 3, 12,
    ],
    [
        13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7, 1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6, 11, 0, 14, 9, 2,
        7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8, 2, 1, 14, 7, 4, 10, 8, 13, 15, 12, 9, 0, 3, 5, 6, 11,
    ],
];
