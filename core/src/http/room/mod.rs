//! The rules that all frameworks of all languages share: names of actors and of limits, requests that cannot be
//! decided, denials to be told.

mod actors;
mod denials;
mod names;
mod request_error;

pub use actors::{client_of, key_of};
pub use denials::Denials;
pub use names::{APP, Names, Syntax, route_name, template};
pub use request_error::RequestError;

pub(crate) use actors::actor_of;
