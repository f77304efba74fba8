//! Between a coordinator and PostgreSQL: passes everything on, and loses what it is told to lose.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::postgres_server::{Database, SOCKET};

/// A door to a database. Its threads end with the connections, or with the process.
pub struct Proxy<'a> {
    folder: TempDir,
    database: &'a Database<'a>,
    state: Arc<State>,
}

/// What is lost of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The request: the commit does not happen.
    Request,
    /// The answer: the commit has happened.
    Answer,
    /// The answer, and all that follows; the connection stays as if it lived.
    Silence,
    /// Whoever sent it: the commit happens a good while later.
    Sender,
}

#[derive(Default)]
struct State {
    next: Mutex<Option<Loss>>,
    lost: AtomicU32,
}

impl State {
    /// Whether these bytes are of a commit that is to lose so; if so it has.
    fn loses(&self, bytes: &[u8], loss: Loss) -> bool {
        let mut next = self.next.lock().unwrap();
        // Client and server both say it like this: the statement, and the tag of its answer.
        let commits = bytes.windows(7).any(|word| word == b"COMMIT\0");
        let loses = commits && *next == Some(loss);
        if loses {
            *next = None;
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
        loses
    }
}

impl<'a> Proxy<'a> {
    /// Listens before a database.
    pub fn before(database: &'a Database<'a>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let state = Arc::new(State::default());
        let (inner, server) = (Arc::clone(&state), database.socket());
        thread::spawn(move || serve(&listener, &server, &inner));
        Proxy {
            folder,
            database,
            state,
        }
    }

    /// The database's address by way of the proxy.
    pub fn url(&self, role: &str) -> String {
        self.database.url_by_way_of(self.folder.path(), role)
    }

    /// Loses something of the next commit.
    pub fn at_next_commit_lose(&self, loss: Loss) {
        let before = self.state.next.lock().unwrap().replace(loss);
        assert_eq!(before, None, "not yet lost");
    }

    /// How many commits lost something.
    pub fn lost(&self) -> u32 {
        self.state.lost.load(Ordering::Acquire)
    }
}

fn serve(listener: &UnixListener, server: &PathBuf, state: &Arc<State>) {
    for client in listener.incoming() {
        let client = client.unwrap();
        let server = UnixStream::connect(server).unwrap();
        let up = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let down = (server, client);
        let (asking, answering) = (Arc::clone(state), Arc::clone(state));
        thread::spawn(move || ask(up.0, up.1, &asking));
        thread::spawn(move || answer(down.0, down.1, &answering));
    }
}

fn ask(mut client: UnixStream, mut server: UnixStream, state: &State) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let bytes = &buffer[..length];
        if state.loses(bytes, Loss::Request) {
            break;
        }
        if state.loses(bytes, Loss::Sender) {
            let _ = client.shutdown(Shutdown::Both);
            thread::sleep(Duration::from_millis(300));
        }
        if server.write_all(bytes).is_err() {
            break;
        }
    }
    end(&client, &server);
}

fn answer(mut server: UnixStream, mut client: UnixStream, state: &State) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = server.read(&mut buffer) {
        let bytes = &buffer[..length];
        if state.loses(bytes, Loss::Silence) {
            // Until the client gives it up, which the other direction sees.
            silence(&mut server);
            return;
        }
        if state.loses(bytes, Loss::Answer) || client.write_all(bytes).is_err() {
            break;
        }
    }
    end(&client, &server);
}

/// Takes what comes, to its end, and passes nothing on.
fn silence(server: &mut UnixStream) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(1..) = server.read(&mut buffer) {}
}

/// Ends both directions; who has ended already does not mind.
fn end(client: &UnixStream, server: &UnixStream) {
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}
