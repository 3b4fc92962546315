//! Serial numbers: integers in DER as decimal digits.

use crate::ber::Reader;
use crate::error::DecodeError;

/// Longest serial number in octets. RFC 5280 section 4.1.2.2 allows 20, and asks not to be surprised by longer ones.
const OCTETS_MAX: usize = 128;

/// The integer that an INTEGER's content is, in decimal.
pub(super) fn decimal(content: Reader<'_>) -> Result<String, DecodeError> {
    let octets = content.rest();
    if octets.is_empty() || octets.len() > OCTETS_MAX {
        return content.fail("a serial number of 1 to 128 octets");
    }
    // The absolute value of a negative number is what its bits are turned over, and one more.
    let negative = octets[0] >= 0x80;
    let mut digits = vec![0];
    for octet in octets {
        times_and(&mut digits, 256, u32::from(if negative { !octet } else { *octet }));
    }
    if negative {
        times_and(&mut digits, 1, 1);
    }
    let sign = if negative { "-" } else { "" };
    Ok(sign.chars().chain(digits.iter().rev().map(|&digit| char::from(b'0' + digit))).collect())
}

/// Multiplies a number, whose lowest digit comes first, and adds to it.
fn times_and(digits: &mut Vec<u8>, factor: u32, mut carry: u32) {
    for digit in digits.iter_mut() {
        carry += u32::from(*digit) * factor;
        *digit = (carry % 10) as u8;
        carry /= 10;
    }
    while carry > 0 {
        digits.push((carry % 10) as u8);
        carry /= 10;
    }
}
