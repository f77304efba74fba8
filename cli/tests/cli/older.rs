//! A coordinator of an older release, which knows less.

use std::thread;

use bytes::{BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use http::{HeaderMap, Response};
use kazoe_common::census::{Campaign, Cut};
use kazoe_common::game::Variant;
use kazoe_proto::campaigns::{self, CampaignRecord, CampaignState};
use kazoe_proto::v1;
use prost::Message;
use tokio::net::TcpListener;

use crate::runs::Place;

/// The campaign that it has, as it reports it.
fn record() -> v1::CampaignRecord {
    let campaign = Campaign::new(&Variant::MINISHOGI, 1);
    campaigns::record_message(&CampaignRecord {
        id: campaign.id(),
        campaign,
        cut: Cut::new(1_000_000, 256).unwrap(),
        pace: CampaignState::Cancelled,
        build: "kazoe 0.0.9 (000)".to_owned(),
        submitted_at: 1,
        revision: 0,
        priority: None,
    })
}

/// What it answers to a call, if it knows the call.
fn answer(path: &str) -> Option<Vec<u8>> {
    match path {
        "/kazoe.v1.Campaigns/List" => Some(
            v1::ListResponse {
                campaigns: vec![record()],
                ..v1::ListResponse::default()
            }
            .encode_to_vec(),
        ),
        "/kazoe.v1.Campaigns/Submit" => Some(
            v1::SubmitResponse {
                campaign: Some(record()),
                how: Some(v1::submit_response::How::Existing(
                    v1::submit_response::Existing {},
                )),
                complete: None,
            }
            .encode_to_vec(),
        ),
        _ => None,
    }
}

fn respond(path: &str, mut stream: SendResponse<Bytes>) {
    let head = Response::builder().header("content-type", "application/grpc");
    let Some(message) = answer(path) else {
        let head = head.header("grpc-status", "12").body(()).unwrap();
        stream.send_response(head, true).unwrap();
        return;
    };
    let mut body = stream.send_response(head.body(()).unwrap(), false).unwrap();
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap());
    framed.put_slice(&message);
    body.send_data(framed.freeze(), false).unwrap();
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    body.send_trailers(trailers).unwrap();
}

/// Starts it; its address.
fn coordinator() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut connection = h2::server::handshake(socket).await.unwrap();
                    while let Some(Ok((request, stream))) = connection.accept().await {
                        respond(request.uri().path(), stream);
                    }
                });
            }
        });
    });
    format!("http://{address}")
}

#[test]
fn a_command_that_it_does_not_know_asks_for_an_upgrade() {
    let url = coordinator();
    let place = Place::new();
    place
        .kazoe(&["priority", "minishogi", "5", "--coordinator", &url])
        .refused(
            1,
            &format!(
                "error: the coordinator {url} does not support this command: its release is older; upgrade it"
            ),
        );
}

#[test]
fn what_it_does_not_report_is_not_made_up() {
    let url = coordinator();
    let place = Place::new();
    let submit = [
        "submit",
        "minishogi",
        "--samples",
        "1M",
        "--priority",
        "5",
        "--coordinator",
        &url,
    ];
    let ran = place.kazoe(&submit);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("is cancelled"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("Its priority stays, not 5"),
        "{}",
        ran.stderr
    );
    let ran = place.kazoe(&[&submit[..], &["--json"]].concat());
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(document["priority"].is_null(), "{document}");
    assert_eq!(document["state"], "cancelled");
}
