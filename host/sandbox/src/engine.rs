//! The only wasmtime configuration there is. Two engines: most components run in the plain one; those
//! that need the component model's concurrency (every QuickJS component does) in the other, at a price.

use std::hash::{Hash as _, Hasher};
use std::sync::{Arc, OnceLock};

use rewake_bindings::{Kind, Linkers};
use rewake_core::ids::Digest;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Component;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

/// Instances that may live at once, in each engine.
const INSTANCES_MAX: u32 = 1_000;
/// Linear memories of one component. Every instance that is admitted finds room for as many: what one
/// component brings takes nothing from another.
const MEMORIES_MAX: u32 = 4;
/// Tables of one component; likewise.
const TABLES_MAX: u32 = 8;
/// Core instances of one component; likewise. A Python component has dozens.
const CORE_INSTANCES_MAX: u32 = 256;
/// Stacks of guests: a component that uses the component model's concurrency may have more than one.
const STACKS_MAX: u32 = 4 * INSTANCES_MAX;
/// Elements of one table; Python's and StarlingMonkey's have some thousand.
const TABLE_ELEMENTS_MAX: usize = 100_000;
/// Of them, harness steps: they wait for tools and hooks, which must find room.
const STEPS_MAX: usize = 400;
/// Of them, tool and hook calls.
const CALLS_MAX: usize = 500;
/// Bytes of one linear memory: more than any limit a manifest can ask for.
pub const MEMORY_BYTES_MAX: usize = 512 << 20;
/// Fuel between two yields to other tasks: at most about a tenth of a millisecond of a guest's own
/// computing, and few enough host calls that a deadline or an interrupt is not put off by them.
pub(crate) const YIELD_FUEL: u64 = 100_000;

/// Which engine a component runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Without the component model's concurrency.
    Plain,
    /// With it.
    Concurrent,
}

impl Mode {
    /// A stable word.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Mode::Plain => "plain",
            Mode::Concurrent => "concurrent",
        }
    }
}

/// One engine and its linkers.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) linkers: Linkers,
}

/// Both engines, shared by every session of this process.
#[derive(Clone)]
pub struct Engines(Arc<Inner>);

struct Inner {
    plain: Runtime,
    concurrent: OnceLock<Runtime>,
    steps: Arc<Semaphore>,
    calls: Arc<Semaphore>,
}

impl Engines {
    /// The engines of this process: their pools reserve address space, so they are made once.
    ///
    /// # Errors
    /// If the machine cannot have them, such as for want of address space.
    pub(crate) fn shared() -> wasmtime::Result<Engines> {
        static SHARED: OnceLock<Engines> = OnceLock::new();
        if let Some(engines) = SHARED.get() {
            return Ok(engines.clone());
        }
        let inner = Inner {
            plain: runtime(Mode::Plain)?,
            concurrent: OnceLock::new(),
            steps: Arc::new(Semaphore::new(STEPS_MAX)),
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
        };
        Ok(SHARED.get_or_init(|| Engines(Arc::new(inner))).clone())
    }

    /// The engine of a mode; the concurrent one is made when it is first needed.
    ///
    /// # Errors
    /// As [`Engines::shared`].
    pub(crate) fn get(&self, mode: Mode) -> wasmtime::Result<&Runtime> {
        match mode {
            Mode::Plain => Ok(&self.0.plain),
            Mode::Concurrent => match self.0.concurrent.get() {
                Some(runtime) => Ok(runtime),
                None => {
                    let made = runtime(Mode::Concurrent)?;
                    Ok(self.0.concurrent.get_or_init(|| made))
                }
            },
        }
    }

    /// A compiled component, of bytes that this host's own compiler made.
    ///
    /// # Errors
    /// If they are of another version or other settings.
    pub(crate) fn load(&self, mode: Mode, code: &[u8]) -> wasmtime::Result<Component> {
        let engine = &self.get(mode)?.engine;
        // SAFETY: both callers have these very bytes from this host's own compiler: `Components` from the
        // process that it just started, `ComponentCache` from a file that a key which only this user can
        // read vouches for. wasmtime itself checks the version, the settings and the processor's features.
        #[allow(unsafe_code)]
        unsafe {
            Component::deserialize(engine, code)
        }
    }

    /// Waits for room for one more instance; it is given back when the permit is dropped.
    pub async fn admit(&self, kind: Kind) -> Option<OwnedSemaphorePermit> {
        let room = match kind {
            Kind::Harness => &self.0.steps,
            Kind::Tool | Kind::Hook => &self.0.calls,
        };
        room.clone().acquire_owned().await.ok()
    }
}

fn runtime(mode: Mode) -> wasmtime::Result<Runtime> {
    let engine = Engine::new(&config(mode))?;
    let linkers = Linkers::new(&engine)?;
    Ok(Runtime { engine, linkers })
}

/// Compiles a component. The plain engine takes most; its refusal is asked about once more in the other.
///
/// No engine of this process is needed for that, and so no pool and none of its address space.
///
/// # Errors
/// If the bytes are no component that wasmtime runs.
pub(crate) fn compile(bytes: &[u8]) -> wasmtime::Result<(Mode, Vec<u8>)> {
    let in_mode = |mode| Engine::new(&settings(mode))?.precompile_component(bytes);
    match in_mode(Mode::Plain) {
        Ok(code) => Ok((Mode::Plain, code)),
        Err(refusal) => match in_mode(Mode::Concurrent) {
            Ok(code) => Ok((Mode::Concurrent, code)),
            Err(_) => Err(refusal),
        },
    }
}

/// What compiled code must have been made by and for, as a digest: the compiler's version, its settings, this
/// machine's kind of processor.
///
/// # Errors
/// If this machine cannot have such an engine.
pub(crate) fn compatibility(mode: Mode) -> wasmtime::Result<Digest> {
    static PLAIN: OnceLock<Digest> = OnceLock::new();
    static CONCURRENT: OnceLock<Digest> = OnceLock::new();
    let known = match mode {
        Mode::Plain => &PLAIN,
        Mode::Concurrent => &CONCURRENT,
    };
    if let Some(digest) = known.get() {
        return Ok(*digest);
    }
    let engine = Engine::new(&settings(mode))?;
    let mut bytes = Bytes::default();
    engine.precompile_compatibility_hash().hash(&mut bytes);
    Ok(*known.get_or_init(|| Digest::of(&bytes.0)))
}

/// What is hashed, itself.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

fn config(mode: Mode) -> Config {
    let mut config = settings(mode);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
    config
}

/// What compiled code depends on.
fn settings(mode: Mode) -> Config {
    let mut config = Config::new();
    // What could differ from one run to the next is pinned (journal.md R7).
    config.cranelift_nan_canonicalization(true).relaxed_simd_deterministic(true);
    config
        .concurrency_support(mode == Mode::Concurrent)
        .consume_fuel(true)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(512 << 10)
        .async_stack_size(2 << 20)
        .memory_reservation(MEMORY_BYTES_MAX as u64)
        .memory_guard_size(64 << 10);
    config
}

/// Kept-resident pages and PAGEMAP_SCAN: without them two cores run 64 sessions slower than one
/// core runs one.
fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(INSTANCES_MAX)
        .total_core_instances(INSTANCES_MAX * CORE_INSTANCES_MAX)
        .total_memories(INSTANCES_MAX * MEMORIES_MAX)
        .total_tables(INSTANCES_MAX * TABLES_MAX)
        .total_stacks(STACKS_MAX)
        .max_core_instances_per_component(CORE_INSTANCES_MAX)
        .max_memories_per_component(MEMORIES_MAX)
        .max_tables_per_component(TABLES_MAX)
        .max_memory_size(MEMORY_BYTES_MAX)
        .table_elements(TABLE_ELEMENTS_MAX)
        .linear_memory_keep_resident(2 << 20)
        .table_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    pool
}
