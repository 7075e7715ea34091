//! The place of the counts by limit and by actor.

#[cfg(feature = "remote")]
use std::sync::{Arc, OnceLock};

#[cfg(feature = "remote")]
use super::meter::Meter;
#[cfg(feature = "remote")]
use crate::{
    Error,
    check::{Check, OwnedCheck},
    decision::Call,
    info::LimitInfo,
};

/// Counts by limit and by actor, which a limiter shares with its clones, from the first time that they are asked for.
#[cfg(feature = "remote")]
#[derive(Clone, Debug, Default)]
pub(super) struct Metering {
    meter: Arc<OnceLock<Meter>>,
    /// No two threads make calls at the same time.
    in_turn: bool,
}

#[cfg(feature = "remote")]
impl Metering {
    #[inline]
    pub(super) fn get(&self) -> Option<&Meter> {
        self.meter.get()
    }

    /// The same; whoever asks for it turns it on.
    pub(super) fn on(&self) -> &Meter {
        self.meter.get_or_init(|| Meter::new(self.in_turn))
    }

    pub(super) fn in_turn(self) -> Self {
        Self { in_turn: true, ..self }
    }
}

/// The checks of a call under way, to be counted when it is answered.
#[cfg(feature = "remote")]
pub(super) struct Underway {
    meter: Metering,
    checks: Vec<OwnedCheck>,
    call: Call,
}

#[cfg(feature = "remote")]
impl Underway {
    pub(super) fn new(meter: Metering, checks: &[Check<'_>], call: Call) -> Self {
        Self { meter, checks: checks.iter().map(OwnedCheck::from).collect(), call }
    }

    pub(super) fn ended(&self, answer: &Result<LimitInfo, Error>) {
        if let Some(meter) = self.meter.get() {
            let checks: Vec<_> = self.checks.iter().map(OwnedCheck::check).collect();
            meter.count(&checks, self.call, answer.as_ref());
        }
    }
}

/// Without the feature nobody can ask.
#[cfg(not(feature = "remote"))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Metering(());

#[cfg(not(feature = "remote"))]
impl Metering {
    pub(super) const fn in_turn(self) -> Self {
        self
    }
}
