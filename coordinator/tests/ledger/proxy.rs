//! Between a coordinator and PostgreSQL: passes everything on, and loses what it is told to lose.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use tempfile::TempDir;

use crate::server::{Database, SOCKET};

/// A door to a database. Its threads end with the connections, or with the process.
pub(crate) struct Proxy<'a> {
    folder: TempDir,
    database: &'a Database<'a>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    lose: AtomicBool,
    lost: AtomicU32,
}

impl<'a> Proxy<'a> {
    pub(crate) fn before(database: &'a Database<'a>) -> Self {
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
    pub(crate) fn url(&self, role: &str) -> String {
        self.database.url_by_way_of(self.folder.path(), role)
    }

    /// Lets the next commit happen, keeps its answer and ends the connection.
    pub(crate) fn lose_next_commit(&self) {
        assert!(
            !self.state.lose.swap(true, Ordering::AcqRel),
            "not yet lost"
        );
    }

    /// How many answers were lost.
    pub(crate) fn lost(&self) -> u32 {
        self.state.lost.load(Ordering::Acquire)
    }
}

fn serve(listener: &UnixListener, server: &PathBuf, state: &Arc<State>) {
    for client in listener.incoming() {
        let client = client.unwrap();
        let server = UnixStream::connect(server).unwrap();
        let (up, down) = (
            (client.try_clone().unwrap(), server.try_clone().unwrap()),
            (server, client),
        );
        thread::spawn(move || pass(up.0, up.1, |_| false));
        let state = Arc::clone(state);
        thread::spawn(move || {
            pass(down.0, down.1, |bytes| {
                // The tag of a committed transaction in PostgreSQL's answer.
                let committed = bytes.windows(7).any(|word| word == b"COMMIT\0");
                let lose = committed && state.lose.swap(false, Ordering::AcqRel);
                state.lost.fetch_add(u32::from(lose), Ordering::AcqRel);
                lose
            });
        });
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, lose: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if lose(&buffer[..length]) || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // The other direction ends as well; who has ended already does not mind.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
