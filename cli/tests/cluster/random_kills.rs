//! Workers, coordinators and PostgreSQL killed with -9 at random moments.
//!
//! `KAZOE_KILLS=200 cargo nextest run -p kazoe -E 'test(random_kills)'` for more of it, and
//! `KAZOE_SEED=...` for the same ones again (as far as the machine's own pace allows).

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{Process, TestCluster, accepted, until};

/// How many kills, unless the environment says otherwise.
const KILLS: u64 = 30;

/// Samples that each kill finds to be computed.
const ROUND: u64 = 200_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The finaliser of SplitMix64, one number a call.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Asks for more samples, until a coordinator answers.
fn submit(cluster: &TestCluster<'_>, samples: u64) {
    let samples = samples.to_string();
    let arguments = [
        "submit",
        "minishogi",
        "--segment",
        "4",
        "--samples",
        &samples,
    ];
    until(|| cluster.run(&arguments).status.success());
}

/// Waits until all is counted. What workers were killed over four times in a row, which is seldom chance,
/// was set aside, and is tried again.
async fn finish(cluster: &TestCluster<'_>) {
    loop {
        let mut conn = cluster.connection().await;
        let aside: Vec<i64> = sqlx::query_scalar("SELECT segment FROM set_aside")
            .fetch_all(&mut conn)
            .await
            .unwrap();
        for segment in aside {
            eprintln!("set aside: {segment}");
            cluster.ask(&["retry", "minishogi", &segment.to_string()]);
        }
        if cluster.json(&["report"])[0]["complete"] == true {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn random_kills_change_nothing() {
    let seed = number("KAZOE_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    let kills = number("KAZOE_KILLS").unwrap_or(KILLS);
    eprintln!("KAZOE_SEED={seed} KAZOE_KILLS={kills}");
    let mut draws = Draws(seed);
    let server = Server::private().await;
    let cluster = TestCluster::new(&server).await;
    let cluster = cluster.with(&["--hold", "2s", "--lease", "200ms"]);
    let mut coordinator = Some(cluster.coordinator());
    let owners = ["a", "b", "c"];
    let mut workers: Vec<Process> = owners.map(|owner| cluster.worker(owner, &[])).into();
    let mut samples = 0;
    for kill in 0..kills {
        samples += ROUND;
        submit(&cluster, samples);
        let pause = draws.below(1_000);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let victim = draws.below(8);
        let before = cluster.results().await;
        eprintln!("kill {kill}: victim {victim} after {pause} ms");
        match victim {
            0 => {
                server.kill_9();
                server.start(&[]).await;
            }
            1 | 2 => {
                coordinator.take().unwrap().kill_9();
                coordinator = Some(cluster.coordinator());
            }
            _ => {
                let number = usize::try_from(draws.below(3)).unwrap();
                workers.remove(number).kill_9();
                workers.insert(number, cluster.worker(owners[number], &[]));
            }
        }
        assert!(before.is_subset(&cluster.results().await), "I5");
    }
    finish(&cluster).await;
    assert_eq!(accepted(&cluster), samples);
    let samples = samples.to_string();
    let run = ["minishogi", "--segment", "4", "--samples", &samples];
    let id = cluster.json(&["campaigns"])[0]["campaign"].clone();
    cluster.assert_counted(id.as_str().unwrap(), &run).await;
}
