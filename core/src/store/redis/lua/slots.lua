-- Counts in slots: a sliding window that is as fine as its slots.

if kind == 5 then
  -- The first slot that still counts.
  local function first_slot(rule, now)
    local past = now - rule.period
    return past < 0 and 0 or math.floor(past / rule.resolution) + 1
  end

  local function full(rule, state, now)
    local time = state.at and state.at * rule.resolution + rule.period - now or 0
    return time > 0 and time or 0
  end

  return {
    read = read,
    write = write,

    rule = function(max, period, resolution, counts_blocked)
      return { max = max, period = period, resolution = resolution, counts_blocked = counts_blocked == 1 }
    end,

    fresh = function(_, _, key)
      return { kind = kind, key = key, sum = 0, kept = true, stale = true }
    end,

    advance = function(rule, state, now)
      -- From further ahead than it takes to drain: a clock was wrong.
      local impossible = state.at ~= nil and state.at * rule.resolution - now > rule.period
      if impossible then
        state.at, state.sum, state.from, state.stale = nil, 0, nil, true
      end
      return impossible
    end,

    charge = function(rule, state, now, cost)
      local slot = math.floor(now / rule.resolution)
      keep_from(state, first_slot(rule, now))
      push(state, state.at and state.at > slot and state.at or slot, cost)
    end,

    give_back = function(_, state, _, cost)
      take_newest(state, cost)
    end,

    undo = function(rule, state, now, cost, spent, charged_at)
      keep_from(state, first_slot(rule, now))
      take_at(state, math.floor(charged_at / rule.resolution), cost, spent)
    end,

    fits = function(rule, state, now, cost)
      return count_from(state, first_slot(rule, now)) + cost <= rule.max
    end,

    bears = function(_, state, cost)
      return count_from(state, 0) + cost <= 2 ^ 52
    end,

    full = full,

    tell = function(rule, state, now, first, wait, awaited)
      return tell(rule, state, first_slot(rule, now), first, wait, awaited)
    end,
  }
end
