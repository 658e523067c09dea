//! `#[tool]`: knows what a tool function looks like.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitStr, Meta, Result, Token, Type,
    parse::{Parse, ParseStream},
};

/// What stands in the attribute's parentheses.
struct Options {
    name: Option<LitStr>,
    effect: Ident,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self { name: None, effect: format_ident!("Once") };
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match key.to_string().as_str() {
                "name" => options.name = Some(input.parse()?),
                "effect" => options.effect = effect(&input.parse()?)?,
                _ => {
                    let message = "`#[tool]` knows `effect = pure|idempotent|once` and `name = \"…\"`";
                    return Err(Error::new(key.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn effect(word: &Ident) -> Result<Ident> {
    let variant = match word.to_string().as_str() {
        "pure" => "Pure",
        "idempotent" => "Idempotent",
        "once" => "Once",
        _ => {
            let message = "an effect is `pure` (it only reads), `idempotent` (it may be repeated \
                           with the same key) or `once` (it may not be repeated; the default)";
            return Err(Error::new(word.span(), message));
        }
    };
    Ok(Ident::new(variant, word.span()))
}

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(attribute)?;
    let function: ItemFn = syn::parse2(item)?;
    refuse_odd_signatures(&function)?;
    let name = tool_name(&function.sig.ident, options.name)?;
    let description = description(&function)?;
    let (input, arguments) = parameters(&function)?;
    let (vis, ident, effect) = (&function.vis, &function.sig.ident, &options.effect);
    Ok(quote! {
        #function

        // A type of the function's name: `tools![…]` and tests name the tool by it.
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #vis enum #ident {}

        impl ::rewake_sdk::tool::Tool for #ident {
            const NAME: &'static str = #name;
            const DESCRIPTION: &'static str = #description;
            const EFFECT: ::rewake_sdk::tool::Effect = ::rewake_sdk::tool::Effect::#effect;
            type Input = #input;

            fn call(
                input: Self::Input,
                cx: &::rewake_sdk::tool::ToolContext,
            ) -> ::core::result::Result<
                ::std::vec::Vec<::rewake_sdk::part::Part>,
                ::rewake_sdk::tool::ToolError,
            > {
                let _ = (&input, cx);
                ::rewake_sdk::tool::outcome(#ident(#(#arguments),*))
            }
        }
    })
}

fn refuse_odd_signatures(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if let Some(token) = &signature.asyncness {
        return Err(Error::new_spanned(token, "a tool is a plain function: the host waits, not it"));
    }
    if !signature.generics.params.is_empty() {
        let message = "a tool has no generic parameters: a model sends one kind of input";
        return Err(Error::new_spanned(&signature.generics, message));
    }
    Ok(())
}

fn tool_name(ident: &Ident, wanted: Option<LitStr>) -> Result<LitStr> {
    let name = wanted.unwrap_or_else(|| LitStr::new(&ident.to_string(), ident.span()));
    let value = name.value();
    let fits = (1..=64).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if fits {
        Ok(name)
    } else {
        let message = "a tool's name is 1 to 64 of a-z, A-Z, 0-9, `_` and `-`";
        Err(Error::new(name.span(), message))
    }
}

fn description(function: &ItemFn) -> Result<String> {
    let lines: Vec<String> = function.attrs.iter().filter_map(doc_line).collect();
    let text = lines.join("\n").trim().to_owned();
    if text.is_empty() {
        let message = "a tool needs a doc comment: it is what the model reads about it";
        return Err(Error::new(function.sig.ident.span(), message));
    }
    Ok(text)
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    if !attribute.path().is_ident("doc") {
        return None;
    }
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &pair.value else { return None };
    let line = line.value();
    Some(line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned())
}

/// The input's type, and what to pass to the function.
fn parameters(function: &ItemFn) -> Result<(TokenStream, Vec<TokenStream>)> {
    let none = quote!(::rewake_sdk::tool::NoInput);
    let (mut input, mut context, mut arguments) = (None, false, Vec::new());
    for parameter in &function.sig.inputs {
        let FnArg::Typed(typed) = parameter else {
            let message = "a tool is a free function: it has no `self`";
            return Err(Error::new_spanned(parameter, message));
        };
        match (&*typed.ty, &input) {
            (Type::Reference(_), _) if !context => {
                context = true;
                arguments.push(quote!(cx));
            }
            (ty, None) if !matches!(ty, Type::Reference(_)) => {
                input = Some(quote!(#ty));
                arguments.push(quote!(input));
            }
            _ => {
                let message = "a tool takes its input (one struct) and a `&ToolContext`, no more";
                return Err(Error::new_spanned(parameter, message));
            }
        }
    }
    Ok((input.unwrap_or(none), arguments))
}
