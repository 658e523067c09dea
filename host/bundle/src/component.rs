//! Looks into a component's bytes: is it one, does it validate, what does it import and export.
//!
//! Knows the binary format and the names of the contract's interfaces. Compiles and runs nothing.

use rewake_core::fact::PluginKind;
use wasmparser::component_types::ComponentEntityType;
use wasmparser::{Encoding, FuncValidatorAllocations, Parser, Payload, ValidPayload, Validator};

use rewake_toml::{Invalid, quote, quote_all};

/// The version of the plugin contract (WIT package rewake:plugin) that this version speaks.
pub(crate) const CONTRACT: semver::Version = semver::Version::new(0, 1, 0);

const PACKAGE: &str = "rewake:plugin/";
/// WASI packages that hosts link.
const WASI_PACKAGES: [&str; 7] = ["io", "clocks", "cli", "filesystem", "random", "sockets", "http"];
/// What components of every kind may import of the contract.
const IMPORTS_ALL: [&str; 3] = ["types", "http", "log"];
/// What only a harness may import of it.
const IMPORTS_HARNESS: [&str; 3] = ["model", "tools", "session"];

/// What was found in a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// The version of the contract that it exports.
    pub contract: semver::Version,
    /// Whether it exports `state`, which a harness may.
    pub has_state: bool,
    /// The names of everything it imports, sorted.
    pub imports: Vec<String>,
    /// The names of everything it exports, sorted.
    pub exports: Vec<String>,
}

/// An exported instance of the contract: `rewake:plugin/tool@0.1.0`, and its functions.
struct Interface {
    name: String,
    version: Option<semver::Version>,
    functions: Vec<String>,
}

/// The names at the component's own level.
#[derive(Default)]
struct Surface {
    imports: Vec<String>,
    exports: Vec<String>,
    interfaces: Vec<Interface>,
}

impl Interface {
    /// Whether it is this interface, of the contract spoken here.
    fn is(&self, name: &str) -> bool {
        self.name == name && self.version.as_ref() == Some(&CONTRACT)
    }
}

/// Checks that `bytes` are a component of this kind that this version can load.
///
/// # Errors
/// With what it is instead, and how to build one.
pub fn inspect(bytes: &[u8], kind: PluginKind) -> Result<Inspected, Invalid> {
    check_form(bytes)?;
    let mut surface = read(bytes)?;
    check_kind(&surface, kind)?;
    let contract = contract_version(&surface, kind)?;
    surface.imports.sort_unstable();
    surface.exports.sort_unstable();
    for import in &surface.imports {
        check_import(import, kind)?;
    }
    check_functions(&surface, kind.as_str(), functions_of(kind))?;
    let has_state = kind == PluginKind::Harness && surface.interfaces.iter().any(|found| found.is("state"));
    if has_state {
        check_functions(&surface, "state", &["save", "load"])?;
    }
    Ok(Inspected { contract, has_state, imports: surface.imports, exports: surface.exports })
}

const fn functions_of(kind: PluginKind) -> &'static [&'static str] {
    match kind {
        PluginKind::Tool => &["list-tools", "call"],
        PluginKind::Hook => &["handle"],
        PluginKind::Harness => &["step"],
    }
}

/// The first bytes, which tell a component from everything that is mistaken for one.
fn check_form(bytes: &[u8]) -> Result<(), Invalid> {
    const BUILD: &str = "build a component: `cargo build --release --target wasm32-wasip2` of a library with crate-type \"cdylib\"";
    if bytes.is_empty() {
        return Err(Invalid::new("is empty").help("build it again"));
    }
    if bytes.starts_with(b"\x7fELF") {
        return Err(Invalid::new(
            "is native code (ELF), such as a .cwasm; compiled artifacts are never accepted",
        )
        .help("give the component itself (.wasm); each host compiles it on its own"));
    }
    if bytes.len() < 8 && b"\0asm\x0d\0\x01\0".starts_with(bytes) {
        return Err(
            Invalid::new(format!("is cut off after {} bytes", bytes.len())).help("build or copy it again")
        );
    }
    if !bytes.starts_with(b"\0asm") {
        let help = if bytes.trim_ascii_start().starts_with(b"(") {
            "this is the text format: translate it with `wasm-tools parse`"
        } else {
            BUILD
        };
        return Err(Invalid::new("is not WebAssembly").help(help));
    }
    if bytes.starts_with(b"\0asm\x01\0\0\0") {
        return Err(Invalid::new("is a core module, not a component").help(BUILD));
    }
    Ok(())
}

/// Validates everything and collects the component's own imports and exports.
fn read(bytes: &[u8]) -> Result<Surface, Invalid> {
    let mut surface = Surface::default();
    let mut validator = Validator::new();
    let mut allocations = FuncValidatorAllocations::default();
    let mut types = None;
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|error| broken(&error, bytes.len()))?;
        match validator.payload(&payload).map_err(|error| broken(&error, bytes.len()))? {
            // At once: kept for later, millions of empty functions would take many times their own size.
            ValidPayload::Func(function, body) => {
                let mut function = function.into_validator(std::mem::take(&mut allocations));
                function.validate(&body).map_err(|error| broken(&error, bytes.len()))?;
                allocations = function.into_allocations();
            }
            ValidPayload::End(found) => types = Some(found),
            ValidPayload::Ok | ValidPayload::Parser(_) => {}
        }
        let names = match &payload {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(Invalid::new("is a core module, not a component"));
            }
            Payload::Version { .. } => {
                depth += 1;
                Ok(())
            }
            Payload::End(_) => {
                depth = depth.saturating_sub(1);
                Ok(())
            }
            Payload::ComponentImportSection(section) if depth == 1 => {
                section.clone().into_iter().try_for_each(|import| {
                    surface.imports.push(import?.name.name.to_owned());
                    Ok(())
                })
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                section.clone().into_iter().try_for_each(|export| {
                    surface.exports.push(export?.name.name.to_owned());
                    Ok(())
                })
            }
            _ => Ok(()),
        };
        names.map_err(|error| broken(&error, bytes.len()))?;
    }
    let Some(types) = types else {
        return Err(cut_off(bytes.len()));
    };
    let types = types.as_ref();
    for export in &surface.exports {
        let Some((name, version)) = of_contract(export) else { continue };
        let item = types.component_item_for_export(export);
        let Some(ComponentEntityType::Instance(instance)) = item.map(|item| item.ty) else { continue };
        let functions = types[instance].exports.keys().cloned().collect();
        surface.interfaces.push(Interface { name: name.to_owned(), version, functions });
    }
    Ok(surface)
}

fn broken(error: &wasmparser::BinaryReaderError, length: usize) -> Invalid {
    let message = error.message();
    if message.contains("unexpected end") {
        return cut_off(length);
    }
    Invalid::new(format!("is not a valid component: {message} (at byte {})", error.offset()))
        .help("build it again; if it stays so, the tool that built it is newer or older than this Rewake")
}

fn cut_off(length: usize) -> Invalid {
    Invalid::new(format!("is cut off after {length} bytes")).help("build or copy it again")
}

/// `rewake:plugin/tool@0.1.0` as `tool` and its version.
fn of_contract(name: &str) -> Option<(&str, Option<semver::Version>)> {
    let rest = name.strip_prefix(PACKAGE)?;
    match rest.split_once('@') {
        Some((interface, version)) => Some((interface, semver::Version::parse(version).ok())),
        None => Some((rest, None)),
    }
}

fn check_kind(surface: &Surface, kind: PluginKind) -> Result<(), Invalid> {
    let exports = |kind: PluginKind| surface.interfaces.iter().any(|found| found.name == kind.as_str());
    if exports(kind) {
        return Ok(());
    }
    let others: Vec<&str> =
        PluginKind::ALL.into_iter().filter(|other| exports(*other)).map(PluginKind::as_str).collect();
    let wanted = format!("{PACKAGE}{kind}@{CONTRACT}");
    if let Some(looks_like) = others.first() {
        return Err(Invalid::new(format!(
            "is a {}, not a {kind}: it does not export {wanted}",
            others.join(" and ")
        ))
        .help(format!("write kind = \"{looks_like}\", or build the {kind} and name it here")));
    }
    if surface.exports.iter().any(|export| export.starts_with("wasi:cli/run@")) {
        return Err(Invalid::new(format!(
            "is a command-line program, not a {kind}: it does not export {wanted}"
        ))
        .help("build a library with crate-type \"cdylib\" on the plugin SDK"));
    }
    Err(Invalid::new(format!("is not a {kind}: it does not export {wanted}"))
        .help(format!("it exports {}", quote_all(surface.exports.iter().map(String::as_str)))))
}

fn contract_version(surface: &Surface, kind: PluginKind) -> Result<semver::Version, Invalid> {
    let versions = || surface.interfaces.iter().filter(|found| found.name == kind.as_str());
    if versions().any(|found| found.version.as_ref() == Some(&CONTRACT)) {
        return Ok(CONTRACT);
    }
    Err(match versions().find_map(|found| found.version.as_ref()) {
        Some(version) => other_version(&format!("{PACKAGE}{kind}"), version),
        None => Invalid::new(format!("exports {PACKAGE}{kind} without a version"))
            .help(format!("build it for {PACKAGE}{kind}@{CONTRACT}")),
    })
}

fn other_version(interface: &str, version: &semver::Version) -> Invalid {
    let (age, help) = if *version > CONTRACT {
        ("newer", "use a newer Rewake, or build it for this contract")
    } else {
        ("older", "build it again for this contract")
    };
    Invalid::new(format!(
        "uses {interface}@{version}, a contract {age} than {CONTRACT}, which is spoken here"
    ))
    .help(help)
}

/// Whether a host can give a component of this kind what it imports. Importing is not using:
/// what is not granted is linked too, and denied when it is used.
fn check_import(import: &str, kind: PluginKind) -> Result<(), Invalid> {
    if let Some((interface, version)) = of_contract(import) {
        if version.as_ref() != Some(&CONTRACT) {
            return Err(match version {
                Some(version) => other_version(&format!("{PACKAGE}{interface}"), &version),
                None => Invalid::new(format!("imports {} without a version", quote(import))),
            });
        }
        if IMPORTS_ALL.contains(&interface)
            || (kind == PluginKind::Harness && IMPORTS_HARNESS.contains(&interface))
        {
            return Ok(());
        }
        let message = format!("imports {}, which a {kind} does not get", quote(import));
        let of_harness = IMPORTS_HARNESS.contains(&interface);
        let help = if of_harness { "only a harness does" } else { "the contract has no such import" };
        return Err(Invalid::new(message).help(help));
    }
    if let Some(rest) = import.strip_prefix("wasi:") {
        let (path, version) = rest.split_once('@').unwrap_or((rest, ""));
        let package = path.split('/').next().unwrap_or_default();
        let minor = version.strip_prefix("0.2.").is_some_and(|minor| minor.parse::<u32>().is_ok());
        if WASI_PACKAGES.contains(&package) && (minor || version == "0.2") {
            return Ok(());
        }
        return Err(Invalid::new(format!("imports {}, which no host provides", quote(import)))
            .help(format!("hosts provide WASI 0.2: {}", quote_all(WASI_PACKAGES))));
    }
    Err(Invalid::new(format!("imports {}, which no host provides", quote(import)))
        .help("compose it with the component that provides it, or build it without"))
}

fn check_functions(surface: &Surface, interface: &str, wanted: &[&str]) -> Result<(), Invalid> {
    let found = surface.interfaces.iter().find(|found| found.is(interface));
    let missing: Vec<&str> = wanted
        .iter()
        .copied()
        .filter(|function| found.is_none_or(|found| !found.functions.iter().any(|name| name == function)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Invalid::new(format!("exports {PACKAGE}{interface}@{CONTRACT} without {}", quote_all(missing)))
        .help("build it again from the contract's WIT"))
}
