//! What the simulated sessions run with: one harness, a tool of each effect class, hooks of each kind.

use std::collections::BTreeMap;

use rewake_core::effect::Effect;
use rewake_core::fact::{
    AgentPin, BundlePin, ComponentPin, Created, GuestLimits, HookEvent, HookPin, OnError, PluginKind, ToolPin,
};
use rewake_core::grant::{Access, FsGrant, FsSource, Grants};
use rewake_core::ids::{Digest, SessionId};

/// PreToolUse; its failure denies.
pub(crate) const GUARD: u32 = 0;
/// PreToolUse; its failure says nothing.
pub(crate) const ADVISER: u32 = 1;
/// SessionStart; every source.
pub(crate) const GREETER: u32 = 2;
/// SessionStart; `startup` only.
pub(crate) const SETUP: u32 = 3;
/// SessionStart; `resume` only.
pub(crate) const WELCOME: u32 = 4;

/// The tools, by name.
pub(crate) const TOOLS: [(&str, Effect); 3] =
    [("read", Effect::Pure), ("put", Effect::Idempotent), ("send", Effect::Once)];

pub(crate) fn session() -> SessionId {
    SessionId::parse("ses_laws").expect("it has the prefix and letters")
}

/// The name of a tool that verdicts are bound to.
pub(crate) fn qualified(tool: &str) -> String {
    format!("laws/agent:{tool}")
}

/// The digest of a tool's definition.
pub(crate) fn definition(tool: &str) -> Digest {
    Digest::of_parts([b"definition".as_slice(), tool.as_bytes()])
}

pub(crate) fn created() -> Created {
    Created {
        agent: AgentPin {
            name: "laws/agent".into(),
            instructions: "Follow the plan.".into(),
            model: "scripted".into(),
            script: None,
            harness: 0,
            max_usd: None,
            max_steps: None,
        },
        bundles: vec![BundlePin {
            name: "laws/agent".into(),
            version: "0.1.0".into(),
            digest: Digest::of(b"bundle"),
            approved_by: None,
        }],
        components: vec![
            component("loop", PluginKind::Harness),
            component("tools", PluginKind::Tool),
            component("hooks", PluginKind::Hook),
            component("writers", PluginKind::Tool),
        ],
        tools: TOOLS.iter().map(|(name, effect)| tool(name, *effect)).collect(),
        hooks: vec![
            hook(HookEvent::PreToolUse, "", OnError::Deny),
            hook(HookEvent::PreToolUse, "", OnError::Allow),
            hook(HookEvent::SessionStart, "", OnError::Allow),
            hook(HookEvent::SessionStart, "startup", OnError::Allow),
            hook(HookEvent::SessionStart, "resume", OnError::Allow),
        ],
        origin: "laws".into(),
        lineage: Digest::of(b"lineage"),
        labels: BTreeMap::new(),
    }
}

fn component(name: &str, kind: PluginKind) -> ComponentPin {
    ComponentPin {
        name: name.into(),
        bundle: "laws/agent".into(),
        kind,
        digest: Digest::of(name.as_bytes()),
        state_version: 1,
        asks: grants(name),
        grants: grants(name),
        limits: GuestLimits {
            memory_bytes_max: 64 << 20,
            timeout_ms: 5_000,
            fuel_max: 1_000_000,
            output_bytes_max: 1 << 18,
        },
        config: "{}".into(),
    }
}

/// What a component may use: readers and writers see the workspace.
fn grants(component: &str) -> Grants {
    let access = match component {
        "tools" => Access::ReadOnly,
        "writers" => Access::ReadWrite,
        _ => return Grants::default(),
    };
    let mount = FsGrant { mount: "/workspace".into(), source: FsSource::Workspace, access };
    Grants { fs: vec![mount], ..Grants::default() }
}

/// Whether a tool waits for earlier uses of it or of another: one of the two writes.
pub(crate) fn waits(tool: &str, earlier: &str) -> bool {
    tool != "read" || earlier != "read"
}

fn tool(name: &str, effect: Effect) -> ToolPin {
    ToolPin {
        name: name.into(),
        component: Some(if name == "read" { 1 } else { 3 }),
        by: None,
        tool: name.into(),
        description: String::new(),
        input_schema: "{}".into(),
        effect,
        definition: definition(name),
        ask: false,
    }
}

fn hook(event: HookEvent, matcher: &str, on_error: OnError) -> HookPin {
    HookPin {
        component: 2,
        event,
        matcher: matcher.into(),
        on_error,
        timeout_ms: 2_000,
        rewrites: false,
        operator: false,
    }
}
