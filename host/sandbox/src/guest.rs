//! Running one call of a tool or a hook: a fresh instance with exactly its grants, within its limits.
//! What becomes of the result is the caller's.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::BoxFuture;
use rewake_bindings::{
    Data, HttpImports, Imports, LogImports, ModelImports, OverLimit, Sandbox, SessionImports, ToolsImports,
    hook, http, log, tool, types,
};
use rewake_core::fact::{ComponentPin, Ending, FileAudit, GuestLimits, HttpUse, PluginKind};
use rewake_core::limits::{DETAIL_BYTES_MAX, cut};
use rewake_wasi::{CLOCK_RESOLUTION_NS, FileUse, WasiHost, coarse_ns};
use rewake_wire::entry::FileAnswer;
use tracing::warn;
use wasmtime::{Engine, Store, Trap};

use crate::components::{Components, Ready, kind_of};
use crate::engine::YIELD_FUEL;
use crate::file_audit::Auditor;
use crate::host_calls::HostCalls;
use crate::http_client::{Requests, WayOut};
use crate::logs::Logs;

/// The code of what is this host's doing, not the guest's.
pub const HOST: &str = "host";

/// The code of a guest that hands over more than it may.
pub const TOO_MUCH_DATA: &str = "too_much_data";

/// How long an ended call's last use of a file is waited for, so that it stands on its audit list and is not
/// met by the next call.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// How a guest's call came to an end that is not a return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The kind of ending, as entries name it.
    pub how: Ending,
    /// A stable word: `trapped`, `out_of_fuel`, `out_of_memory`, `too_much_data`, `timed_out`, `host`.
    pub code: &'static str,
    /// For people.
    pub detail: String,
}

/// What came of a call, how long it took, and what the guest said beside it.
pub struct CallResult<T> {
    /// What it returned, or how it ended without returning.
    pub result: Result<T, Broken>,
    /// Wall time in milliseconds.
    pub ms: u64,
    /// Its log lines and output.
    pub logs: Logs,
    /// What it did with files.
    pub files: FileAudit,
    /// The requests it made.
    pub http: Vec<HttpUse>,
    /// How often it called each host function.
    pub calls: BTreeMap<String, u64>,
    /// What it took.
    pub used: Used,
}

impl<T> CallResult<T> {
    /// A call that was never made, because of this host.
    fn without(detail: String, ms: u64) -> CallResult<T> {
        CallResult {
            result: Err(Broken { how: Ending::Failed, code: HOST, detail }),
            ms,
            logs: Logs::default(),
            files: FileAudit::default(),
            http: Vec::new(),
            calls: BTreeMap::new(),
            used: Used::default(),
        }
    }
}

/// What a guest's call took of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Computing: about one unit an instruction.
    pub fuel: u64,
    /// Linear memory at its end, in bytes.
    pub memory_bytes: u64,
}

impl Used {
    fn of(store: &Store<Data>, limits: GuestLimits) -> Used {
        Used {
            fuel: limits.fuel_max.saturating_sub(store.get_fuel().unwrap_or(limits.fuel_max)),
            memory_bytes: store.data().memory_bytes() as u64,
        }
    }
}

/// The imports of tools and hooks: diagnostics, what is granted to them, this machine's clocks and randomness.
/// Nothing of it is recorded to be replayed; all of it is counted.
struct Plain {
    logs: Logs,
    files: Auditor,
    requests: Requests,
    calls: HostCalls,
    began: Instant,
}

impl Plain {
    fn new(way_out: Option<WayOut>) -> Plain {
        Plain {
            logs: Logs::default(),
            files: Auditor::default(),
            requests: Requests::with(way_out),
            calls: HostCalls::default(),
            began: Instant::now(),
        }
    }

    fn monotonic_ns(&self) -> u64 {
        coarse_ns(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn random<const BYTES: usize>(&mut self) -> wasmtime::Result<[u8; BYTES]> {
        self.calls.count("random");
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(bytes)
    }
}

impl ModelImports for Plain {}

impl ToolsImports for Plain {}

impl SessionImports for Plain {}

impl LogImports for Plain {
    fn log(&mut self, level: log::Level, message: String) -> BoxFuture<'_, wasmtime::Result<()>> {
        self.calls.count("log.log");
        self.logs.push(level, &message);
        Box::pin(async { Ok(()) })
    }
}

impl HttpImports for Plain {
    fn fetch(
        &mut self,
        request: http::Request,
    ) -> BoxFuture<'_, wasmtime::Result<Result<http::Response, http::Error>>> {
        self.calls.count("http.fetch");
        Box::pin(async move { Ok(self.requests.fetch(request).await) })
    }
}

impl WasiHost for Plain {
    fn use_file<'a>(
        &'a mut self,
        asked: &'a FileUse,
        may_change: bool,
        live: BoxFuture<'a, wasmtime::Result<FileAnswer>>,
    ) -> BoxFuture<'a, wasmtime::Result<FileAnswer>> {
        self.calls.count(asked.op.function());
        Box::pin(async move {
            if may_change {
                self.requests.until_held().await;
            }
            let answer = live.await?;
            self.files.note(asked, &answer);
            Ok(answer)
        })
    }

    fn file_settled(&mut self, asked: &FileUse, answer: &FileAnswer) -> wasmtime::Result<()> {
        self.files.note(asked, answer);
        Ok(())
    }

    fn observe_wall(&mut self) -> wasmtime::Result<Duration> {
        self.calls.count("wall-clock.now");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Duration::new(now.as_secs(), now.subsec_nanos() - now.subsec_nanos() % CLOCK_RESOLUTION_NS))
    }

    fn observe_monotonic(&mut self) -> wasmtime::Result<u64> {
        self.calls.count("monotonic-clock.now");
        Ok(self.monotonic_ns())
    }

    fn observe_sleep(&mut self, duration_ns: u64) -> wasmtime::Result<u64> {
        self.calls.count("monotonic-clock.subscribe");
        Ok(duration_ns)
    }

    fn observe_sleep_until(&mut self, instant_ns: u64) -> wasmtime::Result<u64> {
        self.calls.count("monotonic-clock.subscribe");
        Ok(instant_ns.saturating_sub(self.monotonic_ns()))
    }

    fn random_bytes(&mut self, length: usize) -> wasmtime::Result<Vec<u8>> {
        self.calls.count("random");
        let mut bytes = vec![0; length];
        getrandom::fill(&mut bytes)?;
        Ok(bytes)
    }

    fn random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(u64::from_le_bytes(self.random()?))
    }

    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        let seed = u128::from_le_bytes(self.random()?);
        Ok((seed as u64, (seed >> 64) as u64))
    }

    fn observe_ready<'a>(
        &'a mut self,
        _function: &'static str,
        _pollables: usize,
        _ready_min: usize,
        live: BoxFuture<'a, wasmtime::Result<Vec<u32>>>,
    ) -> BoxFuture<'a, wasmtime::Result<Vec<u32>>> {
        self.calls.count("poll");
        live
    }
}

/// Calls a tool.
pub async fn call_tool(
    components: &Components,
    component: &ComponentPin,
    sandbox: Sandbox,
    way_out: WayOut,
    name: &str,
    input: &str,
    context: &tool::Context,
) -> CallResult<Result<Vec<types::Part>, tool::Error>> {
    let ready = components.get(component.digest, PluginKind::Tool);
    let Some(Ready::Tool(engine, pre)) = ready else { return not_ready(component) };
    let imports = Plain::new(Some(way_out));
    run(components, component, sandbox, imports, &engine, component.limits.timeout_ms, async |store| {
        let tool = pre.instantiate(store).await?;
        tool.call(store, name, input, context).await
    })
    .await
}

/// Asks a tool component which tools it has; it gets no grants for that.
pub async fn list_tools(
    components: &Components,
    component: &ComponentPin,
) -> CallResult<Vec<types::ToolDef>> {
    let ready = components.get(component.digest, PluginKind::Tool);
    let Some(Ready::Tool(engine, pre)) = ready else { return not_ready(component) };
    let sandbox = Sandbox {
        mounts: vec![],
        memory_bytes_max: usize::try_from(component.limits.memory_bytes_max).unwrap_or(usize::MAX),
        output_bytes_max: 16 << 10,
        call_bytes_max: 1 << 20,
        while_busy: None,
        files_in_place: false,
    };
    let imports = Plain::new(None);
    run(components, component, sandbox, imports, &engine, component.limits.timeout_ms, async |store| {
        let tool = pre.instantiate(store).await?;
        tool.list_tools(store).await
    })
    .await
}

/// Asks a hook.
pub async fn call_hook(
    components: &Components,
    component: &ComponentPin,
    sandbox: Sandbox,
    way_out: WayOut,
    timeout_ms: u64,
    event: &hook::Event,
) -> CallResult<Result<hook::Verdict, String>> {
    let ready = components.get(component.digest, PluginKind::Hook);
    let Some(Ready::Hook(engine, pre)) = ready else { return not_ready(component) };
    let timeout_ms = timeout_ms.min(component.limits.timeout_ms);
    let imports = Plain::new(Some(way_out));
    run(components, component, sandbox, imports, &engine, timeout_ms, async |store| {
        let hook = pre.instantiate(store).await?;
        hook.handle(store, event).await
    })
    .await
}

async fn run<T>(
    components: &Components,
    component: &ComponentPin,
    sandbox: Sandbox,
    imports: Plain,
    engine: &Engine,
    timeout_ms: u64,
    call: impl AsyncFnOnce(&mut Store<Data>) -> wasmtime::Result<T>,
) -> CallResult<T> {
    let since = Instant::now();
    let broken = |error: &wasmtime::Error| Err(classify(error));
    let permit = components.engines.admit(kind_of(component.kind)).await;
    let mut store = match prepare(engine, &sandbox, component.limits, Box::new(imports)) {
        Ok(store) => store,
        Err(error) => {
            // The host's own paths are for its diagnostics, not for guests, models and journals.
            warn!(component = %component.full_name(), %error, "a guest could not be prepared");
            return CallResult::without("this host could not give it its mounts".to_owned(), passed(since));
        }
    };
    let result = match within(timeout_ms, call(&mut store)).await {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => broken(&error),
        None => Err(timed_out(timeout_ms)),
    };
    let used = Used::of(&store, component.limits);
    if tokio::time::timeout(SETTLE_MAX, store.data_mut().settle()).await.is_err() {
        warn!(component = %component.full_name(), "a file is still being used for an ended call");
    }
    let output = store.data_mut().take_output();
    let plain = imports_of::<Plain>(store).map_or_else(|| Plain::new(None), |plain| *plain);
    let Plain { mut logs, files, requests, calls, .. } = plain;
    drop(permit);
    // A scratch folder goes with it: that takes as long as a disk takes. What came of the call is not kept
    // waiting, where it could be lost. Where there is none, no other thread need be woken.
    if sandbox.mounts.iter().any(|mount| mount.volume.is_guarded()) {
        tokio::task::spawn_blocking(move || drop(sandbox));
    } else {
        drop(sandbox);
    }
    logs.push_output(&output);
    let (files, http, calls) = (files.finish(), requests.into_made(), calls.into_map());
    CallResult { result, ms: passed(since), logs, files, http, calls, used }
}

/// A Store with every limit in force.
///
/// # Errors
/// If a mount cannot be opened.
pub fn prepare(
    engine: &Engine,
    sandbox: &Sandbox,
    limits: GuestLimits,
    imports: Box<dyn Imports>,
) -> wasmtime::Result<Store<Data>> {
    let mut store = rewake_bindings::store(engine, Data::new(sandbox, imports)?);
    store.set_fuel(limits.fuel_max)?;
    store.fuel_async_yield_interval(Some(YIELD_FUEL))?;
    Ok(store)
}

async fn within<T>(timeout_ms: u64, call: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(timeout_ms), call).await.ok()
}

fn passed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// What the end of a guest's time means.
pub fn timed_out(timeout_ms: u64) -> Broken {
    Broken {
        how: Ending::TimedOut,
        code: "timed_out",
        detail: format!("it took longer than its limit (`timeout`) of {timeout_ms} ms"),
    }
}

/// What a trap means, and what to say of it.
pub fn classify(error: &wasmtime::Error) -> Broken {
    let broken = |code, detail: String| Broken { how: Ending::Trapped, code, detail };
    if let Some(over) = error.downcast_ref::<OverLimit>() {
        return broken("out_of_memory", over.to_string());
    }
    if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() {
        return Broken {
            how: Ending::Failed,
            code: HOST,
            detail: "this host has no room for another instance".into(),
        };
    }
    if is_too_much_data(error) {
        return broken(
            TOO_MUCH_DATA,
            "it handed more to the host in one call, or as its result, than a guest may".into(),
        );
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            broken("out_of_fuel", "it computed for longer than its limit (`fuel`) allows".into())
        }
        Some(Trap::StackOverflow) => broken("trapped", "its call stack is exhausted".into()),
        Some(trap) => broken("trapped", cut(&format!("{trap}: {error:#}"), DETAIL_BYTES_MAX)),
        None => broken("trapped", cut(&format!("{error:#}"), DETAIL_BYTES_MAX)),
    }
}

/// wasmtime's own error for it has no public type; a test of this crate's guests sees to the words.
fn is_too_much_data(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().contains("fuel allocated for hostcalls has been exhausted")
}

/// Loading a session makes its components ready, so this is a bug; the call must still end.
fn not_ready<T>(component: &ComponentPin) -> CallResult<T> {
    warn!(component = %component.full_name(), "called before it was ready");
    let detail = format!("{} is not ready on this host", component.full_name());
    CallResult::without(detail, 0)
}

/// The imports of a Store, as what they were made.
pub fn imports_of<T: Imports>(store: Store<Data>) -> Option<Box<T>> {
    let imports: Box<dyn Any> = store.into_data().into_imports();
    imports.downcast().ok()
}
