//! Doors for fuzzers: what authors write. Manifests, locks, packed bundles, components, scripts, and the words in them.

use std::collections::BTreeMap;

use rewake_core::fact::{HookEvent, PluginKind, TriedOn};
use tar::{Builder, EntryType, Header};

use rewake_toml::{Error, Invalid};
use rewake_untrusted::files::{SHOWN_BYTES_MAX, shown, told};

use crate::Script;
use crate::names::file_path;
use crate::{
    Bundle, DataFiles, Lock, Manifest, Matcher, Name, ToolPick, Use, component_name, duration, inspect,
    size_bytes, unpack,
};

/// A file's name, as errors show it.
const FILE: &str = "some.file";

/// `bundle.toml`.
pub fn manifest(text: &str) {
    match Manifest::parse(text, FILE) {
        Ok(manifest) => {
            assert_eq!(manifest.source().text(), text);
            assert_eq!(manifest.name.as_str().parse().as_ref(), Ok(&manifest.name));
            for declared in &manifest.components {
                assert_eq!(component_name(declared.name.get_ref()).as_ref(), Ok(declared.name.get_ref()));
                assert_eq!(declared.on.is_empty(), declared.kind != PluginKind::Hook, "{declared:?}");
                assert_eq!(file_path(declared.source.get_ref()).as_ref(), Ok(declared.source.get_ref()));
            }
        }
        Err(error) => told(&error, text),
    }
}

/// `bundle.lock`.
pub fn lock(text: &str) {
    match Lock::parse(text, FILE) {
        Ok(lock) => {
            let written = lock.text();
            assert_eq!(Lock::parse(&written, FILE).as_ref(), Ok(&lock), "it is read as it was written");
            let harmful = written.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(harmful, None, "{written:?}");
        }
        Err(error) => told(&error, text),
    }
}

/// A packed bundle.
pub fn packed(bytes: &[u8]) {
    let files = match unpack(bytes) {
        Ok(files) => files,
        Err(Invalid { message, help }) => return shown(&Error::whole_file(FILE, message, help).to_string()),
    };
    let size: usize = files.values().map(|content| content.len()).sum();
    assert!(size <= bytes.len(), "more comes out than is in it");
    let mut tar = Builder::new(Vec::new());
    for (path, content) in &files {
        assert!(!path.is_empty() && path.split('/').all(|part| !["", ".", ".."].contains(&part)), "{path:?}");
        let mut header = Header::new_ustar();
        if header.set_path(path).is_err() {
            return;
        }
        header.set_entry_type(EntryType::Regular);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content.as_ref()).expect("it is written to memory");
    }
    let again = tar.into_inner().expect("it is written to memory");
    assert_eq!(unpack(&again).as_ref(), Ok(&files), "it is read as it was written");
    match Bundle::from_kept(FILE, files.clone()) {
        Ok(bundle) => {
            let kept: BTreeMap<&str, &[u8]> = bundle.files().collect();
            assert_eq!(kept.len(), files.len(), "a bundle is all that came with it");
            assert!(kept.iter().all(|(path, content)| files[*path] == *content));
        }
        Err(error) => shown(&error.to_string()),
    }
}

/// A component's bytes.
pub fn component(bytes: &[u8]) {
    for kind in PluginKind::ALL {
        match inspect(bytes, kind) {
            Ok(found) => assert!(found.imports.is_sorted() && found.exports.is_sorted()),
            Err(invalid) => refused(&invalid),
        }
    }
}

/// A script of the scripted model.
pub fn script(text: &str) {
    match Script::parse(text, FILE) {
        Ok(script) => assert!(script.reply(0).is_some(), "a script has a reply"),
        Err(error) => told(&error, text),
    }
}

/// A hook's matcher, and what it is tried on.
pub fn matcher(text: &str) {
    for event in HookEvent::ALL {
        match Matcher::parse(event, text) {
            Ok(matcher) => {
                assert_eq!(matcher.as_str(), text);
                assert_eq!(Matcher::parse(event, matcher.as_str()), Ok(matcher.clone()));
                if let (TriedOn::Words(words), Ok(pinned)) =
                    (event.tried_on(), Matcher::parse(event, &matcher.pinned(event)))
                {
                    for word in words {
                        assert_eq!(
                            pinned.matches(word, None, &[]),
                            matcher.matches(word, None, &[]),
                            "{word}"
                        );
                    }
                }
                for name in matcher.names() {
                    assert!(matcher.matches(name, None, &[]), "{name}");
                }
            }
            Err(invalid) => refused(&invalid),
        }
    }
}

/// The words of manifests and rules.
pub fn names(text: &str) {
    let errors = [
        text.parse::<Name>().map(|name| assert_eq!(name.as_str(), text)).err(),
        text.parse::<Use>().err(),
        text.parse::<DataFiles>().err(),
        ToolPick::parse(text).err(),
        component_name(text).map(|name| assert_eq!(name, text)).err(),
        size_bytes(text).map(|bytes| assert!(bytes > 0)).err(),
        duration(text).map(|time| assert!(!time.is_zero())).err(),
    ];
    errors.iter().flatten().for_each(refused);
}

fn refused(invalid: &Invalid) {
    assert!(!invalid.message.is_empty());
    assert!(invalid.to_string().len() < SHOWN_BYTES_MAX, "{} bytes are shown", invalid.to_string().len());
}
