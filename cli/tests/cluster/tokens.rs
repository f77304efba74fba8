//! Where a token is written, and who can read it there.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, after};

/// How many tokens are good.
fn good(cluster: &TestCluster<'_>) -> usize {
    let listed = cluster.ask(&["token", "list"]);
    listed
        .lines()
        .filter(|line| line.ends_with("\tgood"))
        .count()
}

/// Makes a worker's token, past the coordinator or through it.
fn create(cluster: &TestCluster<'_>, past: bool, arguments: &[&str]) -> Command {
    let mut create = cluster.command(&["token", "create", "--owner", "lab", "--role", "worker"]);
    create.args(arguments);
    if past {
        create
            .arg("--database-url-file")
            .arg(cluster.path("runtime.url"));
    }
    create
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test]
async fn a_token_is_written_to_a_new_file_of_its_owner_s_or_is_revoked() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let _coordinator = cluster.coordinator();
    for past in [true, false] {
        let before = good(&cluster);
        let file = cluster.path(&format!("new-{past}.token"));
        let path = file.to_str().unwrap();
        // Whatever the umask says.
        let mut create_it = after("umask 0", &create(&cluster, past, &["--output", path]));
        let made = create_it.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        assert_eq!(String::from_utf8(made.stdout.clone()).unwrap(), "");
        assert!(said(&made).contains(path), "{made:?}");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        assert_eq!(good(&cluster), before + 1);
        let mut asked = cluster.command(&["campaigns"]);
        let asked = asked.env("KAZOE_TOKEN_FILE", &file).output().unwrap();
        assert!(asked.status.success(), "{asked:?}");
        assert_eq!(said(&asked), "");

        // Nothing is overwritten or written through a link, and without a file there is no token.
        let token = fs::read(&file).unwrap();
        let link = cluster.path(&format!("link-{past}"));
        symlink("nowhere", &link).unwrap();
        for (refused, why) in [
            (path, "exists already"),
            (link.to_str().unwrap(), "exists already"),
            ("/dev/full", "exists already"),
            ("none/x.token", "No such file or directory"),
        ] {
            let output = create(&cluster, past, &["-o", refused]).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{refused}: {output:?}");
            let words = said(&output);
            assert!(words.contains(refused) && words.contains(why), "{words}");
        }
        assert_eq!(fs::read(&file).unwrap(), token);

        // A token whose write fails is revoked: to a file that may not grow, and to a full output.
        let mut create_it = after(
            "ulimit -f 0",
            &create(&cluster, past, &["-o", "short.token"]),
        );
        let short = create_it.output().unwrap();
        assert_eq!(short.status.code(), Some(1), "{short:?}");
        let words = said(&short);
        assert!(
            words.contains("short.token: ") && words.contains("was revoked"),
            "{words}"
        );
        assert!(!cluster.path("short.token").exists());
        let full = File::options().write(true).open("/dev/full").unwrap();
        let full = create(&cluster, past, &[]).stdout(full).output().unwrap();
        assert_eq!(full.status.code(), Some(1), "{full:?}");
        assert!(said(&full).contains("was revoked"), "{full:?}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = create(&cluster, past, &[]).stdout(writer).output().unwrap();
        assert_eq!(closed.status.code(), Some(1), "{closed:?}");
        assert_eq!(good(&cluster), before + 1);
    }

    // Standard output that goes to a file which others can read.
    let shell = after("umask 022; exec > open.token", &create(&cluster, true, &[])).output();
    let words = said(&shell.unwrap());
    assert!(
        words.contains("all users of this machine can read"),
        "{words}"
    );
    let shell = after("umask 077; exec > own.token", &create(&cluster, true, &[])).output();
    let words = said(&shell.unwrap());
    assert!(!words.contains("can read the secret"), "{words}");

    // A token that the coordinator refuses is named by its file.
    let wrong = cluster.path("wrong.token");
    fs::write(&wrong, format!("t-00000000.{}\n", "0".repeat(64))).unwrap();
    for command in [&["campaigns"][..], &["worker"]] {
        let mut command = cluster.command(command);
        let output = command.env("KAZOE_TOKEN_FILE", &wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let from = format!("(the token is from {})", wrong.display());
        assert!(said(&output).contains(&from), "{output:?}");
    }
}

#[tokio::test]
async fn a_coordinator_warns_once_of_each_secret_that_others_can_read() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let open = |name: &str| {
        fs::set_permissions(cluster.path(name), PermissionsExt::from_mode(0o644)).unwrap();
        format!(
            "can read the secret in {} (mode 0644)",
            cluster.path(name).display()
        )
    };
    let silent = cluster.coordinator();
    assert!(!silent.log().contains("can read"), "{}", silent.log());
    silent.kill_9();
    let warning = open("runtime.url");
    let coordinator = cluster.coordinator();
    cluster.ask(&["campaigns"]);
    let log = coordinator.log();
    assert_eq!(log.matches(&warning).count(), 1, "{log}");
    coordinator.kill_9();

    // A file of settings with a password in it, and one without.
    for (text, warns) in [
        ("proxy = 'http://me:hush@127.0.0.1:1'\nonce = true\n", true),
        ("once = true\n", false),
    ] {
        fs::write(cluster.path("k.toml"), text).unwrap();
        let warning = open("k.toml");
        let mut worker = cluster.command(&["worker", "--idle-exit", "1s", "--config"]);
        let output = worker.arg(cluster.path("k.toml")).output().unwrap();
        assert_eq!(said(&output).contains(&warning), warns, "{output:?}");
        assert!(!said(&output).contains("hush"), "{output:?}");
    }
}
