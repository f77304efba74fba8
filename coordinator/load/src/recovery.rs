//! A coordinator that is killed under load, and another in its place.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::coordinator::Coordinator;
use crate::findings::Recovery;
use crate::load_generator::LoadGenerator;
use crate::load_steps::per_second;
use crate::tell;

/// Results flow again when they did for so long: crowds tell twice a second.
const WINDOW: Duration = Duration::from_secs(1);

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(50);

/// Kills the coordinator and starts another; results flowed at `rate` a second.
///
/// # Errors
/// If something is refused, or nothing goes on.
pub(crate) async fn measure(
    generator: &mut LoadGenerator,
    coordinator: &mut Coordinator<'_>,
    rate: f64,
) -> Result<Recovery, String> {
    tell("Killing the coordinator and starting another.");
    generator.begin_epoch();
    let begun = Instant::now();
    coordinator.replace()?;
    // An answer of the old one may have been under way.
    generator.begin_epoch();
    coordinator.wait(2).await?;
    let listening = begun.elapsed();
    let mut lately: VecDeque<(Instant, usize)> = VecDeque::new();
    let mut flowing = None;
    let mut heard = None;
    generator
        .until("coming back", |generator| {
            let (now, results) = (Instant::now(), generator.results());
            if lately.back().is_none_or(|last| now - last.0 >= LOOK) {
                lately.push_back((now, results));
            }
            while lately.get(1).is_some_and(|next| now - next.0 >= WINDOW) {
                lately.pop_front();
            }
            if let Some(&(since, before)) = lately.front()
                && now - since >= WINDOW
                && flowing.is_none()
            {
                let new = u64::try_from(results - before).unwrap_or(u64::MAX);
                if per_second(new, now - since) >= 0.9 * rate {
                    flowing = Some(begun.elapsed());
                }
            }
            if heard.is_none() && generator.heard() >= generator.workers() {
                heard = Some(begun.elapsed());
            }
            flowing.is_some() && heard.is_some()
        })
        .await?;
    let (flowing, heard) = (flowing.unwrap_or_default(), heard.unwrap_or_default());
    tell(format_args!(
        "It listens after {:.1} s, results flow again after {:.1} s, every worker was heard after {:.1} s.",
        listening.as_secs_f64(),
        flowing.as_secs_f64(),
        heard.as_secs_f64()
    ));
    Ok(Recovery {
        rate,
        listening,
        flowing,
        heard,
    })
}
