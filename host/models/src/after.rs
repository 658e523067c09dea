//! For how long a provider asks to be left alone: the headers that say it. Pure, but for the time that is given.

use std::time::Duration;

use http::HeaderMap;
use jiff::Timestamp;

/// The longest that is believed.
const AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How long from `now`; none: they do not say.
pub(super) fn after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let asked =
        text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()).and_then(|ms| seconds(ms / 1_000.0));
    let asked = asked.or_else(|| text("retry-after").and_then(|value| retry_after(value, now)));
    asked.or_else(|| resets(headers, now)).map(|after| after.min(AFTER_MAX))
}

/// Seconds, or a date of HTTP.
fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(number) = value.parse::<f64>() {
        return seconds(number);
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Some(until(date, now))
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}

/// When what is used up comes back: the longest of what has nothing left.
fn resets(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    const ANTHROPIC: [&str; 4] = ["requests", "tokens", "input-tokens", "output-tokens"];
    const OPENAI: [&str; 2] = ["requests", "tokens"];
    let text = |name: String| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let anthropic = ANTHROPIC.iter().filter_map(|what| {
        let is_used_up = text(format!("anthropic-ratelimit-{what}-remaining")) == Some("0");
        let reset = text(format!("anthropic-ratelimit-{what}-reset")).filter(|_| is_used_up)?;
        Some(until(reset.parse().ok()?, now))
    });
    let openai = OPENAI.iter().filter_map(|what| {
        let is_used_up = text(format!("x-ratelimit-remaining-{what}")) == Some("0");
        span(text(format!("x-ratelimit-reset-{what}")).filter(|_| is_used_up)?)
    });
    anthropic.chain(openai).max()
}

/// A span such as `1h2m3.5s` or `120ms`.
fn span(text: &str) -> Option<Duration> {
    let (mut rest, mut whole) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let unit = match &after[..end] {
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        whole = whole.checked_add(seconds(number.parse::<f64>().ok()? * unit)?)?;
        rest = &after[end..];
    }
    (!text.is_empty()).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        after(&map, "2026-11-29T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn every_form_is_read() {
        let ms = |ms| Some(Duration::from_millis(ms));
        for (headers, expected) in [
            (&[("retry-after", "7")][..], ms(7_000)),
            (&[("retry-after", " 1.5 ")], ms(1_500)),
            (&[("retry-after-ms", "250"), ("retry-after", "7")], ms(250)),
            (&[("retry-after", "Sun, 29 Nov 2026 12:00:30 GMT")], ms(30_000)),
            (&[("retry-after", "Sun, 29 Nov 2026 11:00:00 GMT")], ms(0)),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2026-11-29T12:01:00Z"),
                    ("anthropic-ratelimit-requests-remaining", "5"),
                    ("anthropic-ratelimit-requests-reset", "2026-11-29T13:00:00Z"),
                ],
                ms(60_000),
            ),
            (
                &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m2.5s")],
                ms(62_500),
            ),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "120ms")], ms(120)),
            (&[("x-ratelimit-remaining-tokens", "1"), ("x-ratelimit-reset-tokens", "120ms")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "99999999")], Some(AFTER_MAX)),
            (&[], None),
        ] {
            assert_eq!(read(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn spans_that_are_none_are_none() {
        for text in ["", "5", "s", "1x", "1.2.3s", "ms"] {
            assert_eq!(span(text), None, "{text}");
        }
        assert_eq!(span("1h1m1s"), Some(Duration::from_secs(3_661)));
    }
}
