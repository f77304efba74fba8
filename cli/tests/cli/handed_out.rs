//! The scripts of `deploy/` that are run where Kazoe is put together.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Ran;

/// Runs a copy of `deploy/stage-image` in a folder.
fn stage(folder: &Path, binary: &Path) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/stage-image");
    fs::copy(script, folder.join("stage-image")).unwrap();
    fs::create_dir_all(folder.join("image")).unwrap();
    let ran = Command::new("bash")
        .arg(folder.join("stage-image"))
        .arg(binary)
        .output();
    ran.unwrap().into()
}

#[test]
fn an_image_is_made_of_a_static_binary_alone() {
    let folder = tempfile::tempdir().unwrap();
    let dynamic = Path::new(env!("CARGO_BIN_EXE_kazoe"));
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\necho kazoe 0\n").unwrap();
    assert!(
        Command::new("chmod")
            .arg("+x")
            .arg(&script)
            .status()
            .unwrap()
            .success()
    );
    for binary in [dynamic, &script] {
        let ran = stage(folder.path(), binary);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let said = format!("stage-image: {} is not a static binary", binary.display());
        assert!(ran.stderr.starts_with(&said), "{ran:?}");
        assert!(ran.stderr.contains("deploy/static-binary"), "{ran:?}");
        assert!(!folder.path().join("image/kazoe").exists());
    }
    let source = folder.path().join("kazoe.c");
    fs::write(
        &source,
        "#include <stdio.h>\nint main(void) { return puts(\"kazoe 0\") < 0; }\n",
    )
    .unwrap();
    let fixed = folder.path().join("fixed");
    for kind in ["-static", "-static-pie"] {
        let made = Command::new("cc")
            .args([kind, "-o"])
            .args([&fixed, &source])
            .status();
        assert!(made.unwrap().success());
        let ran = stage(folder.path(), &fixed);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(folder.path().join("image/kazoe").exists());
    }
}
