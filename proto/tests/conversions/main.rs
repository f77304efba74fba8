//! The conversions: what goes out comes back in (`round_trips`), and what cannot be is refused by the name
//! of its field (`refusals`).

mod made_up;
mod refusals;
mod round_trips;
