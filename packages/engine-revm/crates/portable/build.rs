fn main() {
    // JavaScript creates the memory, and so limits it.
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--import-memory");
    }
}
