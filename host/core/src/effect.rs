//! Effect classes: what repeating a call does to the world (journal.md R5).

use serde::{Deserialize, Serialize};

use crate::grant::Grants;

/// What repeating a call does to the world; from the safest to the least safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only reads: performed again after a crash.
    Pure,
    /// Safe to repeat with the same key: performed again with it.
    Idempotent,
    /// May not be repeated: after a crash its outcome is `unknown`. What is undeclared is this.
    Once,
}

impl Effect {
    /// The word it is written as.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Pure => "pure",
            Effect::Idempotent => "idempotent",
            Effect::Once => "once",
        }
    }

    /// The class in force: what the author declares, capped by what the component may touch. A
    /// component that can write is never `pure`, whatever it declares.
    pub fn capped_by(self, grants: &Grants) -> Effect {
        if grants.can_write() { self.max(Effect::Idempotent) } else { self }
    }

    /// Whether a start without an end may be performed again.
    pub fn is_repeatable(self) -> bool {
        self != Effect::Once
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::{Access, FsGrant, FsSource, HttpGrant, Scheme, SecretGrant};

    fn mounted(access: Access) -> Grants {
        let fs = vec![FsGrant { mount: "/workspace".into(), source: FsSource::Workspace, access }];
        Grants { fs, ..Grants::default() }
    }

    #[test]
    fn who_can_write_is_never_pure() {
        assert_eq!(Effect::Pure.capped_by(&Grants::default()), Effect::Pure);
        assert_eq!(Effect::Pure.capped_by(&mounted(Access::ReadOnly)), Effect::Pure);
        assert_eq!(Effect::Pure.capped_by(&mounted(Access::ReadWrite)), Effect::Idempotent);
        assert_eq!(Effect::Once.capped_by(&mounted(Access::ReadOnly)), Effect::Once);
    }

    #[test]
    fn who_can_post_or_sends_a_secret_is_never_pure() {
        let reaching = |method: &str, secret: bool| Grants {
            http: vec![HttpGrant {
                scheme: Scheme::Https,
                host: "api.example.com".into(),
                methods: vec!["GET".into(), method.into()],
                honours_key: false,
                secret: secret.then(|| SecretGrant {
                    config: "key".into(),
                    header: "Authorization".into(),
                    format: "{}".into(),
                }),
            }],
            ..Grants::default()
        };
        assert_eq!(Effect::Pure.capped_by(&reaching("HEAD", false)), Effect::Pure);
        assert_eq!(Effect::Pure.capped_by(&reaching("POST", false)), Effect::Idempotent);
        assert_eq!(Effect::Pure.capped_by(&reaching("HEAD", true)), Effect::Idempotent);
    }

    #[test]
    fn only_once_may_not_be_repeated() {
        assert!(Effect::Pure.is_repeatable() && Effect::Idempotent.is_repeatable());
        assert!(!Effect::Once.is_repeatable());
    }
}
