//! The alphabets of stored passwords: base64 with or without padding.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes, whether padded or not, with white space or without: scripts that pipe what `slappasswd` prints into `base64`
/// leave a line's end in it. `None` of anything else.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return LENIENT.decode(text.split_ascii_whitespace().collect::<String>()).ok();
    }
    LENIENT.decode(text).ok()
}

/// Encodes, with padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    general_purpose::STANDARD.encode(bytes)
}

/// Decodes the form that has `.` in place of `+` and no padding.
pub(super) fn decode_adapted(text: &str) -> Option<Vec<u8>> {
    decode(&text.replace('.', "+"))
}

/// Encodes in the form that has `.` in place of `+` and no padding.
pub(super) fn encode_adapted(bytes: &[u8]) -> String {
    general_purpose::STANDARD_NO_PAD.encode(bytes).replace('+', ".")
}
