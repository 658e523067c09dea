//! `rewake workspace import`: files for a session, brought in between two turns. Knows the words; how it is done is
//! the host's.

use std::path::PathBuf;

use rewake_core::ids::SessionId;
use rewake_runtime::Import;
use rewake_wire::Sender;

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::journal::Standing;
use crate::out::note;
use crate::sending::operator;

/// Brings a folder's files into a session's workspace.
pub(super) async fn import(
    places: &Places,
    id: &SessionId,
    from: PathBuf,
    replaces: bool,
) -> Result<Outcome, Failure> {
    // Says so if there is no such session, and makes no data folder for it.
    Standing::whole(places.read_to_write().await?, id).await?;
    let opened = places.host(places.write().await?)?;
    let import = Import { from, replaces, by: Sender::Operator(operator()) };
    let imported = opened.host.import(id, &import).await;
    opened.close().await;
    let imported = imported?;
    let files = describe::count(imported.files, "file or folder", "files and folders");
    let how = if imported.replaced { ", and it holds nothing else now" } else { "" };
    note(&format!("{files} ({}) brought into the workspace of {id}{how}", describe::bytes(imported.bytes)));
    if imported.left_out > 0 {
        let left_out = describe::count(imported.left_out, "thing was", "things were");
        note(&format!("{left_out} left out: links that lead out of the folder, sockets and the like"));
    }
    note(&format!("resume it with `{}`", places.resume(id)));
    Ok(Outcome::Done)
}
