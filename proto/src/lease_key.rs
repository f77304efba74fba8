//! The key of a lease, which its worker alone knows.

use std::fmt;

use crate::Invalid;

/// Names a lease and proves that its sender holds it: a number of the database's sequence and a random secret. On
/// the wire it is `token`: the number, a hyphen and 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseKey {
    /// The number of the lease.
    pub sequence: i64,
    /// The secret.
    pub secret: [u8; 8],
}

impl LeaseKey {
    /// Reads a key as it is on the wire.
    ///
    /// # Errors
    /// If the text has another form or its number is too large; `field` is the text's field.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let parts = text
            .split_once('-')
            .filter(|(_, secret)| secret.len() == 16 && secret.bytes().all(hex));
        let key = parts.and_then(|(number, secret)| {
            let sequence = Some(number).filter(|number| digits(number))?;
            Some(LeaseKey {
                sequence: sequence.parse().ok()?,
                secret: u64::from_str_radix(secret, 16).ok()?.to_be_bytes(),
            })
        });
        key.ok_or_else(|| {
            Invalid::new(
                field,
                "a lease's key is a number, a hyphen and 16 lower-case hexadecimal digits",
            )
        })
    }

    /// Returns its text on the wire, with the secret.
    #[must_use]
    pub fn to_text(&self) -> String {
        let secret = u64::from_be_bytes(self.secret);
        format!("{}-{secret:016x}", self.sequence)
    }
}

/// Leaves the secret out of logs.
impl fmt::Debug for LeaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseKey({}-..)", self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::LeaseKey;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let key = LeaseKey {
            sequence: 7,
            secret: [0, 1, 2, 3, 0xa4, 0xb5, 0xc6, 0xd7],
        };
        assert_eq!(key.to_text(), "7-00010203a4b5c6d7");
        assert_eq!(LeaseKey::parse("token", &key.to_text()).unwrap(), key);
        assert_eq!(format!("{key:?}"), "LeaseKey(7-..)");
        for text in [
            "",
            "7",
            "7-",
            "-00010203a4b5c6d7",
            "+7-00010203a4b5c6d7",
            "7-00010203A4B5C6D7",
            "7-00010203a4b5c6d",
            "9223372036854775808-00010203a4b5c6d7",
        ] {
            assert!(LeaseKey::parse("token", text).is_err(), "{text}");
        }
    }
}
