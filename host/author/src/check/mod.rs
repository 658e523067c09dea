//! Checks a bundle beyond what loading it refuses: what is allowed and most likely not meant. Knows what a
//! manifest, components and their tools say. Runs nothing but `list-tools`, without any grant; and builds, for
//! anyone who wants them compared.

mod declared;
mod listed;
mod rebuilt;
mod schema;

use rewake_bundle::{Bundle, BundleSet, Component, ListedTool, Offer, PluginKind};
use rewake_runtime::PlanError;
use rewake_runtime::workbench::Workbench;
use rewake_toml::{Error, Invalid, Problem};

pub use self::declared::declared;
pub use self::listed::listed;
pub use self::rebuilt::rebuilt;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The bundle cannot be used as it is.
    Error,
    /// It can, and most likely not as its author means it.
    Warning,
    /// Good to know.
    Note,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What, where, and what to do.
    pub problem: Problem,
}

impl Severity {
    /// The word that it is shown as.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

impl Finding {
    fn warning(problem: Problem) -> Finding {
        Finding { severity: Severity::Warning, problem }
    }

    fn note(problem: Problem) -> Finding {
        Finding { severity: Severity::Note, problem }
    }

    fn error(problem: Problem) -> Finding {
        Finding { severity: Severity::Error, problem }
    }
}

/// What loading refused, as findings.
pub fn refused(error: &Error) -> Vec<Finding> {
    error.problems().iter().cloned().map(Finding::error).collect()
}

/// Checks the first bundle of a set; the others are there for what it uses of them.
///
/// Everything that can be said is said: a component that does not answer keeps nothing from being checked but
/// its tools.
pub async fn check(workbench: &Workbench, set: &BundleSet) -> Vec<Finding> {
    let root = set.root();
    let mut findings = Vec::new();
    let mut offers = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for bundle in set.bundles() {
        for component in bundle.components() {
            let is_own = bundle.name() == root.name();
            match workbench.tools(bundle, component).await {
                Ok(tools) => {
                    if is_own {
                        findings.extend(listed(root, component, &tools));
                    }
                    offers.extend(tools.iter().filter_map(|tool| {
                        // The workbench takes no other names.
                        Offer::new(bundle.name(), component.name(), &tool.name).ok()
                    }));
                    names.extend(tools.into_iter().map(|tool: ListedTool| tool.name));
                }
                Err(error) if is_own => findings.push(unanswered(root, component, &error)),
                Err(error) => findings.push(Finding::error(Problem {
                    file: bundle.manifest().source().name().to_owned(),
                    place: None,
                    message: error.to_string(),
                    help: None,
                })),
            }
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    findings.extend(declared(root, &names));
    if root.manifest().agent.is_some() && findings.iter().all(|finding| finding.severity != Severity::Error) {
        findings.extend(set.harness().err().iter().flat_map(refused));
        findings.extend(set.select_tools(&offers).err().iter().flat_map(refused));
    }
    sort(&mut findings);
    findings
}

/// Puts errors first, and otherwise what stands first in the file.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| {
        (finding.severity, finding.problem.place.as_ref().map_or((0, 0), |place| (place.line, place.column)))
    });
}

fn unanswered(root: &Bundle, component: &Component, error: &PlanError) -> Finding {
    let help = match component.kind() {
        PluginKind::Tool => {
            "its list-tools is run without any grant: it must need no file, no host and no value"
        }
        PluginKind::Hook | PluginKind::Harness => "build it again, for this version of the contract",
    };
    let invalid = Invalid::new(error.to_string()).help(help);
    Finding::error(root.manifest().problem(component.declared.name.span(), invalid))
}
