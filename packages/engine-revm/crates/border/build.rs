use std::{env, fs, path::Path};

/// Sets REVM_VERSION to the version to which Cargo.lock pins revm: on the line after its name.
fn main() {
    let lock = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = fs::read_to_string(lock).unwrap();
    let version = lock.lines().skip_while(|line| *line != "name = \"revm\"").nth(1);
    let version = version.and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    println!("cargo::rustc-env=REVM_VERSION={}", version.expect("Cargo.lock has revm"));
}
