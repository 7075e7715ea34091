-- A count that is divided by a factor at every slot boundary.

if kind == 3 then
  -- A count below this is nothing.
  local NOTHING = 1 / 1048576

  -- A power by squaring: products alone, which every machine rounds alike.
  local function power(base, exponent)
    local result, square = 1, base
    while exponent > 0 do
      local half = math.floor(exponent / 2)
      if exponent - 2 * half == 1 then
        result = result * square
      end
      square = square * square
      exponent = half
    end
    return result
  end

  -- The rest of a count after this many slots.
  local function after(rule, count, slots)
    local left = count / power(rule.factor, slots)
    return left < NOTHING and 0 or left
  end

  -- The fewest slots after which nothing is left of a count. Logarithms say where to look, and decide nothing.
  local function slots_until_empty(rule, count)
    if count < NOTHING then
      return 0
    end
    local about = math.log(count / NOTHING) / math.log(rule.factor)
    local least, most = math.floor(about * 0.999) - 1, math.ceil(about * 1.001) + 1
    least = least > 0 and least or 0
    while after(rule, count, most) > 0 and most < 2 ^ 52 do
      least, most = most, most * 2
    end
    while least > 0 and after(rule, count, least) == 0 do
      least, most = math.floor(least / 2), least
    end
    while most - least > 1 do
      local middle = least + math.floor((most - least) / 2)
      if after(rule, count, middle) == 0 then
        most = middle
      else
        least = middle
      end
    end
    return most
  end

  -- The start of the slot in which an instant lies.
  local function start(rule, at)
    return at - at % rule.resolution
  end

  local function slots_between(rule, earlier, later)
    return (start(rule, later) - start(rule, earlier)) / rule.resolution
  end

  -- Writes the count that is left now; a trace of it is nothing. An earlier instant leaves that of the last write.
  local function put(state, now, left)
    state.count = left < NOTHING and 0 or left
    state.left = state.count
    state.at = state.at > now and state.at or now
  end

  local function encode(state)
    return string.format('d%.17g:%.0f', state.count, state.at)
  end

  return {
    read = read,
    write = write,

    rule = function(max, factor, resolution, counts_blocked)
      return { max = max, factor = factor, resolution = resolution, counts_blocked = counts_blocked == 1 }
    end,

    fresh = function(_, now)
      return { kept = false, count = 0, at = now, left = 0 }
    end,

    advance = function(rule, state, now)
      -- It decays from the slot of its last write, however often it is looked at.
      local passed = slots_between(rule, state.at, now)
      state.left = passed > 0 and after(rule, state.count, passed) or state.count
      local repaired = passed < 0 and -passed > slots_until_empty(rule, state.count)
      if repaired then
        state.at = now
        state.mended = encode(state)
      end
      return repaired
    end,

    is_empty = function(_, state)
      return state.left < NOTHING
    end,

    charge = function(_, state, now, cost)
      put(state, now, state.left + cost)
    end,

    give_back = function(_, state, now, cost)
      put(state, now, state.left - cost)
    end,

    undo = function(rule, state, now, cost, spent, charged_at)
      local passed = slots_between(rule, charged_at, state.at > now and state.at or now)
      passed = passed > 0 and passed or 0
      -- Spent units have decayed as the whole has.
      local unspent = after(rule, cost, passed) - after(rule, spent < cost and spent or cost, passed)
      put(state, now, state.left - unspent)
    end,

    fits = function(rule, state, _, cost)
      return state.left + cost <= rule.max
    end,

    room = function(rule, state)
      return math.floor(rule.max - state.left)
    end,

    bears = function(rule, state, _, cost)
      local count = state.left + cost
      return count <= 2 ^ 52 and slots_until_empty(rule, count) <= math.floor(2 ^ 53 / rule.resolution)
    end,

    full = function(rule, state, now)
      local slots = state.left < NOTHING and 0 or slots_until_empty(rule, state.count)
      local time = slots == 0 and 0 or start(rule, state.at) + slots * rule.resolution - now
      return time > 0 and time or 0
    end,

    encode = encode,

    decode = function(value)
      local count, from = string.match(value, '^d(%d[%d.e+-]*):(%d+)$')
      count, from = tonumber(count or ''), tonumber(from or '')
      if count and from and count <= 1e300 and from <= 2 ^ 53 then
        return { kept = true, count = count, at = from }
      end
      return nil
    end,

    tell = function(_, state, _, first, wait)
      return struct.pack('<Bdddd', first, wait, state.count, state.at, state.left)
    end,
  }
end
