//! What a Store holds for one instance: WASI, limits, captured output, and the host's side of the
//! imports.
//!
//! It knows what an instance is confined to. Who is granted what was decided before.

use std::any::Any;
use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{Engine, Result, Store};
use wasmtime_wasi::clocks::WasiClocksCtxView;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use rewake_wasi::{Ambient, Files, Mount, Opened, Pace, WasiData};

use crate::imports::Imports;
use crate::limits::Limits;
use crate::output::{Capture, Output};

/// Open files, streams and pollables of one instance; a file costs the host a descriptor.
const HANDLES_MAX: usize = 512;

/// What one instance may use. Whatever is not named here it does not have: its environment and
/// arguments are empty, stdin is closed, sockets are denied.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The directories it sees.
    pub mounts: Vec<Mount>,
    /// All its linear memories together, in bytes.
    pub memory_bytes_max: usize,
    /// Captured stdout and stderr together, in bytes; what is written beyond is counted.
    pub output_bytes_max: usize,
    /// What it may hand to the host in one call, in bytes; more traps.
    pub call_bytes_max: usize,
    /// Kept until nothing is done with files any more that the instance began.
    pub while_busy: Option<Arc<dyn Any + Send + Sync>>,
    /// Files are used then and there, not on threads that may wait: all in one order, as a simulation needs it. What
    /// else the thread has to do waits meanwhile.
    pub files_in_place: bool,
}

/// The data of a Store.
pub struct Data {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: Limits,
    capture: Capture,
    imports: Box<dyn Imports>,
    call_bytes_max: usize,
    opened: Opened,
    pace: Pace,
}

impl Data {
    /// Builds the data for one instance.
    ///
    /// # Errors
    /// Two mounts of the same name.
    pub fn new(sandbox: &Sandbox, imports: Box<dyn Imports>) -> Result<Data> {
        let capture = Capture::new(sandbox.output_bytes_max);
        let mut wasi = WasiCtx::builder();
        wasi.stdout(capture.stdout()).stderr(capture.stderr());
        let (mounts, kept) = (sandbox.mounts.clone(), sandbox.while_busy.clone());
        let opened = Opened::new(mounts, kept, sandbox.files_in_place)?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES_MAX);
        Ok(Data {
            wasi: wasi.build(),
            table,
            limits: Limits::new(sandbox.memory_bytes_max),
            capture,
            imports,
            call_bytes_max: sandbox.call_bytes_max,
            opened,
            pace: Pace::new(),
        })
    }

    /// The host's side of the imports.
    pub(crate) fn imports_mut(&mut self) -> &mut dyn Imports {
        self.imports.as_mut()
    }

    /// The host's side of the imports, if it is a `T`.
    pub fn imports_as<T: Imports>(&mut self) -> Option<&mut T> {
        let imports: &mut dyn Any = self.imports.as_mut();
        imports.downcast_mut()
    }

    /// The host's side of the imports, once the instance is done with it. Cast it to
    /// `Box<dyn Any>` to get at its own type.
    #[must_use]
    pub fn into_imports(self) -> Box<dyn Imports> {
        self.imports
    }

    /// Bytes of all its linear memories together; they never shrink.
    pub fn memory_bytes(&self) -> usize {
        self.limits.memory_bytes()
    }

    /// Takes what the guest wrote to stdout and stderr since the last time.
    pub fn take_output(&mut self) -> Output {
        self.capture.take()
    }

    /// Waits for what is still being done with files although the call that began it was dropped, and has
    /// the imports told of it.
    ///
    /// # Errors
    /// As the imports say.
    pub async fn settle(&mut self) -> Result<()> {
        self.opened.settle(self.imports.as_mut()).await
    }

    /// Lets other tasks run, if that was some time ago.
    pub(crate) async fn keep_pace(&mut self) {
        self.pace.keep().await;
    }

    /// Whether the guest can change anything in a directory.
    pub(crate) fn can_write(&self) -> bool {
        self.opened.can_write()
    }
}

impl WasiData for Data {
    fn files(&mut self) -> Files<'_> {
        Files {
            imports: self.imports.as_mut(),
            table: &mut self.table,
            opened: &mut self.opened,
            pace: &mut self.pace,
        }
    }

    fn ambient(&mut self) -> Ambient<'_> {
        Ambient {
            imports: self.imports.as_mut(),
            clocks: WasiClocksCtxView { ctx: self.wasi.clocks(), table: &mut self.table },
        }
    }

    fn pace(&mut self) -> &mut Pace {
        &mut self.pace
    }
}

impl WasiView for Data {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A Store with its limits in force. Fuel and yielding are for the caller to set: they depend on the
/// engine.
#[must_use]
pub fn store(engine: &Engine, data: Data) -> Store<Data> {
    let call_bytes_max = data.call_bytes_max;
    let mut store = Store::new(engine, data);
    store.limiter(|data| &mut data.limits);
    store.set_hostcall_fuel(call_bytes_max);
    store.set_max_component_handles(HANDLES_MAX);
    store
}
