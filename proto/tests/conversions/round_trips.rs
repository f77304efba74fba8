//! What goes out comes back in, by way of the bytes on the wire.

use kazoe_proto::admin::{self, NewCredential, Purge, Whose};
use kazoe_proto::campaigns::{self, CampaignRecord, Listed, SubmitAnswer, Submitted};
use kazoe_proto::name::label;
use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_proto::work::{self, Claim, Held, Join, Joined, Notice, Offer, Report, StopReason};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::{prop_assert, prop_assert_eq, proptest};
use prost::Message;

use crate::made_up::{
    campaign, campaign_id, credential, findings, finished, foreign, id, lease, millis, name, owner,
    record, role, self_tests, snapshot, submission, worker,
};

/// A message as it arrives.
fn sent<M: Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).unwrap()
}

const VERDICTS: [DeliveryOutcome; 5] = [
    DeliveryOutcome::Accepted,
    DeliveryOutcome::Repeat,
    DeliveryOutcome::Audit,
    DeliveryOutcome::Disputed,
    DeliveryOutcome::Stale,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn submissions(submission in submission()) {
        let message = sent(&campaigns::submit_request(&submission));
        prop_assert_eq!(campaigns::submission(message).unwrap(), submission);
    }

    #[test]
    fn answers_to_submissions(
        record in record(), number in any::<u64>(), complete in any::<Option<bool>>(),
    ) {
        let mut hows = vec![Submitted::New, Submitted::Existing];
        if let Some(other) = number.checked_rem(record.cut.samples - 1) {
            hows.push(Submitted::Extended { from: 1 + other });
            hows.push(Submitted::Fewer { asked: 1 + other });
        }
        for how in hows {
            let answer = SubmitAnswer { record: record.clone(), how, complete };
            let message = sent(&campaigns::submit_response(&answer));
            prop_assert_eq!(campaigns::submitted(message).unwrap(), answer);
        }
    }

    #[test]
    fn lists_of_campaigns(known in vec(record(), 0..4), foreign in vec(foreign(), 0..4)) {
        let mut foreign = foreign;
        foreign.sort_by(|a, b| (a.submitted_at, &a.id).cmp(&(b.submitted_at, &b.id)));
        let listed = Listed { known, foreign };
        let message = sent(&campaigns::list_response(&listed));
        prop_assert_eq!(campaigns::listed(message).unwrap(), listed);
    }

    #[test]
    fn priorities(record in record(), priority in any::<i64>(), before in any::<i64>()) {
        let id = record.campaign.id();
        let message = sent(&admin::set_priority_request(&id, priority));
        prop_assert_eq!(admin::new_priority(message).unwrap(), (id, priority));
        let record = CampaignRecord { priority: Some(priority), ..record };
        let message = sent(&admin::set_priority_response(&record, before));
        prop_assert_eq!(admin::priority_set(message).unwrap(), (record, before));
    }

    #[test]
    fn names_of_campaigns(id in campaign_id()) {
        prop_assert_eq!(campaigns::named(sent(&campaigns::campaign_ref(&id))).unwrap(), id);
    }

    #[test]
    fn snapshots(snapshot in record().prop_flat_map(|it| snapshot(it.campaign.id(), it.cut))) {
        let message = sent(&campaigns::snapshot_message(&snapshot));
        prop_assert_eq!(campaigns::snapshot("snapshot", Some(message)).unwrap(), snapshot);
    }

    #[test]
    fn reports(findings in findings()) {
        let message = sent(&campaigns::report_response(&findings));
        prop_assert_eq!(campaigns::findings(message).unwrap(), findings);
    }

    #[test]
    fn joins(protocol in 1..9_u32, build in name(),
             tests in vec((campaign(), self_tests(1..=3)), 0..3),
             worker in id(), heartbeat in millis(100..=3_600_000), owner in name(), called in any::<String>()) {
        let join = Join { protocol, build, self_tests: tests, name: label(&called) };
        prop_assert_eq!(work::join(sent(&work::join_request(&join))).unwrap(), join);
        let joined = Joined { worker, heartbeat, owner };
        prop_assert_eq!(work::joined(sent(&work::join_response(&joined))).unwrap(), joined);
    }

    #[test]
    fn claims(worker in id(), threads in 1..=65_536_u32, speed in 0..=1_u64 << 50) {
        let samples_per_second = (speed > 0).then_some(speed);
        let claim = Claim { worker, threads, samples_per_second };
        prop_assert_eq!(work::claim(sent(&work::claim_request(&claim))).unwrap(), claim);
    }

    #[test]
    fn offers(offer in prop_oneof![
        lease().prop_map(Offer::Lease),
        millis(0..=3_600_000).prop_map(Offer::Later),
        Just(Offer::Leave),
    ]) {
        let message = sent(&work::claim_response(&offer));
        prop_assert_eq!(work::offer(message).unwrap(), offer);
    }

    #[test]
    fn deliveries((lease, segments) in lease().prop_flat_map(|mut lease| {
        lease.cut.segment_blocks = 1 + lease.cut.segment_blocks % 3;
        let blocks = lease.cut.segment_blocks;
        let all: Vec<_> = lease.segments.iter().map(|&one| finished(one % 1_000, blocks)).collect();
        (Just(lease), all)
    })) {
        let mut segments = segments;
        segments.sort_by_key(|one| one.segment);
        segments.dedup_by_key(|one| one.segment);
        let held = Held {
            key: lease.key,
            segment_blocks: lease.cut.segment_blocks,
            segments: segments.iter().map(|one| one.segment).collect(),
        };
        for report in [Report::Finished(segments), Report::Heartbeat, Report::Done] {
            let message = sent(&work::deliver_request(&lease.key, &report));
            prop_assert_eq!(work::key_of(&message).unwrap(), lease.key);
            prop_assert_eq!(work::report(message, &held).unwrap(), report);
        }
    }

    #[test]
    fn notices(notice in prop_oneof![
        vec((any::<u64>(), select(vec![
            DeliveryOutcome::Accepted, DeliveryOutcome::Repeat, DeliveryOutcome::Audit, DeliveryOutcome::Disputed, DeliveryOutcome::Stale,
        ])), 1..9).prop_map(Notice::Acknowledged),
        millis(0..=86_400_000).prop_map(Notice::Extended),
        select(vec![StopReason::NotHeld, StopReason::Cancelled, StopReason::Drained])
            .prop_map(Notice::Stop),
    ]) {
        let segments = match &notice {
            Notice::Acknowledged(receipts) => receipts.iter().map(|receipt| receipt.0).collect(),
            Notice::Extended(_) | Notice::Stop(_) => Vec::new(),
        };
        let message = sent(&work::deliver_response(&notice));
        let lent = segments.into_iter().collect();
        prop_assert_eq!(work::notice(message, &lent).unwrap(), notice);
    }

    #[test]
    fn purges(campaign in campaign_id(), why in name(), whose in prop_oneof![
        id().prop_map(Whose::Worker),
        owner().prop_map(Whose::Owner),
        name().prop_map(Whose::Build),
        (0..1_u64 << 50).prop_map(Whose::Segment),
    ]) {
        let purge = Purge { campaign, whose, why };
        prop_assert_eq!(admin::purge(sent(&admin::purge_request(&purge))).unwrap(), purge);
    }

    #[test]
    fn resolutions(campaign in campaign_id(), finished in finished(3, 2)) {
        let message = sent(&admin::resolve_request(&campaign, &finished));
        prop_assert_eq!(admin::resolved_campaign(&message).unwrap(), campaign);
        prop_assert_eq!(admin::resolution(message, 2).unwrap(), finished);
    }

    #[test]
    fn imports(
        campaign in campaign_id(), build in name(), segments in vec(finished(3, 2), 1..2),
        verdicts in vec(select(VERDICTS.to_vec()), 1..4),
    ) {
        let import = admin::Import { campaign, segment_blocks: 2, build, segments };
        let message = sent(&admin::import_request(&import));
        prop_assert_eq!(admin::import(message).unwrap(), import);
        let message = sent(&admin::import_response(&verdicts));
        prop_assert!(admin::imported(message.clone(), verdicts.len() + 1).is_err());
        prop_assert_eq!(admin::imported(message, verdicts.len()).unwrap(), verdicts);
    }

    #[test]
    fn retries(campaign in campaign_id(), segment in 0..1_u64 << 50) {
        let message = sent(&admin::retry_request(&campaign, segment));
        prop_assert_eq!(admin::retry(message).unwrap(), (campaign, segment));
    }

    #[test]
    fn workers_and_credentials(workers in vec(worker(), 0..4), tokens in vec(credential(), 0..4)) {
        let message = sent(&admin::workers_response(&workers, 3));
        prop_assert_eq!(admin::workers(message).unwrap(), workers);
        let message = sent(&admin::list_tokens_response(&tokens));
        prop_assert_eq!(admin::credentials(message).unwrap(), tokens);
    }

    #[test]
    fn new_credentials(owner in owner(), role in role(), id in id(), secret in "[a-z0-9]{16,64}") {
        let message = sent(&admin::create_token_request(&owner, role));
        prop_assert_eq!(admin::new_token(message).unwrap(), (owner, role));
        let new = NewCredential { id, secret };
        let message = sent(&admin::create_token_response(&new));
        prop_assert_eq!(admin::new_credential(message).unwrap(), new);
    }
}
