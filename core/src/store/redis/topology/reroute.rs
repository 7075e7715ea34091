//! The way from the connection to one server to the other servers of its store.

use crate::failure::Failure;
use crate::store::redis::connection::message::Message;

/// The other servers, as the connection to one of them sees them.
pub(crate) trait Reroute: Send + Sync {
    /// True where there are others, which may be in charge of what one server was.
    fn has_others(&self) -> bool;

    /// Uses the servers as a cluster, because one of them is a node of it; false where they cannot be.
    fn use_cluster(&self) -> bool;

    /// Asks for a new map: something is not where it was.
    fn refresh(&self);

    /// Sends a job to the server that another one named.
    fn redirect(&self, to: &(String, u16), message: Message);

    /// Sends a job to the server that is in charge of it now.
    fn resend(&self, message: Message);
}

/// A store of one server.
pub(super) struct NoOthers;

impl Reroute for NoOthers {
    fn has_others(&self) -> bool {
        false
    }

    fn use_cluster(&self) -> bool {
        false
    }

    fn refresh(&self) {}

    fn redirect(&self, _: &(String, u16), message: Message) {
        message.job.finish(Err(Failure::Other));
    }

    fn resend(&self, message: Message) {
        message.job.finish(Err(Failure::Moving));
    }
}
