//! A harness that does what the message says, operation by operation.

rewake_sdk::harness!(rewake_test_guests::script::Script);
