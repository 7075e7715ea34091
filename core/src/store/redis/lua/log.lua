-- The log: every charged instant, so that no span of a period ever holds more than the limit.

if kind == 6 then
  -- The first instant that still counts.
  local function first_instant(rule, now)
    local past = now + 1 - rule.period
    return past > 0 and past or 0
  end

  -- Until the interval after the last instant is over.
  local function until_interval(rule, state, now)
    local time = state.at and rule.interval > 0 and state.at - now + rule.interval or 0
    return time > 0 and time or 0
  end

  return {
    read = read,
    write = write,

    rule = function(max, period, interval, counts_blocked)
      return { max = max, period = period, interval = interval, counts_blocked = counts_blocked == 1 }
    end,

    fresh = function(_, _, key)
      return { key = key, sum = 0, kept = true, stale = true }
    end,

    advance = function(rule, state, now)
      -- From further ahead than it takes to drain: a clock was wrong.
      local longest = rule.period > rule.interval and rule.period or rule.interval
      local impossible = state.at ~= nil and state.at - now > longest
      if impossible then
        state.at, state.sum, state.from, state.stale = nil, 0, nil, true
      end
      return impossible
    end,

    charge = function(rule, state, now, cost)
      if cost == 0 then
        return
      end
      local from = first_instant(rule, now)
      local instant = state.at and state.at > now and state.at or now
      keep_from(state, from)
      -- No more are dropped than are added: another definition may need what is more than this one's `max`.
      local most = count_from(state, from)
      most = most > rule.max and most or rule.max
      push(state, instant, instant, cost < most and cost or most)
      keep_newest(state, most, from)
    end,

    give_back = function(rule, state, now, cost)
      if cost > 0 then
        -- An expired run cannot be the last once the runs after it are taken back.
        keep_from(state, first_instant(rule, now))
        take_newest(state, cost)
      end
    end,

    undo = function(rule, state, now, cost, spent, charged_at)
      local last = state.at
      take_between(state, charged_at, charged_at + 1, cost - spent)
      if state.at ~= last then
        -- As when it is given back; but where the last one stays, its interval does.
        keep_from(state, first_instant(rule, now))
      end
    end,

    fits = function(rule, state, now, cost)
      return count_from(state, first_instant(rule, now)) + cost <= rule.max
        and (cost == 0 or until_interval(rule, state, now) == 0)
    end,

    room = function(rule, state, now)
      return until_interval(rule, state, now) == 0 and rule.max - count_from(state, first_instant(rule, now)) or 0
    end,

    bears = function()
      return true
    end,

    full = function(rule, state, now)
      local time, interval = state.at and state.at + rule.period - now or 0, until_interval(rule, state, now)
      return time > interval and time or interval
    end,

    tell = function(rule, state, now, first, wait, awaited)
      return tell(rule, state, first_instant(rule, now), first, wait, awaited)
    end,
  }
end
