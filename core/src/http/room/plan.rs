//! One decision for each request: the checks of all places that have limits for it, and what its answer means to each.

use std::time::Duration;

use crate::check::Check;
use crate::http::combine::combined;
use crate::info::LimitInfo;

/// The way in which a limit takes part in the decision of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It admits or denies.
    Enforced,
    /// It is decided beside the others, and counted.
    Shadow,
    /// It might replace the enforced limits of its place: decided beside them, and counted where the two differ.
    Candidate,
}

/// One check that a place asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The number of the place: an application, a router, a route.
    pub place: usize,
    /// The way in which it takes part.
    pub role: Role,
    /// The limit, the actor, and the cost.
    pub check: Check<'a>,
}

impl<'a> Asked<'a> {
    /// A check that is enforced.
    #[must_use]
    pub const fn new(place: usize, check: Check<'a>) -> Self {
        Self { place, role: Role::Enforced, check }
    }

    /// The same check in another role.
    #[must_use]
    pub const fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }
}

/// One check of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Planned {
    /// The index of the check that asked for it first.
    pub index: usize,
    /// The largest cost that is asked for.
    pub cost: u64,
    /// It is decided beside the others, and never enforced.
    pub observed: bool,
}

/// The fate of a charge, as its place says it after the response is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Paid {
    /// Each check costs what it was charged.
    #[default]
    AsAsked,
    /// Each check costs this; 0 gives all of it back.
    Units(u64),
}

/// The decision of a request before it is made: each limit of an actor once, whichever places ask for it.
///
/// What several places ask for is charged once, the largest of the costs. A check in shadow mode that is enforced as well
/// is charged as that one alone; one that could never admit its cost is not asked for, and counts as denied.
///
/// Units of limits of type concurrency are held until the response has ended: as long as [`lease`](Self::lease) says that
/// there are any, the receipt is renewed, every third of that time. Its settlement for these [`costs`](Self::costs)
/// releases them.
///
/// ```
/// use tidegate::http::{Asked, Plan};
/// use tidegate::{Call, Check, Limit, Limiter, Memory};
///
/// let (api, login) = (Limit::bucket("api", 100).build()?, Limit::bucket("login", 5).build()?);
/// let asked = [
///     Asked::new(0, Check::new(&api, "ada")),
///     Asked::new(1, Check::new(&login, "ada")),
///     Asked::new(1, Check::new(&api, "ada").cost(3)),
/// ];
/// let plan = Plan::new(&asked);
/// let checks = plan.checks(&asked);
/// assert_eq!(checks.iter().map(|check| (check.key(), check.units())).collect::<Vec<_>>(), [("api", 3), ("login", 1)]);
///
/// let info = Limiter::new(Memory::new()).decide_sync(&checks, Call::Limit)?;
/// assert_eq!(plan.deciding(&info), Some(1));
/// assert_eq!(plan.answer(&info, 0).map(|info| info.remaining), Some(97));
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) asked: Vec<AskedCheck>,
    planned: Vec<Planned>,
    /// Of those that hold units: the index, and the time after which these are free again unless they are renewed.
    leases: Vec<(usize, Duration)>,
    /// The keys of all checks, where some are tried.
    pub(super) keys: Vec<String>,
}

/// One check that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedCheck {
    pub(super) place: usize,
    pub(super) role: Role,
    cost: u64,
    /// Its index among those that are planned; none where it could never be admitted.
    pub(super) at: Option<usize>,
}

impl Plan {
    /// The plan of everything that the places of a request ask for.
    #[must_use]
    pub fn new(asked: &[Asked<'_>]) -> Self {
        let (mut indices, mut checks) = (Vec::with_capacity(asked.len()), Vec::with_capacity(asked.len()));
        for (index, asked) in asked.iter().enumerate() {
            match asked.role {
                Role::Enforced => checks.push(asked.check),
                _ if never_fits(&asked.check) => continue,
                Role::Shadow | Role::Candidate => checks.push(asked.check.observed()),
            }
            indices.push(index);
        }
        let combined = combined(&checks);
        let kept = combined.kept.iter().enumerate();
        let leases = kept.filter_map(|(at, (_, check))| Some((at, lease_of(check)?))).collect();
        let planned = |(index, check): (usize, Check<'_>)| Planned {
            index: indices[index],
            cost: check.units(),
            observed: check.observed,
        };
        let mut parts: Vec<AskedCheck> = asked
            .iter()
            .map(|Asked { place, role, check }| AskedCheck {
                place: *place,
                role: *role,
                cost: check.units(),
                at: None,
            })
            .collect();
        for (index, at) in indices.iter().zip(combined.places) {
            parts[*index].at = Some(at);
        }
        let tries = asked.iter().any(|asked| asked.role != Role::Enforced);
        let keys = if tries { asked.iter().map(|asked| asked.check.key().to_owned()).collect() } else { Vec::new() };
        Self { asked: parts, planned: combined.kept.into_iter().map(planned).collect(), leases, keys }
    }

    /// The checks of the decision, each by the first that asked for it.
    #[must_use]
    pub fn planned(&self) -> &[Planned] {
        &self.planned
    }

    /// The same as they are passed to a limiter; `asked` are those that the plan was made of.
    #[must_use]
    pub fn checks<'a>(&self, asked: &[Asked<'a>]) -> Vec<Check<'a>> {
        let check = |planned: &Planned| {
            let check = asked.get(planned.index)?.check.cost(planned.cost);
            Some(if planned.observed { check.observed() } else { check })
        };
        self.planned.iter().filter_map(check).collect()
    }

    /// True if something is enforced. Where nothing is, a store that fails denies nobody, and fails no request.
    #[must_use]
    pub fn enforces(&self) -> bool {
        self.asked.iter().any(|part| part.role == Role::Enforced)
    }

    /// The place whose limit decides; none where nothing is enforced.
    #[must_use]
    pub fn deciding(&self, info: &LimitInfo) -> Option<usize> {
        self.deciding_at(info.checks().get(info.binding())?.check_index())
    }

    /// The place that asked for the planned check at this index, and enforces it.
    #[must_use]
    pub fn deciding_at(&self, index: usize) -> Option<usize> {
        let part = self.asked.iter().find(|part| part.at == Some(index) && part.role == Role::Enforced)?;
        Some(part.place)
    }

    /// The indices among the planned checks of those that a place enforces, each once.
    #[must_use]
    pub fn enforced_by(&self, place: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for part in self.asked.iter().filter(|part| part.place == place && part.role == Role::Enforced) {
            found.extend(part.at.filter(|at| !found.contains(at)));
        }
        found
    }

    /// The answer of the limits that a place enforces; none where it enforces nothing.
    #[must_use]
    pub fn answer(&self, info: &LimitInfo, place: usize) -> Option<LimitInfo> {
        let own = self.enforced_by(place);
        let answers: Vec<LimitInfo> =
            info.checks().iter().filter(|info| own.contains(&info.check_index())).cloned().collect();
        (!answers.is_empty()).then(|| LimitInfo::merged(answers))
    }

    /// The time after which units that the decision holds are free again unless they are renewed: the shortest lease;
    /// none where it holds nothing.
    ///
    /// A denied request holds nothing but what is decided beside it. `is_blocked` says of each planned check that it
    /// denied, or would have.
    pub fn lease(&self, is_denied: bool, is_blocked: impl Fn(usize) -> bool) -> Option<Duration> {
        let holds = |at: usize| if self.planned[at].observed { !is_blocked(at) } else { !is_denied };
        self.leases.iter().filter(|(at, _)| holds(*at)).map(|(_, lease)| *lease).min()
    }

    /// The costs that the planned checks really have, in their order, by what each place says of its own.
    ///
    /// One that several places asked for has the largest of theirs, of those that enforce it if any does. Units that are
    /// held cost nothing at the end.
    pub fn costs(&self, paid: impl Fn(usize) -> Paid) -> Vec<u64> {
        let mut costs = vec![0; self.planned.len()];
        for part in &self.asked {
            let Some(at) = part.at.filter(|at| part.role == Role::Enforced || self.planned[*at].observed) else {
                continue;
            };
            costs[at] = costs[at].max(match paid(part.place) {
                Paid::AsAsked => part.cost,
                Paid::Units(units) => units,
            });
        }
        for (at, _) in &self.leases {
            costs[*at] = 0;
        }
        costs
    }
}

/// The lease of the units that a check holds where it is admitted.
fn lease_of(check: &Check<'_>) -> Option<Duration> {
    check.limit.lease().filter(|_| check.cost > 0 && check.factor > 0.0)
}

/// A check that would be an error, and so one of all others that are decided with it.
fn never_fits(check: &Check<'_>) -> bool {
    match check.limit.rules(check.factor) {
        Ok(rules) => rules.iter().any(|rule| check.cost > rule.largest_cost()),
        // A factor that is none is an error for all of them.
        Err(_) => check.factor.is_finite() && check.factor >= 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Limit, Limiter, Memory};

    fn limits() -> [Limit; 3] {
        [("one", 9), ("two", 2), ("tried", 1)].map(|(key, size)| Limit::bucket(key, size).build().expect("a bucket"))
    }

    fn decide(limiter: &Limiter, asked: &[Asked<'_>]) -> (Plan, LimitInfo) {
        let plan = Plan::new(asked);
        let info = limiter.decide_sync_at(&plan.checks(asked), Call::Limit, 1_750_000_000_000_000).expect("an answer");
        (plan, info)
    }

    fn trials(plan: &Plan, info: &LimitInfo) -> Vec<(String, Option<bool>, bool)> {
        let denies = |at| info.checks().iter().any(|info| info.check_index() == at && info.blocked);
        plan.trials(denies).into_iter().map(|trial| (trial.key, trial.live, trial.denied)).collect()
    }

    #[test]
    fn each_place_has_its_own_answer_and_the_first_that_asks_for_the_deciding_check_decides() {
        let [one, two, _] = limits();
        let limiter = Limiter::new(Memory::new());
        let of = |place, limit| Asked::new(place, Check::new(limit, "ada"));
        let asked = [of(0, &one), of(1, &two), of(2, &two), of(3, &one).role(Role::Shadow)];
        for left in [1, 0] {
            let (plan, info) = decide(&limiter, &asked);
            assert_eq!((plan.planned().len(), info.remaining), (2, left));
            assert_eq!(plan.deciding(&info), Some(1));
            assert_eq!(
                [0, 1, 2, 3].map(|place| plan.answer(&info, place).map(|info| info.quota)),
                [Some(9), Some(2), Some(2), None]
            );
        }
        let (plan, info) = decide(&limiter, &asked);
        assert!(info.blocked && plan.answer(&info, 1).is_some_and(|info| info.blocked));
        assert!(plan.answer(&info, 0).is_some_and(|info| !info.blocked && info.remaining == 7), "nothing was charged");
        assert_eq!(trials(&plan, &info), [("one".to_owned(), None, false)]);
    }

    #[test]
    fn what_is_tried_is_counted_by_place_and_what_could_never_fit_counts_as_denied() {
        let [one, two, tried] = limits();
        let limiter = Limiter::new(Memory::new());
        let asked = [
            Asked::new(0, Check::new(&one, "ada").cost(2)),
            Asked::new(0, Check::new(&tried, "ada").cost(2)).role(Role::Candidate),
            Asked::new(1, Check::new(&two, "ada")),
            Asked::new(1, Check::new(&tried, "ada")).role(Role::Candidate),
            Asked::new(2, Check::new(&tried, "bob")).role(Role::Shadow),
        ];
        let (plan, info) = decide(&limiter, &asked);
        assert_eq!(plan.planned().iter().map(|planned| planned.index).collect::<Vec<_>>(), [0, 2, 3, 4]);
        let counts =
            |each: [(&str, Option<bool>, bool); 3]| each.map(|(key, live, denied)| (key.to_owned(), live, denied));
        let first = counts([("tried", None, false), ("one", Some(false), true), ("two", Some(false), false)]);
        assert_eq!(trials(&plan, &info), first);
        let (plan, info) = decide(&limiter, &asked);
        let second = counts([("tried", None, true), ("one", Some(false), true), ("two", Some(false), true)]);
        assert_eq!(trials(&plan, &info), second);
        let alone = Plan::new(&[Asked::new(0, Check::new(&tried, "ada").cost(2)).role(Role::Shadow)]);
        assert!(alone.planned().is_empty() && !alone.enforces());
        assert_eq!(alone.trials(|_| false).len(), 1);
    }

    #[test]
    fn a_charge_of_several_places_ends_as_the_largest_of_what_they_say() {
        let [one, two, tried] = limits();
        let asked = [
            Asked::new(0, Check::new(&one, "ada").cost(5)),
            Asked::new(1, Check::new(&one, "ada").cost(3)),
            Asked::new(1, Check::new(&two, "ada")),
            Asked::new(1, Check::new(&tried, "ada")).role(Role::Candidate),
            // Of what is enforced as well, no more than that is charged.
            Asked::new(2, Check::new(&two, "ada").cost(2)).role(Role::Shadow),
        ];
        let plan = Plan::new(&asked);
        assert_eq!(plan.costs(|_| Paid::AsAsked), [5, 1, 1]);
        let of_first = |units| plan.costs(move |place| if place == 0 { Paid::Units(units) } else { Paid::AsAsked });
        assert_eq!((of_first(0), of_first(7)), (vec![3, 1, 1], vec![7, 1, 1]));
        assert_eq!(plan.costs(|_| Paid::Units(0)), [0, 0, 0]);
    }

    #[test]
    fn what_is_held_is_known_by_the_answer_and_costs_nothing_at_the_end() {
        let held =
            |key, max, seconds| Limit::concurrency(key, max, Duration::from_secs(seconds)).build().expect("a limit");
        let (long, short, [one, ..]) = (held("long", 2, 60), held("short", 1, 9), limits());
        let limiter = Limiter::new(Memory::new());
        let asked = [
            Asked::new(0, Check::new(&one, "ada").cost(3)),
            Asked::new(0, Check::new(&long, "ada")),
            Asked::new(1, Check::new(&short, "ada")).role(Role::Shadow),
        ];
        let lease = |plan: &Plan, info: &LimitInfo| {
            let blocks = |at| info.checks().iter().any(|info| info.check_index() == at && info.blocked);
            plan.lease(info.blocked, blocks).map(|lease| lease.as_secs())
        };
        let leases = [Some(9), Some(60), None].map(|expected| {
            let (plan, info) = decide(&limiter, &asked);
            assert_eq!(lease(&plan, &info), expected);
            limiter.receipt(&plan.checks(&asked), Call::Limit, &info)
        });
        let plan = Plan::new(&asked);
        assert_eq!(plan.costs(|_| Paid::AsAsked), [3, 0, 0]);
        assert_eq!(plan.costs(|_| Paid::Units(7)), [7, 0, 0]);
        for receipt in &leases {
            receipt.settle_sync_at(&plan.costs(|_| Paid::AsAsked), 1_750_000_000_000_000).expect("settled");
        }
        let left = |limit| limiter.decide_sync_at(&[Check::new(limit, "ada")], Call::Peek, 1_750_000_000_000_000);
        assert_eq!([&one, &long, &short].map(|limit| left(limit).expect("an answer").remaining), [3, 2, 1]);
        let nothing =
            [Asked::new(0, Check::new(&long, "ada").cost(0)), Asked::new(0, Check::new(&short, "b").factor(0.0))];
        assert_eq!(Plan::new(&nothing).lease(false, |_| false), None);
    }
}
