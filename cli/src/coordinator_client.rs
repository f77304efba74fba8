//! A coordinator as commands see it.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kazoe_coordinator::ledger::{CampaignRecord, Listed, Snapshot, Submitted};
use kazoe_coordinator::wire;
use kazoe_proto::campaigns::Holder;
use kazoe_proto::v1::admin_client::AdminClient;
use kazoe_proto::v1::campaigns_client::CampaignsClient;
use kazoe_proto::{campaigns, v1};
use kazoe_worker::channel::{Link, Wire, check_token};
use kazoe_worker::proxy::Proxy;
use tonic::{Code, Status};

use crate::address;
use crate::exit::Stop;
use crate::postgres_args::{Secret, first_line};
use crate::report::{Findings, Home, Machines};
use crate::secrets;
use crate::sqlite_args::choose;
use crate::text_file;

/// The largest answer that is taken: a report with the paths of a very large campaign.
const MOST_BYTES: usize = 256 << 20;

/// The heading of each of these flags: one of the whole group would stand over the flags after it as well.
const HEADING: &str = "A coordinator";

/// Which coordinator, and what is shown to it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OfficeArgs {
    /// The coordinator's address: http://HOST:7273, or https://HOST:7273 with TLS. HOST or HOST:PORT alone is
    /// http:// on this machine and https:// elsewhere.
    #[arg(
        help_heading = HEADING,
        long = "coordinator",
        value_name = "URL",
        env = "KAZOE_COORDINATOR",
        hide_env_values = true
    )]
    url: Option<String>,

    /// A file whose first line is the token from the operator.
    #[arg(help_heading = HEADING, long, value_name = "FILE", env = "KAZOE_TOKEN_FILE")]
    token_file: Option<PathBuf>,

    /// A file with the trusted certificates (PEM) instead of the system's.
    #[arg(help_heading = HEADING, long, value_name = "FILE", env = "KAZOE_CA_FILE")]
    ca_file: Option<PathBuf>,

    /// A file with the client certificate (PEM), if the coordinator requires one.
    #[arg(help_heading = HEADING, long, value_name = "FILE", env = "KAZOE_CERT_FILE")]
    cert_file: Option<PathBuf>,

    /// A file with that certificate's key (PEM).
    #[arg(help_heading = HEADING, long, value_name = "FILE", env = "KAZOE_KEY_FILE")]
    key_file: Option<PathBuf>,

    /// The HTTP proxy: http://HOST:PORT or http://USER:PASSWORD@HOST:PORT. The default for https:// is
    /// HTTPS_PROXY, except for hosts in NO_PROXY.
    #[arg(help_heading = HEADING, long, value_name = "URL", env = "KAZOE_PROXY", hide_env_values = true)]
    proxy: Option<Secret>,
}

impl OfficeArgs {
    /// What clap calls the address.
    pub(crate) const ID: &str = "url";

    /// As if no coordinator was named.
    pub(crate) fn forget(&mut self) {
        self.url = None;
    }

    /// Whether a coordinator was named.
    pub(crate) const fn is_named(&self) -> bool {
        self.url.is_some()
    }

    /// How to reach it.
    ///
    /// # Errors
    /// If none was named, or a file can't be read.
    pub(crate) fn link(&self) -> Result<Link, Stop> {
        let url = self.url.clone().ok_or_else(|| {
            Stop::usage("no coordinator: name it by --coordinator URL or KAZOE_COORDINATOR")
        })?;
        let token = self.token_file.as_deref().map(token).transpose()?;
        self.key_file
            .iter()
            .for_each(|path| secrets::warn_if_readable(path));
        let read = |path: &PathBuf| text_file::read_pem(path);
        let certificate = match (&self.cert_file, &self.key_file) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            (None, None) => None,
            _ => {
                return Err(Stop::usage(
                    "--cert-file and --key-file require each other: the client's certificate and its key",
                ));
            }
        };
        let url = address::url(&url, self.ca_file.is_some());
        let named = self.proxy.as_ref().map(|proxy| proxy.tell().trim());
        let proxy = Proxy::find(named, &url, |name| std::env::var(name).ok());
        Ok(Link {
            url,
            proxy: proxy.map_err(Stop::usage)?,
            authority: self.ca_file.as_ref().map(read).transpose()?,
            certificate,
            token,
            ..Link::default()
        })
    }

    /// The file with the token, if one was named.
    pub(crate) fn token_file(&self) -> Option<&Path> {
        self.token_file.as_deref()
    }

    /// The address, as a message shows it.
    pub(crate) fn shown(&self) -> &str {
        self.url.as_deref().unwrap_or_default()
    }

    /// The coordinator; it is not asked anything yet.
    ///
    /// # Errors
    /// If no coordinator was named, or a setting is invalid.
    pub(crate) fn open(&self) -> Result<Office, Stop> {
        let link = self.link()?;
        let wire = link.open().map_err(Stop::usage)?;
        Ok(Office {
            campaigns: CampaignsClient::new(wire.clone()).max_decoding_message_size(MOST_BYTES),
            admin: AdminClient::new(wire),
            url: link.url,
            token_file: self.token_file.clone(),
        })
    }
}

/// The answer to a submission.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The campaign as it is now.
    pub(crate) record: CampaignRecord,
    /// What the submission did.
    pub(crate) how: Submitted,
    /// Whether the campaign is complete; `None` from an older coordinator.
    pub(crate) complete: Option<bool>,
}

/// A coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Office {
    pub(crate) campaigns: CampaignsClient<Wire>,
    pub(crate) admin: AdminClient<Wire>,
    pub(crate) url: String,
    token_file: Option<PathBuf>,
}

/// The token in a file.
fn token(path: &Path) -> Result<String, Stop> {
    let token = first_line(path)?;
    check_token(&token)
        .map_err(|error| Stop::usage(format_args!("{}: {error}", path.display())))?;
    Ok(token)
}

/// The workers that hold leases of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AtWork {
    /// How many they are.
    pub(crate) number: u32,
    /// The first of them.
    pub(crate) some: Vec<Holder>,
}

impl AtWork {
    fn of(snapshot: &campaigns::Snapshot) -> Self {
        AtWork {
            number: snapshot.workers,
            some: snapshot.holders.clone(),
        }
    }
}

/// `3 at work (w-1a2b3c rack-7, w-4d5e6f, ...)`.
impl fmt::Display for AtWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: usize = 3;
        write!(f, "{} at work", self.number)?;
        let named = self.some.iter().take(NAMED).map(|one| match &one.name {
            Some(name) => format!("{} {name}", one.worker),
            None => one.worker.clone(),
        });
        let mut named: Vec<String> = named.collect();
        if named.len() < self.number as usize {
            named.push("...".to_owned());
        }
        if self.some.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", named.join(", "))
    }
}

impl Office {
    /// What a refusal means for a command.
    pub(crate) fn refused(&self, status: &Status) -> Stop {
        let (url, words) = (&self.url, status.message());
        match status.code() {
            // What TLS says of an answer that is none of its own.
            Code::Unavailable | Code::Unknown if words.contains("InvalidContentType") => {
                Stop::failed(format_args!(
                    "the coordinator {url} does not use TLS: if the network is private, write its \
                     address with http://"
                ))
            }
            Code::Unavailable | Code::Unknown if words.contains("invalid peer certificate") => {
                Stop::failed(format_args!(
                    "the coordinator {url} presents an untrusted certificate ({words}): name its \
                     authority's certificate with --ca-file, and a host that the certificate \
                     covers"
                ))
            }
            // The coordinator itself says so; the network's errors have a source.
            Code::Unavailable if status.source().is_none() => Stop::failed(format_args!(
                "the coordinator {url} cannot serve at present: {words}"
            )),
            Code::Unavailable | Code::Unknown => Stop::failed(format_args!(
                "the coordinator {url} does not answer ({words}): check the address, and that it runs"
            )),
            // Our own calls are neither compressed nor too large: it does not know the call.
            Code::Unimplemented => Stop::failed(format_args!(
                "the coordinator {url} does not support this command: its release is older; upgrade it"
            )),
            Code::Unauthenticated => match &self.token_file {
                Some(file) => Stop::failed(format_args!(
                    "{words} (the token is from {})",
                    file.display()
                )),
                None => Stop::failed(words),
            },
            _ => Stop::failed(words),
        }
    }

    /// The error of an invalid response.
    pub(crate) fn odd(&self, invalid: &kazoe_proto::Invalid) -> Stop {
        Stop::failed(format_args!(
            "invalid response from the coordinator at {}: {invalid}; check that it runs the same release",
            self.url
        ))
    }

    /// Submits, resumes or extends a campaign.
    ///
    /// # Errors
    /// What the coordinator says.
    pub(crate) async fn submit(
        &mut self,
        submission: &campaigns::Submission,
    ) -> Result<Answer, Stop> {
        let request = campaigns::submit_request(submission);
        let answer = self.campaigns.submit(request).await;
        let answer = answer.map_err(|status| self.refused(&status))?;
        let answer = campaigns::submitted(answer.into_inner());
        let answer = answer.map_err(|odd| self.odd(&odd))?;
        Ok(Answer {
            record: answer.record,
            how: answer.how,
            complete: answer.complete,
        })
    }

    /// All campaigns, those of another build apart.
    ///
    /// # Errors
    /// What the coordinator says.
    pub(crate) async fn list(&mut self) -> Result<Listed, Stop> {
        let listed = self.campaigns.list(v1::ListRequest {}).await;
        let listed = listed.map_err(|status| self.refused(&status))?.into_inner();
        let listed = campaigns::listed(listed).map_err(|odd| self.odd(&odd))?;
        Ok(listed)
    }

    /// The campaign that a text names, as [`choose`] finds it.
    ///
    /// # Errors
    /// If there is none, or more than one, or what the coordinator says.
    pub(crate) async fn find(&mut self, name: Option<&str>) -> Result<CampaignRecord, Stop> {
        let listed = self.list().await?;
        choose(listed, name, &self.url, "`kazoe submit` begins one")
    }

    /// A campaign as it is now, and which workers hold leases of it; or in words why the coordinator or this
    /// build cannot read it.
    ///
    /// # Errors
    /// What the coordinator says of anything else.
    pub(crate) async fn look(
        &mut self,
        id: &str,
    ) -> Result<Result<(Snapshot, AtWork), String>, Stop> {
        let first = async {
            let mut watched = self.watch(id).await?;
            watched.message().await
        };
        match first.await {
            Ok(first) => {
                let read = campaigns::snapshot("snapshot", first).map_err(|odd| odd.to_string());
                Ok(read.map(|read| {
                    let workers = AtWork::of(&read);
                    (wire::snapshot_back(read), workers)
                }))
            }
            Err(status) if status.code() == Code::FailedPrecondition => {
                Ok(Err(status.message().to_owned()))
            }
            Err(status) => Err(self.refused(&status)),
        }
    }

    /// Whether a campaign is complete; false if reading it fails.
    ///
    /// # Errors
    /// What the coordinator says.
    pub(crate) async fn is_complete(&mut self, id: &str) -> Result<bool, Stop> {
        let looked = self.look(id).await?;
        Ok(looked.is_ok_and(|(snapshot, _)| snapshot.is_complete()))
    }

    /// A campaign's snapshots, the first at once.
    pub(crate) async fn watch(
        &mut self,
        id: &str,
    ) -> Result<tonic::Streaming<v1::Snapshot>, Status> {
        let watched = self.campaigns.watch(campaigns::campaign_ref(id)).await?;
        Ok(watched.into_inner())
    }

    /// The snapshot that a message says, and which workers hold leases.
    ///
    /// # Errors
    /// If it can't be.
    pub(crate) fn read(&self, message: Option<v1::Snapshot>) -> Result<(Snapshot, AtWork), Stop> {
        let snapshot = campaigns::snapshot("snapshot", message);
        let snapshot = snapshot.map_err(|odd| self.odd(&odd))?;
        let workers = AtWork::of(&snapshot);
        Ok((wire::snapshot_back(snapshot), workers))
    }

    /// What a campaign found.
    ///
    /// # Errors
    /// What the coordinator says.
    pub(crate) async fn findings(&mut self, id: &str) -> Result<Findings, Stop> {
        let found = self.campaigns.report(campaigns::campaign_ref(id)).await;
        let found = found.map_err(|status| self.refused(&status))?.into_inner();
        let found = campaigns::findings(found).map_err(|odd| self.odd(&odd))?;
        let machines = Machines {
            workers: found.workers,
            left_out: found.more_workers,
        };
        let findings = Findings::new(
            found.record,
            wire::snapshot_back(found.snapshot),
            &found.paths,
            found.builds,
            found.owners,
            Home::Coordinator(self.url.clone()),
        )?;
        Ok(findings.computed_on(machines))
    }

    /// A campaign's ledger file, piece by piece.
    ///
    /// # Errors
    /// What the coordinator or the writer says; what was written until then has no last line.
    pub(crate) async fn export(
        &mut self,
        id: &str,
        mut write: impl FnMut(&[u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let pieces = self.campaigns.export(campaigns::campaign_ref(id)).await;
        let mut pieces = pieces.map_err(|status| self.refused(&status))?.into_inner();
        while let Some(piece) = pieces
            .message()
            .await
            .map_err(|status| self.refused(&status))?
        {
            write(&campaigns::export_text(piece).map_err(|odd| self.odd(&odd))?)?;
        }
        Ok(())
    }
}

/// How long `watch` waits before it asks an unreachable coordinator again.
pub(crate) const AGAIN: Duration = Duration::from_secs(2);
