//! Lists of what is shared, in a snapshot: as the things themselves. (Serde's own way is a feature that would build
//! every crate on serde again.)

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<T: Serialize, S: Serializer>(
    list: &[Arc<T>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter().map(AsRef::<T>::as_ref))
}

pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Arc<T>>, D::Error> {
    let list = Vec::<T>::deserialize(deserializer)?;
    Ok(list.into_iter().map(Arc::new).collect())
}
