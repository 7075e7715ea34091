//! A store on Redis from options by their names.

use super::RedisBuilder;
use crate::error::LimitError;
use crate::store::options::Given;
use crate::store::redis::protocol::layout::{Layout, Strategy};
use crate::store::remote::OnError;

impl RedisBuilder {
    /// The same store with these options.
    ///
    /// # Errors
    /// When a file cannot be read.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number within its bounds")]
    pub(crate) fn with(self, options: &Given) -> Result<Self, LimitError> {
        let mut redis = self;
        if let Some(strategy) = options.text("strategy").and_then(|name| name.parse::<Strategy>().ok()) {
            redis = redis.strategy(strategy);
        }
        if let Some(layout) = options.text("layout").and_then(|name| name.parse::<Layout>().ok()) {
            redis = redis.layout(layout);
        }
        if let Some(namespace) = options.namespace() {
            redis = redis.namespace(namespace);
        }
        if let Some(timeout) = options.time("timeout") {
            redis = redis.timeout(timeout);
        }
        if let Some(policy) = options.text("onError").and_then(|name| name.parse::<OnError>().ok()) {
            redis = redis.on_error(policy);
        }
        if let Some(most) = options.max_entries() {
            redis = redis.max_entries(most);
        }
        if let Some(age) = options.time("denyCache") {
            redis = redis.deny_cache(age);
        }
        if let Some(replicas) = options.number("waitReplicas") {
            redis = redis.wait_replicas(replicas as u32);
        }
        if let Some(username) = options.text("username") {
            redis = redis.username(username);
        }
        if let Some(password) = options.text("password") {
            redis = redis.password(password);
        }
        let sentinels = (options.text("sentinelUsername"), options.text("sentinelPassword"));
        if sentinels != (None, None) {
            redis = redis.sentinel_login(sentinels.0, sentinels.1);
        }
        redis.certificates(options)
    }

    fn certificates(self, options: &Given) -> Result<Self, LimitError> {
        let mut redis = self;
        let pem = |name| options.text(name).map(|text| text.as_bytes().to_vec());
        if let Some(authority) = options.file("sslCaCerts")?.or_else(|| pem("tls.ca")) {
            redis = redis.certificate_authority(&authority);
        }
        let identity = match (options.file("sslCertfile")?, options.file("sslKeyfile")?) {
            // One file may hold both.
            (Some(both), None) => Some((both.clone(), both)),
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, _) => pem("tls.cert").zip(pem("tls.key")),
        };
        if let Some((certificate, key)) = identity {
            redis = redis.client_certificate(&certificate, &key);
        }
        if options.text("sslCertReqs") == Some("none") || options.flag("tls.rejectUnauthorized") == Some(false) {
            redis = redis.accept_any_certificate();
        }
        Ok(redis)
    }
}
