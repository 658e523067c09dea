//! The audit list of one call (journal.md R8): what a tool or a hook did with files, in order, bounded.
//!
//! It keeps digests, never content. What only looks at a file that is already open is left out.

use rewake_core::fact::{FileAudit, FileUsed};
use rewake_core::ids::Digest;
use rewake_core::limits::cut;
use rewake_wasi::FileUse;
use rewake_wire::entry::{FileAnswer, FileOp};

/// Lines of one call.
const LINES_MAX: usize = 256;
/// Bytes of a path in a line.
const PATH_BYTES_MAX: usize = 512;
/// Bytes of content that one call's digests are made of.
const DIGEST_BYTES_MAX: u64 = 64 << 20;

/// Keeps the audit list of one call.
#[derive(Default)]
pub(crate) struct Auditor {
    audit: FileAudit,
    /// Of the last line's content, while that may go on.
    hasher: Option<blake3::Hasher>,
    hashed_bytes: u64,
}

impl Auditor {
    /// Notes what came of a use.
    pub(crate) fn note(&mut self, asked: &FileUse, answer: &FileAnswer) {
        if is_noise(asked.op, answer) {
            return;
        }
        let line = line(asked, answer);
        let content: &[u8] = match answer {
            FileAnswer::Written(_) => &asked.content,
            _ => read(asked, answer),
        };
        if let Some(last) = self.audit.uses.last_mut()
            && goes_on(last, &line)
        {
            last.times += 1;
            last.bytes += line.bytes;
        } else if self.audit.uses.len() == LINES_MAX {
            self.audit.dropped += 1;
            self.hasher = None;
            return;
        } else {
            self.settle();
            self.audit.uses.push(line);
            self.hasher = Some(blake3::Hasher::new());
        }
        self.hash(content);
    }

    /// The list.
    pub(crate) fn finish(mut self) -> FileAudit {
        self.settle();
        self.audit
    }

    fn hash(&mut self, content: &[u8]) {
        self.hashed_bytes += content.len() as u64;
        if self.hashed_bytes > DIGEST_BYTES_MAX {
            self.hasher = None;
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(content);
        }
    }

    /// The last line is complete.
    fn settle(&mut self) {
        if let Some((hasher, last)) = self.hasher.take().zip(self.audit.uses.last_mut())
            && last.bytes > 0
        {
            last.digest = Some(Digest(*hasher.finalize().as_bytes()));
        }
    }
}

/// Whether nobody is told: it says nothing that opening the file did not.
fn is_noise(op: FileOp, answer: &FileAnswer) -> bool {
    let looks = matches!(op, FileOp::Stat | FileOp::Hash | FileOp::HashAt | FileOp::IsSame | FileOp::Sync);
    looks && !matches!(answer, FileAnswer::Failed(_))
}

/// What was read.
fn read<'a>(asked: &FileUse, answer: &'a FileAnswer) -> &'a [u8] {
    // The text of a link is no content of a file.
    answer.bytes().filter(|_| asked.op == FileOp::Read).unwrap_or_default()
}

fn line(asked: &FileUse, answer: &FileAnswer) -> FileUsed {
    let bytes = match answer {
        FileAnswer::Written(count) => *count,
        _ => read(asked, answer).len() as u64,
    };
    let error = match answer {
        FileAnswer::Failed(code) => Some(code.clone()),
        _ => None,
    };
    let detail = match asked.op {
        FileOp::Open | FileOp::SetSize => asked.detail.clone(),
        _ => String::new(),
    };
    FileUsed {
        op: asked.op,
        path: cut(&asked.path, PATH_BYTES_MAX),
        to: cut(&asked.to, PATH_BYTES_MAX),
        detail,
        times: 1,
        bytes,
        digest: None,
        error,
    }
}

/// Whether a use is more of what the last line says.
fn goes_on(last: &FileUsed, next: &FileUsed) -> bool {
    (last.op, &last.path, &last.to, &last.detail, &last.error)
        == (next.op, &next.path, &next.to, &next.detail, &next.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(op: FileOp, path: &str, content: &str) -> FileUse {
        let (to, detail, content) = (String::new(), String::new(), content.as_bytes().to_vec().into());
        FileUse { op, path: path.into(), to, detail, content }
    }

    #[test]
    fn what_is_done_in_a_row_is_one_line_with_one_digest() {
        let mut auditor = Auditor::default();
        auditor.note(&asked(FileOp::Write, "/w/a", "one"), &FileAnswer::Written(3));
        auditor.note(&asked(FileOp::Stat, "/w/a", ""), &FileAnswer::Done);
        auditor.note(&asked(FileOp::Write, "/w/a", "two"), &FileAnswer::Written(3));
        auditor.note(&asked(FileOp::Unlink, "/w/a", ""), &FileAnswer::Failed("no-entry".into()));
        let audit = auditor.finish();
        assert_eq!(audit.uses.len(), 2);
        assert_eq!((audit.uses[0].times, audit.uses[0].bytes), (2, 6));
        assert_eq!(audit.uses[0].digest, Some(Digest::of(b"onetwo")));
        assert_eq!((audit.uses[1].error.as_deref(), audit.uses[1].digest), (Some("no-entry"), None));
    }

    #[test]
    fn what_is_over_the_limit_is_counted() {
        let mut auditor = Auditor::default();
        for at in 0..LINES_MAX + 7 {
            auditor.note(&asked(FileOp::Unlink, &format!("/w/{at}"), ""), &FileAnswer::Done);
        }
        let audit = auditor.finish();
        assert_eq!((audit.uses.len(), audit.dropped), (LINES_MAX, 7));
    }
}
