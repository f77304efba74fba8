//! Messages that are too large, that never end, or that would become much larger than they are.

use std::io::Write;
use std::process::{Command, Stdio};

use bytes::Bytes;
use tonic::Code;

use crate::healthy::{MANY, under_attack};
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::raw_http2::{Answer, Raw, answer, bearer, framed, send};
use kazoe_coordinator_testkit::test_cluster::TestCluster;

const JOIN: &str = "/kazoe.v1.Work/Join";
const CLAIM: &str = "/kazoe.v1.Work/Claim";
const DELIVER: &str = "/kazoe.v1.Work/Deliver";
const IMPORT: &str = "/kazoe.v1.Admin/Import";
const LIST: &str = "/kazoe.v1.Campaigns/List";

/// The largest message that any call takes.
const LARGEST: usize = 16 << 20;

/// Large enough: as a list of nothing it would take twice the memory that the coordinator may have.
const LARGE: usize = 8 << 20;

/// And so would these together.
const MANY_AT_ONCE: usize = 64;

fn refused(answer: Result<Answer, h2::Error>, code: Code, words: &str) {
    // A stream may be reset before its trailers are read: what was said counts, where it was said.
    if let Ok(answer) = answer {
        assert_eq!(answer.code, Some(code as i32), "{answer:?}");
        assert!(answer.words.contains(words), "{answer:?}");
    }
}

/// This number of bytes in chunks that are made when they are sent.
fn junk(length: usize) -> impl Iterator<Item = Bytes> {
    let piece = Bytes::from(vec![0x0a; 1 << 16]);
    (0..length.div_ceil(1 << 16)).map(move |_| piece.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_that_are_too_large_are_refused_by_their_first_bytes() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let token = bearer(&cluster, "c");
    let headers = [("authorization", token.as_str())];
    under_attack(
        &cluster,
        &coordinator,
        "oversized messages",
        async |calls| {
            let mut raw = Raw::connect(&cluster).await;
            for (path, most) in [
                (JOIN, 1 << 20),
                (CLAIM, 64 << 10),
                (LIST, 64 << 10),
                (DELIVER, LARGEST),
            ] {
                for declared in [most + 1, 1 << 30, u32::MAX as usize] {
                    let answer = raw
                        .call(path, &headers, [framed(false, declared, b"x")])
                        .await;
                    refused(answer, Code::OutOfRange, "this call accepts at most");
                }
            }
            // Many at once, of which the last byte never comes: more than there is memory for.
            let mut all = tokio::task::JoinSet::new();
            for _ in 0..MANY_AT_ONCE {
                let mut raw = Raw::connect(&cluster).await;
                let token = token.clone();
                all.spawn(async move {
                    let headers = [("authorization", token.as_str())];
                    let (response, mut stream) = raw.begin(DELIVER, &headers).await.unwrap();
                    send(&mut stream, framed(false, LARGE, &[])).await;
                    for bytes in junk(LARGE - (1 << 16)) {
                        send(&mut stream, bytes).await;
                    }
                    drop(response.await);
                });
            }
            calls.more(MANY).await;
            // Another token still has room for a large message.
            let mut raw = Raw::connect(&cluster).await;
            let other = bearer(&cluster, "b");
            let headers = [("authorization", other.as_str())];
            let message = framed(false, 100_000, &[0; 100_000]);
            let answer = raw.call(DELIVER, &headers, [message]).await.unwrap();
            assert_eq!(
                answer.code,
                Some(Code::InvalidArgument as i32),
                "{answer:?}"
            );
            drop(all);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_that_never_end_are_given_up() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--max-call", "3s"]);
    let coordinator = cluster.coordinator();
    let token = bearer(&cluster, "c");
    let headers = [("authorization", token.as_str())];
    under_attack(&cluster, &coordinator, "endless messages", async |calls| {
        let mut raw = Raw::connect(&cluster).await;
        // Large ones that are announced and never come: they have their room until they are given up.
        let mut slow = Vec::new();
        for _ in 0..8 {
            let (response, mut stream) = raw.begin(DELIVER, &headers).await.unwrap();
            assert!(send(&mut stream, framed(false, LARGEST / 2, &[0; 9])).await);
            slow.push((answer(response), stream));
        }
        // A call of one message that goes on and on.
        let endless = junk(usize::MAX >> 1).map(|_| framed(false, 0, &[]));
        refused(
            raw.call(LIST, &headers, endless).await,
            Code::InvalidArgument,
            "one message",
        );
        // Messages under a lease without end: each that makes no sense ends its stream.
        let heartbeats = junk(usize::MAX >> 1).map(|_| framed(false, 2, &[0x1a, 0]));
        refused(
            raw.call(DELIVER, &headers, heartbeats).await,
            Code::InvalidArgument,
            "token",
        );
        calls.more(MANY).await;
        for (answer, _stream) in slow {
            refused(answer.await, Code::DeadlineExceeded, "did not arrive");
        }
    })
    .await;
}

/// What gzip makes of 64 MiB of nothing: a thousandth.
fn bomb() -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .arg("-9c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut into = gzip.stdin.take().unwrap();
    let filling = std::thread::spawn(move || into.write_all(&vec![0; 64 << 20]));
    let output = gzip.wait_with_output().unwrap();
    filling.join().unwrap().unwrap();
    assert!(output.stdout.len() < 1 << 20);
    output.stdout
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn compressed_bombs_are_refused_as_they_are() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let token = bearer(&cluster, "c");
    let bomb = bomb();
    under_attack(&cluster, &coordinator, "compressed bombs", async |calls| {
        let mut raw = Raw::connect(&cluster).await;
        for _ in 0..20 {
            for path in [JOIN, CLAIM, DELIVER, IMPORT] {
                for encoding in ["gzip", "deflate", "zstd", "identity"] {
                    let headers = [
                        ("authorization", token.as_str()),
                        ("grpc-encoding", encoding),
                    ];
                    let body = framed(true, bomb.len(), &bomb);
                    let answer = raw.call(path, &headers, [body]).await;
                    refused(answer, Code::Unimplemented, "compressed");
                }
            }
        }
        calls.more(MANY).await;
    })
    .await;
}

/// The protobuf field of this number with these bytes.
fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = body.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend(body);
    bytes
}

/// Lists of nothing: two bytes for each element, and a hundred in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lists_of_nothing_are_refused_before_they_are_decoded() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let token = bearer(&cluster, "c");
    let headers = [("authorization", token.as_str())];
    let nothing = |number: u8, length: usize| [number << 3 | 2, 0].repeat(length / 2);
    under_attack(&cluster, &coordinator, "lists of nothing", async |calls| {
        let mut raw = Raw::connect(&cluster).await;
        // Segments, and witnesses of one segment; self-tests.
        let segments = nothing(1, LARGE);
        let witnesses = field(1, &nothing(4, LARGE));
        let token = b"\x0a\x121-0123456789abcdef";
        for finished in [segments, witnesses] {
            let message = [token.as_slice(), &field(2, &finished)].concat();
            let answer = raw.call(DELIVER, &headers, [framed(false, message.len(), &message)]);
            refused(answer.await, Code::InvalidArgument, "lists have more");
        }
        let message = nothing(3, 1 << 20);
        let answer = raw.call(JOIN, &headers, [framed(false, message.len(), &message)]);
        refused(answer.await, Code::InvalidArgument, "lists have more");
        calls.more(MANY).await;
    })
    .await;
}

/// Bytes that are no message: a field that ends before its length, one of another wire type, a key without
/// end, a group that is never closed, and text that is no UTF-8.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_that_do_not_decode_are_invalid_arguments() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    let worker = bearer(&cluster, "c");
    let operator = bearer(&cluster, "operator");
    let wrong: [&[u8]; 4] = [b"\x0a\xff", &[0xff; 11], b"\x0b\x0a", b"\x0a\x02\xff\xfe"];
    let calls = [
        (JOIN, &worker),
        (CLAIM, &worker),
        (DELIVER, &worker),
        ("/kazoe.v1.Campaigns/Submit", &operator),
        ("/kazoe.v1.Campaigns/Watch", &operator),
        ("/kazoe.v1.Campaigns/Report", &operator),
        ("/kazoe.v1.Campaigns/Export", &operator),
        (IMPORT, &operator),
        ("/kazoe.v1.Admin/Purge", &operator),
        ("/kazoe.v1.Admin/CreateToken", &operator),
        ("/grpc.health.v1.Health/Check", &worker),
        ("/grpc.health.v1.Health/Watch", &worker),
    ];
    let mut raw = Raw::connect(&cluster).await;
    for (path, token) in calls {
        let headers = [("authorization", token.as_str())];
        for bytes in wrong {
            // A join's first field is a number, and of that wire type the last one is none.
            let answer = raw.call(path, &headers, [framed(false, bytes.len(), bytes)]);
            let answer = answer.await.unwrap();
            let code = Some(Code::InvalidArgument as i32);
            assert_eq!(answer.code, code, "{path} {bytes:?}: {answer:?}");
        }
        // A message that ends too early, one that is no gRPC, and none at all where there must be one.
        let mut bodies = vec![framed(false, 9, b"x"), Bytes::from_static(b"{\"id\": 1}")];
        if path != DELIVER {
            bodies.push(Bytes::new());
        }
        for body in bodies {
            let answer = raw.call(path, &headers, [body.clone()]).await.unwrap();
            let code = Some(Code::InvalidArgument as i32);
            assert_eq!(answer.code, code, "{path} {body:?}: {answer:?}");
        }
    }
    assert!(
        !coordinator.log().contains("panicked"),
        "{}",
        coordinator.log()
    );
}
