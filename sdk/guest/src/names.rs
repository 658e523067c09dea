//! Comparing names while compiling, for the macros that refuse two of the same.

/// Whether two names are the same. `==` on `str` is not const yet.
pub(crate) const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
