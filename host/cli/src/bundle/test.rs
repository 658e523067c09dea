//! `rewake bundle test`: runs a bundle's cases one after another, and shows what came of each.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use rewake_author::suite::{Case, Ground, Options, Report, Suite, SuiteError, TESTS, junit};
use rewake_store::Store;

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::out::{Out, Style};

/// Run a bundle's tests (tests/*.toml) in the sandbox.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The bundle's folder
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Only cases with this in their name, or in their file's
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write transcripts that differ, instead of reporting them
    #[arg(long)]
    bless: bool,
    /// Run each session again with its host cut off after every append: it must come to the same
    #[arg(long)]
    cut: bool,
    /// Replay each session from its journal, and compare
    #[arg(long)]
    replay: bool,
    /// Let tests send HTTP requests, and ask the configured models that the bundle names
    #[arg(long)]
    network: bool,
    /// Build the bundle first, as `rewake bundle build` does
    #[arg(long)]
    build: bool,
    /// Write what came of it as JUnit XML, for CI
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// `rewake bundle test`.
pub(crate) async fn test(places: &Places, asked: &Test) -> Result<Outcome, Failure> {
    let bench = places.workbench()?;
    if asked.build {
        super::build::once(places, &asked.folder, &bench).await?;
    }
    let known = places.read_if_there().await?;
    let known = known.as_deref().map(|store| store as &dyn Store);
    let suite = Suite::open(&asked.folder, known).await.map_err(failure)?;
    let cases: Vec<&Case> = suite.cases().iter().filter(|case| asked.wants(case)).collect();
    if cases.is_empty() {
        return Err(Failure::Usage(match &asked.filter {
            Some(filter) if !suite.cases().is_empty() => {
                format!("none of {} has {filter:?} in its name or file", count(suite.cases().len()))
            }
            _ => format!(
                "there are no tests: write cases into {}",
                asked.folder.join(TESTS).join("NAME.toml").display()
            ),
        }));
    }
    let ground = Ground { cache: places.cache.clone(), bench, network: asked.network };
    let options = Options { ground, bless: asked.bless, cut: asked.cut, replay: asked.replay };
    let since = Instant::now();
    let mut out = Out::new();
    let mut reports = Vec::new();
    for case in cases {
        let report = suite.run(&options, case).await;
        show(&mut out, &report)?;
        out.flush()?;
        reports.push(report);
    }
    let took = took(since.elapsed());
    let failed = summary(&mut out, asked, &reports, &took)?;
    // After the summary: anyone who cannot write the file still learns what came of it.
    if let Some(file) = &asked.junit {
        let xml = junit(suite.bundle().name().as_str(), &reports);
        std::fs::write(file, xml).map_err(|error| Failure::io(&file.display().to_string(), error))?;
    }
    Ok(if failed == 0 { Outcome::Done } else { Outcome::Differs })
}

/// Shows what came of all. Returns how many failed.
fn summary(out: &mut Out, asked: &Test, reports: &[Report], took: &str) -> Result<usize, Failure> {
    if (asked.cut || asked.replay) && reports.iter().all(|report| report.kind != "session") {
        out.line(Style::Dim, "no session case: nothing was cut or replayed")?;
    }
    let failed = reports.iter().filter(|report| !report.passed()).count();
    let passed = reports.len() - failed;
    let (style, line) = match failed {
        0 => (Style::Strong, format!("{} passed ({took})", count(passed))),
        _ => (Style::Bad, format!("{failed} failed, {passed} passed ({took})")),
    };
    out.line(style, &line)?;
    out.flush()?;
    Ok(failed)
}

impl Test {
    fn wants(&self, case: &Case) -> bool {
        self.filter.as_ref().is_none_or(|filter| case.name.contains(filter) || case.file.contains(filter))
    }
}

fn show(out: &mut Out, report: &Report) -> Result<(), Failure> {
    let (style, word) = if report.passed() { (Style::Plain, "ok    ") } else { (Style::Bad, "FAILED") };
    let place = if report.passed() { String::new() } else { format!("  {}", report.place) };
    let took = took(report.took);
    out.line(style, &format!("{word}  {:<7}  {} ({took}){place}", report.kind, report.name))?;
    for note in &report.notes {
        out.line(Style::Dim, &format!("        {note}"))?;
    }
    for finding in &report.findings {
        for line in finding.what.lines() {
            out.line(Style::Bad, &format!("        {line}"))?;
        }
        for line in &finding.diff {
            out.line(Style::Plain, &format!("          {line}"))?;
        }
    }
    Ok(())
}

fn failure(error: SuiteError) -> Failure {
    match error {
        SuiteError::Written(error) => Failure::Usage(error.to_string()),
        SuiteError::Store(error) => error.into(),
        SuiteError::Io { .. } => Failure::Machine(error.to_string()),
    }
}

fn count(cases: usize) -> String {
    describe::count(cases as u64, "case", "cases")
}

fn took(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
