//! The replies of the store's thread to JavaScript.

use tidegate::acquire::AcquireHandle;
use tidegate::explain::CallExplanation;
use tidegate::remote::{Event, Health};
use tidegate::{Error, LimitInfo};

use crate::buffer::answer_length;

/// Something to hand over, and the number that it is for: a call's, or for an event a limiter's.
pub(crate) struct Reply {
    pub(crate) to: f64,
    pub(crate) content: Content,
}

/// The content of a reply.
pub(crate) enum Content {
    Answer(Result<LimitInfo, Error>),
    /// The answer to an acquire.
    Acquired(Result<LimitInfo, Error>, AcquireHandle),
    Explained(Result<CallExplanation, Error>),
    /// The answer to a ping or a clear.
    Upkeep(Result<Upkeep, Error>),
    Event(Event),
}

/// The answer to a ping or a clear.
pub(crate) enum Upkeep {
    Health(Health),
    /// The number of keys that were removed.
    Removed(u64),
}

impl Reply {
    pub(crate) fn is_event(&self) -> bool {
        matches!(self.content, Content::Event(_))
    }

    /// Gives back what an acquire charged whose answer cannot be handed over.
    pub(crate) fn take_back(self) {
        if let Content::Acquired(_, handle) = &self.content {
            handle.cancel();
        }
    }

    /// The answer in a reply that could not be handed over.
    pub(crate) fn answer(self) -> Result<LimitInfo, Error> {
        match self.content {
            Content::Answer(answer) | Content::Acquired(answer, _) => answer,
            Content::Explained(explanation) => explanation.map(|explanation| explanation.info),
            Content::Upkeep(found) => found.map(|_| LimitInfo::unlimited()),
            Content::Event(_) => Ok(LimitInfo::unlimited()),
        }
    }

    fn info(&self) -> Option<&LimitInfo> {
        match &self.content {
            Content::Answer(Ok(info)) | Content::Acquired(Ok(info), _) => Some(info),
            Content::Explained(Ok(explanation)) => Some(&explanation.info),
            _ => None,
        }
    }

    /// The length in numbers, its head left out.
    pub(crate) fn length(&self) -> usize {
        self.info().map_or(0, answer_length)
    }
}
