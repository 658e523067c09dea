//! What the attributes refuse, in which words.

use proc_macro2::TokenStream;
use quote::quote;

use super::{hook, tool};

fn refused(expanded: syn::Result<TokenStream>, part: &str) {
    match expanded {
        Ok(tokens) => panic!("it is accepted: {tokens}"),
        Err(error) => assert!(error.to_string().contains(part), "{error}"),
    }
}

#[test]
fn a_tool_must_be_described_and_named_as_the_contract_says() {
    refused(
        tool::expand(
            quote!(),
            quote!(
                fn f() -> R {}
            ),
        ),
        "needs a doc comment",
    );
    let long = "x".repeat(65);
    for name in ["", "a b", "ä", long.as_str()] {
        let function = quote!(
            #[doc = " Does."]
            fn f() -> R {}
        );
        refused(tool::expand(quote!(name = #name), function), "1 to 64");
    }
}

#[test]
fn what_stands_in_a_tools_parentheses_is_known() {
    let function = || {
        quote!(
            #[doc = " Does."]
            fn f() -> R {}
        )
    };
    refused(tool::expand(quote!(effect = often), function()), "`once` (it may not be repeated");
    refused(tool::expand(quote!(efect = pure), function()), "`#[tool]` knows");
    assert!(tool::expand(quote!(effect = pure, name = "a-b",), function()).is_ok());
}

#[test]
fn a_tool_takes_one_input_and_one_context() {
    let cases = [
        (
            quote!(
                fn f(a: A, b: B) -> R {}
            ),
            "no more",
        ),
        (
            quote!(
                fn f(a: &A, b: &B) -> R {}
            ),
            "no more",
        ),
        (
            quote!(
                fn f(&self) -> R {}
            ),
            "no `self`",
        ),
        (
            quote!(
                async fn f() -> R {}
            ),
            "plain function",
        ),
        (
            quote!(
                fn f<T>(a: T) -> R {}
            ),
            "no generic parameters",
        ),
    ];
    for (function, part) in cases {
        refused(tool::expand(quote!(), quote!(#[doc = " Does."] #function)), part);
    }
    let both_ways = [
        quote!(
            fn f(a: A, cx: &C) -> R {}
        ),
        quote!(
            fn f(cx: &C, a: A) -> R {}
        ),
    ];
    for function in both_ways {
        assert!(tool::expand(quote!(), quote!(#[doc = " Does."] #function)).is_ok());
    }
}

#[test]
fn a_hook_takes_one_event() {
    refused(
        hook::expand(
            &quote!(event = Stop),
            quote!(
                fn f(e: Stop) -> V {}
            ),
        ),
        "nothing in paren",
    );
    for function in [
        quote!(
            fn f() -> V {}
        ),
        quote!(
            fn f(a: A, b: B) -> V {}
        ),
        quote!(
            fn f(&self) -> V {}
        ),
    ] {
        refused(hook::expand(&quote!(), function), "a hook takes one event");
    }
    refused(
        hook::expand(
            &quote!(),
            quote!(
                async fn f(e: Stop) -> V {}
            ),
        ),
        "plain function",
    );
}
