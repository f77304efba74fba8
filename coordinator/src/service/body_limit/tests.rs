//! Bodies against their bounds.

use std::task::Waker;

use super::*;

/// A body of these pieces.
struct Pieces(Vec<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let next = (!self.0.is_empty()).then(|| Ok(Frame::data(self.0.remove(0))));
        Poll::Ready(next)
    }
}

fn intake(bytes: &[u8], size: usize, most: usize, stream: bool) -> (Intake<Pieces>, Room) {
    let pieces = bytes.chunks(size).map(Bytes::copy_from_slice).collect();
    let room = Room::new();
    let ration = Ration { most, stream };
    let hour = Duration::from_secs(3600);
    let taken = Taken::default();
    let token = "a".to_owned();
    let intake = Intake::new(Pieces(pieces), (ration, hour), token, (room.clone(), taken));
    (intake, room)
}

/// Reads all, and how much room was taken when the last piece was there.
fn read(intake: &mut Intake<Pieces>, room: &Room) -> Result<(usize, usize), Status> {
    let mut context = Context::from_waker(Waker::noop());
    let (mut length, mut taken) = (0, 0);
    loop {
        match Pin::new(&mut *intake).poll_frame(&mut context) {
            Poll::Ready(Some(Ok(frame))) => length += frame.into_data().unwrap().len(),
            Poll::Ready(Some(Err(status))) => return Err(status),
            Poll::Ready(None) => return Ok((length, taken)),
            Poll::Pending => panic!("nothing is to be waited for"),
        }
        taken = INTAKE - room.all.available_permits();
    }
}

fn message(length: usize) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend(u32::try_from(length).unwrap().to_be_bytes());
    bytes.resize(PREFIX + length, 7);
    bytes
}

#[tokio::test]
async fn messages_pass_whatever_pieces_they_come_in() {
    let lengths = [0, 1, 4, SMALL, SMALL + 1, 9, 3 * SMALL];
    let bytes: Vec<u8> = lengths.into_iter().flat_map(message).collect();
    for size in [1, 2, 5, 7, 1000, SMALL, bytes.len()] {
        let (mut intake, room) = intake(&bytes, size, 3 * SMALL, true);
        let (length, taken) = read(&mut intake, &room).unwrap();
        assert_eq!(length, bytes.len(), "in pieces of {size}");
        // The last one is large; who answers it has its room until more is asked for.
        assert!(taken == 3 * SMALL || size > SMALL, "{size}: {taken}");
        assert_eq!(room.all.available_permits(), INTAKE);
    }
}

#[tokio::test]
async fn a_call_of_one_message_keeps_its_room_and_takes_no_second() {
    let (mut one, room) = intake(&message(2 * SMALL), 100, 2 * SMALL, false);
    read(&mut one, &room).unwrap();
    assert_eq!(room.all.available_permits(), INTAKE - 2 * SMALL);
    drop(one);
    assert_eq!(room.all.available_permits(), INTAKE);
    let two = [message(3), message(3)].concat();
    let (mut two, room) = intake(&two, 2, 3, false);
    let refused = read(&mut two, &room).unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn what_ends_too_early_or_is_not_grpc_is_an_invalid_argument() {
    for (bytes, stream, words) in [
        (&[][..], false, "none was sent"),
        (&[0, 0, 0], false, "before its length"),
        (&[0, 0, 0, 0, 9, 1], false, "truncated by 8 bytes"),
        (&[0, 0, 0, 0, 9], true, "truncated by 9 bytes"),
        (&[2, 0, 0, 0, 0], true, "not gRPC"),
        (b"{\"campaign\": \"x\"}", false, "not gRPC"),
    ] {
        for size in [1, 100] {
            let (mut short, room) = intake(bytes, size, 100, stream);
            let refused = read(&mut short, &room).unwrap_err();
            assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{bytes:?}");
            assert!(refused.message().contains(words), "{refused:?}");
        }
    }
    let (mut none, room) = intake(&[], 1, 100, true);
    assert_eq!(read(&mut none, &room).unwrap(), (0, 0));
    let (mut empty, room) = intake(&message(0), 1, 100, false);
    assert_eq!(read(&mut empty, &room).unwrap(), (5, 0));
}

#[tokio::test]
async fn what_is_compressed_or_too_large_is_refused_by_its_first_bytes() {
    let (mut large, room) = intake(&message(11)[..PREFIX], 1, 10, true);
    let refused = read(&mut large, &room).unwrap_err();
    assert_eq!(refused.code(), tonic::Code::OutOfRange);
    let (mut bomb, room) = intake(&[1, 0, 0, 0, 1], 9, 10, true);
    let refused = read(&mut bomb, &room).unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unimplemented);
}

#[tokio::test]
async fn who_finds_no_room_waits_without_reading() {
    let (mut second, room) = intake(&message(2 * SMALL), 10, 2 * SMALL, true);
    // Another has all that it may have, and the same token too much.
    let other = room
        .clone()
        .take("b".to_owned(), INTAKE_EACH)
        .await
        .unwrap();
    let own = INTAKE_EACH - SMALL;
    let first = room.clone().take("a".to_owned(), own).await.unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let mut poll = || Pin::new(&mut second).poll_frame(&mut context).is_ready();
    assert!(poll(), "the first piece has the message's length");
    assert!(!poll() && !poll());
    drop(first);
    assert!(poll());
    drop(other);
}
