-- Two windows' counts, the older one weighted by what is left of it.

if kind == 2 then
  -- The start of the window in which an instant lies.
  local function start(rule, at)
    return at - at % rule.period
  end

  local function used(rule, state, now)
    local elapsed = now - start(rule, state.at)
    local ticks = elapsed > 0 and math.floor(elapsed / rule.tick) or 0
    local left = ticks < rule.ticks and rule.ticks - ticks or 0
    return state.previous * left + state.current * rule.ticks
  end

  -- An earlier instant leaves that of the last write.
  local function written(state, now)
    if now > state.at then
      state.at = now
    end
  end

  return {
    read = read,
    write = write,

    rule = function(max, period, tick, ticks)
      return { max = max, period = period, tick = tick, ticks = ticks }
    end,

    fresh = function(_, now)
      return { kept = false, previous = 0, current = 0, at = now }
    end,

    advance = function(rule, state, now)
      local passed = start(rule, now) - start(rule, state.at)
      -- The clock may be a window behind the entry: then it is the start of that window.
      if passed == 0 or passed == -rule.period then
        return false
      end
      state.previous, state.current, state.at = passed == rule.period and state.current or 0, 0, now
      return passed < 0
    end,

    is_empty = function(_, state)
      return state.previous == 0 and state.current == 0
    end,

    charge = function(_, state, now, cost)
      state.current = state.current + cost
      written(state, now)
    end,

    give_back = function(_, state, now, cost)
      written(state, now)
      local rest = cost - state.current
      state.current = rest < 0 and -rest or 0
      if rest > 0 then
        state.previous = state.previous > rest and state.previous - rest or 0
      end
    end,

    undo = function(rule, state, now, cost, spent, charged_at)
      written(state, now)
      local passed, unspent = start(rule, state.at) - start(rule, charged_at), cost > spent and cost - spent or 0
      if passed == 0 then
        state.current = state.current > unspent and state.current - unspent or 0
      elseif passed == rule.period then
        state.previous = state.previous > unspent and state.previous - unspent or 0
      end
    end,

    fits = function(rule, state, now, cost)
      return used(rule, state, now) + cost * rule.ticks <= rule.max * rule.ticks
    end,

    room = function(rule, state, now)
      return math.floor((rule.max * rule.ticks - used(rule, state, now)) / rule.ticks)
    end,

    bears = function(_, state, _, cost)
      return state.current + cost <= 2 ^ 52
    end,

    full = function(rule, state, now)
      if state.previous == 0 and state.current == 0 then
        return 0
      end
      local time = start(rule, state.at) + (state.current == 0 and 1 or 2) * rule.period - now
      return time > 0 and time or 0
    end,

    encode = function(state)
      return string.format('w%.0f:%.0f:%.0f', state.previous, state.current, state.at)
    end,

    decode = function(value)
      local previous, current, from = string.match(value, '^w(%d+):(%d+):(%d+)$')
      previous, current, from = tonumber(previous or ''), tonumber(current or ''), tonumber(from or '')
      if previous and previous <= 2 ^ 53 and current <= 2 ^ 53 and from <= 2 ^ 53 then
        return { kept = true, previous = previous, current = current, at = from }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bdddd', first, wait, state.previous, state.current, state.at)
    end,
  }
end
