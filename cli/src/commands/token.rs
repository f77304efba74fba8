//! `kazoe token`: who may do what at a coordinator.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use kazoe_coordinator::ledger::Role as LedgerRole;
use kazoe_coordinator::service::auth::mint;
use kazoe_coordinator::service::credential_import::{Adopted, adopt};
use kazoe_proto::admin::{self, Credential, Role as WireRole};
use kazoe_proto::v1;
use serde_json::json;

use crate::completion::ids;
use crate::coordinator_client::OfficeArgs;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::postgres_args::{DatabaseArgs, first_line};
use crate::{secrets, sqlite_args};

/// Create, adopt, list and revoke tokens, the credentials of a coordinator's callers.
///
/// A token names an owner, the person or laboratory responsible for its use, and a role. It is one line for a
/// file that only its owner can read; the database stores a hash of it. The first token, an operator's, is
/// created directly in the database.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe token create --owner me --role operator --database-url-file runtime.url --output operator.token
  kazoe token create --owner 'Tanaka Lab' --role worker --output worker.token
  kazoe token list
  kazoe token revoke t-1a2b3c4d")]
pub(super) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Create a token, and print it or write it to a file; it is not shown again.
    ///
    /// If the token can't be written, it is revoked.
    #[command(after_help = "\
Examples:
  kazoe token create --owner 'Tanaka Lab' --role worker --output worker.token
  kazoe token create --owner 'Tanaka Lab' --role worker | ssh lab 'umask 077; cat > worker.token'")]
    Create(Create),
    /// Adopt tokens from files, for deployments that create them before the database.
    ///
    /// A deployment script, such as deploy/secrets, creates them: `t-`, 8 hexadecimal digits, a full stop, and
    /// 64 random hexadecimal digits. Known tokens stay unchanged, so this may run at each start.
    #[command(after_help = "\
Examples:
  kazoe token adopt --owner home --operator operator.token --worker worker.token --database-url-file runtime.url")]
    Adopt(Adopt),
    /// List the tokens without their secrets: id, owner, role, state; separated by tabs.
    #[command(after_help = "\
Examples:
  kazoe token list")]
    List(List),
    /// Revoke a token and end its leases.
    #[command(after_help = "\
Examples:
  kazoe token revoke t-1a2b3c4d")]
    Revoke(Revoke),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Read-only access.
    Viewer,
    /// Read, join, claim and deliver.
    Worker,
    /// Everything.
    Operator,
}

#[derive(Debug, clap::Args)]
struct Create {
    /// The person or laboratory responsible for the token's use.
    #[arg(long, value_name = "NAME")]
    owner: String,

    /// The token's role.
    #[arg(long, value_enum)]
    role: Role,

    /// A new file for the token, which only its owner can read (mode 0600), instead of standard output. An
    /// existing file is not overwritten.
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct Adopt {
    /// The person or laboratory responsible for the tokens' use.
    #[arg(long, value_name = "NAME")]
    owner: String,

    /// A file whose first line is a viewer's token; may be given several times.
    #[arg(long, value_name = "FILE")]
    viewer: Vec<PathBuf>,

    /// A file whose first line is a worker's token.
    #[arg(long, value_name = "FILE")]
    worker: Vec<PathBuf>,

    /// A file whose first line is an operator's token.
    #[arg(long, value_name = "FILE")]
    operator: Vec<PathBuf>,

    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    form: FormArgs,
}

#[derive(Debug, clap::Args)]
struct Revoke {
    /// The token's id, which is also its part before the full stop.
    #[arg(add = ArgValueCompleter::new(ids::tokens))]
    id: String,

    #[command(flatten)]
    place: Place,
}

/// By way of a coordinator, or past it.
#[derive(Debug, clap::Args)]
struct Place {
    #[command(flatten)]
    office: OfficeArgs,

    #[command(flatten)]
    database: DatabaseArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        sqlite_args::block_on(async {
            match &self.act {
                Act::Create(create) => create.run(output).await,
                Act::Adopt(adopt) => adopt.run(output).await,
                Act::List(list) => list.run(output).await,
                Act::Revoke(revoke) => revoke.run().await,
            }
        })
    }
}

/// Who acts past the coordinator.
const BY: &str = "database";

impl Create {
    async fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        // What a caller may not send may not be made past a coordinator either.
        let wanted = admin::create_token_request(&self.owner, self.role.both().1);
        let (owner, _) = admin::new_token(wanted).map_err(Stop::usage)?;
        let path = self.output.as_deref();
        // Before the token is made: without a file for it there is to be none.
        let file = path
            .filter(|path| *path != Path::new("-"))
            .map(NewFile::create);
        let file = file.transpose()?;
        let (id, token) = self.make(&owner).await?;
        let written = match file {
            Some(file) => file.write(&token),
            None => output.line(token).and_then(|()| output.flush()),
        };
        match (written, path) {
            // A token without a reader is lost.
            (Err(why), _) => return Err(self.take_back(&id, why).await),
            (Ok(()), Some(path)) if path != Path::new("-") => tell(format_args!(
                "Token {id} for {owner}: written to {}, which only its owner can read; it is not shown again.",
                path.display()
            )),
            (Ok(()), _) => {
                tell(format_args!(
                    "Token {id} for {owner}: keep it in a file that only its owner can read; it is not shown again."
                ));
                secrets::warn_if_output_is_readable();
            }
        }
        Ok(Ending::Done)
    }

    /// Revokes a token that could not be written.
    async fn take_back(&self, id: &str, why: Stop) -> Stop {
        let why = match why {
            Stop::Closed => "standard output is closed".to_owned(),
            Stop::Usage(why) | Stop::Failed(why) => why,
        };
        match self.place.revoke(id).await {
            Ok(()) => Stop::Failed(format!("{why}; the token {id} was revoked")),
            Err(Stop::Usage(not) | Stop::Failed(not)) => Stop::Failed(format!(
                "{why}; the token {id} could not be revoked ({not}): `kazoe token revoke {id}`"
            )),
            Err(Stop::Closed) => Stop::Failed(why),
        }
    }

    /// Makes the token of this owner; its id and the token.
    async fn make(&self, owner: &str) -> Result<(String, String), Stop> {
        Ok(if self.place.database.is_named() {
            let ledger = self.place.database.connect().await?;
            let (ledger_role, _) = self.role.both();
            let minted = mint(&ledger, owner, ledger_role, BY).await;
            let minted = minted.map_err(Stop::failed)?;
            (minted.id, minted.token)
        } else {
            let mut office = self.place.office.open()?;
            let wanted = admin::create_token_request(owner, self.role.both().1);
            let made = office.admin.create_token(wanted).await;
            let made = made.map_err(|status| office.refused(&status))?.into_inner();
            let made = admin::new_credential(made).map_err(|odd| office.odd(&odd))?;
            (made.id, made.secret)
        })
    }
}

/// A file that was made for a secret and that only its owner can read. It is removed unless the secret is
/// written.
struct NewFile<'a> {
    path: &'a Path,
    file: File,
    whole: bool,
}

impl<'a> NewFile<'a> {
    fn create(path: &'a Path) -> Result<Self, Stop> {
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        match file {
            Ok(file) => Ok(NewFile {
                path,
                file,
                whole: false,
            }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Stop::failed(format_args!(
                    "{} exists already: name another file, or remove it",
                    path.display()
                )))
            }
            Err(error) => Err(Stop::failed(format_args!("{}: {error}", path.display()))),
        }
    }

    fn write(mut self, secret: &str) -> Result<(), Stop> {
        writeln!(self.file, "{secret}")
            .and_then(|()| self.file.sync_all())
            .map_err(|error| Stop::failed(format_args!("{}: {error}", self.path.display())))?;
        self.whole = true;
        Ok(())
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if !self.whole {
            let _ = std::fs::remove_file(self.path);
        }
    }
}

impl Place {
    async fn revoke(&self, id: &str) -> Result<(), Stop> {
        if self.database.is_named() {
            let ledger = self.database.connect().await?;
            let revoked = ledger.revoke_credential(id, BY).await;
            if !revoked.map_err(Stop::failed)? {
                return Err(Stop::failed(format_args!(
                    "no active token `{id}`; `kazoe token list` lists the tokens"
                )));
            }
        } else {
            let mut office = self.office.open()?;
            let request = v1::RevokeTokenRequest { id: id.to_owned() };
            let revoked = office.admin.revoke_token(request).await;
            revoked.map_err(|status| office.refused(&status))?;
        }
        Ok(())
    }
}

impl Adopt {
    async fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let files: Vec<(Role, &Path)> = [
            (Role::Viewer, &self.viewer),
            (Role::Worker, &self.worker),
            (Role::Operator, &self.operator),
        ]
        .into_iter()
        .flat_map(|(role, files)| files.iter().map(move |file| (role, file.as_path())))
        .collect();
        if files.is_empty() {
            return Err(Stop::usage(
                "no tokens: name their files by --operator, --worker and --viewer",
            ));
        }
        let ledger = self.database.connect().await?;
        for (role, file) in files {
            let (ledger_role, wire_role) = role.both();
            // What a caller may not send may not be adopted either.
            let wanted = admin::create_token_request(&self.owner, wire_role);
            let (owner, _) = admin::new_token(wanted).map_err(Stop::usage)?;
            let token = first_line(file)?;
            let adopted = adopt(&ledger, &token, &owner, ledger_role, BY).await;
            let (id, how) = adopted
                .map_err(|error| Stop::failed(format_args!("{}: {error}", file.display())))?;
            let how = match how {
                Adopted::New => "adopted",
                Adopted::Known => "known",
            };
            output.line(format_args!("{id}\t{owner}\t{}\t{how}", ledger_role.name()))?;
        }
        Ok(Ending::Done)
    }
}

impl Role {
    const fn both(self) -> (LedgerRole, WireRole) {
        match self {
            Role::Viewer => (LedgerRole::Viewer, WireRole::Viewer),
            Role::Worker => (LedgerRole::Worker, WireRole::Worker),
            Role::Operator => (LedgerRole::Operator, WireRole::Operator),
        }
    }
}

const fn wire_role(role: LedgerRole) -> WireRole {
    match role {
        LedgerRole::Viewer => WireRole::Viewer,
        LedgerRole::Worker => WireRole::Worker,
        LedgerRole::Operator => WireRole::Operator,
    }
}

impl List {
    async fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        for one in self.credentials().await? {
            let role = match one.role {
                WireRole::Viewer => "viewer",
                WireRole::Worker => "worker",
                WireRole::Operator => "operator",
            };
            let state = if one.revoked { "revoked" } else { "good" };
            if self.form.json() {
                output.json(&json!({
                    "version": JSON_VERSION,
                    "token": one.id,
                    "owner": one.owner,
                    "role": role,
                    "created_at_ms": one.created_at,
                    "state": state,
                }))?;
            } else {
                output.line(format_args!("{}\t{}\t{role}\t{state}", one.id, one.owner))?;
            }
        }
        Ok(Ending::Done)
    }

    async fn credentials(&self) -> Result<Vec<Credential>, Stop> {
        if self.place.database.is_named() {
            let ledger = self.place.database.connect().await?;
            let stored = ledger.credentials().await.map_err(Stop::failed)?;
            let credentials = stored.into_iter().map(|one| Credential {
                id: one.id,
                owner: one.owner,
                role: wire_role(one.role),
                created_at: one.created_at,
                revoked: one.revoked,
            });
            return Ok(credentials.collect());
        }
        let mut office = self.place.office.open()?;
        let listed = office.admin.list_tokens(v1::ListTokensRequest {}).await;
        let listed = listed.map_err(|status| office.refused(&status))?;
        admin::credentials(listed.into_inner()).map_err(|odd| office.odd(&odd))
    }
}

impl Revoke {
    async fn run(&self) -> Result<Ending, Stop> {
        let id = self.id.split('.').next().unwrap_or_default();
        self.place.revoke(id).await?;
        tell(format_args!("Token {id} is revoked."));
        Ok(Ending::Done)
    }
}
