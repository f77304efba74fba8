//! The rules: variants as data, positions, and what moves between them.

mod variant;

mod bits;
mod position;

mod attacks;
mod geometry;
mod roles;
mod rules;

mod arrangement;
mod sfen;

mod local;

mod families;
mod generate;
mod march;
mod moves;
mod pace;
mod perft;
mod usi;

mod predecessors;

pub use arrangement::{Arrangement, ArrangementError, PositionError};
pub use bits::Bits;
pub(crate) use local::MirrorGroup;
pub use local::TwoPawns;
pub use moves::Move;
pub use position::{Hand, Piece, Position, Side};
pub use predecessors::Unmove;
pub(crate) use roles::Gait;
pub use roles::Role;
pub use rules::{Rules, Square};
pub use sfen::SfenError;
pub use usi::UsiError;
pub use variant::{KINDS, Kind, Movement, Variant};
