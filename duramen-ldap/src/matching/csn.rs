//! Change sequence numbers as they are asserted: in the form that servers write today, or in one of older servers.
//!
//! What is asserted is told by its separators alone, as other servers tell it. Stored values are compared as they are.

use crate::error::TextError;

/// Appends an asserted number in today's form, `YYYYmmddHHMMSS.uuuuuuZ#SSSSSS#SID#ssssss`.
pub(super) fn assertion(value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    let is_at = |byte: u8, places: &[usize]| {
        let found = value.iter().enumerate().filter(|(_, other)| **other == byte).map(|(place, _)| place);
        found.eq(places.iter().copied())
    };
    match value.len() {
        40 if is_at(b'#', &[22, 29, 33]) => out.extend_from_slice(value),
        // `YYYYmmddHHMMSSZ#SSSSSS#ID#ssssss`
        32 if is_at(b'#', &[15, 22, 25]) => {
            let parts: [&[u8]; 5] = [&value[..14], b".000000Z", &value[15..23], b"0", &value[23..]];
            out.extend_from_slice(&parts.concat());
        }
        // `YYYYmmddHH:MM:SSZ#0xSSSS#I#ssss`
        31 if is_at(b'#', &[17, 24, 26]) && is_at(b':', &[10, 13]) && value[18..].starts_with(b"0x") => {
            let time: [&[u8]; 4] = [&value[..10], &value[11..13], &value[14..16], b".000000Z#00"];
            let rest: [&[u8]; 5] = [&value[20..24], b"#00", &value[25..26], b"#00", &value[27..]];
            out.extend_from_slice(&[time.concat(), rest.concat()].concat());
        }
        _ => return Err(TextError::new(0, "a change sequence number, as YYYYmmddHHMMSS.uuuuuuZ#SSSSSS#SID#ssssss")),
    }
    Ok(())
}
