//! HTTP/2 by hand: what no honest client would send.

use std::fs;

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::test_cluster::TestCluster;

/// A connection.
pub struct Raw {
    send: SendRequest<Bytes>,
    /// Ends when the connection does; `Err` where the coordinator said why.
    pub end: JoinHandle<Result<(), h2::Error>>,
}

/// How a call ended.
#[derive(Debug)]
pub struct Answer {
    /// gRPC's code, if it got so far.
    pub code: Option<i32>,
    /// The message of gRPC's status, empty without one.
    pub words: String,
    /// The headers that have the status, or the trailers.
    pub headers: HeaderMap,
}

impl Raw {
    /// Connects to the coordinator.
    pub async fn connect(cluster: &TestCluster<'_>) -> Self {
        Self::with_window(cluster, 1 << 20).await
    }

    /// Accepts at most `window` unread bytes.
    pub async fn with_window(cluster: &TestCluster<'_>, window: u32) -> Self {
        let stream = TcpStream::connect(&cluster.listen).await.unwrap();
        Self::over(stream, window).await.unwrap()
    }

    /// Connects where the coordinator may close the connection at once.
    ///
    /// # Errors
    /// If it does so before the handshake is sent.
    pub async fn try_connect(cluster: &TestCluster<'_>) -> Result<Self, h2::Error> {
        let stream = TcpStream::connect(&cluster.listen).await.unwrap();
        Self::over(stream, 1 << 20).await
    }

    async fn over(stream: TcpStream, window: u32) -> Result<Self, h2::Error> {
        let mut builder = Builder::new();
        builder.initial_window_size(window).enable_push(false);
        let (send, connection) = builder.handshake(stream).await?;
        Ok(Raw {
            send,
            end: tokio::spawn(connection),
        })
    }

    /// Begins a call.
    pub async fn begin(
        &mut self,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut request = Request::post(format!("http://coordinator{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut send = self.send.clone().ready().await?;
        send.send_request(request.body(()).unwrap(), false)
    }

    /// Makes a call with these bytes as its body.
    pub async fn call(
        &mut self,
        path: &str,
        headers: &[(&'static str, &str)],
        body: impl IntoIterator<Item = Bytes>,
    ) -> Result<Answer, h2::Error> {
        let (response, mut stream) = self.begin(path, headers).await?;
        let sending = async {
            for bytes in body {
                if !send(&mut stream, bytes).await {
                    return;
                }
            }
            let _ = stream.send_data(Bytes::new(), true);
        };
        let (answer, ()) = tokio::join!(answer(response), sending);
        answer
    }
}

/// Sends all of it as the other side lets us; whether it did.
pub async fn send(stream: &mut SendStream<Bytes>, mut bytes: Bytes) -> bool {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let capacity = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await;
        let Some(Ok(capacity)) = capacity else {
            return false;
        };
        let piece = bytes.split_to(capacity.min(bytes.len()));
        if stream.send_data(piece, false).is_err() {
            return false;
        }
    }
    true
}

/// Reads an answer to its end.
pub async fn answer(response: ResponseFuture) -> Result<Answer, h2::Error> {
    let (head, mut body) = response.await?.into_parts();
    if let Some(code) = code(&head.headers) {
        return Ok(answered(code, head.headers));
    }
    drain(&mut body).await?;
    let trailers = body.trailers().await?.unwrap_or_default();
    Ok(match code(&trailers) {
        Some(code) => answered(code, trailers),
        None => Answer {
            code: None,
            words: String::new(),
            headers: trailers,
        },
    })
}

async fn drain(body: &mut RecvStream) -> Result<(), h2::Error> {
    while let Some(bytes) = body.data().await {
        body.flow_control().release_capacity(bytes?.len())?;
    }
    Ok(())
}

fn code(headers: &HeaderMap) -> Option<i32> {
    headers.get("grpc-status")?.to_str().ok()?.parse().ok()
}

fn answered(code: i32, headers: HeaderMap) -> Answer {
    let words = headers.get("grpc-message").map(|words| words.to_str());
    let words = words.and_then(Result::ok).unwrap_or_default();
    Answer {
        code: Some(code),
        words: words.replace("%20", " "),
        headers,
    }
}

/// A message as gRPC frames it.
pub fn framed(compressed: bool, declared: usize, body: &[u8]) -> Bytes {
    let mut bytes = vec![u8::from(compressed)];
    bytes.extend(u32::try_from(declared).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes.into()
}

/// What shows an owner's token.
pub fn bearer(cluster: &TestCluster<'_>, owner: &str) -> String {
    let token = fs::read_to_string(cluster.path(&format!("{owner}.token")));
    format!("Bearer {}", token.unwrap().trim())
}
