//! `#[hook]`: knows what a hook function looks like.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, FnArg, ItemFn, Result};

pub(crate) fn expand(attribute: &TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !attribute.is_empty() {
        let message = "`#[hook]` takes nothing in parentheses: the parameter's type says which \
                       event, and bundle.toml says which tools it is asked about";
        return Err(Error::new_spanned(attribute, message));
    }
    let function: ItemFn = syn::parse2(item)?;
    if let Some(token) = &function.sig.asyncness {
        return Err(Error::new_spanned(token, "a hook is a plain function: the host waits, not it"));
    }
    let mut inputs = function.sig.inputs.iter();
    let (Some(FnArg::Typed(event)), None) = (inputs.next(), inputs.next()) else {
        let message = "a hook takes one event, such as `event: PreToolUse`";
        return Err(Error::new(function.sig.ident.span(), message));
    };
    let (vis, ident, event) = (&function.vis, &function.sig.ident, &event.ty);
    Ok(quote! {
        #function

        // A type of the function's name: `hooks![…]` and tests name the hook by it.
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #vis enum #ident {}

        impl ::rewake_sdk::hook::Hook for #ident {
            type Event = #event;

            fn decide(
                event: Self::Event,
            ) -> ::rewake_sdk::Result<::rewake_sdk::hook::Verdict> {
                ::rewake_sdk::hook::IntoVerdict::into_verdict(#ident(event))
            }
        }
    })
}
