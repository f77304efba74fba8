//! `kazoe judge`: how positions end in the funnel, and why.

use std::fmt::Write;
use std::io::{self, IsTerminal};

use kazoe_common::census::{Explanation, Judge, Outcome, Ruling};
use kazoe_common::game::{Position, Rules, Side};
use serde_json::{Value, json};

use crate::batch_io::answer_each;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output};
use crate::quoting::PositionsArgs;

/// Judge positions: on a terminal whether a game can lead to them; elsewhere SFEN, tab, outcome, tab, depth.
///
/// The outcome is one of mirrored, two_pawns, immobile, in_check, unreachable and reachable, decided in this
/// order; the depth, for unreachable positions only, is the most plies that can be traced back. A mirrored
/// position is not counted, because its left-right mirror image represents both; on a terminal it is judged
/// too. A position with White to move is judged with the board turned by 180 degrees and the players exchanged:
/// then Black is to move, and one is reachable if and only if the other is. Positions are SFEN, each in quotes,
/// optionally after the words `sfen` or `position sfen`, or `startpos`, and optionally followed by `moves`;
/// without arguments the command reads positions from standard input, one a line. Each is printed in a normal
/// form: the hands in the order R B G S N L P, and 1 as the number of the move.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe judge 'rbsgk/4p/5/P4/KGSBR b - 1'
  kazoe judge minishogi 'startpos moves 5d5c'
  kazoe judge shogi --explain 'lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1'
  seq 0 99999 | kazoe unrank minishogi | cut -f2 | kazoe judge minishogi | cut -f2 | sort | uniq -c")]
pub(super) struct Args {
    #[command(flatten)]
    positions: PositionsArgs,

    /// Print the reason, and for a reachable position legal moves that lead to it.
    #[arg(long)]
    explain: bool,

    /// Judge mirrored positions too.
    #[arg(long)]
    no_mirror: bool,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let (games, sfens) = self.positions.read()?;
        let judges: Vec<_> = games.rules().iter().map(Judge::new).collect();
        let for_people = !self.form.json() && io::stdout().is_terminal();
        answer_each(&sfens, "SFENs", output, |line, text| {
            let (game, position) = games.read(line)?;
            let (rules, judges) = (&games.rules()[game], &judges[game]);
            rules
                .check_whole_set(&position)
                .map_err(|error| error.to_string())?;
            let black = match position.turn() {
                Side::Black => position,
                Side::White => rules.exchanged(&position),
            };
            let ruling = if self.no_mirror || for_people {
                judges.rule_unfolded(&black, None)
            } else {
                judges.rule(&black, None)
            };
            let explanation = if self.explain {
                let explained = Explanation::of(rules, judges, &black, ruling);
                Some(explained.map_err(|error| error.to_string())?)
            } else {
                None
            };
            let answer = Answer {
                rules,
                position,
                twin: (black != position).then_some(black),
                ruling,
                explanation,
            };
            if self.form.json() {
                answer.write_json(text);
            } else if for_people {
                answer.write_plainly(!self.no_mirror && !rules.is_canonical(&black), text);
            } else {
                answer.write_text(text);
            }
            Ok(())
        })
    }
}

struct Answer<'a> {
    rules: &'a Rules<u128>,
    position: Position<u128>,
    /// What was judged instead, with White to move.
    twin: Option<Position<u128>>,
    ruling: Ruling,
    explanation: Option<Explanation>,
}

impl Answer<'_> {
    fn write_text(&self, text: &mut String) {
        self.rules.write_sfen(&self.position, text);
        let _ = write!(text, "\t{}\t", self.ruling.outcome.name());
        if let Some(depth) = self.ruling.depth {
            let _ = write!(text, "{depth}");
        }
        text.push('\n');
        self.write_explanation(text);
    }

    /// Says whether a game can lead to the position, and then what the count makes of it.
    fn write_plainly(&self, is_mirrored: bool, text: &mut String) {
        let can_occur = self.ruling.outcome == Outcome::Reachable;
        text.push_str(if can_occur {
            "reachable  "
        } else {
            "unreachable  "
        });
        self.rules.write_sfen(&self.position, text);
        let name = self.ruling.outcome.name();
        let why = match self.ruling.outcome {
            Outcome::TwoPawns => "two unpromoted Pawns of one side share a file",
            Outcome::Immobile => "a piece has no move on any board",
            Outcome::InCheck => "the King of the side that has just moved is attacked",
            Outcome::Unreachable if self.ruling.depth == Some(0) => "no move can have led to it",
            Outcome::Unreachable => "no sequence of moves back from it leads to the start",
            Outcome::Reachable | Outcome::Mirrored | Outcome::Undecided => "",
        };
        if can_occur {
            text.push_str("\n  A game can lead to it.\n");
        } else {
            let _ = write!(text, "\n  No game can lead to it: {why} ({name}");
            if let Some(depth) = self.ruling.depth {
                let _ = write!(text, ", depth {depth}");
            }
            text.push_str(").\n");
        }
        if is_mirrored {
            text.push_str("  The count uses its left-right mirror image for both (mirrored): ");
            self.rules
                .write_sfen(&self.rules.mirrored(&self.position), text);
            text.push('\n');
        }
        self.write_explanation(text);
    }

    fn write_explanation(&self, text: &mut String) {
        if let Some(explanation) = &self.explanation {
            if let Some(twin) = &self.twin {
                text.push_str(
                    "  White is to move. With the board turned and the players exchanged Black is \
                     to move, in a position that is reachable if and only if this one is. The \
                     lines below judge that position:\n  ",
                );
                self.rules.write_sfen(twin, text);
                text.push('\n');
            }
            write_reasons(explanation, text);
        }
    }

    fn write_json(&self, text: &mut String) {
        let mut document = json!({
            "version": JSON_VERSION,
            "sfen": self.rules.sfen(&self.position),
            "outcome": self.ruling.outcome.name(),
            "depth": self.ruling.depth,
        });
        if let Some(explanation) = &self.explanation {
            if let Some(twin) = &self.twin {
                document["twin"] = self.rules.sfen(twin).into();
            }
            add_reasons(explanation, &mut document);
        }
        let _ = writeln!(text, "{document}");
    }
}

/// Appends an explanation, indented below the line that it explains.
fn write_reasons(explanation: &Explanation, text: &mut String) {
    for line in &explanation.lines {
        let _ = writeln!(text, "  {line}");
    }
    for moves in explanation
        .path
        .iter()
        .flat_map(|path| path.moves.chunks(12))
    {
        let _ = writeln!(text, "    {}", moves.join(" "));
    }
}

/// Adds an explanation to a JSON object.
fn add_reasons(explanation: &Explanation, document: &mut Value) {
    document["why"] = explanation.lines.clone().into();
    if let Some(path) = &explanation.path {
        document["path"] = json!({ "start": path.start, "moves": path.moves });
    }
    if let Some((sfen, judged)) = &explanation.image {
        document["image"] = json!({
            "sfen": sfen,
            "outcome": judged.outcome.name(),
            "depth": judged.depth,
        });
    }
}
