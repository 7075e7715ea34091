-- The level: whole units that drain at ticks. Bucket, token bucket and fixed window are this.

if kind == 1 then
  local floor, ceil = math.floor, math.ceil

  local function start(rule, now)
    return rule.aligned and now - now % rule.tick or now
  end

  -- The number of units that leave in so many ticks; `round` says how a part of a unit counts.
  local function drained(rule, ticks, round)
    local groups = floor(ticks / rule.ticks)
    return groups * rule.drain + round((ticks - groups * rule.ticks) * rule.drain / rule.ticks)
  end

  -- The time that so many units take to drain, in whole ticks.
  local function time_of(rule, units)
    if rule.ticks == 1 then
      return ceil(units / rule.drain) * rule.tick
    end
    local groups = floor(units / rule.drain)
    return (groups * rule.ticks + ceil((units - groups * rule.drain) * rule.ticks / rule.drain)) * rule.tick
  end

  local function ticks_of(rule, state, now)
    return now > state.since and floor((now - state.since) / rule.tick) or 0
  end

  -- The rest of a state that has been brought to now: the ticks of a group that is not over drain too.
  local function left_of(rule, state, now)
    if rule.ticks == 1 then
      return state.level
    end
    return state.level - floor(ticks_of(rule, state, now) * rule.drain / rule.ticks)
  end

  local function until_left(rule, state, now, units)
    if units <= 0 then
      return 0
    end
    local time = state.since - now + time_of(rule, units)
    return time > 0 and time or 0
  end

  -- Seven bytes each: an instant as text would take longer to write and to read than the rest of a decision.
  local function encode(state)
    return struct.pack('<BI7I7', 99, state.level, state.since)
  end

  local function take(rule, state, now, units)
    if left_of(rule, state, now) <= units then
      state.level, state.since = 0, start(rule, now)
    else
      state.level = state.level - units
    end
  end

  return {
    reserves = true,
    read = read,
    write = write,

    rule = function(tick, drain, ticks, aligned, quota, most)
      return { tick = tick, drain = drain, ticks = ticks, aligned = aligned == 1, quota = quota, most = most }
    end,

    fresh = function(rule, now)
      return { kept = false, level = 0, since = start(rule, now) }
    end,

    advance = function(rule, state, now)
      local repaired = false
      if state.since > now then
        -- Further ahead than it takes to drain: the clock was wrong then, and this entry is from now.
        repaired = state.since - now > time_of(rule, rule.quota)
        if repaired then
          state.since = start(rule, now)
          state.mended = encode(state)
        end
      end
      if state.level > rule.most then
        state.level = rule.most
      end
      local groups = floor(ticks_of(rule, state, now) / rule.ticks)
      local level = state.level - groups * rule.drain
      if level > 0 then
        state.level, state.since = level, state.since + groups * rule.ticks * rule.tick
        level = left_of(rule, state, now)
      end
      if level <= 0 then
        state.level, state.since = 0, start(rule, now)
      end
      return repaired
    end,

    is_empty = function(_, state)
      return state.level == 0
    end,

    charge = function(_, state, _, cost)
      state.level = state.level + cost
    end,

    give_back = take,

    undo = function(rule, state, now, cost, spent, charged_at)
      local ticks = ticks_of(rule, state, now)
      local left
      if state.since <= charged_at then
        left = drained(rule, ticks, floor) - drained(rule, floor((charged_at - state.since) / rule.tick), floor)
      else
        left = drained(rule, ticks, floor) + drained(rule, ceil((state.since - charged_at) / rule.tick), ceil)
      end
      local units = cost - (spent > left and spent or left)
      if units > 0 then
        take(rule, state, now, units)
      end
    end,

    wait = function(rule, state, now, cost)
      return until_left(rule, state, now, state.level - rule.quota + cost)
    end,

    fits = function(rule, state, now, cost)
      return cost <= rule.quota - left_of(rule, state, now)
    end,

    observe = function(rule, state, now, remaining, retry_after)
      local level, used = state.level, rule.quota - remaining - left_of(rule, state, now)
      if used > 0 then
        level = level + used
      end
      if retry_after > until_left(rule, state, now, level + 1 - rule.quota) then
        local time = now + retry_after - state.since
        local ticks = time > 0 and ceil(time / rule.tick) - 1 or 0
        local least = rule.quota + drained(rule, ticks > 0 and ticks or 0, floor)
        level = level > least and level or least
      end
      return level > state.level and { level = level, since = state.since } or nil
    end,

    room = function(rule, state, now)
      return rule.quota - left_of(rule, state, now)
    end,

    bears = function(rule, state, _, cost)
      local most = rule.most < 2 ^ 52 and rule.most or 2 ^ 52
      return cost <= most - state.level
    end,

    full = function(rule, state, now)
      return until_left(rule, state, now, state.level)
    end,

    encode = encode,

    decode = function(value)
      if #value ~= 15 or string.byte(value) ~= 99 then
        return nil
      end
      local _, level, since = struct.unpack('<BI7I7', value)
      if since <= 2 ^ 53 and level <= 2 ^ 53 then
        return { kept = true, level = level, since = since }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bddd', first, wait, state.level, state.since)
    end,
  }
end
