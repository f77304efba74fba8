//! Credentials that were made elsewhere: by whoever prepares a machine on which nobody sits to be told one.
//!
//! Files with them can be there before the database is, and outlive it; they are adopted each time
//! something starts, and all but the first time that changes nothing.

use std::fmt;

use super::auth::SECRET_DIGITS;
use crate::ledger::{LedgerError, PostgresLedger, Role, SecretHash};

/// Digits of a credential's id.
const ID_DIGITS: usize = 8;

/// What became of a credential that was made elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// The ledger knows it from now on.
    New,
    /// The ledger knew it.
    Known,
}

/// Keeps the hash of a credential that was made elsewhere, as a whole line, and returns its id with what
/// became of it. Adopted again it changes nothing.
///
/// # Errors
/// If the line is no credential, or the ledger knows one of its id that differs.
pub async fn adopt(
    ledger: &PostgresLedger,
    token: &str,
    owner: &str,
    role: Role,
    by: &str,
) -> Result<(String, Adopted), AdoptError> {
    let (id, secret) = made_elsewhere(token).ok_or(AdoptError::Form)?;
    let hash: SecretHash = *blake3::hash(secret.as_bytes()).as_bytes();
    let find = async || {
        Ok::<_, LedgerError>(
            ledger
                .find_credentials(&[id.to_owned()])
                .await?
                .pop()
                .flatten(),
        )
    };
    let how = match find().await? {
        Some(_) => Adopted::Known,
        None => Adopted::New,
    };
    let ours = ledger.add_credential(id, owner, role, &hash, by).await?;
    let stored = find().await?;
    let stored = stored
        .filter(|_| ours)
        .ok_or_else(|| AdoptError::Taken { id: id.to_owned() })?;
    if stored.revoked {
        return Err(AdoptError::Revoked { id: stored.id });
    }
    if stored.owner != owner || stored.role != role {
        return Err(AdoptError::Differs {
            id: stored.id,
            owner: stored.owner,
            role: stored.role,
        });
    }
    Ok((stored.id, how))
}

/// Id and secret of a line that [`mint`](super::auth::mint) could have made.
fn made_elsewhere(token: &str) -> Option<(&str, &str)> {
    let hex = |text: &str, digits| {
        text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let (id, secret) = token.split_once('.')?;
    let named = hex(id.strip_prefix("t-")?, ID_DIGITS);
    (named && hex(secret, SECRET_DIGITS)).then_some((id, secret))
}

/// Why a credential that was made elsewhere was not adopted.
#[derive(Debug)]
pub enum AdoptError {
    /// The line has not the form of a credential. It may be somebody's secret and is not repeated.
    Form,
    /// Another secret has this id.
    Taken {
        /// The id of both.
        id: String,
    },
    /// It was revoked.
    Revoked {
        /// Its id.
        id: String,
    },
    /// It is known as another owner's or another role's.
    Differs {
        /// Its id.
        id: String,
        /// Whose it is.
        owner: String,
        /// What it allows.
        role: Role,
    },
    /// The ledger did not keep it.
    Ledger(LedgerError),
}

impl From<LedgerError> for AdoptError {
    fn from(error: LedgerError) -> Self {
        AdoptError::Ledger(error)
    }
}

impl fmt::Display for AdoptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdoptError::Form => write!(
                f,
                "malformed API token: a token is `t-`, 8 hexadecimal digits, a full stop, and 64 random \
                 hexadecimal digits"
            ),
            AdoptError::Taken { id } => write!(
                f,
                "the token {id} exists with another secret: create another token"
            ),
            AdoptError::Revoked { id } => {
                write!(f, "the token {id} was revoked: create another token")
            }
            AdoptError::Differs { id, owner, role } => write!(
                f,
                "the token {id} exists with the role {} and the owner {owner}: create another \
                 token, or name that role and owner",
                role.name()
            ),
            AdoptError::Ledger(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AdoptError {}

#[cfg(test)]
mod tests {
    use super::made_elsewhere;

    #[test]
    fn a_line_made_elsewhere_has_the_form_of_ours() {
        let secret = "0123456789abcdef".repeat(4);
        let token = format!("t-0a1b2c3d.{secret}");
        assert_eq!(made_elsewhere(&token), Some(("t-0a1b2c3d", &*secret)));
        for wrong in [
            String::new(),
            secret.clone(),
            format!("0a1b2c3d.{secret}"),
            format!("t-0a1b2c3.{secret}"),
            format!("t-0A1B2C3D.{secret}"),
            format!("t-0a1b2c3d.{secret}0"),
            format!("t-0a1b2c3d.{}", &secret[1..]),
            format!("t-0a1b2c3d.{}g", &secret[1..]),
            format!("t-0a1b2c3d {secret}"),
        ] {
            assert_eq!(made_elsewhere(&wrong), None, "{wrong}");
        }
    }
}
