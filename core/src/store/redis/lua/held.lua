-- Units that are held: each counts until it is released, or its lease is over.

if kind == 8 then
  -- The first instant that still counts.
  local function first_instant(rule, now)
    local past = now + 1 - rule.lease
    return past > 0 and past or 0
  end

  -- Makes all that a wrong clock had left in the future units of the latest instant that can be.
  local function bring_back(state)
    if state.latest then
      redis.call('ZREMRANGEBYSCORE', state.key, state.latest, '+inf')
      redis.call('ZADD', state.key, state.latest, name(state, state.sum))
      state.latest, state.from = nil, nil
    end
  end

  -- Every change begins here.
  local function settle(rule, state, now)
    bring_back(state)
    keep_from(state, first_instant(rule, now))
  end

  local function taken_at(state, now)
    return state.at and state.at > now and state.at or now
  end

  return {
    read = read,

    write = function(algorithm, rule, key, state, now, given)
      bring_back(state)
      write(algorithm, rule, key, state, now, given)
    end,

    rule = function(max, lease)
      return { max = max, lease = lease }
    end,

    fresh = function(_, _, key)
      return { key = key, sum = 0, kept = true, stale = true }
    end,

    advance = function(rule, state, now)
      -- From further ahead than a lease: a clock was wrong.
      local impossible = state.at ~= nil and state.at - now > rule.lease
      if impossible then
        state.at, state.latest, state.from = now, now, nil
      end
      return impossible
    end,

    charge = function(rule, state, now, cost)
      local instant = taken_at(state, now)
      settle(rule, state, now)
      push(state, instant, instant, cost)
    end,

    give_back = function(rule, state, now, cost)
      settle(rule, state, now)
      take_newest(state, cost)
    end,

    undo = function(rule, state, now, cost, spent, charged_at)
      settle(rule, state, now)
      take_between(state, charged_at, charged_at + 1, cost - spent)
    end,

    holds = function(rule, state, now, cost, charged_at)
      if cost == 0 then
        return true
      elseif not state.at or charged_at < first_instant(rule, now) or charged_at > state.at then
        return false
      end
      -- Nothing came after the latest.
      local after = charged_at == state.at and state.sum or sum_before(state, charged_at + 1)
      return after - sum_before(state, charged_at) >= cost
    end,

    renew = function(rule, state, now, cost, charged_at)
      local instant = taken_at(state, now)
      settle(rule, state, now)
      take_between(state, charged_at, charged_at + 1, cost)
      push(state, instant, instant, cost)
    end,

    fits = function(rule, state, now, cost)
      return count_from(state, first_instant(rule, now)) + cost <= rule.max
    end,

    room = function(rule, state, now)
      return rule.max - count_from(state, first_instant(rule, now))
    end,

    bears = function()
      return true
    end,

    full = function(rule, state, now)
      local time = state.at and state.at + rule.lease - now or 0
      return time > 0 and time or 0
    end,

    tell = function(rule, state, now, first, wait, awaited)
      return tell(rule, state, first_instant(rule, now), first, wait, awaited)
    end,
  }
end
