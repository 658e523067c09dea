//! `read_file`: a piece of a text file, with line numbers.
//!
//! Goes through the file once, in pieces, and keeps only what it shows: files may be far larger
//! than memory. Knows what is no text, and says what it is instead.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use rewake_sdk::{
    prelude::*,
    workspace::{Place, explain, place},
};

use crate::{ANSWER_BYTES_MAX, Read, head};

/// Lines of one answer.
const LINES_MAX: usize = 2000;
/// Shown of one line.
const LINE_BYTES_MAX: usize = 2000;
/// The largest file that is read at all.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// What is read at once; the first of it tells text from what is none.
const PIECE_BYTES: usize = 64 << 10;

pub(crate) fn read(root: &Path, args: &Read) -> Result<String, ToolError> {
    let place = place(root, &args.path)?;
    if args.offset == 0 {
        return Err(ToolError::invalid_input("`offset` counts lines from 1"));
    }
    if args.limit == Some(0) {
        return Err(ToolError::invalid_input("`limit` must be at least 1 line"));
    }
    let mut file = open(&place)?;
    let first = args.offset as usize;
    let limit = args.limit.map_or(LINES_MAX, |limit| (limit as usize).min(LINES_MAX));
    let piece = scan(&mut file, &place, first, limit)?;
    if piece.total == 0 {
        return Ok(format!("[`{}` is empty]", place.name));
    }
    if first > piece.total {
        let lines = if piece.total == 1 { "1 line".to_owned() } else { format!("{} lines", piece.total) };
        let message = format!("`{}` has only {lines}; `offset` is {first}", place.name);
        return Err(ToolError::invalid_input(message));
    }
    show(&place, first, &piece)
}

fn open(place: &Place) -> Result<File, ToolError> {
    let about = fs::metadata(&place.path).map_err(|error| explain(place, &error))?;
    if about.is_dir() {
        let message = format!("`{}` is a directory; list_files shows what is in it", place.name);
        return Err(ToolError::invalid_input(message));
    }
    let bytes = about.len();
    if bytes > FILE_BYTES_MAX {
        return Err(ToolError::failed(format!(
            "`{}` has {bytes} bytes; files up to {FILE_BYTES_MAX} bytes can be read",
            place.name
        )));
    }
    let mut file = File::open(&place.path).map_err(|error| explain(place, &error))?;
    let mut start = Vec::new();
    let begun = (&mut file).take(8 << 10).read_to_end(&mut start);
    begun.map_err(|error| explain(place, &error))?;
    if let Some(what) = no_text(&start) {
        let name = &place.name;
        return Err(ToolError::failed(format!("`{name}` is {what}, {bytes} bytes: only text can be read")));
    }
    // Opened again, since a guest may lack the right to seek.
    File::open(&place.path).map_err(|error| explain(place, &error))
}

/// What a file is whose first bytes these are, if it is no text.
fn no_text(start: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 8] = [
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"\xff\xfe", "text in UTF-16, not UTF-8"),
        (b"\xfe\xff", "text in UTF-16, not UTF-8"),
    ];
    let known = KINDS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, what)| *what);
    known.or_else(|| start.contains(&0).then_some("a binary file"))
}

/// The lines that were asked for, and how many there are.
#[derive(Default)]
struct Piece {
    lines: Vec<Line>,
    /// Lines of the whole file.
    total: usize,
    /// How many of them end with CRLF.
    crlf: usize,
    /// Whether the file ends within a line.
    open_end: bool,
}

/// A line, or its beginning.
#[derive(Default)]
struct Line {
    kept: Vec<u8>,
    /// How long it is, without its end.
    bytes: usize,
}

impl Line {
    fn add(&mut self, more: &[u8], keep: bool) {
        self.bytes += more.len();
        if keep && self.kept.len() <= LINE_BYTES_MAX {
            // One more than is shown, so that what is cut is known to be.
            let room = (LINE_BYTES_MAX + 1).saturating_sub(self.kept.len());
            self.kept.extend_from_slice(&more[..more.len().min(room)]);
        }
    }
}

/// Reads to the end, to know how many lines there are.
fn scan(file: &mut File, place: &Place, first: usize, limit: usize) -> Result<Piece, ToolError> {
    let mut piece = Piece::default();
    let mut line = Line::default();
    let mut last = 0;
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(explain(place, &error)),
        };
        for part in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
            let wanted = piece.total + 1 >= first && piece.lines.len() < limit;
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            line.add(text, wanted);
            last = text.last().copied().unwrap_or(last);
            if ends {
                piece.end(std::mem::take(&mut line), wanted, std::mem::take(&mut last) == b'\r');
            }
        }
    }
    if line.bytes > 0 {
        piece.open_end = true;
        let wanted = piece.total + 1 >= first && piece.lines.len() < limit;
        piece.end(line, wanted, false);
    }
    Ok(piece)
}

impl Piece {
    fn end(&mut self, mut line: Line, wanted: bool, crlf: bool) {
        self.total += 1;
        if crlf {
            self.crlf += 1;
            line.bytes -= 1;
            line.kept.truncate(line.bytes);
        }
        if wanted {
            self.lines.push(line);
        }
    }
}

fn show(place: &Place, first: usize, piece: &Piece) -> Result<String, ToolError> {
    let mut answer = String::new();
    let mut next = first;
    for line in &piece.lines {
        let text = text_of(place, next, line)?;
        let cut = if line.bytes > text.len() {
            format!(" [line {next} is cut: it has {} bytes]", line.bytes)
        } else {
            String::new()
        };
        if answer.len() + text.len() + cut.len() + 100 > ANSWER_BYTES_MAX {
            break;
        }
        let text = if next == 1 { text.trim_start_matches('\u{feff}') } else { text };
        let _ = writeln!(answer, "{next}\t{text}{cut}");
        next += 1;
    }
    if next <= piece.total {
        let last = next - 1;
        let _ = write!(answer, "[lines {first} to {last} of {}; go on with offset = {next}]", piece.total);
    } else if piece.open_end {
        answer.push_str("[the last line has no line feed]");
    }
    if piece.crlf > 0 {
        // The last line may have no end.
        let some = if piece.crlf + usize::from(piece.open_end) < piece.total { "some " } else { "" };
        let _ = write!(answer, "[{some}lines end with CRLF; edit_file keeps that, write \\n as usual]");
    }
    Ok(answer)
}

/// The text to show of a line.
fn text_of<'a>(place: &Place, number: usize, line: &'a Line) -> Result<&'a str, ToolError> {
    let text = match std::str::from_utf8(&line.kept) {
        Ok(text) => text,
        // The keeping, not the file, cut this character in two.
        Err(error) if error.error_len().is_none() && line.kept.len() > LINE_BYTES_MAX => {
            std::str::from_utf8(&line.kept[..error.valid_up_to()])?
        }
        Err(error) => {
            let byte = line.kept[error.valid_up_to()];
            return Err(ToolError::failed(format!(
                "`{}` is not in UTF-8: line {number} has the byte {byte:#04x} at column {}; it may be in \
                 another encoding, and cannot be read or edited here",
                place.name,
                error.valid_up_to() + 1
            )));
        }
    };
    Ok(head(text, LINE_BYTES_MAX))
}
