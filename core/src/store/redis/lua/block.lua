-- The block of a limit: it stands beside the limit's own state, and denies every call while it is closed.

if kind == 9 then
  local floor = math.floor

  local function encode(state)
    return struct.pack('<BI7I7', 98, state.blocked_until, state.length)
  end

  -- The length that the next block grows from; 0 where it does not.
  local function counted(rule, state, now)
    return rule.growth > 1 and now < state.blocked_until + state.length and state.length or 0
  end

  return {
    blocks = true,
    read = read,
    write = write,

    rule = function(length, growth, longest)
      return { length = length, growth = growth, longest = longest }
    end,

    fresh = function()
      return { kept = false, blocked_until = 0, length = 0 }
    end,

    advance = function(_, state, now)
      local latest = now + state.length
      -- Further ahead than its length: the clock went back.
      local impossible = state.blocked_until > latest
      if impossible then
        state.blocked_until = latest
        state.mended = encode(state)
      end
      return impossible
    end,

    is_empty = function(rule, state, now)
      return now >= state.blocked_until + (rule.growth > 1 and state.length or 0)
    end,

    charge = function(rule, state, now)
      local grown = floor(counted(rule, state, now) * rule.growth)
      grown = grown < rule.longest and grown or rule.longest
      state.length = grown > rule.length and grown or rule.length
      state.blocked_until = now + state.length
    end,

    -- True if it changes something: it may be closed for longer.
    close_for = function(rule, state, now, time)
      if time == 0 then
        state.blocked_until, state.length = 0, 0
        return true
      elseif now + time < state.blocked_until then
        return false
      end
      local length = counted(rule, state, now)
      state.blocked_until, state.length = now + time, length > time and length or time
      return true
    end,

    observe = function()
      return nil
    end,

    fits = function(_, state, now, cost)
      return cost == 0 or now >= state.blocked_until
    end,

    room = function(_, state, now)
      return now < state.blocked_until and 0 or 2 ^ 53
    end,

    -- It does not hinder who holds something already.
    holds = function()
      return true
    end,

    bears = function()
      return true
    end,

    full = function(rule, state, now)
      local time = state.blocked_until + (rule.growth > 1 and state.length or 0) - now
      return time > 0 and time or 0
    end,

    encode = encode,

    decode = function(value)
      if #value ~= 15 or string.byte(value) ~= 98 then
        return nil
      end
      local _, blocked_until, length = struct.unpack('<BI7I7', value)
      if blocked_until <= 2 ^ 54 and length <= 2 ^ 53 then
        return { kept = true, blocked_until = blocked_until, length = length }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bddd', first, wait, state.blocked_until, state.length)
    end,
  }
end
