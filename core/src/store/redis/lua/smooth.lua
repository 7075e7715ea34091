-- Paced permits: a call goes at once, and the next one waits for what it cost.

if kind == 4 then
  local JUST_BELOW_1 = 1 - 2 ^ -53

  -- What taking permits from the store costs: cold ones, above the threshold, are dearer.
  local function cost_of_stored(rule, stored, taken)
    if not rule.warms_up then
      return 0
    end
    local above = stored - rule.threshold
    local cold = above > 0 and (above < taken and above or taken) or 0
    local cost_of_cold = 0
    if cold > 0 then
      local first = rule.stable + above * rule.slope
      local last = rule.stable + (above - cold) * rule.slope
      cost_of_cold = math.floor(cold * (first + last) / 2)
    end
    return cost_of_cold + math.floor(rule.stable * (taken - cold))
  end

  -- The time that a charge takes, and the stored permits that it leaves.
  local function price(rule, stored, cost)
    local taken = cost < stored and cost or stored
    return cost_of_stored(rule, stored, taken) + math.floor((cost - taken) * rule.stable), stored - taken
  end

  local function until_free(_, state, now)
    return state.free > now and state.free - now or 0
  end

  local function store(rule, state, permits)
    local stored = state.stored + permits
    state.stored = stored < rule.most and stored or rule.most
  end

  return {
    tag = 'p',
    reserves = true,
    -- Any cost is admitted at once, so nothing but what it leads to bounds it.
    pays_later = true,
    read = read,
    write = write,

    rule = function(stable, most, threshold, slope, cool, warms_up)
      return {
        stable = stable,
        most = most,
        threshold = threshold,
        slope = slope,
        cool = cool,
        warms_up = warms_up == 1,
      }
    end,

    fresh = function(rule, now)
      return { kind = 4, kept = false, stored = rule.most, free = now }
    end,

    advance = function(rule, state, now)
      if now > state.free then
        store(rule, state, (now - state.free) / rule.cool)
        state.free = now
      end
      return false
    end,

    is_empty = function(rule, state, now)
      return state.stored >= rule.most and (rule.most > 0 or state.free <= now)
    end,

    charge = function(rule, state, _, cost)
      local time, stored = price(rule, state.stored, cost)
      state.stored, state.free = stored, state.free + math.floor(time)
    end,

    give_back = function(rule, state, _, cost)
      store(rule, state, cost)
    end,

    undo = function(rule, state, now, cost, spent, charged_at)
      local left = cost - (now > charged_at and now - charged_at or 0) / rule.cool
      local unspent = cost > spent and cost - spent or 0
      left = left > 0 and left or 0
      -- Full, it would owe nothing any more, and what a later call still owes would be forgotten.
      local most = state.free > now and rule.most * JUST_BELOW_1 or rule.most
      local stored = state.stored + (unspent < left and unspent or left)
      stored = stored < most and stored or most
      state.stored = stored > state.stored and stored or state.stored
    end,

    wait = until_free,

    fits = function(_, state, now)
      return state.free <= now
    end,

    bears = function(rule, state, cost)
      return state.free + price(rule, state.stored, cost) < 2 ^ 53
    end,

    full = function(rule, state, now)
      return until_free(rule, state, now) + math.ceil((rule.most - state.stored) * rule.cool)
    end,

    encode = function(state)
      return string.format('p%.17g:%.0f', state.stored, state.free)
    end,

    decode = function(value)
      local stored, free = string.match(value, '^p(%d[%d.e+-]*):(%d+)$')
      stored, free = tonumber(stored or ''), tonumber(free or '')
      if stored and free and stored <= 1e300 and free <= 2 ^ 54 then
        return { kind = 4, kept = true, stored = stored, free = free }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bddd', first, wait, state.stored, state.free)
    end,
  }
end
