//! What a Store holds for one instance: WASI, limits, captured output, and the host's side of the
//! imports.
//!
//! It knows what an instance is confined to. Who is granted what was decided before.

use std::any::Any;
use std::path::PathBuf;

use wasmtime::component::ResourceTable;
use wasmtime::error::Context as _;
use wasmtime::{Engine, Result, Store};
use wasmtime_wasi::clocks::WasiClocksCtxView;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use crate::ambient::Ambient;
use crate::imports::{Imports, RANDOM_BYTES_MAX};
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
}

/// A host directory under a guest's name.
#[derive(Clone, Debug)]
pub struct Mount {
    /// The directory on the host.
    pub directory: PathBuf,
    /// The name the guest sees, such as `/workspace`.
    pub name: String,
    /// What the guest may do in it.
    pub access: Access,
}

/// What a guest may do in a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read files and list directories.
    Read,
    /// Also make, change and remove them.
    Write,
}

/// The data of a Store.
pub struct Data {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: Limits,
    capture: Capture,
    imports: Box<dyn Imports>,
    call_bytes_max: usize,
    mounted: bool,
}

impl Data {
    /// Builds the data for one instance.
    ///
    /// # Errors
    /// A mount's directory that cannot be opened.
    pub fn new(sandbox: &Sandbox, imports: Box<dyn Imports>) -> Result<Data> {
        let capture = Capture::new(sandbox.output_bytes_max);
        let mut wasi = WasiCtx::builder();
        wasi.stdout(capture.stdout()).stderr(capture.stderr()).max_random_size(RANDOM_BYTES_MAX);
        for Mount { directory, name, access } in &sandbox.mounts {
            let perms = match access {
                Access::Read => FsPerms::ReadOnly,
                Access::Write => FsPerms::ReadWrite,
            };
            wasi.preopened_dir(directory, name, perms)
                .with_context(|| format!("cannot mount {} as {name}", directory.display()))?;
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES_MAX);
        Ok(Data {
            wasi: wasi.build(),
            table,
            limits: Limits::new(sandbox.memory_bytes_max),
            capture,
            imports,
            call_bytes_max: sandbox.call_bytes_max,
            mounted: !sandbox.mounts.is_empty(),
        })
    }

    /// The host's side of the imports.
    pub fn imports_mut(&mut self) -> &mut dyn Imports {
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

    /// Takes what the guest wrote to stdout and stderr since the last time.
    pub fn take_output(&mut self) -> Output {
        self.capture.take()
    }

    /// Whether the guest sees any directory.
    pub(crate) fn mounted(&self) -> bool {
        self.mounted
    }

    pub(crate) fn ambient(&mut self) -> Ambient<'_> {
        Ambient {
            imports: self.imports.as_mut(),
            clocks: WasiClocksCtxView { ctx: self.wasi.clocks(), table: &mut self.table },
        }
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
