//! Completions: of every shell, and what bash makes of them.

use std::process::Command;

use crate::support::kazoe;

#[test]
fn every_shell_completes_commands_and_flags() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = kazoe(&["completions", shell]).silent();
        for word in ["coordinator", "completions", "max-load"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let unknown = kazoe(&["completions", "tcsh"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
}

#[test]
fn bash_takes_the_script() {
    let script = kazoe(&["completions", "bash"]).silent();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kazoe.bash");
    std::fs::write(&path, script).unwrap();
    let typed = "source \"$0\"; COMP_WORDS=(kazoe comp); COMP_CWORD=1; \
                 _kazoe kazoe comp kazoe; echo \"${COMPREPLY[*]}\"";
    let ran = Command::new("bash").args(["-c", typed]).arg(&path).output();
    let ran = ran.expect("bash, as the checks need it too");
    let said = String::from_utf8(ran.stdout).unwrap();
    let said: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(said, ["compute", "completions"], "{:?}", ran.stderr);
}
