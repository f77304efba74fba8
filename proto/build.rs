//! Generates the code of `kazoe.v1` without protoc: protox compiles the files, prost and tonic write Rust.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use protox::prost::Message;

const FILES: [&str; 4] = [
    "kazoe/v1/census.proto",
    "kazoe/v1/campaigns.proto",
    "kazoe/v1/work.proto",
    "kazoe/v1/admin.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES {
        println!("cargo::rerun-if-changed={file}");
    }
    let files = protox::compile(FILES, ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("kazoe.bin"), files.encode_to_vec())?;
    let mut config = tonic_prost_build::Config::new();
    // By its name a message is known when it is to be weighed.
    config.enable_type_names();
    tonic_prost_build::configure()
        // Who connects chooses how; the generated clients take any channel.
        .build_transport(false)
        // What holds a secret says itself what may be printed.
        .skip_debug([
            "kazoe.v1.Lease",
            "kazoe.v1.DeliverRequest",
            "kazoe.v1.CreateTokenResponse",
        ])
        .enum_attribute("kazoe.v1.DeliverRequest.step", "#[derive(Debug)]")
        .codec_path("crate::codec::Careful")
        .compile_fds_with_config(files, config)?;
    Ok(())
}
