//! How much memory a message will take once it is decoded, from its bytes alone.
//!
//! An element of a list may have two bytes on the wire and a hundred in memory, so bytes alone bound
//! nothing: thirty million of them could become gigabytes before anything looks at how many there are.
//! Messages with lists are therefore weighed before they are decoded, and one whose lists are larger than
//! any honest message of that length can have is refused.

use std::mem::size_of;

use crate::v1;

/// A message takes at most so many times its length in memory, beside a fixed few kilobytes: an honest
/// witness has six bytes at least and takes forty, and a list that grows may have room for twice as many.
pub const MOST: usize = 16;

/// What every message may take.
const FREE: usize = 4 << 10;

/// The lists in a message, and the messages that lead to lists.
#[derive(Debug)]
struct Shape(&'static [(u32, usize, Shape)]);

const LEAF: Shape = Shape(&[]);
const TALLY: Shape = Shape(&[
    (1, size_of::<v1::Count>(), LEAF),
    (2, size_of::<v1::Count>(), LEAF),
]);
const SELF_TEST: Shape = Shape(&[(2, 0, TALLY)]);
const FINISHED: Shape = Shape(&[(3, 0, TALLY), (4, size_of::<v1::Witness>(), LEAF)]);
const ALL_FINISHED: Shape = Shape(&[(1, size_of::<v1::FinishedSegment>(), FINISHED)]);
const SELF_TESTS: Shape = Shape(&[(2, size_of::<v1::SelfTest>(), SELF_TEST)]);

/// The lists of a request, by the message's name. Answers are those of a coordinator that one chose.
const fn shape(name: &str) -> Shape {
    match name.as_bytes() {
        b"DeliverRequest" => Shape(&[(2, 0, ALL_FINISHED)]),
        b"ImportRequest" => Shape(&[(4, size_of::<v1::FinishedSegment>(), FINISHED)]),
        b"ResolveRequest" => Shape(&[(2, 0, FINISHED)]),
        b"JoinRequest" => Shape(&[(3, size_of::<v1::join_request::SelfTests>(), SELF_TESTS)]),
        b"SubmitRequest" => Shape(&[(6, size_of::<v1::SelfTest>(), SELF_TEST)]),
        _ => LEAF,
    }
}

/// Whether a message of this name may be decoded.
pub(crate) fn is_bearable(name: &str, bytes: &[u8]) -> bool {
    // Lists double their room as they grow.
    2 * weight(bytes, &shape(name)) <= MOST * bytes.len() + FREE
}

/// The memory of the lists in some bytes. What is malformed is left to the decoder.
fn weight(mut bytes: &[u8], shape: &Shape) -> usize {
    let mut weight = 0;
    while let Some((field, body)) = next(&mut bytes) {
        let known = shape
            .0
            .iter()
            .find(|(number, ..)| u64::from(*number) == field);
        if let (Some((_, size, inner)), Some(body)) = (known, body) {
            weight += size + self::weight(body, inner);
        }
    }
    weight
}

/// The next field's number, and its bytes where it has a length; nothing at the end or where the bytes
/// make no sense.
fn next<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Option<&'a [u8]>)> {
    let key = varint(bytes)?;
    let length = match key & 7 {
        0 => {
            varint(bytes)?;
            return Some((key >> 3, None));
        }
        1 => 8,
        2 => usize::try_from(varint(bytes)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (body, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((key >> 3, (key & 7 == 2).then_some(body)))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use prost::{Message, Name};

    use super::*;

    fn delivery(segments: Vec<v1::FinishedSegment>) -> v1::DeliverRequest {
        use v1::deliver_request::{Finished, Step};
        v1::DeliverRequest {
            token: String::new(),
            step: Some(Step::Finished(Finished { segments })),
        }
    }

    fn is_fine<M: Message + Name>(message: &M) -> bool {
        is_bearable(M::NAME, &message.encode_to_vec())
    }

    /// The lightest honest ones: small numbers, and as many of them as there may be.
    fn segment() -> v1::FinishedSegment {
        use v1::witness::{Kind, Unreachable};
        let count = v1::Count { key: 0, count: 1 };
        let witness = v1::Witness {
            index: 0,
            kind: Some(Kind::Unreachable(Unreachable { depth: 1 })),
        };
        v1::FinishedSegment {
            segment: 1,
            samples: 4096,
            cpu_us: None,
            tally: Some(v1::Tally {
                cells: vec![count; 1000],
                depths: vec![count; 1000],
                digest: vec![0; 16],
            }),
            witnesses: vec![witness; 1000],
        }
    }

    #[test]
    fn honest_messages_are_bearable_and_lists_of_nothing_are_not() {
        assert!(is_fine(&delivery(Vec::new())));
        assert!(is_fine(&delivery(vec![segment(); 256])));
        let bomb = v1::FinishedSegment {
            witnesses: vec![v1::Witness::default(); 100_000],
            ..segment()
        };
        assert!(!is_fine(&delivery(vec![
            v1::FinishedSegment::default();
            1000
        ])));
        assert!(!is_fine(&delivery(vec![bomb.clone()])));
        let imported = v1::ImportRequest {
            segments: vec![v1::FinishedSegment::default(); 1000],
            ..v1::ImportRequest::default()
        };
        assert!(!is_fine(&imported));
        let resolved = v1::ResolveRequest {
            finished: Some(bomb),
            ..v1::ResolveRequest::default()
        };
        assert!(!is_fine(&resolved));
        let tests = vec![v1::SelfTest::default(); 10_000];
        let submitted = v1::SubmitRequest {
            self_tests: tests.clone(),
            ..v1::SubmitRequest::default()
        };
        assert!(!is_fine(&submitted));
        let self_tests = vec![v1::join_request::SelfTests {
            campaign: None,
            tests,
        }];
        let joined = v1::JoinRequest {
            self_tests,
            ..v1::JoinRequest::default()
        };
        assert!(!is_fine(&joined));
    }

    #[test]
    fn what_makes_no_sense_is_left_to_the_decoder() {
        for bytes in [&[0xff; 30][..], &[0x12, 0xff], &[0x13], &[0x12, 0x05, 0x0a]] {
            assert!(is_bearable("DeliverRequest", bytes), "{bytes:?}");
        }
    }
}
