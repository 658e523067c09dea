//! What a case makes of what came.

use rewake_core::fact::HookVerdict;
use serde_json::json;

use super::*;

fn completed(outcome: Outcome, part: Part) -> ToolCompleted {
    ToolCompleted::new(Some(1), outcome, vec![part])
}

fn whats(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.what.lines().next().unwrap_or_default()).collect()
}

#[test]
fn a_call_must_return_what_is_expected() {
    let text = |text: &str| Returned { text: Some(text.into()), ..Returned::default() };
    let ok = completed(Outcome::Ok, Part::text("3 words\n"));
    assert!(returned(&Returned::default(), &ok).is_empty());
    assert!(returned(&text("3 words"), &ok).is_empty());
    let differs = returned(&text("4 words"), &ok);
    assert_eq!(differs[0].diff, ["- 4 words", "+ 3 words"]);
    let contains = Returned { contains: vec!["3".into(), "4".into()], ..Returned::default() };
    assert_eq!(whats(&returned(&contains, &ok)), ["what it returns does not hold \"4\"; it is:"]);
    let fails = Returned { error: vec!["no".into()], ..Returned::default() };
    assert_eq!(whats(&returned(&fails, &ok)), ["it must fail, and it returns:"]);
    let failed = completed(Outcome::Error, Part::text("no such file"));
    assert!(returned(&fails, &failed).is_empty());
    assert_eq!(whats(&returned(&Returned::default(), &failed)), ["it fails: no such file"]);
    let json = Returned { json: Some(json!({ "n": 3 })), ..Returned::default() };
    for part in [Part::Json { json: "{\"n\": 3}".into() }, Part::text("{\"n\":3}")] {
        assert!(returned(&json, &completed(Outcome::Ok, part)).is_empty());
    }
    assert_eq!(whats(&returned(&json, &ok)), ["it returns no JSON:"]);
}

#[test]
fn a_hook_must_answer_what_is_expected() {
    let answer = |verdict: HookVerdict| vec![Answered { verdict, logs: None }];
    let decided = |decision| Verdict { decision: Some(decision), ..Verdict::default() };
    let deny =
        HookVerdict { decision: Decision::Deny, reason: Some("protected".into()), ..HookVerdict::default() };
    assert!(answered(&decided(Decided::Deny), &answer(deny.clone())).is_empty());
    assert_eq!(
        whats(&answered(&decided(Decided::Allow), &answer(deny.clone()))),
        ["the verdict is `deny`; it must be `allow`: protected"]
    );
    assert!(answered(&decided(Decided::Unasked), &[]).is_empty());
    assert_eq!(
        whats(&answered(&decided(Decided::None), &[])),
        ["the verdict is `unasked`; it must be `none`"]
    );
    let reason = Verdict { reason: vec!["other".into()], ..decided(Decided::Deny) };
    assert_eq!(
        whats(&answered(&reason, &answer(deny.clone()))),
        ["its reason does not hold \"other\"; it is:"]
    );
    let failed = HookVerdict { error: Some("trapped".into()), ..deny };
    assert_eq!(whats(&answered(&decided(Decided::Deny), &answer(failed.clone()))), ["it fails: trapped"]);
    let error = Verdict { error: vec!["trapped".into()], ..decided(Decided::Deny) };
    assert!(answered(&error, &answer(failed)).is_empty());
}

#[test]
fn a_long_text_is_looked_at_to_its_end() {
    let long = completed(Outcome::Ok, Part::text(format!("{} the end", "x".repeat(5_000))));
    let contains = |piece: &str| Returned { contains: vec![piece.into()], ..Returned::default() };
    assert!(returned(&contains("the end"), &long).is_empty());
    let missing = returned(&contains("more characters"), &long);
    assert!(missing[0].what.len() < 4_200, "a failure shows no more than a person reads");
}
