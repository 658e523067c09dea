//! How much memory, and how many tables and instances, one Store may have.
//!
//! It knows totals. Fuel and time are the runtime's.

use std::fmt;

use wasmtime::{Error, ResourceLimiter, Result, bail};

/// Core instances of one component: a Python guest brings some dozens.
const INSTANCES_MAX: usize = 256;
/// Tables of one component: the largest guests known bring two.
const TABLES_MAX: usize = 8;
/// Memories of one component: whatever its language, it has one; composed ones have one for each part.
const MEMORIES_MAX: usize = 4;
/// Elements of all tables together; each costs the host a pointer.
const TABLE_ELEMENTS_MAX: usize = 200_000;

/// Counts over all memories of a Store, because a component may bring any number of them.
///
/// Growing beyond a limit traps instead of failing politely: a guest that runs out ends the same
/// way every time, and the message names the limit.
pub(crate) struct Limits {
    memory_bytes_max: usize,
    memory_bytes: usize,
    table_elements: usize,
}

impl Limits {
    pub(crate) fn new(memory_bytes_max: usize) -> Limits {
        Limits { memory_bytes_max, memory_bytes: 0, table_elements: 0 }
    }

    /// Bytes of all memories together.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

/// A limit that a guest would have passed; what its trap is caused by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverLimit(String);

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OverLimit {}

/// What the total becomes when one part of it grows.
fn grown(total: usize, current: usize, desired: usize) -> usize {
    total.saturating_add(desired.saturating_sub(current))
}

/// Whether a guest grows beyond what it declared itself, which is for the guest to handle.
fn beyond_own(desired: usize, declared_max: Option<usize>) -> bool {
    declared_max.is_some_and(|max| desired > max)
}

impl ResourceLimiter for Limits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        declared_max: Option<usize>,
    ) -> Result<bool> {
        if beyond_own(desired, declared_max) {
            return Ok(false);
        }
        let total = grown(self.memory_bytes, current, desired);
        if total > self.memory_bytes_max {
            let max = self.memory_bytes_max;
            bail!(OverLimit(format!(
                "it needs {total} bytes of memory; its limit (`memory`) is {max} bytes"
            )));
        }
        self.memory_bytes = total;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: Error) -> Result<()> {
        Err(error.context("the host has no more memory for the plugin"))
    }

    fn table_growing(&mut self, current: usize, desired: usize, declared_max: Option<usize>) -> Result<bool> {
        if beyond_own(desired, declared_max) {
            return Ok(false);
        }
        let total = grown(self.table_elements, current, desired);
        if total > TABLE_ELEMENTS_MAX {
            bail!(OverLimit(format!("it needs {total} table elements; the limit is {TABLE_ELEMENTS_MAX}")));
        }
        self.table_elements = total;
        Ok(true)
    }

    fn table_grow_failed(&mut self, error: Error) -> Result<()> {
        Err(error.context("the host has no more room for the plugin's tables"))
    }

    fn instances(&self) -> usize {
        INSTANCES_MAX
    }

    fn tables(&self) -> usize {
        TABLES_MAX
    }

    fn memories(&self) -> usize {
        MEMORIES_MAX
    }
}
