//! What is secret stays out of logs and messages, also where it was put by mistake.

use std::fs;
use std::process::Output;

use tonic::Code;

use crate::healthy::link;
use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::raw_http2::{Raw, framed};
use kazoe_coordinator_testkit::scripted_worker::ScriptedWorker;
use kazoe_coordinator_testkit::test_cluster::TestCluster;

/// A text that does not occur by chance.
const PLANTED: &str = "hush7f3a";

/// All that was logged or written in a cluster, by file.
fn written(cluster: &TestCluster<'_>) -> Vec<(String, String)> {
    let files = fs::read_dir(cluster.folder.path()).unwrap();
    let logs = files.filter_map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name()?.to_str()?.to_owned();
        name.ends_with(".log")
            .then(|| (name, fs::read_to_string(&path).unwrap()))
    });
    logs.collect()
}

#[track_caller]
fn is_silent(output: &Output) -> String {
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(!said.contains(PLANTED), "{said}");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_secret_is_written_anywhere() {
    let server = Server::shared().await;
    let debug = ["--log-level", "debug", "--log-format", "json"];
    let cluster = TestCluster::new(&server).await.with(&debug);
    // PostgreSQL trusts its own machine and asks for no password: so any is good.
    let url = fs::read_to_string(cluster.path("runtime.url")).unwrap();
    let url = url.replace("kazoe_runtime@", &format!("kazoe_runtime:{PLANTED}@"));
    fs::write(cluster.path("runtime.url"), &url).unwrap();
    let mut coordinator = cluster.coordinator();
    let mut worker = cluster.worker("a", &["--log-level", "debug"]);
    let run = ["minishogi", "--samples", "100k", "--segment", "4"];
    cluster.ask(&[&["submit"], run.as_slice(), &["--wait"]].concat());

    // A lease that goes on while everything else happens.
    cluster.ask(&["submit", "shogi", "--samples", "1M", "--segment", "4"]);
    let mut scripted = ScriptedWorker::join(&cluster, "b").await;
    let lease = loop {
        if let Some(lease) = scripted.claim().await {
            break lease;
        }
    };

    // In metadata and paths, in wrong tokens and in fields.
    let mut raw = Raw::connect(&cluster).await;
    let wrong = format!("Bearer t-{PLANTED}.{}", "0".repeat(64));
    let short = format!("Bearer {PLANTED}");
    let basic = format!("Basic {PLANTED}");
    for (name, value) in [
        ("authorization", wrong.as_str()),
        ("authorization", &short),
        ("authorization", &basic),
        ("x-password", PLANTED),
        ("cookie", PLANTED),
        ("grpc-encoding", PLANTED),
        ("grpc-timeout", PLANTED),
    ] {
        let path = "/kazoe.v1.Campaigns/List";
        let answer = raw
            .call(path, &[(name, value)], [framed(false, 0, &[])])
            .await;
        let answer = answer.unwrap();
        assert_ne!(answer.code, Some(0), "{answer:?}");
        assert!(!answer.words.contains(PLANTED), "{answer:?}");
    }
    let path = format!("/{PLANTED}/List?token={PLANTED}");
    let answer = raw.call(&path, &[], [framed(false, 0, &[])]).await.unwrap();
    assert_eq!(answer.code, Some(Code::Unimplemented as i32), "{answer:?}");
    assert!(!answer.words.contains(PLANTED), "{answer:?}");

    // In addresses of coordinators, on the command line and in the environment.
    let host = cluster.url.strip_prefix("http://").unwrap();
    for address in [
        format!("http://me:{PLANTED}@{host}"),
        format!("http://{PLANTED}@{host}"),
        format!("{host}?token={PLANTED}"),
        format!("http://{host}/#{PLANTED}"),
        format!("ftp://me:{PLANTED}@{host}"),
    ] {
        for command in ["campaigns", "health", "worker", "watch"] {
            let typed = cluster.run(&[command, "--coordinator", &address]);
            assert_eq!(typed.status.code(), Some(2), "{typed:?}");
            assert!(is_silent(&typed).contains("--token-file"), "{typed:?}");
            let mut found = cluster.command(&[command]);
            let found = found.env("KAZOE_COORDINATOR", &address).output().unwrap();
            assert_eq!(found.status.code(), Some(2), "{found:?}");
            is_silent(&found);
            let mut help = cluster.command(&[command, "--help"]);
            let help = help.env("KAZOE_COORDINATOR", &address).output().unwrap();
            assert!(is_silent(&help).contains("--coordinator"));
        }
    }

    // In addresses of databases that are wrong in some way.
    for address in [
        format!("postgresql://kazoe_runtime:{PLANTED}@localhost:1/none"),
        format!("postgresql://kazoe_runtime:{PLANTED}@localhost:{PLANTED}/none"),
        format!("postgresql://kazoe_runtime:{PLANTED}%ff@localhost/none"),
        format!("mysql://me:{PLANTED}@localhost/none"),
        PLANTED.to_owned(),
        format!("{url}&sslpassword={PLANTED}"),
        format!("{url}&sslmode={PLANTED}"),
        format!("{url}&hostaddr={PLANTED}"),
    ] {
        fs::write(cluster.path("wrong.url"), &address).unwrap();
        for flag in ["--database-url", "--database-url-file"] {
            let value = if flag == "--database-url" {
                &address
            } else {
                "wrong.url"
            };
            let mut command =
                cluster.command(&["coordinator", "--listen", "127.0.0.1:0", flag, value]);
            let output = command.args(debug).output().unwrap();
            assert_ne!(output.status.code(), Some(0), "{address}: {output:?}");
            is_silent(&output);
        }
    }
    let mut help = cluster.command(&["coordinator", "--help"]);
    is_silent(&help.env("KAZOE_DATABASE_URL", &url).output().unwrap());

    // In files of tokens.
    for token in [
        format!("t-00000000.{PLANTED}"),
        format!("{PLANTED}\u{7}"),
        format!("t-{PLANTED}.{}", "0".repeat(64)),
    ] {
        fs::write(cluster.path("wrong.token"), token).unwrap();
        for arguments in [&["campaigns"][..], &["worker", "--log-level", "debug"]] {
            let mut command = cluster.command(arguments);
            let output = command
                .env("KAZOE_TOKEN_FILE", cluster.path("wrong.token"))
                .output();
            let output = output.unwrap();
            assert_ne!(output.status.code(), Some(0), "{output:?}");
            is_silent(&output);
        }
    }

    // What is secret by itself: tokens of owners and of leases.
    worker.signal("-TERM");
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    coordinator.signal("-TERM");
    assert_eq!(coordinator.wait(), Some(0), "{}", coordinator.log());
    let owners = ["operator", "a", "b", "c"].map(|owner| link(&cluster, owner).token.unwrap());
    let secrets = owners
        .iter()
        .map(|token| token.split_once('.').unwrap().1.to_owned());
    let mut secrets: Vec<String> = secrets.collect();
    secrets.push(PLANTED.to_owned());
    secrets.push(lease.key.to_text().split_once('-').unwrap().1.to_owned());
    let mut conn = cluster.connection().await;
    let leases: Vec<String> = sqlx::query_scalar("SELECT encode(secret, 'hex') FROM leases")
        .fetch_all(&mut conn)
        .await
        .unwrap();
    assert!(!leases.is_empty());
    secrets.extend(leases);
    let hashes: Vec<String> = sqlx::query_scalar("SELECT encode(hash, 'hex') FROM credentials")
        .fetch_all(&mut conn)
        .await
        .unwrap();
    secrets.extend(hashes);
    let logs = written(&cluster);
    assert!(logs.len() >= 2, "of a coordinator and a worker");
    for (name, log) in logs {
        assert!(log.contains("DEBUG"), "{name} logs little");
        for secret in &secrets {
            assert!(!log.contains(secret.as_str()), "{name}: {secret}\n{log}");
        }
    }
}
