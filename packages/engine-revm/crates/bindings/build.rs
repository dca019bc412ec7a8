use std::{env, fs, path::Path};

fn main() {
    napi_build::setup();
    let lock = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = fs::read_to_string(lock).unwrap();
    println!("cargo::rustc-env=REVM_VERSION={}", locked_version(&lock, "revm"));
}

/// The version to which Cargo.lock pins a package: on the line after its name.
fn locked_version<'a>(lock: &'a str, package: &str) -> &'a str {
    let name = format!("name = \"{package}\"");
    let version = lock.lines().skip_while(|line| *line != name).nth(1);
    version.and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"')).expect("Cargo.lock has the package")
}
