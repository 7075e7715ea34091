//! The decision of one request: what its places ask for, and what is tried beside it.

use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use tidegate::http::{self, Asked, Paid, Role};
use tidegate::{Check, LimitInfo, ffi};

use crate::errors::{Answered, Failure};
use crate::numbers::{index, whole};
use crate::registry;
use crate::text::actor_text;

/// The decision of a request before it is made.
#[napi]
pub(crate) struct Plan(http::Plan);

/// A limit in shadow mode that would have denied.
#[napi(object, object_from_js = false)]
pub(crate) struct Shadowed {
    /// The number of its place.
    pub place: f64,
    /// Its key.
    pub key: String,
}

/// The counts of a limit that is tried.
#[napi(object, object_from_js = false)]
pub(crate) struct TrialCount {
    /// The key under which it is counted.
    pub key: String,
    /// The counts, in the order of the engine's documentation.
    pub counts: Vec<f64>,
}

/// Counts of limits that are tried.
#[napi]
pub(crate) struct TrialCounts(http::TrialCounts);

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl TrialCounts {
    /// The counts of limits in shadow mode.
    #[napi(catch_unwind)]
    pub fn shadow(&self) -> Vec<TrialCount> {
        listed(self.0.shadow())
    }

    /// The counts of candidates.
    #[napi(catch_unwind)]
    pub fn candidates(&self) -> Vec<TrialCount> {
        listed(self.0.candidates())
    }
}

fn listed<'a, const N: usize>(counts: impl Iterator<Item = (&'a str, [u64; N])>) -> Vec<TrialCount> {
    let listed = |(key, counts): (&str, [u64; N])| TrialCount {
        key: key.to_owned(),
        counts: counts.iter().map(|count| *count as f64).collect(),
    };
    counts.map(listed).collect()
}

/// No counts.
#[napi]
pub(crate) fn make_trial_counts() -> TrialCounts {
    TrialCounts(http::TrialCounts::new())
}

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Plan {
    /// Of each check of the decision the index of the one that asked for it first, its cost, and 1 where it is not enforced.
    #[napi(catch_unwind)]
    pub fn planned(&self) -> Vec<f64> {
        let planned = |planned: &http::Planned| {
            [planned.index as f64, planned.cost as f64, f64::from(u8::from(planned.observed))]
        };
        self.0.planned().iter().flat_map(planned).collect()
    }

    /// True if something is enforced.
    #[napi(catch_unwind)]
    pub fn enforces(&self) -> bool {
        self.0.enforces()
    }

    /// Counts what is tried, by the fates of the checks of the decision; returns the limits in shadow mode that would
    /// have denied.
    #[napi(catch_unwind)]
    pub fn count(&self, denied: Vec<bool>, counts: &mut TrialCounts) -> Vec<Shadowed> {
        let shadowed = counts.0.note(self.0.trials(|at| denied.get(at).copied().unwrap_or_default()));
        shadowed.into_iter().map(|http::Trial { place, key, .. }| Shadowed { place: place as f64, key }).collect()
    }

    /// The costs that the checks of the decision really have, by whether the charges of each place stay.
    #[napi(catch_unwind)]
    pub fn costs(&self, charged: Vec<bool>) -> Vec<f64> {
        let stays = |place| charged.get(place).copied().unwrap_or(true);
        let costs = self.0.costs(|place| if stays(place) { Paid::AsAsked } else { Paid::Units(0) });
        costs.into_iter().map(|cost| cost as f64).collect()
    }

    /// The milliseconds after which units that the decision holds are free again unless they are renewed, by the fates of
    /// its checks.
    #[napi(catch_unwind)]
    pub fn lease(&self, is_denied: bool, denied: Vec<bool>) -> Option<f64> {
        let lease = self.0.lease(is_denied, |at| denied.get(at).copied().unwrap_or_default());
        lease.map(|lease| lease.as_secs_f64() * 1000.0)
    }
}

/// The entries that decisions about one request have charged.
#[napi]
pub(crate) struct Counted(http::Counted);

/// None.
#[napi]
pub(crate) fn make_counted() -> Counted {
    Counted(http::Counted::default())
}

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Counted {
    /// Notes the enforced checks of a call; returns the key of a limit that an earlier one has charged for the same actor.
    #[napi(catch_unwind)]
    pub fn note(
        &mut self,
        limiter: f64,
        is_denied: bool,
        limits: Vec<f64>,
        actors: Vec<Unknown<'_>>,
        costs: Vec<f64>,
        factors: Vec<f64>,
    ) -> Option<String> {
        let mut info = LimitInfo::default();
        info.blocked = is_denied;
        let noted = with_checks(&limits, &actors, &costs, &factors, |checks| {
            registry::with(|registry| {
                self.0.note(registry.limiters.get(limiter)?.entries_id(), checks, &info).map(str::to_owned)
            })
        });
        noted.ok().flatten()
    }
}

/// True if the units of a limit are held until they are released.
#[napi(catch_unwind)]
pub(crate) fn holds(limit: f64) -> bool {
    registry::with(|registry| registry.limits.get(limit).is_some_and(|limit| Check::new(limit, "").holds()))
}

/// Plans checks by the numbers of their places and roles: 0 is enforced, 1 in shadow mode, 2 a candidate.
#[napi(catch_unwind)]
pub(crate) fn make_plan(
    limits: Vec<f64>,
    actors: Vec<Unknown<'_>>,
    costs: Vec<f64>,
    factors: Vec<f64>,
    places: Vec<f64>,
    roles: Vec<f64>,
) -> Either<Plan, Failure> {
    let asked = places.iter().map(|place| index(*place)).zip(roles.iter().map(|role| role_of(*role)));
    let asked: Vec<_> = asked.collect();
    let made = with_checks(&limits, &actors, &costs, &factors, |checks| {
        let asked = checks.iter().zip(asked).map(|(check, (place, role))| Asked::new(place, *check).role(role));
        http::Plan::new(&asked.collect::<Vec<_>>())
    });
    made.map_or_else(|failure| Either::B(*failure), |plan| Either::A(Plan(plan)))
}

fn role_of(number: f64) -> Role {
    match whole(number) {
        0 => Role::Enforced,
        1 => Role::Shadow,
        _ => Role::Candidate,
    }
}

/// Calls with the checks of these limits, actors, costs and factors.
pub(super) fn with_checks<T>(
    limits: &[f64],
    actors: &[Unknown<'_>],
    costs: &[f64],
    factors: &[f64],
    call: impl FnOnce(&[Check<'_>]) -> T,
) -> Answered<T> {
    registry::with(|registry| {
        let actors = limits.iter().zip(actors).map(|(limit, actor)| actor_text(actor, || registry::key(*limit)));
        let actors = actors.collect::<Answered<Vec<_>>>()?;
        let mut checks = Vec::with_capacity(limits.len());
        for (((limit, actor), cost), factor) in limits.iter().zip(&actors).zip(costs).zip(factors) {
            let limit = registry.limits.get(*limit).ok_or_else(|| Failure::internal("no such limit"))?;
            checks.push(Check::new(limit, actor).cost(ffi::cost(limit.key(), *cost)?).factor(*factor));
        }
        Ok(call(&checks))
    })
}
