//! Questions put to the user at the terminal. Knows how an answer is read; sends nothing.

use std::io::{self, BufRead as _, Write as _};

use rewake_core::fact::Question;
use rewake_text::plain;
use serde::de::IgnoredAny;

use crate::describe;
use crate::exit::Failure;
use crate::out::{clear_status, note};

/// The answer as JSON text; none if nothing was typed.
pub(crate) async fn answer(question: &Question) -> Result<Option<String>, Failure> {
    loop {
        say(&format!("rewake: {}\nanswer> ", describe::question(question)));
        let read = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        let line = read.await.map_err(|error| Failure::io("reading the answer", error))?;
        let line = line.map_err(|error| Failure::io("reading the answer", error))?;
        let typed = line.trim();
        if typed.is_empty() {
            return Ok(None);
        }
        match value(&question.choices, typed) {
            Some(value) => return Ok(Some(value)),
            None => note(&format!("answer with one of: {}, or its number", question.choices.join(", "))),
        }
    }
}

/// What was typed as an answer: one of the choices, the beginning of only one, or its number from 1, if these do not
/// say different things; where there are no choices, JSON, or a text.
pub(crate) fn value(choices: &[String], typed: &str) -> Option<String> {
    let text = |text: &str| serde_json::Value::String(text.to_owned()).to_string();
    if choices.is_empty() {
        let is_json = serde_json::from_str::<IgnoredAny>(typed).is_ok();
        return Some(if is_json { typed.to_owned() } else { text(typed) });
    }
    if choices.iter().any(|choice| choice == typed) {
        return Some(text(typed));
    }
    let typed = typed.to_lowercase();
    let by_place = typed.parse().ok().and_then(|number: usize| choices.get(number.checked_sub(1)?));
    let mut begun = choices.iter().filter(|choice| choice.to_lowercase().starts_with(&typed));
    match (by_place, begun.next(), begun.next()) {
        // Anyone who wrote the choices does not decide which of two was meant.
        (Some(placed), Some(one), _) if placed != one => None,
        (Some(placed), None, _) => Some(text(placed)),
        (_, Some(one), None) => Some(text(one)),
        _ => None,
    }
}

fn say(text: &str) {
    clear_status();
    let mut stderr = io::stderr().lock();
    // Anyone who sees no question answers none.
    let _ = stderr.write_all(plain(text).as_bytes()).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_choice_or_the_beginning_of_one() {
        let choices = ["allow".to_owned(), "deny".to_owned(), "defer".to_owned()];
        for (typed, expected) in [
            ("allow", Some("\"allow\"")),
            ("A", Some("\"allow\"")),
            ("den", Some("\"deny\"")),
            ("de", None),
            ("allowed", None),
            ("true", None),
            ("1", Some("\"allow\"")),
            ("3", Some("\"defer\"")),
            ("0", None),
            ("4", None),
        ] {
            assert_eq!(value(&choices, typed).as_deref(), expected, "{typed}");
        }
    }

    #[test]
    fn a_choice_that_is_a_number_is_meant_before_a_place() {
        let choices = ["2".to_owned(), "1".to_owned(), "30".to_owned()];
        for (typed, expected) in [("1", "\"1\""), ("2", "\"2\""), ("3", "\"30\"")] {
            assert_eq!(value(&choices, typed).as_deref(), Some(expected), "{typed}");
        }
    }

    #[test]
    fn a_number_that_another_choice_begins_with_is_asked_for_again() {
        let choices = ["keep it".to_owned(), "1: delete it".to_owned(), "3 days".to_owned()];
        for (typed, expected) in [("1", None), ("2", Some("\"1: delete it\"")), ("3", Some("\"3 days\""))] {
            assert_eq!(value(&choices, typed).as_deref(), expected, "{typed}");
        }
    }

    #[test]
    fn without_choices_an_answer_is_json_or_a_text() {
        for (typed, expected) in [("yes", "\"yes\""), ("{\"a\":1}", "{\"a\":1}"), ("3", "3")] {
            assert_eq!(value(&[], typed).as_deref(), Some(expected));
        }
    }
}
