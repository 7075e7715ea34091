-- The cell: a level that drains at ticks. Bucket, token bucket and fixed window are this.

if kind == 1 then
  local function start(rule, now)
    return rule.aligned and now - now % rule.tick or now
  end

  local function drain_time(rule, level)
    return math.ceil(level / rule.drain) * rule.tick
  end

  local function until_lower(rule, state, now, over)
    if over <= 0 then
      return 0
    end
    local time = state.since - now + drain_time(rule, over)
    return time > 0 and time or 0
  end

  return {
    tag = 'c',
    reserves = true,
    read = read,
    write = write,

    rule = function(unit, tick, drain, aligned, capacity)
      return { unit = unit, tick = tick, drain = drain, aligned = aligned == 1, capacity = capacity }
    end,

    fresh = function(rule, now)
      return { kind = 1, kept = false, level = 0, since = start(rule, now) }
    end,

    advance = function(rule, state, now)
      local level, since, tick = state.level, state.since, rule.tick
      local mended = false
      if since > now then
        mended = since - now > drain_time(rule, level > rule.capacity and level or rule.capacity)
        if mended then
          since = start(rule, now)
          state.since = since
        end
      end
      local elapsed = now > since and now - since or 0
      if elapsed < tick and level > 0 then
        return mended
      end
      local ticks = math.floor(elapsed / tick)
      local drained = ticks * rule.drain
      if drained >= level then
        state.level, state.since = 0, start(rule, now)
      else
        state.level, state.since = level - drained, since + ticks * tick
      end
      return mended
    end,

    is_empty = function(_, state)
      return state.level == 0
    end,

    charge = function(rule, state, _, cost)
      state.level = state.level + cost * rule.unit
    end,

    give_back = function(rule, state, _, cost)
      local left = state.level - cost * rule.unit
      state.level = left > 0 and left or 0
    end,

    undo = function(rule, state, _, cost, spent, charged_at)
      local passed = state.since - charged_at
      local ticks = passed > 0 and math.ceil(passed / rule.tick) or 0
      local left, unspent = cost * rule.unit - ticks * rule.drain, (cost - spent) * rule.unit
      if left > unspent then
        left = unspent
      end
      if left > 0 then
        state.level = state.level > left and state.level - left or 0
      end
    end,

    wait = function(rule, state, now, cost)
      return until_lower(rule, state, now, state.level - rule.capacity + cost * rule.unit)
    end,

    fits = function(rule, state, _, cost)
      return cost * rule.unit <= rule.capacity - state.level
    end,

    bears = function(rule, state, cost)
      local most, more = rule.capacity, cost * rule.unit
      if most < 2 ^ 52 then
        most = 2 ^ 52
      end
      return more <= most - state.level and math.ceil((state.level + more) / rule.drain) <= math.floor(2 ^ 53 / rule.tick)
    end,

    full = function(rule, state, now)
      return until_lower(rule, state, now, state.level)
    end,

    -- Seven bytes each: an instant as text would take longer to write and to read than the rest of a decision.
    encode = function(state)
      return struct.pack('<BI7I7', 99, state.level, state.since)
    end,

    decode = function(value)
      if not is_cell(value) then
        return nil
      end
      local _, level, since = struct.unpack('<BI7I7', value)
      if since <= 2 ^ 53 and level <= 2 ^ 53 then
        return { kind = 1, kept = true, level = level, since = since }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bddd', first, wait, state.level, state.since)
    end,
  }
end
