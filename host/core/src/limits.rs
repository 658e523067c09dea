//! Every bound, named with its unit (journal.md R13). Limits refuse commands, steps and starts before
//! anything is written; completions and endings always fit.

/// Bytes of an id after its prefix.
pub const ID_BYTES_MAX: usize = 64;
/// Bytes of one entry's payload.
pub const PAYLOAD_BYTES_MAX: usize = 32 << 20;
/// Bytes of a response's body that are in the entry; a larger body is a blob that the entry names.
pub const BODY_INLINE_BYTES_MAX: usize = 64 << 10;
/// Untaken messages in a session's inbox; a sender may have a quarter of them.
pub const INBOX_ROWS_MAX: usize = 1_000;
/// Untaken rows of one sender and one kind of control (answers, interrupts, stops, edits, cancellations, promotions)
/// in a session's inbox, beside its messages: anyone who has filled an inbox can still stop what fills it.
pub const INBOX_CONTROLS_MAX: usize = 64;
/// Bytes of a message's parts.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Messages that one turn accepts together.
pub const BATCH_MESSAGES_MAX: usize = 32;
/// Bytes of the messages that one turn accepts together; a single one always fits.
pub const BATCH_BYTES_MAX: usize = 4 << 20;
/// Questions that one step asks.
pub const QUESTIONS_MAX: usize = 16;
/// Bytes of one question: its text, choices and schema.
pub const QUESTION_BYTES_MAX: usize = 64 << 10;
/// Bytes of the observations between two calls of a step.
pub const OBSERVED_BYTES_MAX: usize = 8 << 20;
/// Bytes of all observations of one run of a step.
pub const STEP_OBSERVED_BYTES_MAX: usize = 64 << 20;
/// Tool uses of one `tools.call`.
pub const USES_MAX: usize = 64;
/// Bytes of one tool use's input.
pub const TOOL_INPUT_BYTES_MAX: usize = 1 << 20;
/// Bytes of the inputs of all uses of one `tools.call`.
pub const TOOL_INPUTS_BYTES_MAX: usize = 4 << 20;
/// Characters of a hook's context, and of its reason (hooks.md).
pub const HOOK_TEXT_CHARS_MAX: usize = 10_000;
/// Bytes of the contexts of hooks that one step is given; older ones are left out.
pub const CONTEXTS_BYTES_MAX: usize = 1 << 20;
/// Rounds in a row in which a Stop hook is obeyed that wants the turn to go on (hooks.md).
pub const STOP_ROUNDS_MAX: u32 = 8;
/// Labels of a session.
pub const LABELS_MAX: usize = 16;
/// Bytes of a label's key.
pub const LABEL_KEY_BYTES_MAX: usize = 64;
/// Bytes of a label's value.
pub const LABEL_VALUE_BYTES_MAX: usize = 512;
/// Characters of a title.
pub const TITLE_CHARS_MAX: usize = 64;
/// Bytes of a marker's or an agent message's content.
pub const SAID_BYTES_MAX: usize = 1 << 20;
/// Arrays and objects inside one another in a marker's data.
pub const MARKER_LEVELS_MAX: usize = 64;
/// Bytes of a harness's saved state.
pub const STATE_BYTES_MAX: usize = 16 << 20;
/// Bytes of the name of a model that a harness asks.
pub const MODEL_NAME_BYTES_MAX: usize = 256;
/// Steps of one turn, whatever its session pins.
pub const TURN_STEPS_MAX: u32 = 10_000;
/// Steps of one turn that a new session pins, if neither its bundle nor its operator names another number.
pub const TURN_STEPS_DEFAULT: u32 = 200;
/// Bytes that the steps of one turn write, where the operator sets no other limit.
pub const TURN_BYTES_MAX: u64 = 64 << 20;
/// Bytes that the steps of one session write, where the operator sets no other limit.
pub const SESSION_BYTES_MAX: u64 = 1 << 30;
/// Entries of one session.
pub const SESSION_ENTRIES_MAX: u64 = 10_000_000;
/// Lines of diagnostics kept of one guest's run.
pub const LOG_LINES_MAX: usize = 1_000;
/// Bytes of all lines of diagnostics kept of one guest's run.
pub const LOG_BYTES_MAX: usize = 512 << 10;
/// Lines of diagnostics kept of one turn, its step's tools and hooks included.
pub const LOG_TURN_LINES_MAX: usize = 10_000;
/// Bytes of all lines of diagnostics kept of one turn.
pub const LOG_TURN_BYTES_MAX: usize = 4 << 20;
/// Bytes of one line of diagnostics.
pub const LOG_LINE_BYTES_MAX: usize = 4 << 10;
/// Consecutive re-runs of a step that added no entry (R5).
pub const RERUNS_MAX: u32 = 3;
/// Attempts of one call beyond its first (R5): fewer than re-runs, so that a call which kills its host is
/// given up before its turn is.
pub const RETRIES_MAX: u32 = 2;
/// Attempts to ask a model beyond the first because its provider would not answer for now. Those that died with
/// their host are counted by [`RETRIES_MAX`].
pub const MODEL_RETRIES_MAX: u32 = 32;
/// Consecutive loads of a turn that had something to do and neither ran a step nor ended in good order (R5).
pub const CRASHED_LOADS_MAX: u32 = 5;
/// Bytes of a failure's code.
pub const CODE_BYTES_MAX: usize = 128;
/// Bytes of a failure's detail, a fault's values and the like.
pub const DETAIL_BYTES_MAX: usize = 8 << 10;
/// Entries between two snapshots.
pub const SNAPSHOT_ENTRIES: u64 = 1_000;

/// How much guests may write to a journal; it can be raised at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLimits {
    /// Bytes of one turn.
    pub turn_bytes_max: u64,
    /// Bytes of one session.
    pub session_bytes_max: u64,
}

impl Default for JournalLimits {
    fn default() -> Self {
        JournalLimits { turn_bytes_max: TURN_BYTES_MAX, session_bytes_max: SESSION_BYTES_MAX }
    }
}

/// Cuts a text to so many bytes, at a character's border, and says so.
pub fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes cut)", &text[..end], text.len() - end)
}

/// Cuts a text to so many characters.
pub fn cut_chars(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_characters_whole_and_says_how_much_went() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("aé", 2), "a… (2 bytes cut)");
        assert_eq!(cut_chars("aéb", 2), "aé");
    }
}
