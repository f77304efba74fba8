//! The pace and the priority of a campaign on PostgreSQL: what changes them, and what does not.

use std::time::Duration;

use kazoe_coordinator::ledger::{
    CampaignRecord, CampaignState, Lease, Ledger, LedgerError, PostgresLedger, Service, Submission,
};

use crate::made_up::{
    assert_sound, audited_submission, deliveries, operator, owner, submission, wrong_delivery,
};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

/// Lends one owner all that is left of a campaign.
async fn rest(ledger: &PostgresLedger, campaign: &CampaignRecord) -> Lease {
    let lease = ledger.claim_one(&campaign.id, &owner("a"), 100, LONG).await;
    lease.unwrap().unwrap()
}

async fn set(
    ledger: &PostgresLedger,
    campaign: &CampaignRecord,
    pace: CampaignState,
) -> Result<CampaignState, LedgerError> {
    let record = ledger.set_pace(&campaign.id, pace, "op").await;
    record.map(|record| record.pace)
}

#[tokio::test]
async fn a_complete_campaign_is_not_cancelled() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    // More than a checkpoint's worth; the last segment is cut.
    let (campaign, _) = ledger.submit(&submission(1, 600 * 4096 + 9)).await.unwrap();
    while let Some(lease) = ledger
        .claim_one(&campaign.id, &owner("a"), 100, LONG)
        .await
        .unwrap()
    {
        assert!(!ledger.is_complete(&campaign.id).await.unwrap());
        ledger
            .deliver_one(lease.key, &deliveries(&lease))
            .await
            .unwrap();
    }
    assert!(ledger.is_complete(&campaign.id).await.unwrap());
    let refused = set(&ledger, &campaign, CampaignState::Cancelled).await;
    assert!(
        matches!(&refused, Err(LedgerError::Complete(id)) if *id == campaign.id),
        "{refused:?}"
    );
    assert!(
        ledger
            .audit_log(&campaign.id, 0, 9)
            .await
            .unwrap()
            .is_empty()
    );

    // Paused it is still complete; resumed and wanted to be larger it may be cancelled.
    assert_eq!(
        set(&ledger, &campaign, CampaignState::Paused)
            .await
            .unwrap(),
        CampaignState::Paused
    );
    assert!(
        set(&ledger, &campaign, CampaignState::Cancelled)
            .await
            .is_err()
    );
    ledger.submit(&submission(1, 601 * 4096)).await.unwrap();
    assert!(!ledger.is_complete(&campaign.id).await.unwrap());
    assert_eq!(
        set(&ledger, &campaign, CampaignState::Cancelled)
            .await
            .unwrap(),
        CampaignState::Cancelled
    );
    let refused = set(&ledger, &campaign, CampaignState::Paused).await;
    assert!(
        matches!(refused, Err(LedgerError::Cancelled(_))),
        "{refused:?}"
    );
    assert_eq!(
        set(&ledger, &campaign, CampaignState::Running)
            .await
            .unwrap(),
        CampaignState::Running
    );
}

#[tokio::test]
async fn what_is_disputed_or_set_aside_is_not_complete() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger
        .submit(&audited_submission(1, 3 * 4096))
        .await
        .unwrap();
    let id = &campaign.id;
    let lease = rest(&ledger, &campaign).await;
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    ledger.end_one(lease.key).await.unwrap();
    ledger
        .import(id, &owner("b"), &[wrong_delivery(1, 4096)])
        .await
        .unwrap();
    assert!(!ledger.is_complete(id).await.unwrap());
    assert_eq!(
        set(&ledger, &campaign, CampaignState::Cancelled)
            .await
            .unwrap(),
        CampaignState::Cancelled
    );
    set(&ledger, &campaign, CampaignState::Running)
        .await
        .unwrap();
    ledger
        .import(id, &operator(), &[crate::made_up::delivery(1, 4096)])
        .await
        .unwrap();
    assert!(ledger.is_complete(id).await.unwrap());
    ledger.retract(id, 2, "op", "a test").await.unwrap();
    ledger.set_aside(id, 2, "op", "a test").await.unwrap();
    assert!(!ledger.is_complete(id).await.unwrap());
    assert_sound(&ledger, &campaign).await;
}

/// Either the last tally or the cancellation comes first; a campaign that was complete by then is not cancelled.
#[tokio::test]
async fn cancelling_and_completing_at_once_has_one_order() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    for seed in 0..12 {
        let (campaign, _) = ledger.submit(&submission(seed, 3 * 4096)).await.unwrap();
        let lease = rest(&ledger, &campaign).await;
        let (tallies, cancelling) = (deliveries(&lease), ledger.clone());
        let cancelled = tokio::spawn({
            let campaign = campaign.clone();
            async move { set(&cancelling, &campaign, CampaignState::Cancelled).await }
        });
        ledger.deliver_one(lease.key, &tallies).await.unwrap();
        let pace = match cancelled.await.unwrap() {
            Ok(pace) => {
                assert_eq!(pace, CampaignState::Cancelled);
                pace
            }
            Err(LedgerError::Complete(id)) => {
                assert_eq!(id, campaign.id);
                CampaignState::Running
            }
            Err(other) => panic!("{other}"),
        };
        assert_eq!(ledger.campaign(&campaign.id).await.unwrap().pace, pace);
        assert!(ledger.is_complete(&campaign.id).await.unwrap());
        assert_sound(&ledger, &campaign).await;
    }
}

#[tokio::test]
async fn a_priority_counts_from_the_next_claim_on() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let mut ids = Vec::new();
    for (seed, priority) in [(1, 0), (2, 5)] {
        let service = Service {
            priority,
            ..Service::default()
        };
        let wanted = Submission {
            service,
            ..submission(seed, 10 * 4096)
        };
        let (record, _) = ledger.submit(&wanted).await.unwrap();
        assert_eq!(record.priority, Some(priority));
        ids.push(record.id);
    }
    let first = async || {
        ledger
            .market(60_000)
            .await
            .unwrap()
            .queue
            .remove(0)
            .campaign
            .id
    };
    assert_eq!(first().await, ids[1]);
    for (priority, before, leads) in [
        (6, 0, 0),
        (6, 6, 0),
        (i64::MIN, 6, 1),
        (i64::MAX, i64::MIN, 0),
    ] {
        let (record, was) = ledger.set_priority(&ids[0], priority, "op").await.unwrap();
        assert_eq!((record.priority, was), (Some(priority), before));
        assert_eq!(first().await, ids[leads]);
    }
    let log = ledger.audit_log(&ids[0], 0, 9).await.unwrap();
    let notes: Vec<(&str, &str)> = log.iter().map(|line| (&*line.actor, &*line.note)).collect();
    assert_eq!(notes.len(), 3);
    assert_eq!(notes[0], ("op", "from 0 to 6"));
    assert!(matches!(
        ledger.set_priority("0123456789", 1, "op").await,
        Err(LedgerError::UnknownCampaign(_))
    ));
}
