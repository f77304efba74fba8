//! Batches of several requests: one transaction, and an answer for each request.

use std::collections::BTreeSet;
use std::time::Duration;

use kazoe_coordinator::ledger::{Beat, Claim, Delivery, Heartbeat, Lease, Ledger, LedgerError};
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;

use crate::made_up::{assert_sound, deliveries, owner, submission};

const HOLD: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn each_request_of_a_batch_gets_its_own_answer() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 100 * 4096)).await.unwrap();
    let id = &campaign.id;
    let claims: Vec<Claim> = (0..60)
        .map(|number| Claim {
            who: owner(&format!("owner {number}")),
            want: 2,
            hold: HOLD,
        })
        .collect();
    // 50 claims take all segments, and 10 get none.
    let leases = ledger.claim(id, &claims).await.unwrap();
    assert_eq!(leases.len(), 60);
    let leases: Vec<Lease> = leases.into_iter().flatten().collect();
    let segments = leases.iter().flat_map(|lease| &lease.segments);
    let segments: BTreeSet<u64> = segments.map(|lent| lent.segment).collect();
    assert_eq!((leases.len(), segments.len()), (50, 100));

    let mut keys: Vec<LeaseKey> = leases.iter().map(|lease| lease.key).collect();
    let unknown = LeaseKey {
        secret: keys[1].secret,
        ..keys[0]
    };
    keys.push(unknown);
    let beats: Vec<Beat> = keys
        .iter()
        .map(|&key| Beat {
            key,
            worker: "w-1".to_owned(),
        })
        .collect();
    let beats = ledger.heartbeat(&beats, HOLD).await.unwrap();
    assert!(beats[..50].iter().all(|&beat| beat == Heartbeat::Extended));
    assert_eq!((beats.len(), beats[50]), (51, Heartbeat::NotHeld));

    let mut sent: Vec<Delivery> = leases
        .iter()
        .map(|lease| Delivery {
            key: lease.key,
            results: deliveries(lease).into(),
        })
        .collect();
    // One impossible tally, and one unknown key.
    let mut impossible = deliveries(&leases[7]);
    impossible[1].tally.depths.clear();
    sent[7].results = impossible.into();
    sent.push(Delivery {
        key: unknown,
        results: deliveries(&leases[0]).into(),
    });
    let answers = ledger.deliver(id, &sent).await.unwrap();
    assert_eq!(answers.len(), 51);
    for (place, answer) in answers.iter().enumerate() {
        match (place, answer) {
            (7, Err(LedgerError::Tally { .. })) | (50, Err(LedgerError::NotHeld(_))) => {}
            (_, Ok(outcomes)) => assert_eq!(outcomes, &[DeliveryOutcome::Accepted; 2]),
            (_, Err(error)) => panic!("{place}: {error}"),
        }
    }
    assert!(answers[7].is_err() && answers[50].is_err());
    assert_sound(&ledger, &campaign).await;

    let ended = ledger.end(id, &keys).await.unwrap();
    for (place, answer) in ended.iter().enumerate() {
        match (place, answer) {
            (7, &Ok(returned)) => assert_eq!(returned, 2),
            (50, Err(LedgerError::NotHeld(_))) => {}
            (_, &Ok(returned)) => assert_eq!(returned, 0, "{place}"),
            (_, Err(error)) => panic!("{place}: {error}"),
        }
    }
    assert!(ended[50].is_err());
    let counts = ledger.snapshot(id).await.unwrap().counts;
    assert_eq!((counts.accepted, counts.returned), (98, 2));
    assert_sound(&ledger, &campaign).await;
}
