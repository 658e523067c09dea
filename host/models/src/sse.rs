//! Server-sent events (WHATWG HTML, 9.2), cut out of bytes as they arrive. Does no I/O, and takes time and memory in
//! proportion to the bytes, with a bound on each line and each event.

/// Bytes of a line.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;
/// Bytes of an event's data.
pub(super) const EVENT_BYTES_MAX: usize = 4 << 20;

/// A line or an event is longer than the bound.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong {
    pub(super) bytes_max: usize,
}

/// The state between two pieces of a stream.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// The line that has begun.
    line: Vec<u8>,
    /// The data of the event that has begun, each line with a line feed behind it.
    data: Vec<u8>,
    lines: u64,
    /// Lines that a stream of events can have.
    fields: u64,
    is_after_cr: bool,
}

impl Parser {
    /// Reads a piece, and adds the data of each event that it completes. Events without data are passed over, and so
    /// are their names: both protocols say in the data what it is.
    pub(super) fn push(&mut self, piece: &[u8], events: &mut Vec<String>) -> Result<(), TooLong> {
        let mut rest = piece;
        while !rest.is_empty() {
            if std::mem::take(&mut self.is_after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
            if self.line.len() + text.len() > LINE_BYTES_MAX {
                return Err(TooLong { bytes_max: LINE_BYTES_MAX });
            }
            self.line.extend_from_slice(text);
            if end.is_some() {
                self.is_after_cr = after[0] == b'\r';
                self.end_line(events)?;
            }
            rest = after.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    /// The stream has ended. Some servers leave out the last line feeds, so what is there counts as an event.
    pub(super) fn finish(&mut self, events: &mut Vec<String>) -> Result<(), TooLong> {
        self.end_line(events)?;
        self.end_event(events);
        Ok(())
    }

    /// Whether there was text, and no line of it was one of a stream of events.
    pub(super) fn is_foreign(&self) -> bool {
        self.lines > 0 && self.fields == 0
    }

    fn end_line(&mut self, events: &mut Vec<String>) -> Result<(), TooLong> {
        let mut line = std::mem::take(&mut self.line);
        let ended = self.read_line(&line, events);
        line.clear();
        self.line = line;
        ended
    }

    fn read_line(&mut self, line: &[u8], events: &mut Vec<String>) -> Result<(), TooLong> {
        let mut text = line;
        if self.lines == 0 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.is_empty() {
            self.end_event(events);
            return Ok(());
        }
        self.lines += 1;
        let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
        let (name, value) = (&text[..colon], text.get(colon + 1..).unwrap_or_default());
        self.fields += u64::from(matches!(name, b"" | b"data" | b"event" | b"id" | b"retry"));
        if name == b"data" {
            if self.data.len() + value.len() > EVENT_BYTES_MAX {
                return Err(TooLong { bytes_max: EVENT_BYTES_MAX });
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.data.push(b'\n');
        }
        Ok(())
    }

    fn end_event(&mut self, events: &mut Vec<String>) {
        let data = std::mem::take(&mut self.data);
        let text = String::from_utf8_lossy(&data);
        let text = text.trim();
        if !text.is_empty() {
            events.push(text.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a text, the same in whatever pieces it comes.
    #[track_caller]
    fn events(text: &[u8]) -> Vec<String> {
        let parsed = |size: usize| {
            let (mut parser, mut events) = (Parser::default(), Vec::new());
            for piece in text.chunks(size) {
                parser.push(piece, &mut events).unwrap();
            }
            parser.finish(&mut events).unwrap();
            events
        };
        let whole = parsed(text.len().max(1));
        for size in 1..text.len() {
            assert_eq!(parsed(size), whole, "in pieces of {size} bytes");
        }
        whole
    }

    #[test]
    fn events_are_what_the_standard_says() {
        let none: [&str; 0] = [];
        for (text, expected) in [
            ("data: a\n\ndata: b\n\n", &["a", "b"][..]),
            ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]),
            ("data: a\rdata: b\r\n\r\n", &["a\nb"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data:a\ndata:  b\n\n", &["a\n b"]),
            (": so\nevent: x\nid: 1\nretry: 5\nother: y\nnone\ndata: a\n\n", &["a"]),
            ("data\n\ndata:\n\nevent: x\n\n: so\n\n\n\n", &none),
            ("data: n\u{e9} \u{20ac}\n\n", &["n\u{e9} \u{20ac}"]),
            ("data: a\n", &["a"]),
            ("data: a", &["a"]),
            ("", &none),
        ] {
            assert_eq!(events(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(events(b"data: \xff\n\n"), ["\u{fffd}"]);
    }

    #[test]
    fn what_is_no_stream_of_events_is_told_apart() {
        for (text, is_foreign) in [
            ("<html>\n\n<p>a</p>", true),
            ("x", true),
            ("", false),
            ("\n\n", false),
            (": so\n", false),
            ("<html>\ndata: a", false),
        ] {
            let (mut parser, mut events) = (Parser::default(), Vec::new());
            parser.push(text.as_bytes(), &mut events).unwrap();
            parser.finish(&mut events).unwrap();
            assert_eq!(parser.is_foreign(), is_foreign, "{text:?}");
        }
    }

    #[test]
    fn lines_and_events_are_bounded() {
        let mut events = Vec::new();
        let longest = [b"data: ".to_vec(), vec![b'x'; LINE_BYTES_MAX - 6], b"\n".to_vec()].concat();
        let mut parser = Parser::default();
        for _ in 0..EVENT_BYTES_MAX / LINE_BYTES_MAX {
            parser.push(&longest, &mut events).unwrap();
        }
        parser.push(b"\n", &mut events).unwrap();
        assert!(events.len() == 1 && events[0].len() > EVENT_BYTES_MAX - 100);
        for _ in 0..EVENT_BYTES_MAX / LINE_BYTES_MAX {
            parser.push(&longest, &mut events).unwrap();
        }
        assert_eq!(parser.push(&longest, &mut events), Err(TooLong { bytes_max: EVENT_BYTES_MAX }));
        let mut parser = Parser::default();
        parser.push(&longest[..longest.len() - 1], &mut events).unwrap();
        assert_eq!(parser.push(b"xx", &mut events), Err(TooLong { bytes_max: LINE_BYTES_MAX }));
        let mut parser = Parser::default();
        parser.push(&b"data\n".repeat(EVENT_BYTES_MAX), &mut events).unwrap();
        assert_eq!(parser.push(b"data\ndata\n", &mut events), Err(TooLong { bytes_max: EVENT_BYTES_MAX }));
    }
}
