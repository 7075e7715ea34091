//! The rules that all frameworks of all languages share: names of actors and of limits, the one decision of a request,
//! requests that cannot be decided, denials to be told.

mod actors;
mod counted;
mod denials;
mod names;
mod plan;
mod request_error;
mod trials;

pub use actors::{client_of, key_of, key_of_number};
pub use counted::Counted;
pub use denials::Denials;
pub use names::{APP, CANDIDATE, Names, Syntax, route_name, template};
pub use plan::{Asked, Paid, Plan, Planned, Role};
pub use request_error::RequestError;
pub use trials::{Trial, TrialCounts};

pub(crate) use actors::actor_of;
