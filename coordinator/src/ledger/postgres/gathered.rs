//! What many callers ask at once, and what of it writes to one campaign.

use std::sync::Arc;

use fail::fail_point;
use tokio::sync::Semaphore;

use super::claim::{self, Claimant};
use super::deliver::{self, Parcel};
use super::gather::{Answer, Gather};
use super::{Memo, PostgresLedger, ending, heard, note, noted};
use crate::leasing::{Millis, Verdict};
#[cfg(doc)]
use crate::ledger::Ledger;
use crate::ledger::{
    AskingWorker, Credential, Delivery, Heartbeat, Lease, LeaseRecord, LedgerError, Market,
    NewWorker, Token, WorkerRecord,
};

/// How many connections claims and joins have, tallies, and what else workers tell: whatever one kind of
/// request does, the others' connections stay theirs, so heartbeats wait for no claim.
pub(crate) const CLAIMING: u32 = 3;
pub(crate) const KEEPING: u32 = 4;
pub(crate) const TELLING: u32 = 4;

/// Rows that one turn may become, about: a few tenths of a second's work.
const MOST_ROWS: usize = 1 << 14;

/// Requests that one turn may serve.
const MOST_REQUESTS: usize = 1 << 10;

/// Segments that the claims of one turn may want.
const MOST_WANTED: usize = 1 << 14;

/// What many callers ask at once.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) credentials: Gather<String, Option<Credential>>,
    pub(super) joiners: Gather<(String, NewWorker), bool>,
    pub(super) asking: Gather<AskingWorker, Option<(WorkerRecord, u64)>>,
    pub(super) market: Gather<Millis, Market>,
    pub(super) claims: Gather<Claimant, Option<Lease>>,
    pub(super) leases: Gather<Token, LeaseRecord>,
    pub(super) parcels: Gather<Parcel, Vec<Verdict>>,
    pub(super) beats: Gather<heard::Beat, Heartbeat>,
    pub(super) ends: Gather<Token, u64>,
}

impl Gathered {
    pub(super) fn new() -> Self {
        let connections = |number: u32| Arc::new(Semaphore::new(number as usize));
        let (claiming, keeping, telling) = (
            connections(CLAIMING),
            connections(KEEPING),
            connections(TELLING),
        );
        Gathered {
            credentials: Gather::new(MOST_REQUESTS, &claiming),
            joiners: Gather::new(MOST_REQUESTS, &claiming),
            asking: Gather::new(MOST_REQUESTS, &claiming),
            market: Gather::new(MOST_REQUESTS, &claiming),
            claims: Gather::new(MOST_WANTED, &claiming),
            parcels: Gather::new(MOST_ROWS, &keeping),
            leases: Gather::new(MOST_REQUESTS, &telling),
            beats: Gather::new(MOST_REQUESTS, &telling),
            ends: Gather::new(MOST_REQUESTS, &telling),
        }
    }
}

impl PostgresLedger {
    /// [`Gather::ask`], where this ledger serves: it is handed to `serve` with what all of them are about.
    ///
    /// # Errors
    /// What `serve` says.
    pub(super) async fn together<Q, A, F, Served>(
        &self,
        gather: &Gather<Q, A>,
        about: &str,
        request: Q,
        weight: usize,
        serve: F,
    ) -> Answer<A>
    where
        Q: Clone + Send + 'static,
        A: Send + 'static,
        F: Fn(PostgresLedger, String, Vec<Q>) -> Served + Send + Sync + 'static,
        Served: Future<Output = Result<Vec<Answer<A>>, LedgerError>> + Send + 'static,
    {
        let (ledger, id) = (self.clone(), about.to_owned());
        let serve = move |requests| serve(ledger.clone(), id.clone(), requests);
        gather.ask(about, request, weight, serve).await
    }
}

/// What writes to one campaign for many callers at once.
impl PostgresLedger {
    /// As [`Ledger::deliver`], of a token that is known to be of this campaign.
    ///
    /// # Errors
    /// As there; [`LedgerError::NotHeld`] also if it is another campaign's.
    pub async fn deliver_to(
        &self,
        campaign: &str,
        token: Token,
        deliveries: &[Delivery],
    ) -> Result<Vec<Verdict>, LedgerError> {
        let parcel = Parcel {
            token,
            deliveries: deliveries.into(),
        };
        let (parcels, weight) = (&self.gathered.parcels, parcel.weight());
        self.together(
            parcels,
            campaign,
            parcel,
            weight,
            |ledger, id, parcels| async move { ledger.deliver_all(&id, &parcels).await },
        )
        .await
    }

    async fn deliver_all(
        &self,
        campaign: &str,
        parcels: &[Parcel],
    ) -> Result<Vec<Answer<Vec<Verdict>>>, LedgerError> {
        self.write(|mut tx, _| async move {
            let verdicts = deliver::deliver(&mut tx, campaign, parcels).await?;
            fail_point!("coordinator.deliver.written");
            Ok((tx, verdicts))
        })
        .await
    }

    /// As [`Ledger::end`], of a token that is known to be of this campaign.
    ///
    /// # Errors
    /// As there; [`LedgerError::NotHeld`] also if it is another campaign's.
    pub async fn end_of(&self, campaign: &str, token: Token) -> Result<u64, LedgerError> {
        let ends = &self.gathered.ends;
        self.together(ends, campaign, token, 1, |ledger, id, tokens| async move {
            ledger.end_all(&id, &tokens).await
        })
        .await
    }

    async fn end_all(
        &self,
        campaign: &str,
        tokens: &[Token],
    ) -> Result<Vec<Answer<u64>>, LedgerError> {
        self.write(|mut tx, again| async move {
            let returned = ending::end(&mut tx, campaign, tokens, again).await?;
            fail_point!("coordinator.end.written");
            Ok((tx, returned))
        })
        .await
    }

    /// As [`Ledger::claim`].
    ///
    /// # Errors
    /// As there.
    pub(super) async fn claim_of(
        &self,
        campaign: &str,
        claimant: Claimant,
    ) -> Result<Option<Lease>, LedgerError> {
        let weight = usize::try_from(claimant.want).unwrap_or(usize::MAX);
        let claims = &self.gathered.claims;
        self.together(
            claims,
            campaign,
            claimant,
            weight,
            |ledger, id, claimants| async move { ledger.claim_all(&id, &claimants).await },
        )
        .await
    }

    async fn claim_all(
        &self,
        campaign: &str,
        claimants: &[Claimant],
    ) -> Result<Vec<Answer<Option<Lease>>>, LedgerError> {
        let memo = &Memo::default();
        let lent = self.write(|mut tx, again| async move {
            let earlier: Vec<Option<Token>> = noted(memo).filter(|_| again).unwrap_or_default();
            if let Some(leases) = claim::find(&mut tx, campaign, &earlier).await? {
                return Ok((tx, leases));
            }
            let leases = claim::claim(&mut tx, campaign, claimants).await?;
            if leases.iter().any(Option::is_some) {
                let new = leases
                    .iter()
                    .map(|lease| lease.as_ref().map(|lease| lease.token));
                note(memo, new.collect());
                fail_point!("coordinator.claim.written");
            }
            Ok((tx, leases))
        });
        Ok(lent.await?.into_iter().map(Ok).collect())
    }

    pub(super) async fn campaign_of(&self, token: Token) -> Result<String, LedgerError> {
        self.read(|mut tx| async move { deliver::campaign_of(&mut tx, token).await })
            .await
    }
}
