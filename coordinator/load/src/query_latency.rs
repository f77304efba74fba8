//! What it takes to look at a campaign of many segments.

use kazoe_proto::campaigns as messages;
use kazoe_proto::v1::campaigns_client::CampaignsClient;
use kazoe_worker::channel::{Link, Wire};
use tokio::time::Instant;

use crate::environment::words;
use crate::findings::QueryLatency;
use crate::latency::Latencies;
use crate::tell;

/// How often each is done.
const TIMES: u32 = 10;

/// The largest answer that is taken.
const MOST_BYTES: usize = 256 << 20;

/// Queries the campaign some times, as a viewer does.
///
/// # Errors
/// What the coordinator says.
pub(crate) async fn measure(
    url: &str,
    token: &str,
    campaign: &str,
    when: &'static str,
) -> Result<QueryLatency, String> {
    tell(format_args!("Looking at the campaign, {when}."));
    let link = Link {
        url: url.to_owned(),
        token: Some(token.to_owned()),
        ..Link::default()
    };
    let wire = link.open().map_err(words)?;
    let mut client = CampaignsClient::new(wire).max_decoding_message_size(MOST_BYTES);
    let mut looks = QueryLatency {
        when,
        segments: 0,
        watch: Latencies::new(),
        report: Latencies::new(),
    };
    // The first makes the connection.
    watch(&mut client, campaign).await?;
    for _ in 0..TIMES {
        let begun = Instant::now();
        looks.segments = watch(&mut client, campaign).await?;
        looks.watch.add(begun.elapsed());
        let begun = Instant::now();
        let found = client.report(messages::campaign_ref(campaign)).await;
        found.map_err(|status| status.message().to_owned())?;
        looks.report.add(begun.elapsed());
    }
    Ok(looks)
}

/// The first snapshot; how many segments are accepted.
async fn watch(client: &mut CampaignsClient<Wire>, campaign: &str) -> Result<u64, String> {
    let refused = |status: tonic::Status| status.message().to_owned();
    let watched = client.watch(messages::campaign_ref(campaign)).await;
    let first = watched.map_err(refused)?.into_inner().message().await;
    let snapshot = messages::snapshot("snapshot", first.map_err(refused)?).map_err(words)?;
    Ok(snapshot.counts.accepted)
}
