-- Counts in slots: a sliding window that is as fine as its slots.

if kind == 5 then
  -- The start of the slot in which an instant lies.
  local function start(rule, at)
    return at - at % rule.resolution
  end

  -- The start of the first slot that still counts.
  local function first_start(rule, now)
    local past = now - rule.period
    return past < 0 and 0 or start(rule, past) + rule.resolution
  end

  local function full(rule, state, now)
    local time = state.at and start(rule, state.at) + rule.period - now or 0
    return time > 0 and time or 0
  end

  -- A state is written in slots of this definition, and only those that still count.
  local function settle(rule, state, now)
    gather(state, rule.resolution)
    keep_from(state, first_start(rule, now))
  end

  return {
    read = read,
    write = write,

    rule = function(max, period, resolution, counts_blocked)
      return { max = max, period = period, resolution = resolution, counts_blocked = counts_blocked == 1 }
    end,

    fresh = function(_, _, key)
      return { key = key, sum = 0, kept = true, stale = true }
    end,

    advance = function(rule, state, now)
      -- From further ahead than it takes to drain: a clock was wrong.
      local impossible = state.at ~= nil and start(rule, state.at) - now > rule.period
      if impossible then
        state.at, state.sum, state.from, state.stale = nil, 0, nil, true
      end
      return impossible
    end,

    charge = function(rule, state, now, cost)
      settle(rule, state, now)
      local instant = state.at and state.at > now and state.at or now
      push(state, start(rule, instant), instant, cost)
    end,

    give_back = function(rule, state, now, cost)
      settle(rule, state, now)
      take_newest(state, cost)
    end,

    undo = function(rule, state, now, cost, spent, charged_at)
      settle(rule, state, now)
      local slot = start(rule, charged_at)
      take_between(state, slot, slot + rule.resolution, cost - spent)
    end,

    fits = function(rule, state, now, cost)
      return count_from(state, first_start(rule, now)) + cost <= rule.max
    end,

    room = function(rule, state, now)
      return rule.max - count_from(state, first_start(rule, now))
    end,

    bears = function(rule, state, now, cost)
      return count_from(state, first_start(rule, now)) + cost <= 2 ^ 52
    end,

    full = full,

    tell = function(rule, state, now, first, wait, awaited)
      return tell(rule, state, first_start(rule, now), first, wait, awaited)
    end,
  }
end
