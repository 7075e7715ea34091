//! The place of the counts by limit and by actor.

#[cfg(feature = "remote")]
use std::sync::{Arc, OnceLock};

#[cfg(feature = "remote")]
use super::meter::Meter;

/// Counts by limit and by actor, which a limiter shares with its clones, from the first time that they are asked for.
#[cfg(feature = "remote")]
pub(super) type Metering = Arc<OnceLock<Meter>>;

/// Without the feature nobody can ask.
#[cfg(not(feature = "remote"))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Metering(());
