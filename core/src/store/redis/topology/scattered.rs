//! Decisions whose entries fall into several slots of a cluster, which no script call can reach together.
//!
//! First every slot is asked whether its checks fit, or can be charged at all; a denial or an error ends there, and
//! nothing was charged. Then every slot charges its own checks. If one denies after all, because another process came in
//! between, the others give back exactly what they charged. A process that dies in between leaves its charges, which
//! drain like any other charge: at most the cost of that one decision, for at most the time that it takes to drain. A
//! renewal is decided likewise.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::time::sleep_until;

use super::Topology;
use super::share::{Share, ShareReply, shares_of};
use crate::decision::Verb;
use crate::failure::Failure;
use crate::info::LimitInfo;
use crate::store::remote::{Answer, Infos, Job, Part, Reply, Request};

/// Makes such a decision, and finishes its job.
pub(crate) async fn decide(topology: Arc<Topology>, job: Arc<Job>) {
    let mut decided = pin!(run(&topology, &job));
    let answer = tokio::select! {
        answer = &mut decided => answer,
        () = sleep_until(job.deadline) => {
            job.fail(Failure::Timeout);
            // What some slots have charged is given back once the others are known to have charged nothing.
            decided.await
        }
    };
    match answer {
        Ok(reply) => {
            let undone = job.reply(reply).iter().flat_map(shares_of).collect::<Vec<_>>();
            for share in undone {
                forget(&topology, share.request);
            }
        }
        Err(failure) => drop(job.finish(Err(failure))),
    }
}

async fn run(topology: &Arc<Topology>, job: &Arc<Job>) -> Answer {
    let Some(each) = job.request.apart() else { return run_one(topology, &job.request, job).await };
    let mut replies = Vec::with_capacity(each.len());
    for (members, request) in each {
        match run_one(topology, &request, job).await {
            Ok(reply @ Reply::Impossible(..))
                if members.iter().all(|index| job.request.parts[*index].observed.is_none()) =>
            {
                return Ok(job.request.gathered(vec![(members, reply)], None));
            }
            Ok(reply) => replies.push((members, request, reply)),
            Err(failure) => {
                for undo in replies.iter().filter_map(|(_, request, reply)| request.undo_of(reply)) {
                    for share in shares_of(&undo) {
                        forget(topology, share.request);
                    }
                }
                return Err(failure);
            }
        }
    }
    Ok(job.request.gathered(replies.into_iter().map(|(members, _, reply)| (members, reply)).collect(), None))
}

/// One decision of those that a request is made of.
async fn run_one(topology: &Arc<Topology>, request: &Request, job: &Arc<Job>) -> Answer {
    let shares = shares_of(request);
    let verb = request.verb;
    if let Verb::Undo { .. } = verb {
        return settle(topology, request, &shares, job).await;
    }
    if verb == Verb::Charge {
        return match charge(topology, &shares, job).await {
            Ok(each) => gather(request, &shares, each),
            Err(answer) => answer,
        };
    }
    if let Verb::Renew { .. } = verb
        && shares.len() > 1
    {
        return renew(topology, request, &shares, job).await;
    }
    if !matches!(verb, Verb::Limit | Verb::Acquire { .. }) {
        let each = all(topology, shares.iter().map(|share| share.request.clone()), job).await;
        return gather(request, &shares, each);
    }
    let looked = all(topology, shares.iter().map(|share| share.request.with(Verb::Peek)), job).await;
    // What does not fit yet is to wait, and a look does not say whether it can wait for so long.
    let waits = matches!(verb, Verb::Acquire { .. }) && looked.iter().flatten().any(ShareReply::is_denied);
    let would_deny = |(share, reply): (&Share, &Result<ShareReply, Answer>)| {
        reply.as_ref().map_or(Some(false), |reply| reply.would_deny(verb, share))
    };
    let known: Option<Vec<bool>> = shares.iter().zip(&looked).map(would_deny).collect();
    let denied = known.is_some_and(|each| each.contains(&true));
    if denied || looked.iter().any(Result::is_err) {
        let reply = if denied { deny(topology, &shares, looked, job).await } else { looked };
        return gather(request, &shares, reply);
    }
    if request.at_least() > 0 && verb == Verb::Limit {
        // Every slot has said how much it has room for.
        let granted = |reply: &ShareReply| reply.infos.iter().map(|info| info.granted).min();
        let units = looked.iter().flatten().filter_map(granted).min().unwrap_or(0);
        let mut exactly = request.clone();
        exactly.parts.iter_mut().for_each(|part| part.take(units));
        return Box::pin(run_one(topology, &exactly, job)).await;
    }
    if waits && let Some(answer) = refusal(topology, &shares, job).await {
        return answer;
    }
    let mut each = all(topology, shares.iter().map(|share| share.request.clone()), job).await;
    if each.iter().all(|reply| reply.as_ref().is_ok_and(|reply| !reply.is_denied())) {
        return gather(request, &shares, each);
    }
    if let Some(answer) = failure(&shares, &each) {
        return undone(topology, &shares, &each, answer).await;
    }
    give_back(topology, &shares, &each);
    // Those that were charged say how they stand without it, as in any decision that is denied.
    for (share, reply) in shares.iter().zip(&mut each) {
        if let Ok(reply) = reply.as_mut()
            && !reply.is_denied()
        {
            match one(topology, share.request.with(Verb::Denied), job).await {
                Ok(denied) => reply.infos = denied_for(&reply.infos, denied.infos),
                Err(answer) => return answer,
            }
        }
    }
    gather(request, &shares, each)
}

/// Makes of charges what was spent of them. What that adds comes first, because nothing else can be impossible, and
/// because it can be given back exactly. After that a part may have happened where another fails, so that it counts as
/// made.
async fn settle(topology: &Arc<Topology>, request: &Request, shares: &[Share], job: &Arc<Job>) -> Answer {
    let (added, rest): (Vec<Option<Share>>, Vec<Share>) = shares.iter().map(Share::parted).unzip();
    let added: Vec<Share> = added.into_iter().flatten().collect();
    if let Err(answer) = charge(topology, &added, job).await {
        return answer;
    }
    let each = all(topology, rest.iter().map(|share| share.request.clone()), job).await;
    let happened = !added.is_empty() || each.iter().any(Result::is_ok);
    match gather(request, &rest, each) {
        Err(why) if happened && !why.may_have_happened() => Err(Failure::Other),
        answer => answer,
    }
}

/// Holds all of these units for another lease, or none. Where one share has lost its units after all, the others give
/// theirs back: their caller has lost its place, and knows no receipt of what was renewed.
async fn renew(topology: &Arc<Topology>, request: &Request, shares: &[Share], job: &Arc<Job>) -> Answer {
    let mut looked = all(topology, shares.iter().map(Share::look_at_held), job).await;
    for (share, reply) in shares.iter().zip(&mut looked) {
        if let Ok(reply) = reply {
            reply.infos.truncate(share.parts.len());
        }
    }
    if looked.iter().any(|reply| reply.as_ref().map_or(true, ShareReply::is_denied)) {
        return gather(request, shares, looked);
    }
    let each = all(topology, shares.iter().map(|share| share.request.clone()), job).await;
    // After a failure they stay for their lease: the caller may go on for what is left of the one before.
    if failure(shares, &each).is_none() && each.iter().flatten().any(ShareReply::is_denied) {
        give_back(topology, shares, &each);
    }
    gather(request, shares, each)
}

/// Charges all of these, or none.
async fn charge(
    topology: &Arc<Topology>,
    shares: &[Share],
    job: &Arc<Job>,
) -> Result<Vec<Result<ShareReply, Answer>>, Answer> {
    // One server alone charges all or nothing.
    if shares.len() > 1
        && let Some(answer) = refusal(topology, shares, job).await
    {
        return Err(answer);
    }
    let each = all(topology, shares.iter().map(|share| share.request.clone()), job).await;
    match failure(shares, &each) {
        Some(answer) => Err(undone(topology, shares, &each, answer).await),
        None => Ok(each),
    }
}

/// The error that one of these charges would end in, if one would. Nothing is written.
async fn refusal(topology: &Arc<Topology>, shares: &[Share], job: &Arc<Job>) -> Option<Answer> {
    let mut tried = all(topology, shares.iter().map(|share| share.trial(topology.context())), job).await;
    for (share, tried) in shares.iter().zip(&mut tried) {
        if matches!(tried, Err(Ok(Reply::Impossible(part, _))) if *part >= share.parts.len()) {
            *tried = Ok(ShareReply { now: 0, infos: Infos::new(), corrupt: 0, repaired: false, reset: 0 });
        }
    }
    failure(shares, &tried)
}

/// Writes the effects of a denial: checks that count denied attempts are charged, those that do not fit close the block
/// beside them, and an entry that a wrong clock had left in the future is kept as repaired. The peek before has done none
/// of that.
async fn deny(
    topology: &Arc<Topology>,
    shares: &[Share],
    looked: Vec<Result<ShareReply, Answer>>,
    job: &Arc<Job>,
) -> Vec<Result<ShareReply, Answer>> {
    let denied = shares.iter().zip(looked).map(async |(share, looked)| {
        let looked = looked?;
        let writes = |part: &Part| part.rule.counts_blocked() || part.block().is_some();
        if !looked.repaired && !share.request.parts.iter().any(writes) {
            return Ok(looked);
        }
        let after = one(topology, share.denied(&looked), job).await?;
        Ok(ShareReply { infos: denied_for(&looked.infos, after.infos), ..looked })
    });
    join_all(denied).await
}

/// The results after a denial, with the checks marked that did not fit before: also those that would have waited.
fn denied_for(before: &[LimitInfo], after: Infos) -> Infos {
    let fitted = |before: &LimitInfo| !before.blocked && before.wait_ms == 0;
    before.iter().zip(after).map(|(before, after)| LimitInfo { blocked: !fitted(before), ..after }).collect()
}

/// The requests that give back exactly what was charged where the others were not.
fn charged<'a>(shares: &'a [Share], each: &'a [Result<ShareReply, Answer>]) -> impl Iterator<Item = Request> + 'a {
    let charged = shares.iter().zip(each).filter_map(|(share, reply)| Some((share, reply.as_ref().ok()?)));
    charged
        .filter(|(_, reply)| !reply.is_denied())
        .map(|(share, reply)| share.request.undone(reply.now, reply.infos.iter().map(|info| info.at)))
}

fn give_back(topology: &Arc<Topology>, shares: &[Share], each: &[Result<ShareReply, Answer>]) {
    charged(shares, each).for_each(|undo| forget(topology, undo));
}

/// The answer to a call that ends in an error, once nothing is left of it. One that a store has failed is not kept
/// waiting.
async fn undone(
    topology: &Arc<Topology>,
    shares: &[Share],
    each: &[Result<ShareReply, Answer>],
    answer: Answer,
) -> Answer {
    if answer.is_err() {
        give_back(topology, shares, each);
        return answer;
    }
    let gone = charged(shares, each).map(|undo| {
        let (done, gone) = oneshot::channel::<()>();
        send(topology, Job::new(undo, Duration::MAX, Box::new(move |_, _| drop(done))));
        gone
    });
    join_all(gone.collect::<Vec<_>>()).await;
    answer
}

/// Sends a decision whose answer is not needed.
fn forget(topology: &Arc<Topology>, request: Request) {
    send(topology, Job::without_caller(request));
}

fn send(topology: &Arc<Topology>, job: Job) {
    // A server that is not asked any more has forgotten, or will find out by its own drain.
    let _ = topology.dispatch(Arc::new(job));
}

async fn all(
    topology: &Arc<Topology>,
    requests: impl Iterator<Item = Request>,
    job: &Arc<Job>,
) -> Vec<Result<ShareReply, Answer>> {
    join_all(requests.map(|request| one(topology, request, job))).await
}

async fn one(topology: &Arc<Topology>, request: Request, job: &Arc<Job>) -> Result<ShareReply, Answer> {
    let (answered, answer) = oneshot::channel();
    let done = Box::new(move |_: &Job, answer: Answer| drop(answered.send(answer)));
    topology.dispatch(Arc::new(Job::share(job, request, done))).map_err(Err)?;
    match answer.await {
        Ok(Ok(Reply::Decided { now, infos, corrupt, repaired, reset })) => {
            Ok(ShareReply { now, infos, corrupt, repaired, reset })
        }
        Ok(other) => Err(other),
        Err(_) => Err(Err(Failure::Disconnected)),
    }
}

/// The failure of these shares, if one has failed. An error in the call comes first, about the first check that it is
/// about in the whole decision.
fn failure(shares: &[Share], each: &[Result<ShareReply, Answer>]) -> Option<Answer> {
    let impossible = |(share, reply): (&Share, &Result<ShareReply, Answer>)| match reply {
        Err(Ok(Reply::Impossible(part, why))) => Some((share.parts.get(*part).copied().unwrap_or(0), *why)),
        _ => None,
    };
    let first = shares.iter().zip(each).filter_map(impossible).min_by_key(|(part, _)| *part);
    let failed = || each.iter().find_map(|reply| reply.as_ref().err().cloned());
    first.map(|(part, why)| Ok(Reply::Impossible(part, why))).or_else(failed)
}

/// One answer of all, in the order of the whole decision's checks.
fn gather(request: &Request, shares: &[Share], each: Vec<Result<ShareReply, Answer>>) -> Answer {
    if let Some(answer) = failure(shares, &each) {
        return answer;
    }
    let mut infos: Vec<Option<LimitInfo>> = vec![None; request.parts.len()];
    let (mut now, mut corrupt, mut repaired, mut reset) = (0, 0, false, 0);
    for (share, reply) in shares.iter().zip(each.into_iter().flatten()) {
        now = reply.now.max(now);
        corrupt += reply.corrupt;
        repaired |= reply.repaired;
        reset = reply.reset.max(reset);
        for (place, info) in share.parts.iter().zip(reply.infos) {
            infos[*place] = Some(info);
        }
    }
    let infos: Option<Infos> = infos.into_iter().collect();
    let mut infos = infos.ok_or(Failure::Other)?;
    LimitInfo::grant_together(&mut infos, request.at_least() > 0);
    Ok(Reply::Decided { now, infos, corrupt, repaired, reset })
}
