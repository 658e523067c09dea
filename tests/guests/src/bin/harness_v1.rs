//! Version 1 of a harness whose versions differ on the same input.

use rewake_sdk::prelude::*;
use rewake_test_guests::versioned;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Versioned;

impl Harness for Versioned {
    const STATE_VERSION: u32 = 1;

    fn step(&mut self, _input: Input, cx: &Session) -> Result<Next, Failure> {
        versioned::step(1, cx)
    }
}

rewake_sdk::harness!(Versioned);
