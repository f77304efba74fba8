//! Who calls, by the credential alone.
//!
//! A credential is one line: its id, a full stop, and 64 hexadecimal digits that nobody else knows. A
//! caller sends it with each request (`authorization: Bearer ...`). The ledger keeps the BLAKE3 hash of
//! it; as the secret is 256 random bits, a fast hash is enough. Hashes are compared in constant time.
//!
//! Who calls is settled before anything of the request but its headers is read (`Door::admit`); whether
//! it may do what it asks, where that is done (`allowed`).

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use tonic::{Request, Status};

use super::batches::Batches;
use super::credential_cache::CredentialCache;
use super::status;
use crate::ledger::{Credential, LedgerError, PostgresLedger, Role, SecretHash};

/// Who is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Whoever has a credential.
    Credentials,
    /// Whoever reaches the port is the operator, by the name of `local`. For one machine alone.
    Open,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// The person or laboratory that answers for what is done.
    pub(super) owner: String,
    /// What is allowed.
    pub(super) role: Role,
    /// The credential's id, where one was asked for.
    pub(super) credential: Option<String>,
}

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// Read-only access: any role.
    Look,
    /// To compute: a worker or the operator.
    Compute,
    /// To change something: the operator.
    Operate,
}

impl Right {
    const fn is_of(self, role: Role) -> bool {
        match self {
            Right::Look => true,
            Right::Compute => matches!(role, Role::Worker | Role::Operator),
            Right::Operate => matches!(role, Role::Operator),
        }
    }
}

impl Caller {
    /// What stands for its credential where that is counted.
    pub(super) fn token(&self) -> &str {
        self.credential.as_deref().unwrap_or_default()
    }
}

impl Door {
    /// Who calls, by the headers of a request.
    ///
    /// # Errors
    /// `Unauthenticated`, or what the ledger says.
    pub(super) async fn admit(
        self,
        keyring: &CredentialCache,
        headers: &HeaderMap,
    ) -> Result<Caller, Status> {
        if self == Door::Open {
            return Ok(Caller {
                owner: "local".to_owned(),
                role: Role::Operator,
                credential: None,
            });
        }
        let (id, hash) = shown(headers)?;
        let stored = keyring.find(id).await?;
        let stored = stored
            .filter(|stored| blake3::Hash::from_bytes(stored.hash) == hash && !stored.revoked)
            .ok_or_else(|| Status::unauthenticated(WRONG))?;
        Ok(Caller {
            owner: stored.owner,
            role: stored.role,
            credential: Some(stored.id),
        })
    }
}

/// The caller of a request, if it may do this.
///
/// # Errors
/// `PermissionDenied`.
pub(super) fn allowed<T>(request: &Request<T>, right: Right) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>();
    let caller = caller.ok_or_else(|| Status::unauthenticated(MISSING))?;
    if right.is_of(caller.role) {
        return Ok(caller.clone());
    }
    Err(Status::permission_denied(format!(
        "the token {} has the role {}, and this call requires {}",
        caller.token(),
        caller.role.name(),
        match right {
            Right::Look => "any role",
            Right::Compute => "the role worker or operator",
            Right::Operate => "the role operator",
        }
    )))
}

/// Whether a caller's credential is still good, long after it was let in.
///
/// # Errors
/// `Unauthenticated`, or what the ledger says.
pub(super) async fn still_admits(keyring: &CredentialCache, caller: &Caller) -> Result<(), Status> {
    let Some(id) = &caller.credential else {
        return Ok(());
    };
    still_good(keyring.find(id).await?)
}

/// The same, as the database has it now and no moment ago: for what was just lent.
///
/// # Errors
/// `Unauthenticated`, or what the ledger says.
pub(super) async fn still_stands(batches: &Batches, caller: &Caller) -> Result<(), Status> {
    let Some(id) = &caller.credential else {
        return Ok(());
    };
    let stored = batches.credentials.ask("", id.clone()).await;
    still_good(stored.map_err(|error| status::status(&error))?)
}

fn still_good(stored: Option<Credential>) -> Result<(), Status> {
    match stored {
        Some(Credential { revoked: false, .. }) => Ok(()),
        _ => Err(Status::unauthenticated(WRONG)),
    }
}

const MISSING: &str = "no API token was sent; create one with `kazoe token create` and name its \
                       file with --token-file";

const WRONG: &str = "the API token is unknown here, or was revoked";

/// A credential's id, and the hash of the secret that was sent with it.
fn shown(headers: &HeaderMap) -> Result<(&str, blake3::Hash), Status> {
    let header = headers
        .get(AUTHORIZATION)
        .ok_or_else(|| Status::unauthenticated(MISSING))?;
    let (id, secret) = header
        .to_str()
        .ok()
        .and_then(|header| header.strip_prefix("Bearer "))
        .and_then(|token| token.split_once('.'))
        .filter(|(id, secret)| id.len() <= 64 && secret.len() == SECRET_DIGITS)
        .ok_or_else(|| Status::unauthenticated("malformed API token"))?;
    Ok((id, blake3::hash(secret.as_bytes())))
}

/// Digits of a credential's secret.
pub(super) const SECRET_DIGITS: usize = 64;

/// A credential just made, with its secret: told once and never again.
pub struct Minted {
    /// Names it.
    pub id: String,
    /// The whole line that a caller sends.
    pub token: String,
}

/// Nothing of the secret.
impl fmt::Debug for Minted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Minted")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Makes a credential and keeps its hash.
///
/// # Errors
/// If the system gives no random bits, or what the ledger says.
pub async fn mint(
    ledger: &PostgresLedger,
    owner: &str,
    role: Role,
    by: &str,
) -> Result<Minted, MintError> {
    loop {
        let id = format!("t-{}", random_hex::<4>()?);
        let secret = random_hex::<32>()?;
        let hash: SecretHash = *blake3::hash(secret.as_bytes()).as_bytes();
        if ledger.add_credential(&id, owner, role, &hash, by).await? {
            let token = format!("{id}.{secret}");
            return Ok(Minted { id, token });
        }
    }
}

/// So many random bytes as hexadecimal digits.
///
/// # Errors
/// If the system gives none.
pub(super) fn random_hex<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Why no credential was made.
#[derive(Debug)]
pub enum MintError {
    /// The system gives no random bits.
    Random(getrandom::Error),
    /// The ledger did not keep it.
    Ledger(LedgerError),
}

impl From<getrandom::Error> for MintError {
    fn from(error: getrandom::Error) -> Self {
        MintError::Random(error)
    }
}

impl From<LedgerError> for MintError {
    fn from(error: LedgerError) -> Self {
        MintError::Ledger(error)
    }
}

impl fmt::Display for MintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MintError::Random(error) => write!(f, "the system gives no random bits: {error}"),
            MintError::Ledger(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MintError {}
