//! Where a request to a model differs from one that is kept: for people who look into a mismatch. What a replay
//! compares is the digest of the whole request, and nothing of this.

use rewake_bindings::model::Request;
use rewake_core::difference::Difference;
use rewake_core::fact::ModelStarted;
use rewake_store::Store;
use serde_json::{Value, json};

use super::read::of;
use super::shape::{Kept as _, MessageBlob, OptionsBlob, ToolsBlob};

/// Where a request first differs from the one that an entry announces; none, where that cannot be told any more:
/// it is not kept, or not as it was.
pub async fn difference(
    store: &dyn Store,
    project: &str,
    seq: u64,
    started: &ModelStarted,
    now: &Request,
) -> Option<Difference> {
    let before = of(store, project, seq, started.clone()).await.ok()?;
    let options = OptionsBlob::of(now).map(OptionsBlob::content).unwrap_or_default();
    let messages: Vec<_> = now.messages.iter().map(|message| MessageBlob::of(message).content()).collect();
    let pairs: [(&str, Value, Value); 4] = [
        ("", json!(before.options), json!(options)),
        ("system", json!(before.system), json!(now.system)),
        ("tools", json!(before.tools), json!(ToolsBlob::of(&now.tools).content())),
        ("messages", json!(before.messages), json!(messages)),
    ];
    pairs.iter().find_map(|(name, before, now)| Some(Difference::of(before, now)?.within(name)))
}
