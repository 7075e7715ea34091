-- Paced permits: a call goes at once, and the next one waits for what it cost.

if kind == 4 then
  -- The cost of taking permits from the store: cold ones, above the threshold, cost more.
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

  local function store(rule, state, now, permits)
    local stored = state.stored + permits
    state.stored = stored < rule.most and stored or rule.most
    state.written = now
  end

  return {
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
      return { kept = false, stored = rule.most, free = now, written = now }
    end,

    advance = function(rule, state, now)
      -- From further ahead than it takes to fill the store: the clock was wrong then, and this entry is from now.
      local ahead = state.written - now
      local repaired = ahead > 0 and ahead > rule.most * rule.cool
      if repaired then
        state.free, state.written = state.free > ahead and state.free - ahead or 0, now
      end
      -- More may have been stored under another definition.
      if state.stored > rule.most then
        state.stored = rule.most
      end
      if now > state.free then
        local time = now - state.free
        local stored = state.stored + time / rule.cool
        -- As long as it is said to take, it takes, whatever the last digit of a quotient is.
        if time >= math.ceil((rule.most - state.stored) * rule.cool) or stored > rule.most then
          stored = rule.most
        end
        state.stored, state.free = stored, now
      end
      return repaired
    end,

    is_empty = function(rule, state, now)
      return state.stored >= rule.most and state.free <= now
    end,

    charge = function(rule, state, now, cost)
      local time, stored = price(rule, state.stored, cost)
      state.stored, state.free, state.written = stored, state.free + math.floor(time), now
    end,

    give_back = store,

    undo = function(rule, state, now, cost, spent, charged_at)
      local left = cost - (now > charged_at and now - charged_at or 0) / rule.cool
      local unspent = cost > spent and cost - spent or 0
      unspent = unspent < left and unspent or left
      if unspent > 0 then
        store(rule, state, now, unspent)
      end
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
      return string.format('p%.17g:%.0f:%.0f', state.stored, state.free, state.written)
    end,

    decode = function(value)
      local stored, free, written = string.match(value, '^p(%d[%d.e+-]*):(%d+):(%d+)$')
      stored, free, written = tonumber(stored or ''), tonumber(free or ''), tonumber(written or '')
      if stored and free and stored <= 1e300 and free <= 2 ^ 54 and written <= 2 ^ 53 then
        return { kept = true, stored = stored, free = free, written = written }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bdddd', first, wait, state.stored, state.free, state.written)
    end,
  }
end
