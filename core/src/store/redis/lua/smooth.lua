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

  -- What is owed counts from the last write, so that no instant beyond 2^53 is ever needed.
  local function until_free(_, state, now)
    local time = state.debt + state.written - now
    return time > 0 and time or 0
  end

  -- Gives permits back: first the time that others wait for them, then what that does not cover.
  local function take_back(rule, state, now, permits)
    local debt, back = until_free(rule, state, now), math.floor(permits * rule.stable)
    back = back < debt and back or debt
    -- The quotient of a part of a permit may be larger by its last digit.
    local left = permits - back / rule.stable
    local stored = state.stored + (left > 0 and left or 0)
    state.stored = stored < rule.most and stored or rule.most
    state.debt, state.written = debt - back, now
  end

  local function encode(state)
    return string.format('q%.17g:%.0f:%.0f', state.stored, state.debt, state.written)
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
      return { kept = false, stored = rule.most, debt = 0, written = now }
    end,

    advance = function(rule, state, now)
      -- From further ahead than it takes to fill the store: the clock was wrong then, and this entry is from now.
      local repaired = state.written - now > math.ceil(rule.most * rule.cool)
      if repaired then
        state.written = now
        state.mended = encode(state)
      end
      -- More may have been stored under another definition.
      if state.stored > rule.most then
        state.stored = rule.most
      end
      local time = now - state.written - state.debt
      if time > 0 then
        local stored = state.stored + time / rule.cool
        -- As long as it is said to take, it takes, whatever the last digit of a quotient is.
        if time >= math.ceil((rule.most - state.stored) * rule.cool) or stored > rule.most then
          stored = rule.most
        end
        state.stored, state.debt, state.written = stored, 0, now
      end
      return repaired
    end,

    is_empty = function(rule, state, now)
      return state.stored >= rule.most and until_free(rule, state, now) == 0
    end,

    charge = function(rule, state, now, cost)
      local time, stored = price(rule, state.stored, cost)
      state.stored, state.debt, state.written = stored, until_free(rule, state, now) + time, now
    end,

    give_back = take_back,

    undo = function(rule, state, now, cost, spent, charged_at)
      -- The time that others wait for passes at the full rate, and permits are stored at their own.
      local quicker = rule.cool < rule.stable and rule.cool or rule.stable
      local left = cost - (now > charged_at and now - charged_at or 0) / quicker
      local unspent = cost > spent and cost - spent or 0
      unspent = unspent < left and unspent or left
      take_back(rule, state, now, unspent > 0 and unspent or 0)
    end,

    wait = until_free,

    fits = function(rule, state, now)
      return until_free(rule, state, now) == 0
    end,

    observe = function(_, state, now, remaining, retry_after)
      local debt = until_free(nil, state, now)
      if remaining >= state.stored and retry_after <= debt then
        return nil
      end
      local stored = remaining < state.stored and remaining or state.stored
      return { stored = stored, debt = retry_after > debt and retry_after or debt, written = now }
    end,

    room = function(rule, state, now, at_least)
      if until_free(rule, state, now) > 0 then
        return 0
      end
      local stored = math.floor(state.stored)
      return stored > at_least and stored or at_least
    end,

    bears = function(rule, state, now, cost)
      local time, stored = price(rule, state.stored, cost)
      return until_free(rule, state, now) + time + math.ceil((rule.most - stored) * rule.cool) <= 2 ^ 53
    end,

    full = function(rule, state, now)
      return until_free(rule, state, now) + math.ceil((rule.most - state.stored) * rule.cool)
    end,

    encode = encode,

    decode = function(value)
      local stored, debt, written = string.match(value, '^q(%d[%d.e+-]*):(%d+):(%d+)$')
      stored, debt, written = tonumber(stored or ''), tonumber(debt or ''), tonumber(written or '')
      if stored and debt and stored <= 1e300 and debt <= 2 ^ 53 and written <= 2 ^ 53 then
        return { kept = true, stored = stored, debt = debt, written = written }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bdddd', first, wait, state.stored, state.debt, state.written)
    end,
  }
end
