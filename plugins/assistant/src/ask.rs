//! The tool `ask_user`: a question to people, which no component answers.
//!
//! Knows how a model asks and what can be asked. The harness ends its step with the questions; the
//! answers come with a later step.

use rewake_sdk::prelude::*;
use serde::Deserialize;

/// The tool's name. A session that has such a tool itself keeps it.
pub(crate) const NAME: &str = "ask_user";
/// Questions of one completion.
const QUESTIONS_MAX: usize = 4;
/// Characters of a question.
const TEXT_CHARS_MAX: usize = 4_000;
/// Answers to choose from.
const CHOICES_MAX: usize = 10;
/// Characters of one of them.
const CHOICE_CHARS_MAX: usize = 200;

const DESCRIPTION: &str = "Ask the people you work for, and wait for their answer. Use it only for what you \
cannot find out and what would be costly to get wrong: a decision that is theirs, a missing fact, consent to \
something that cannot be undone. Ask one thing at a time, with what they need to know to decide. The turn \
waits until they answer, which may take long.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

/// A use of the tool, and what can be asked.
pub(crate) struct Wish {
    /// Which of the completion's uses it is.
    pub(crate) at: usize,
    /// The question, without its id; or why it cannot be asked.
    pub(crate) question: Result<Question, String>,
}

/// The tool as the model sees it.
pub(crate) fn definition() -> ToolDef {
    let schema = r#"{"type":"object","properties":{"question":{"type":"string","description":"What you want to know, in plain words."},"choices":{"type":"array","items":{"type":"string"},"maxItems":10,"description":"Answers to choose from; leave it out for a free answer."}},"required":["question"],"additionalProperties":false}"#;
    ToolDef {
        name: NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        input_schema: JsonText::from_text(schema.to_owned()),
        effect: Effect::Pure,
    }
}

/// The uses of the tool among those of a completion.
pub(crate) fn wishes(uses: &[ToolUse]) -> Vec<Wish> {
    let mut asked = 0;
    let asks = uses.iter().enumerate().filter(|(_, one)| one.name == NAME);
    asks.map(|(at, one)| {
        let question = read(one).and_then(|question| {
            asked += 1;
            if asked > QUESTIONS_MAX {
                return Err(format!("not asked: at most {QUESTIONS_MAX} questions at once; ask it later"));
            }
            Ok(question)
        });
        Wish { at, question }
    })
    .collect()
}

/// The id of the question that is a completion's use at a place.
pub(crate) fn id(turn: &str, step: u32, at: usize) -> String {
    format!("{turn}-{step}-{at}")
}

/// The questions of a completion, with their ids.
pub(crate) fn questions(uses: &[ToolUse], (turn, step): (&str, u32)) -> Vec<Question> {
    let wishes = wishes(uses).into_iter();
    let with_id = |at, question| Question { id: id(turn, step, at), ..question };
    wishes.filter_map(|wish| wish.question.ok().map(|question| with_id(wish.at, question))).collect()
}

fn read(one: &ToolUse) -> Result<Question, String> {
    let Arguments { question, choices } =
        one.input.parse().map_err(|error| format!("not asked: the input does not fit: {error}"))?;
    let text = question.trim().to_owned();
    if text.is_empty() {
        return Err("not asked: `question` is empty".to_owned());
    }
    if text.chars().count() > TEXT_CHARS_MAX {
        return Err(format!("not asked: `question` has more than {TEXT_CHARS_MAX} characters"));
    }
    if choices.len() > CHOICES_MAX {
        return Err(format!("not asked: more than {CHOICES_MAX} choices"));
    }
    if choices.iter().any(|one| one.trim().is_empty() || one.chars().count() > CHOICE_CHARS_MAX) {
        return Err(format!("not asked: each choice must have 1 to {CHOICE_CHARS_MAX} characters"));
    }
    Ok(Question { text, choices, ..Question::default() })
}
