//! What repeating a request of a harness does to the world.

use super::Class;

/// The safest class that a method allows. What the receiver promises can make `PUT` and `DELETE`
/// idempotent, nothing else.
pub fn class_of(method: &str, honours_key: bool) -> Class {
    match method {
        "GET" | "HEAD" => Class::Pure,
        "PUT" | "DELETE" if honours_key => Class::Idempotent,
        _ => Class::Once,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reading_is_pure_and_only_a_promise_makes_a_write_repeatable() {
        assert_eq!((class_of("GET", false), class_of("HEAD", true)), (Class::Pure, Class::Pure));
        assert_eq!((class_of("PUT", true), class_of("DELETE", true)), (Class::Idempotent, Class::Idempotent));
        for (method, honours_key) in [
            ("PUT", false),
            ("DELETE", false),
            ("POST", true),
            ("PATCH", true),
            ("OPTIONS", true),
            ("get", true),
        ] {
            assert_eq!(class_of(method, honours_key), Class::Once, "{method}");
        }
    }
}
