//! Who may do what.

use std::fs;

use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_proto::work::{Notice, Report, StopReason};

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::scripted_worker::{ScriptedWorker, computed};
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

const SUBMIT: [&str; 6] = ["submit", "minishogi", "--samples", "2M", "--segment", "8"];

#[tokio::test]
async fn a_token_allows_what_its_role_does() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    cluster.mint("viewer", "viewer");
    cluster.ask(&SUBMIT);

    let as_owner = |owner: &str, arguments: &[&str]| {
        let mut command = cluster.command(arguments);
        command.env("KAZOE_TOKEN_FILE", cluster.path(&format!("{owner}.token")));
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for (owner, command, allowed) in [
        ("viewer", "campaigns", true),
        ("viewer", "report", true),
        ("viewer", "workers", true),
        ("viewer", "pause minishogi", false),
        ("viewer", "submit minishogi --samples 1k", false),
        ("viewer", "token list", false),
        ("a", "report", true),
        ("a", "cancel minishogi", false),
        ("a", "priority minishogi 5", false),
        ("viewer", "priority minishogi 5", false),
        ("a", "purge minishogi --owner b --why x", false),
        ("operator", "token list", true),
    ] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let (code, words) = as_owner(owner, &arguments);
        assert_eq!(code == Some(0), allowed, "{owner}: {command}: {words}");
        assert!(allowed || words.contains("this call requires"), "{words}");
    }
    // A viewer computes nothing.
    let mut worker = cluster.worker("viewer", &[]);
    assert_eq!(worker.wait(), Some(1));
    assert!(
        worker.log().contains("this call requires the role worker"),
        "{}",
        worker.log()
    );

    // No token, half a token, another secret.
    let token = fs::read_to_string(cluster.path("a.token")).unwrap();
    let (id, secret) = token.trim().split_once('.').unwrap();
    let turned: String = secret.chars().rev().collect();
    for (text, words) in [
        (format!("{id}.{turned}"), "unknown here"),
        (format!("t-00000000.{secret}"), "unknown here"),
        (id.to_owned(), "malformed API token"),
    ] {
        fs::write(cluster.path("wrong.token"), text).unwrap();
        let (code, said) = as_owner("wrong", &["campaigns"]);
        assert_eq!(code, Some(1));
        assert!(said.contains(words), "{said}");
        assert!(!said.contains(secret), "{said}");
    }
    let without = cluster
        .command(&["campaigns"])
        .env_remove("KAZOE_TOKEN_FILE")
        .output()
        .unwrap();
    let words = String::from_utf8(without.stderr).unwrap();
    assert!(words.contains("kazoe token create"), "{words}");
}

#[tokio::test]
async fn tokens_that_were_made_before_the_database_are_adopted_once() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    let secret = "0123456789abcdef".repeat(4);
    for (name, id) in [("early", "t-0000e001"), ("look", "t-0000e002")] {
        fs::write(cluster.path(name), format!("{id}.{secret}\n")).unwrap();
    }
    let adopt = |words: &str| {
        let adopt = format!("token adopt --database-url-file runtime.url {words}");
        let arguments: Vec<&str> = adopt.split(' ').collect();
        cluster.run(&arguments)
    };
    for how in ["adopted", "known"] {
        let output = adopt("--owner lab --operator early --viewer look");
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!("t-0000e002\tlab\tviewer\t{how}\nt-0000e001\tlab\toperator\t{how}\n")
        );
    }
    let as_early = |arguments: &[&str]| {
        let mut command = cluster.command(arguments);
        command.env("KAZOE_TOKEN_FILE", cluster.path("early"));
        command.output().unwrap()
    };
    assert!(as_early(&SUBMIT).status.success());

    // What is known otherwise stays as it is, and no secret is repeated.
    fs::write(
        cluster.path("other"),
        format!("t-0000e001.{}", "0".repeat(64)),
    )
    .unwrap();
    fs::write(cluster.path("half"), format!("t-0000e003.{}", &secret[1..])).unwrap();
    for (words, said) in [
        ("--owner lab --operator other", "with another secret"),
        (
            "--owner lab --worker early",
            "with the role operator and the owner lab",
        ),
        (
            "--owner else --operator early",
            "with the role operator and the owner lab",
        ),
        ("--owner lab --operator half", "half: malformed API token"),
        ("--owner lab --operator none", "none: No such file"),
    ] {
        let output = adopt(words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words}: {error}");
        assert!(error.contains(said), "{words}: {error}");
        assert!(!error.contains(&secret[1..]), "{error}");
    }
    assert_eq!(adopt("--owner lab").status.code(), Some(2));
    let tokens = cluster.json(&["token", "list"]);
    assert!(tokens.iter().all(|token| token["token"] != "t-0000e003"));
    cluster.ask(&["token", "revoke", "t-0000e001"]);
    let revoked = String::from_utf8(adopt("--owner lab --operator early").stderr).unwrap();
    assert!(revoked.contains("was revoked"), "{revoked}");
    assert!(!as_early(&["campaigns"]).status.success());
}

#[tokio::test]
async fn a_revoked_token_ends_its_worker_and_gives_its_segments_back() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--hold", "2s"]);
    let _coordinator = cluster.coordinator();
    // Far more than is computed here.
    cluster.ask(&["submit", "shogi", "--samples", "5G"]);
    let mut worker = cluster.worker("a", &[]);
    worker.wait_for("a lease");
    let tokens = cluster.json(&["token", "list"]);
    let of = |owner: &str| {
        let mut all = tokens.iter();
        let found = all.find(|token| token["owner"] == owner).unwrap();
        found["token"].as_str().unwrap().to_owned()
    };
    cluster.ask(&["token", "revoke", &of("a")]);
    assert_eq!(worker.wait(), Some(1), "{}", worker.log());
    assert!(worker.log().contains("revoked"), "{}", worker.log());
    let again = cluster.refusal(&["token", "revoke", &of("a")]);
    assert!(again.contains("no active token"), "{again}");
    let states = cluster.json(&["token", "list"]);
    let revoked = states.iter().filter(|token| token["state"] == "revoked");
    assert_eq!(revoked.count(), 1);
    assert_eq!(cluster.json(&["workers"])[0]["leases"], 0);
}

/// Health and reflection need no token.
#[tokio::test]
async fn what_there_is_to_call_is_no_secret() {
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let mut coordinator = cluster.coordinator();
    let link = kazoe_worker::channel::Link {
        url: cluster.url.clone(),
        ..Default::default()
    };
    let request = tonic_reflection::pb::v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut client = ServerReflectionClient::new(link.open().unwrap());
    let answers = client.server_reflection_info(tokio_stream::iter([request]));
    let answer = answers.await.unwrap().into_inner().message().await.unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.unwrap().message_response else {
        panic!("no list of services");
    };
    let names: Vec<String> = list.service.into_iter().map(|one| one.name).collect();
    for name in [
        "kazoe.v1.Campaigns",
        "kazoe.v1.Work",
        "kazoe.v1.Admin",
        "grpc.health.v1.Health",
    ] {
        assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
    }
    let health = cluster
        .command(&["health"])
        .env_remove("KAZOE_TOKEN_FILE")
        .output()
        .unwrap();
    assert_eq!(health.stdout, b"serving\n");
    coordinator.signal("-TERM");
    assert_eq!(coordinator.wait(), Some(0));
    assert_eq!(cluster.run(&["health"]).status.code(), Some(1));
}

#[tokio::test]
async fn a_drained_worker_hands_in_what_it_has_begun_and_leaves() {
    let server = Server::shared().await;
    let flags = ["--lease", "100ms"];
    let cluster = TestCluster::new(&server).await.with(&flags);
    let _coordinator = cluster.coordinator();
    cluster.ask(&["submit", "shogi", "--samples", "5G", "--segment", "4"]);
    let mut worker = cluster.worker("a", &[]);
    worker.wait_for("a lease");
    until(|| cluster.json(&["workers"]).len() == 1);
    let id = cluster.json(&["workers"])[0]["worker"].clone();
    cluster.ask(&["drain", id.as_str().unwrap()]);
    assert_eq!(worker.wait(), Some(0), "{}", worker.log());
    assert!(
        worker.log().contains("drained by the coordinator"),
        "{}",
        worker.log()
    );
    assert!(cluster.json(&["workers"]).is_empty(), "it left");
    let drained = cluster.json(&["workers", "--all"]).remove(0);
    assert_eq!(
        (&drained["state"], &drained["leases"]),
        (&"gone".into(), &0.into())
    );

    // Its heartbeat is answered with Stop; it delivers what it has begun and returns the rest.
    let mut scripted = ScriptedWorker::join(&cluster, "b").await;
    let lease = scripted.claim().await.unwrap();
    let id = scripted.worker.clone();
    cluster.ask(&["drain", &id]);
    assert_eq!(cluster.json(&["workers"])[0]["state"], "leaving");
    let notice = scripted.say(&lease, &Report::Heartbeat).await.unwrap();
    assert_eq!(notice, Some(Notice::Stop(StopReason::Drained)));
    let begun = Report::Finished(vec![computed(&lease).remove(0)]);
    let safe = Notice::Acknowledged(vec![(lease.segments[0], DeliveryOutcome::Accepted)]);
    assert_eq!(scripted.say(&lease, &begun).await.unwrap(), Some(safe));
    assert_eq!(scripted.say(&lease, &Report::Done).await.unwrap(), None);
    assert!(scripted.claim().await.is_none());
    let counts = cluster.json(&["report"]).remove(0);
    assert_eq!(counts["segments"]["leased"], 0, "{counts}");
    let unknown = cluster.refusal(&["drain", "w-none"]);
    assert!(unknown.contains("kazoe workers"), "{unknown}");
}

#[tokio::test]
async fn beyond_this_machine_plaintext_requires_a_flag() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let usage = |arguments: &[&str]| {
        let url = cluster.path("runtime.url");
        let output = cluster
            .command(&["coordinator", "--database-url-file"])
            .arg(url)
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(usage(&["--listen", "0.0.0.0:0"]).contains("--plaintext"));
    assert!(usage(&["--listen", "0.0.0.0:0", "--plaintext", "--no-tokens"]).contains("127.0.0.1"));
    assert!(usage(&["--tls-cert", "x"]).contains("--tls-key"));
    assert!(usage(&["--listen", "here"]).contains("--listen"));
}

#[tokio::test]
async fn without_tokens_callers_on_this_machine_are_operators() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await.with(&["--no-tokens"]);
    let _coordinator = cluster.coordinator();
    let run = ["minishogi", "--samples", "50k", "--segment", "4"];
    let tokenless = |arguments: &[&str]| {
        let mut command = cluster.command(arguments);
        command.env_remove("KAZOE_TOKEN_FILE");
        command
    };
    let mut worker = tokenless(&["worker", "--threads", "1"]).spawn().unwrap();
    let submitted = tokenless(&["submit"])
        .args(run)
        .arg("--wait")
        .output()
        .unwrap();
    assert!(submitted.status.success(), "{submitted:?}");
    worker.kill().unwrap();
    worker.wait().unwrap();
    let id = cluster.json(&["campaigns"])[0]["campaign"].clone();
    cluster.assert_counted(id.as_str().unwrap(), &run).await;
}
