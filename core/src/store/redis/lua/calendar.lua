-- A count for each window of a calendar.

if kind == 7 then
  -- The start of the window in which an instant lies, its end, and the end of the next one.
  local function around(rule, now)
    if now < rule.start then
      return rule.before, rule.start, rule.finish
    elseif now < rule.finish then
      return rule.start, rule.finish, rule.after
    end
    return rule.finish, rule.after, rule.last
  end

  -- The window of an entry that has been brought to now: this one, or the next where the clock went back.
  local function window_of(rule, state, now)
    local start, finish, after = around(rule, now)
    if state.at < finish then
      return start, finish
    end
    return finish, after
  end

  local function left(rule, state, now)
    local _, finish = window_of(rule, state, now)
    return finish - now
  end

  return {
    read = read,
    write = write,

    rule = function(max, before, start, finish, after, last)
      return { max = max, before = before, start = start, finish = finish, after = after, last = last }
    end,

    fresh = function(_, now)
      return { kept = false, count = 0, at = now }
    end,

    advance = function(rule, state, now)
      local start, _, after = around(rule, now)
      if state.at < start then
        state.count, state.at = 0, start
      elseif state.at >= after then
        state.at = start
        return true
      end
      return false
    end,

    is_empty = function(_, state)
      return state.count == 0
    end,

    charge = function(rule, state, now, cost)
      if state.count == 0 then
        state.at = around(rule, now)
      end
      state.count = state.count + cost
    end,

    give_back = function(_, state, _, cost)
      state.count = state.count > cost and state.count - cost or 0
    end,

    undo = function(rule, state, now, cost, spent, charged_at)
      local start, finish = window_of(rule, state, now)
      if charged_at >= start and charged_at < finish then
        local unspent = cost > spent and cost - spent or 0
        state.count = state.count > unspent and state.count - unspent or 0
      end
    end,

    fits = function(rule, state, _, cost)
      return state.count + cost <= rule.max
    end,

    room = function(rule, state)
      return rule.max - state.count
    end,

    bears = function(_, state, _, cost)
      return state.count + cost <= 2 ^ 52
    end,

    full = function(rule, state, now)
      return state.count == 0 and 0 or left(rule, state, now)
    end,

    encode = function(state)
      return string.format('m%.0f:%.0f', state.count, state.at)
    end,

    decode = function(value)
      local count, at = string.match(value, '^m(%d+):(%d+)$')
      count, at = tonumber(count or ''), tonumber(at or '')
      if count and count <= 2 ^ 53 and at <= 2 ^ 53 then
        return { kept = true, count = count, at = at }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bddd', first, wait, state.count, state.at)
    end,
  }
end
