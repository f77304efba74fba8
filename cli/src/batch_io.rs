//! Commands that answer line by line: arguments, or without any the lines of standard input.
//!
//! Whatever one read yields is answered by all cores, in order, and handed on before the next read:
//! a file streams through in constant memory at full speed, and a slow pipe or a terminal gets each
//! answer at once.

use std::io::{self, ErrorKind, IsTerminal, Read};

use kazoe_coordinator::plain_text;
use rayon::prelude::{ParallelIterator, ParallelSlice};

use crate::exit::{Ending, Stop};
use crate::output::{Output, tell};
use crate::threads;

/// The longest line, in bytes, and the most that one read yields.
const LONGEST: usize = 1 << 18;

/// Lines that one core answers in one go.
const SHARE: usize = 16;

/// Answers each argument, or each line of standard input if there are none.
///
/// `answer` appends the answer, ending with a newline, to the text that it gets. What it refuses is reported
/// on standard error and stops nothing. `what` names the inputs: "SFENs".
///
/// # Errors
/// If standard input can't be read or standard output written.
pub(crate) fn answer_each(
    arguments: &[String],
    what: &str,
    output: &mut Output,
    answer: impl Fn(&str, &mut String) -> Result<(), String> + Sync,
) -> Result<Ending, Stop> {
    threads::start_pool()?;
    let mut desk = Desk {
        answer,
        output,
        unit: if arguments.is_empty() {
            "line"
        } else {
            "argument"
        },
        alone: arguments.len() == 1,
        taken: 0,
        refused: 0,
    };
    if arguments.is_empty() {
        let stdin = io::stdin().lock();
        if stdin.is_terminal() {
            tell(format_args!(
                "Reading {what} from the terminal, one a line; Ctrl-D ends."
            ));
        }
        let mut lines = Lines::new(stdin);
        while let Some(batch) = lines
            .next_batch()
            .map_err(|error| Stop::Failed(format!("reading standard input: {error}")))?
        {
            desk.answer(&batch)?;
        }
    } else {
        // A few at a time: the first answers are not to wait for the last.
        for some in arguments.chunks(SHARE * rayon::current_num_threads()) {
            let batch: Vec<_> = some.iter().map(|argument| Ok(argument.as_str())).collect();
            desk.answer(&batch)?;
        }
    }
    desk.close()
}

/// Where answers are given and refusals counted.
struct Desk<'a, F> {
    answer: F,
    output: &'a mut Output,
    unit: &'static str,
    alone: bool,
    taken: u64,
    refused: u64,
}

impl<F: Fn(&str, &mut String) -> Result<(), String> + Sync> Desk<'_, F> {
    fn answer(&mut self, batch: &[Result<&str, String>]) -> Result<(), Stop> {
        let answers: Vec<Answers> = if batch.len() < 2 {
            vec![Answers::to(batch, &self.answer)]
        } else {
            // Few lines are shared out one by one: each may be long work.
            let share = batch.len().div_ceil(8 * rayon::current_num_threads());
            batch
                .par_chunks(share.min(SHARE))
                .map(|some| Answers::to(some, &self.answer))
                .collect()
        };
        for answers in answers {
            let mut start = 0;
            for (end, place, why) in answers.refusals {
                self.output.text(&answers.text[start..end])?;
                self.output.flush()?;
                start = end;
                self.refused += 1;
                if self.alone {
                    tell(format_args!("error: {why}"));
                } else {
                    let number = self.taken + place + 1;
                    tell(format_args!("error: {} {number}: {why}", self.unit));
                }
            }
            self.output.text(&answers.text[start..])?;
            self.taken += answers.taken;
        }
        self.output.flush()
    }

    fn close(self) -> Result<Ending, Stop> {
        if self.refused == 0 {
            return Ok(Ending::Done);
        }
        if !self.alone {
            let (refused, taken, unit) = (self.refused, self.taken, self.unit);
            let s = if taken == 1 { "" } else { "s" };
            tell(format_args!("error: {refused} of {taken} {unit}{s} failed"));
        }
        Ok(Ending::Failed)
    }
}

/// The answers to a few lines that one core dealt with.
struct Answers {
    text: String,
    /// For each refusal: where in the text it belongs, the line's place among these, and why.
    refusals: Vec<(usize, u64, String)>,
    taken: u64,
}

impl Answers {
    fn to(
        lines: &[Result<&str, String>],
        answer: impl Fn(&str, &mut String) -> Result<(), String>,
    ) -> Self {
        let mut answers = Answers {
            text: String::new(),
            refusals: Vec::new(),
            taken: 0,
        };
        for line in lines {
            let before = answers.text.len();
            let answered = line
                .clone()
                .and_then(|line| answer(line, &mut answers.text));
            if let Err(why) = answered {
                answers.text.truncate(before);
                answers.refusals.push((before, answers.taken, why));
            }
            answers.taken += 1;
        }
        answers
    }
}

/// The lines of a reader, in the batches in which they arrive.
struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The bytes read and not yet handed out.
    filled: std::ops::Range<usize>,
    /// Whether the encoding was checked, by the first bytes.
    recognised: bool,
    /// Whether the present line was too long, and its rest is to be skipped.
    skipping: bool,
    ended: bool,
}

impl<R: Read> Lines<R> {
    fn new(reader: R) -> Self {
        Lines {
            reader,
            buffer: vec![0; LONGEST],
            filled: 0..0,
            recognised: false,
            skipping: false,
            ended: false,
        }
    }

    /// Returns the lines that the next read completes, without their ends, each or why it is none; `None` at
    /// the end. A text in another encoding than UTF-8 is an error.
    fn next_batch(&mut self) -> io::Result<Option<Vec<Result<&str, String>>>> {
        loop {
            if self.ended {
                return Ok(None);
            }
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
            let read = match self.reader.read(&mut self.buffer[self.filled.end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            self.ended = read == 0;
            let known = self.filled.end;
            self.filled.end += read;
            let newline = self.buffer[known..self.filled.end]
                .iter()
                .rposition(|&byte| byte == b'\n');
            if !self.recognised && (newline.is_some() || self.ended || self.filled.end == LONGEST) {
                plain_text::unmarked(&self.buffer[..self.filled.end])
                    .map_err(|encoding| io::Error::new(ErrorKind::InvalidData, encoding))?;
                self.recognised = true;
            }
            let mut whole = match newline {
                Some(place) => 0..known + place,
                // Nothing but a byte order mark is no line.
                None if self.ended && plain_text::line(&self.buffer[..known]).is_empty() => {
                    return Ok(None);
                }
                None if self.ended && (known > 0 && !self.skipping) => 0..known,
                None if self.ended => return Ok(None),
                None if self.skipping => {
                    self.filled = 0..0;
                    continue;
                }
                None if self.filled.end == LONGEST => {
                    self.filled = 0..0;
                    self.skipping = true;
                    let why = format!("longer than {LONGEST} bytes");
                    return Ok(Some(vec![Err(why)]));
                }
                None => continue,
            };
            self.filled.start = (whole.end + 1).min(self.filled.end);
            if self.skipping {
                self.skipping = false;
                let rest = &self.buffer[whole.clone()];
                match rest.iter().position(|&byte| byte == b'\n') {
                    Some(place) => whole.start = place + 1,
                    // The skipped line's end was all there was.
                    None => continue,
                }
            }
            let batch = self.buffer[whole]
                .split(|&byte| byte == b'\n')
                .map(line)
                .collect();
            return Ok(Some(batch));
        }
    }
}

fn line(bytes: &[u8]) -> Result<&str, String> {
    let bytes = plain_text::line(bytes);
    std::str::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8", error.valid_up_to() + 1))
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    /// A reader that yields these pieces, one a read.
    struct Pieces(Vec<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.0.first_mut() else {
                return Ok(0);
            };
            let n = piece.len().min(buffer.len());
            buffer[..n].copy_from_slice(&piece[..n]);
            piece.drain(..n);
            if piece.is_empty() {
                self.0.remove(0);
            }
            Ok(n)
        }
    }

    fn batches(pieces: &[&[u8]]) -> Vec<Vec<Result<String, String>>> {
        let mut lines = Lines::new(Pieces(pieces.iter().map(|p| p.to_vec()).collect()));
        iter::from_fn(|| {
            let batch = lines.next_batch().unwrap()?;
            Some(
                batch
                    .into_iter()
                    .map(|line| line.map(str::to_owned))
                    .collect(),
            )
        })
        .collect()
    }

    fn good(batch: &[&str]) -> Vec<Result<String, String>> {
        batch.iter().map(|&line| Ok(line.to_owned())).collect()
    }

    #[test]
    fn each_read_hands_out_the_lines_that_it_completes() {
        assert!(batches(&[]).is_empty());
        assert_eq!(batches(&[b"a\nb\n"]), [good(&["a", "b"])]);
        assert_eq!(batches(&[b"a\nb"]), [good(&["a"]), good(&["b"])]);
        assert_eq!(
            batches(&[b"a", b"b\n\n", b"c\r\n"]),
            [good(&["ab", ""]), good(&["c"])]
        );
        assert_eq!(batches(&[b"\n"]), [good(&[""])]);
    }

    #[test]
    fn byte_order_marks_are_no_part_of_a_line() {
        let mark = "\u{feff}".as_bytes();
        assert!(batches(&[mark]).is_empty());
        assert_eq!(batches(&[mark, b"a\n"]), [good(&["a"])]);
        // However the reads cut it.
        assert_eq!(
            batches(&[
                &mark[..1],
                &mark[1..2],
                &mark[2..],
                b"a",
                b"\n",
                mark,
                b"b\r\n",
                mark
            ]),
            [good(&["a"]), good(&["b"])]
        );
        let utf16: &[&[u8]] = &[b"a", b"\0", b"\n", b"\0"];
        let mut lines = Lines::new(Pieces(utf16.iter().map(|p| p.to_vec()).collect()));
        let error = lines.next_batch().unwrap_err();
        assert_eq!(error.to_string(), "this is UTF-16 text: save it as UTF-8");
    }

    #[test]
    fn bad_bytes_and_endless_lines_are_refused_and_passed_over() {
        let refused = |why: &str| Err(why.to_owned());
        assert_eq!(
            batches(&[b"a\nb\xff\nc\n"]),
            [vec![
                Ok("a".to_owned()),
                refused("byte 2 is not UTF-8"),
                Ok("c".to_owned())
            ]]
        );
        let long = vec![b'x'; 3 * LONGEST + 5];
        let refusal = vec![refused("longer than 262144 bytes")];
        for tail in [&b"\nc\nd\n"[..], b"y\nc\nd\n"] {
            assert_eq!(
                batches(&[&long, tail]),
                [refusal.clone(), good(&["c", "d"])]
            );
        }
        assert_eq!(batches(&[&long]), std::slice::from_ref(&refusal));
        assert_eq!(batches(&[&long, b"\n", b"e\n"]), [refusal, good(&["e"])]);
        // The longest line that there may be has one byte for its end.
        let longest = vec![b'x'; LONGEST - 1];
        let text = String::from_utf8(longest.clone()).unwrap();
        assert_eq!(batches(&[&longest, b"\n"]), [good(&[&text])]);
    }
}
