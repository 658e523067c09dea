//! What an author of bundles is helped with: making one, building, checking, testing and packing it. Knows
//! folders, manifests and the sandbox; prints nothing and asks nobody: that is the command line's.
