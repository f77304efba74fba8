//! The rules: variants as data, positions, and what moves between them.

mod bits;
mod position;
mod rules;
mod variant;

pub use bits::Bits;
pub use position::{Hand, Piece, Position, Side};
pub use rules::{Role, Rules, Square};
pub use variant::{KINDS, Kind, Movement, Variant};
