//! Which of the tools at hand a session gets, and under what names.
//!
//! Knows names and who brings them. Does not call components: anyone who listed their tools hands the
//! list in. Names here only select; what a tool may do is decided by grants.

use std::collections::BTreeMap;
use std::fmt;

use serde_spanned::Spanned;

use super::names::{Name, component_name, tool_name};
use rewake_toml::{Error, Invalid, Problem, SourceText, nearest, quote, quote_all};

/// One entry of `agent.tools`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPick {
    /// `name` or `scope/name:tool`, perhaps under another name.
    One {
        /// Whose; none means anyone who brings it.
        bundle: Option<Name>,
        /// The name it is listed under.
        tool: String,
        /// The name it gets in the session.
        rename: Option<String>,
    },
    /// `scope/name:*`.
    AllOf(Name),
}

/// A tool that a component of a bundle brings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offer {
    /// The bundle.
    pub bundle: Name,
    /// The component in it.
    pub component: String,
    /// The name under which the component lists it.
    pub tool: String,
}

/// A tool of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The name in the session.
    pub name: String,
    /// Who brings it, and its own name there.
    pub offer: Offer,
}

impl ToolPick {
    /// Reads `name`, `scope/name:tool` or `scope/name:*`.
    ///
    /// # Errors
    /// If it is anything else, such as a lone `*`.
    pub fn parse(text: &str) -> Result<ToolPick, Invalid> {
        let help = "write \"tool\", \"scope/name:tool\" or \"scope/name:*\"";
        let pick = match text.split_once(':') {
            Some((bundle, "*")) => ToolPick::AllOf(bundle.parse::<Name>().map_err(|wrong| wrong.help(help))?),
            Some((bundle, tool)) => {
                let bundle = bundle.parse::<Name>().map_err(|wrong| wrong.help(help))?;
                let tool = tool_name(tool).map_err(|wrong| wrong.help(help))?;
                ToolPick::One { bundle: Some(bundle), tool, rename: None }
            }
            None => {
                let tool = tool_name(text).map_err(|wrong| wrong.help(help))?;
                ToolPick::One { bundle: None, tool, rename: None }
            }
        };
        Ok(pick)
    }

    /// `{ from = "scope/name:tool", as = "new_name" }`.
    ///
    /// # Errors
    /// If `from` is not one tool, or `name` is not a tool's name.
    pub fn renamed(from: &str, name: &str) -> Result<ToolPick, Invalid> {
        match ToolPick::parse(from)? {
            ToolPick::One { bundle, tool, rename: _ } => {
                Ok(ToolPick::One { bundle, tool, rename: Some(tool_name(name)?) })
            }
            ToolPick::AllOf(bundle) => {
                Err(Invalid::new(format!("all tools of {bundle} cannot get one name"))
                    .help("rename one tool: { from = \"scope/name:tool\", as = \"new_name\" }"))
            }
        }
    }

    fn takes(&self, offer: &Offer) -> bool {
        match self {
            ToolPick::AllOf(bundle) => offer.bundle == *bundle,
            ToolPick::One { bundle, tool, rename: _ } => {
                offer.tool == *tool && bundle.as_ref().is_none_or(|bundle| offer.bundle == *bundle)
            }
        }
    }
}

impl Offer {
    /// An offer, if the name is one that the contract allows.
    ///
    /// # Errors
    /// If `tool`, which a guest made up, is not `[a-zA-Z0-9_-]{1,64}`.
    pub fn new(bundle: &Name, component: &str, tool: &str) -> Result<Offer, Invalid> {
        let tool = tool_name(tool).map_err(|wrong| Invalid {
            message: format!("the component {component} of {bundle} lists a tool: {}", wrong.message),
            ..wrong
        })?;
        Ok(Offer { bundle: bundle.clone(), component: component_name(component)?, tool })
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} (component {})", self.bundle, self.tool, self.component)
    }
}

/// What was taken so far of one offer: in which place, under which name, by which pick.
struct Taken {
    order: usize,
    rename: Option<String>,
    pick: Option<usize>,
}

/// The tools that `picks` select, in the order in which they are first selected. Without picks,
/// all tools of the bundle `own`. `source` is the text that the picks' places are in.
///
/// # Errors
/// If a pick selects nothing, if one tool is given two names, or if two tools have the same name.
pub fn select(
    picks: Option<&[Spanned<ToolPick>]>,
    source: &SourceText,
    own: &Name,
    offers: &[Offer],
) -> Result<Vec<Chosen>, Error> {
    let mut problems = Vec::new();
    let mut taken: BTreeMap<usize, Taken> = BTreeMap::new();
    match picks {
        None => {
            let own = offers.iter().enumerate().filter(|(_, offer)| offer.bundle == *own);
            for (index, _) in own {
                taken.insert(index, Taken { order: taken.len(), rename: None, pick: None });
            }
        }
        Some(picks) => {
            for (number, pick) in picks.iter().enumerate() {
                if let Err(invalid) = take(pick.get_ref(), number, offers, &mut taken) {
                    problems.push(source.problem(pick.span(), invalid));
                }
            }
        }
    }
    let place = |taken: &Taken, invalid| match taken.pick.and_then(|number| picks?.get(number)) {
        Some(pick) if !pick.span().is_empty() => source.problem(pick.span(), invalid),
        _ => Problem {
            file: source.name().to_owned(),
            place: None,
            message: invalid.message,
            help: invalid.help,
        },
    };
    let mut in_order: Vec<(usize, Taken)> = taken.into_iter().collect();
    in_order.sort_by_key(|(_, taken)| taken.order);
    let mut chosen: Vec<Chosen> = Vec::new();
    for (index, taken) in in_order {
        let offer = offers[index].clone();
        let name = taken.rename.clone().unwrap_or_else(|| offer.tool.clone());
        if let Some(first) = chosen.iter().find(|chosen| chosen.name == name) {
            problems.push(place(&taken, same_name(&name, &first.offer, &offer)));
        }
        chosen.push(Chosen { name, offer });
    }
    Error::unless_none(problems, Some(chosen))
}

fn take(
    pick: &ToolPick,
    number: usize,
    offers: &[Offer],
    taken: &mut BTreeMap<usize, Taken>,
) -> Result<(), Invalid> {
    let matched: Vec<usize> = (0..offers.len()).filter(|index| pick.takes(&offers[*index])).collect();
    if matched.is_empty() {
        return Err(nothing(pick, offers));
    }
    let rename = match pick {
        ToolPick::One { rename, .. } => rename.as_ref(),
        ToolPick::AllOf(_) => None,
    };
    if let (Some(name), [first, second, ..]) = (rename, matched.as_slice()) {
        return Err(Invalid::new(format!("`as = \"{name}\"` would name two tools"))
            .help(format!("say which one: {} or {}", offers[*first], offers[*second])));
    }
    for index in matched {
        let order = taken.len();
        let entry = taken.entry(index).or_insert(Taken { order, rename: None, pick: Some(number) });
        let Some(rename) = rename else { continue };
        if let Some(other) = entry.rename.as_ref().filter(|other| *other != rename) {
            return Err(Invalid::new(format!("{} is renamed to {} before", offers[index], quote(other)))
                .help("a tool has one name in a session: keep one of the two"));
        }
        entry.rename = Some(rename.clone());
        entry.pick = Some(number);
    }
    Ok(())
}

fn nothing(pick: &ToolPick, offers: &[Offer]) -> Invalid {
    let bundles = || {
        let mut names: Vec<&str> = offers.iter().map(|offer| offer.bundle.as_str()).collect();
        names.dedup();
        names
    };
    let (bundle, tool) = match pick {
        ToolPick::AllOf(bundle) => (Some(bundle), None),
        ToolPick::One { bundle, tool, rename: _ } => (bundle.as_ref(), Some(tool.as_str())),
    };
    if let Some(bundle) = bundle.filter(|bundle| !bundles().contains(&bundle.as_str())) {
        let help = match nearest(bundle.as_str(), bundles()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("bundles with tools here: {}; add it to `use` of [bundle]", quote_all(bundles())),
        };
        return Invalid::new(format!("no bundle {} with tools is here", quote(bundle.as_str()))).help(help);
    }
    let candidates = || offers.iter().filter(|offer| bundle.is_none_or(|bundle| offer.bundle == *bundle));
    let wanted = tool.unwrap_or("*");
    let help = if let Some(near) = nearest(wanted, candidates().map(|offer| offer.tool.as_str())) {
        format!("did you mean `{near}`?")
    } else if candidates().any(|offer| offer.component == wanted) {
        let listed = candidates().filter(|offer| offer.component == wanted).map(|offer| offer.tool.as_str());
        format!("{} is a component; its tools are {}", quote(wanted), quote_all(listed))
    } else {
        format!("tools here: {}", quote_all(candidates().map(|offer| offer.tool.as_str())))
    };
    Invalid::new(format!("no tool {} is here", quote(wanted))).help(help)
}

fn same_name(name: &str, first: &Offer, second: &Offer) -> Invalid {
    let message = format!("two tools are named {}: {first} and {second}", quote(name));
    if first.bundle == second.bundle && first.tool == second.tool {
        return Invalid::new(message)
            .help(format!("only their author can tell them apart: rename one in {}", first.bundle));
    }
    Invalid::new(message).help(format!(
        "rename one: tools = [{{ from = \"{}:{}\", as = \"another_name\" }}, …]",
        second.bundle, second.tool
    ))
}
