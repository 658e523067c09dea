//! Bundles made for tests: a manifest, and the test guests it names.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The root of the tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the root").to_owned()
}

/// A test guest's component.
///
/// # Panics
/// If it is not built.
pub fn guest(name: &str) -> Vec<u8> {
    let path = root().join("target/guests").join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; build it with `cargo xtask guests`", path.display()))
}

/// A bundle under construction.
#[derive(Clone, Debug)]
pub struct Draft {
    manifest: String,
    files: Vec<(String, Vec<u8>)>,
}

impl Draft {
    /// A bundle of this name, with nothing in it.
    pub fn new(name: &str) -> Self {
        let manifest = format!(
            "schema = 1\n\n[bundle]\nname = {name:?}\nversion = \"0.1.0\"\nlicense = \"MIT\"\napi = \"0.1\"\n"
        );
        Draft { manifest, files: Vec::new() }
    }

    /// A bundle that runs the scripted harness with the probe's tools.
    pub fn scripted() -> Self {
        Draft::new("test/scripted").harness("harness_script").tools("tool_probe", "rw")
    }

    /// The manifest so far.
    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    /// The same with another manifest.
    pub fn with_manifest(self, manifest: &str) -> Self {
        Draft { manifest: manifest.into(), ..self }
    }

    /// Adds TOML as it is.
    pub fn toml(mut self, text: &str) -> Self {
        let _ = writeln!(self.manifest, "\n{text}");
        self
    }

    /// Adds a file.
    pub fn file(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.into(), bytes.into()));
        self
    }

    /// Adds a guest as the component `harness`.
    pub fn harness(self, name: &str) -> Self {
        let toml =
            format!("[component.harness]\nkind = \"harness\"\nsource = \"{name}.wasm\"\nstate_version = 1");
        self.toml(&toml).file(&format!("{name}.wasm"), guest(name))
    }

    /// Adds a guest as a component of tools, with the workspace mounted.
    pub fn tools(self, name: &str, access: &str) -> Self {
        let limits = "memory = \"16MiB\"\ntimeout = \"5s\"\nfuel = 3_000_000_000\noutput = \"64KiB\"";
        self.tools_within(name, access, limits)
    }

    /// Adds a guest as a component of tools, with the workspace mounted and these limits.
    pub fn tools_within(self, name: &str, access: &str, limits: &str) -> Self {
        let toml = format!(
            "[component.{name}]\nkind = \"tool\"\nsource = \"{name}.wasm\"\n\n[component.{name}.asks]\nfs = [{{ mount = \"/workspace\", source = \"workspace\", access = \"{access}\", why = \"the test\" }}]\n\n[component.{name}.limits]\n{limits}"
        );
        self.toml(&toml).file(&format!("{name}.wasm"), guest(name))
    }

    /// Sets limits of the component `harness`.
    pub fn harness_limits(self, limits: &str) -> Self {
        self.toml(&format!("[component.harness.limits]\n{limits}"))
    }

    /// Has the scripted model give these replies.
    pub fn model(self, replies: &str) -> Self {
        self.toml("[agent]\nscript = \"script.toml\"").file("script.toml", replies)
    }

    /// Adds the probe of hooks, on these events.
    pub fn hook(self, config: &[(&str, &str)], on: &str) -> Self {
        let mut toml = format!("[component.probe]\nkind = \"hook\"\nsource = \"hook_probe.wasm\"\n\n{on}");
        for (key, value) in config {
            let kind = if *key == "sleep_ms" { "integer" } else { "string" };
            let value = if kind == "integer" { (*value).to_owned() } else { format!("{value:?}") };
            let _ = write!(toml, "\n\n[config.{key}]\ntype = \"{kind}\"\ndefault = {value}");
        }
        self.toml(&toml).file("hook_probe.wasm", guest("hook_probe"))
    }

    /// Writes it to a folder, and returns the folder.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, folder: &Path) -> PathBuf {
        std::fs::create_dir_all(folder).expect("a folder for the bundle");
        std::fs::write(folder.join("bundle.toml"), &self.manifest).expect("the manifest");
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder of the bundle");
            std::fs::write(path, bytes).expect("a file of the bundle");
        }
        folder.to_owned()
    }
}
