//! What a guest asks of its host: a trait for each interface of the contract, which the runtime implements.
//!
//! It knows the calls and their types. It does not know who answers them, or whether an answer is
//! performed or read from the journal: that is the implementation's to decide, call by call.
//!
//! Every method traps unless it is implemented, so an implementation for a kind of plugin grants
//! exactly what it names. An `Err` is always a trap: the instance is dead after it. What a guest
//! may know about is in the contract's own errors.

use futures_util::future::BoxFuture;
use rewake_wasi::WasiHost;
use wasmtime::{Result, bail};

use crate::data::Data;
use crate::generated::harness_plugin::rewake::plugin::{http, log, model, session, tools, types};
use crate::types::{Json, Part, ToolDef, ToolResult, ToolUse};

/// The host's side of a guest's imports.
pub trait Imports:
    WasiHost + ModelImports + ToolsImports + SessionImports + HttpImports + LogImports
{
}

impl<T: WasiHost + ModelImports + ToolsImports + SessionImports + HttpImports + LogImports> Imports for T {}

/// Makes a trait of each interface, and has the guest's calls go to it.
macro_rules! interfaces {
    ($(
        $interface:ident: $imports:ident {
            $($function:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*
        }
    )*) => {$(
        #[doc = concat!("The host's side of `rewake:plugin/", stringify!($interface), "`.")]
        pub trait $imports: Send {
            $(
                #[doc = concat!("`", stringify!($function), "`, as `wit/` describes it.")]
                fn $function(&mut self, $($argument: $type),*) -> BoxFuture<'_, Result<$answer>> {
                    $(let _ = $argument;)*
                    Box::pin(async {
                        bail!(concat!(
                            "rewake:plugin/", stringify!($interface), ".", stringify!($function),
                            " is not importable by this kind of plugin"
                        ))
                    })
                }
            )*
        }

        impl $interface::Host for Data {
            $(
                async fn $function(&mut self, $($argument: $type),*) -> Result<$answer> {
                    self.keep_pace().await;
                    $imports::$function(self.imports_mut(), $($argument),*).await
                }
            )*
        }
    )*};
}

interfaces! {
    model: ModelImports {
        complete(request: model::Request) -> Result<model::Completion, model::Error>;
    }
    tools: ToolsImports {
        list_tools() -> Vec<ToolDef>;
        call(uses: Vec<ToolUse>) -> Vec<ToolResult>;
    }
    session: SessionImports {
        info() -> session::SessionInfo;
        events(slice: session::Slice) -> Vec<session::Event>;
        blob(digest: String, offset: u32, length: u32) -> Result<Vec<u8>, String>;
        say(parts: Vec<Part>) -> u32;
        emit(kind: String, data: Json) -> Result<u32, String>;
        set_title(title: String) -> ();
        set_activity(line: String) -> ();
        spawn(child: session::Child) -> Result<String, String>;
        archive(handoff: Option<String>) -> Result<(), String>;
    }
    http: HttpImports {
        fetch(request: http::Request) -> Result<http::Response, http::Error>;
    }
    log: LogImports {
        log(level: log::Level, message: String) -> ();
    }
}

impl types::Host for Data {}
