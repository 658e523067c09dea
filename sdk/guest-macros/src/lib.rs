//! The attributes of the Rewake guest SDK: `#[tool]`, `#[hook]` and `#[args]`.
//!
//! Knows how an author's function is written. Does not know the plugin contract: what it writes
//! are implementations of the SDK's traits, and nothing else. Use it through `rewake_sdk`, whose
//! documentation has the examples.

mod hook;
#[cfg(test)]
mod tests;
mod tool;

use proc_macro::TokenStream;
use quote::quote;

/// Makes a function a tool: `#[tool]`, `#[tool(effect = pure)]`, `#[tool(name = "other_name")]`.
///
/// The doc comment is what the model reads; the function takes its input (a struct of `#[args]`),
/// the `&ToolContext`, both or neither, and returns `Result<T, E>`.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    done(tool::expand(attribute.into(), item.into()))
}

/// Makes a function of one event a hook. The type of its parameter says which event.
#[proc_macro_attribute]
pub fn hook(attribute: TokenStream, item: TokenStream) -> TokenStream {
    done(hook::expand(&attribute.into(), item.into()))
}

/// Makes a struct the input of a tool: it is read from JSON, has a schema, and refuses fields that
/// it does not have. Doc comments of the fields are what the model reads about them.
#[proc_macro_attribute]
pub fn args(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = proc_macro2::TokenStream::from(attribute);
    if !attribute.is_empty() {
        let error = syn::Error::new_spanned(attribute, "`#[args]` takes nothing in parentheses");
        return error.to_compile_error().into();
    }
    let item = proc_macro2::TokenStream::from(item);
    quote! {
        #[derive(
            ::rewake_sdk::__private::serde::Deserialize,
            ::rewake_sdk::__private::schemars::JsonSchema,
        )]
        #[serde(crate = "::rewake_sdk::__private::serde", deny_unknown_fields)]
        #[schemars(crate = "::rewake_sdk::__private::schemars")]
        #item
    }
    .into()
}

fn done(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}
