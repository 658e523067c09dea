//! The blobs' port: bytes by digest, once a project.

use rewake_core::ids::Digest;

use super::Answer;

/// Bytes and their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Of the bytes.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Of some bytes.
    pub fn of(bytes: Vec<u8>) -> Self {
        Blob { digest: Digest::of(&bytes), bytes }
    }
}

/// Bytes by (project, digest), each kept once. Blobs that entries name are written by
/// [`super::Journal::append`], in the entry's transaction, and are kept as long as the session.
pub trait Blobs {
    /// Keeps bytes; returns their digest. Putting the same again changes nothing.
    fn put_blob<'a>(&'a self, project: &'a str, bytes: Vec<u8>) -> Answer<'a, Digest>;

    /// Bytes by digest; none if this project has none such.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not those of the digest.
    fn blob<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, Option<Vec<u8>>>;
}
