//! Who is connected: strangers until they show a good token, guests from then on.
//!
//! A stranger costs little and may be closed at any time; a guest stays. Many connections that say
//! nothing, or never the right thing, can so take room from each other only.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::limits::{Limits, STRANGER_CALLS, STRANGERS};

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    book: Mutex<Book>,
    strangers: usize,
    most: usize,
    most_per_address: usize,
}

#[derive(Debug, Default)]
struct Book {
    entered: u64,
    strangers: usize,
    guests: usize,
    addresses: HashMap<IpAddr, Address>,
}

#[derive(Debug, Default)]
struct Address {
    /// By the order in which they came.
    strangers: BTreeMap<u64, Arc<Notify>>,
    guests: usize,
}

/// One connection; dropped with it.
#[derive(Debug)]
pub(super) struct Connection {
    number: u64,
    address: IpAddr,
    close: Arc<Notify>,
    known: AtomicBool,
    calls: AtomicU32,
    guests: Arc<Connections>,
}

/// Why somebody with a good token does not become a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crowded {
    /// There is no room for anybody.
    House(usize),
    /// Its address has its share.
    Address(usize),
}

impl fmt::Display for Crowded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Crowded::House(most) => write!(
                f,
                "the coordinator has reached its limit of {most} connections (--max-connections)"
            ),
            Crowded::Address(most) => write!(
                f,
                "the coordinator has reached its limit of {most} connections of this address \
                 (--max-connections-per-address)"
            ),
        }
    }
}

impl Connections {
    pub(super) fn new(limits: &Limits) -> Self {
        Connections {
            book: Mutex::default(),
            strangers: STRANGERS,
            most: limits.connections,
            most_per_address: limits.connections_per_address,
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection from this address; another may have to go for it.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Connection {
        let address = household(address);
        let close = Arc::new(Notify::new());
        let mut book = self.book();
        if book.strangers >= self.strangers {
            book.make_room();
        }
        let number = book.entered;
        book.entered += 1;
        book.strangers += 1;
        let strangers = &mut book.addresses.entry(address).or_default().strangers;
        strangers.insert(number, Arc::clone(&close));
        Connection {
            number,
            address,
            close,
            known: AtomicBool::new(false),
            calls: AtomicU32::new(0),
            guests: Arc::clone(self),
        }
    }
}

impl Book {
    /// Closes the oldest stranger of the address that has most of them.
    fn make_room(&mut self) {
        let addresses = self.addresses.values_mut();
        let most = addresses.max_by_key(|address| address.strangers.len());
        if let Some((_, close)) = most.and_then(|address| address.strangers.pop_first()) {
            self.strangers -= 1;
            close.notify_one();
        }
    }

    fn forget_stranger(&mut self, guest: &Connection) {
        if let Some(address) = self.addresses.get_mut(&guest.address)
            && address.strangers.remove(&guest.number).is_some()
        {
            self.strangers -= 1;
        }
    }
}

impl Connection {
    /// A good token was shown.
    pub(super) fn welcome(&self) -> Result<(), Crowded> {
        if self.is_known() {
            return Ok(());
        }
        let Connections {
            most,
            most_per_address,
            ..
        } = *self.guests;
        let mut book = self.guests.book();
        // Two calls at once.
        if self.is_known() {
            return Ok(());
        }
        if book.guests >= most {
            return Err(Crowded::House(most));
        }
        let here = &mut book.addresses.entry(self.address).or_default().guests;
        if *here >= most_per_address {
            return Err(Crowded::Address(most_per_address));
        }
        *here += 1;
        book.guests += 1;
        book.forget_stranger(self);
        self.known.store(true, Ordering::Release);
        Ok(())
    }

    pub(super) fn is_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }

    /// Notes a call that showed no good token; a stranger has only so many.
    pub(super) fn called(&self) {
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        if calls + 1 >= STRANGER_CALLS && !self.is_known() {
            self.close.notify_one();
        }
    }

    /// Waits until the connection is to be closed.
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }

    /// What stands for its address.
    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut book = self.guests.book();
        book.forget_stranger(self);
        let known = self.is_known();
        book.guests -= usize::from(known);
        if let Some(address) = book.addresses.get_mut(&self.address) {
            address.guests -= usize::from(known);
            if address.guests == 0 && address.strangers.is_empty() {
                book.addresses.remove(&self.address);
            }
        }
    }
}

/// What counts as one address: of IPv6 the network that one household gets, as it has 2^64 of them.
fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn guests(strangers: usize, most: usize, most_per_address: usize) -> Arc<Connections> {
        Arc::new(Connections {
            book: Mutex::default(),
            strangers,
            most,
            most_per_address,
        })
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn is_closed(guest: &Connection) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        pin!(guest.closed()).poll(&mut context) == Poll::Ready(())
    }

    #[test]
    fn the_oldest_stranger_of_the_fullest_address_makes_room() {
        let guests = guests(3, 9, 9);
        let quiet = guests.enter(address(1));
        let many = [(); 2].map(|()| guests.enter(address(2)));
        let late = guests.enter(address(2));
        let are_closed = || [&quiet, &many[0], &many[1], &late].map(is_closed);
        assert_eq!(are_closed(), [false, true, false, false]);
        // A guest is none of them.
        late.welcome().unwrap();
        let _new = guests.enter(address(3));
        assert_eq!(are_closed(), [false; 4]);
    }

    #[test]
    fn guests_have_bounds_and_leave() {
        let guests = guests(9, 3, 2);
        let enter = |last| guests.enter(address(last));
        let here: Vec<Connection> = (0..3).map(|_| enter(1)).collect();
        here[0].welcome().unwrap();
        here[0].welcome().unwrap();
        here[1].welcome().unwrap();
        assert_eq!(here[2].welcome(), Err(Crowded::Address(2)));
        let there = [enter(2), enter(2)];
        there[0].welcome().unwrap();
        assert_eq!(there[1].welcome(), Err(Crowded::House(3)));
        drop(here);
        there[1].welcome().unwrap();
        drop(there);
        let book = guests.book();
        assert_eq!((book.strangers, book.guests), (0, 0));
        assert!(book.addresses.is_empty(), "{book:?}");
    }

    #[test]
    fn a_stranger_has_only_so_many_calls() {
        let guests = guests(9, 9, 9);
        let [stranger, guest] = [1, 2].map(|last| guests.enter(address(last)));
        guest.welcome().unwrap();
        for one in [&stranger, &guest] {
            for _ in 0..STRANGER_CALLS {
                assert!(!is_closed(one));
                one.called();
            }
        }
        assert!(is_closed(&stranger) && !is_closed(&guest));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let of = |text: &str| household(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), address(1));
    }
}
