//! Effect classes: what repeating a call does to the world (journal.md R5).

pub use rewake_wire::Effect;

use crate::grant::Grants;

/// The class in force: what the author declares, capped by what the component may touch. A component that can write
/// is never `pure`, whatever it declares.
pub fn capped(declared: Effect, grants: &Grants) -> Effect {
    if grants.can_write() { declared.max(Effect::Idempotent) } else { declared }
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
        assert_eq!(capped(Effect::Pure, &Grants::default()), Effect::Pure);
        assert_eq!(capped(Effect::Pure, &mounted(Access::ReadOnly)), Effect::Pure);
        assert_eq!(capped(Effect::Pure, &mounted(Access::ReadWrite)), Effect::Idempotent);
        assert_eq!(capped(Effect::Once, &mounted(Access::ReadOnly)), Effect::Once);
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
        assert_eq!(capped(Effect::Pure, &reaching("HEAD", false)), Effect::Pure);
        assert_eq!(capped(Effect::Pure, &reaching("POST", false)), Effect::Idempotent);
        assert_eq!(capped(Effect::Pure, &reaching("HEAD", true)), Effect::Idempotent);
    }
}
