-- A decision, whatever it is: all of its checks are charged, or none is.

local rules, entered = {}, {}
-- The last decision that does not follow another one could not be made.
local failed = false

-- A rule as its own algorithm knows it.
local function rule_of(index)
  local rule = rules[index]
  if not rule then
    local kind, a, b, c, d, e, f = struct.unpack('<Bdddddd', blob, rules_at + index * 49)
    local algorithm = entered[kind] or algorithm_of(kind)
    rule = algorithm.rule(a, b, c, d, e, f)
    rule.algorithm = algorithm
    rules[index], entered[kind] = rule, algorithm
  end
  return rule
end

-- Returns the answer, and the place at which the next decision begins.
decide = function(at)
  -- The numbers of verbs, and what the first byte of an answer says, are those of encode.rs and decode.rs.
  local RESET, LIMIT, PEEK, CHARGE, REFUND, UNDO, ACQUIRE, PLAIN, DENIED = 0, 1, 2, 3, 4, 5, 6, 7, 8
  local OBSERVE, RENEW, BLOCK = 9, 10, 11
  local FOLLOWS = 16
  local asked, count, number, given, deadline
  local plain
  if string.byte(blob, at) == PLAIN then
    plain, asked, count, number, given = {}, LIMIT, 1, 0, -1
    local _
    _, plain.key, plain.index, plain.cost, deadline, at = struct.unpack('<BI4I4I4d', blob, at)
  else
    asked, count, number, given, deadline, at = struct.unpack('<BI4ddd', blob, at)
  end
  local follows = asked >= FOLLOWS
  if follows then
    asked = asked - FOLLOWS
  end
  failed = follows and failed
  if deadline < server then
    return '\255', plain and at or at + count * 32
  elseif failed then
    return struct.pack('<Bd', 254, 1), at + count * 32
  elseif asked == RESET then
    for _ = 1, count do
      local _, key = struct.unpack('<I4I4', blob, at)
      redis.call('PEXPIRE', KEYS[key], 0)
      at = at + 32
    end
    return '\1', at
  end

  -- Of each check so many units instead of its cost: as many as all have room for, or as it needs.
  local units
  if number > 0 and asked ~= ACQUIRE and asked ~= OBSERVE and asked ~= BLOCK then
    local from, now = at, given < 0 and server or given
    for _ = 1, count do
      local index, key, cost
      index, key, cost, from = struct.unpack('<I4I4dxxxxxxxxxxxxxxxx', blob, from)
      local rule = rule_of(index)
      local algorithm = rule.algorithm
      local state = algorithm.read(algorithm, rule, KEYS[key], now)
      algorithm.advance(rule, state, now)
      local room = algorithm.room(rule, state, now, number)
      room = room < cost and room or cost
      units = units and units < room and units or room
    end
    if asked == DENIED or units < number then
      units = number
    end
  end

  -- The first step: brings every state to `now`, and asks whether the cost fits. Nothing is written before that.
  local now, checks, states, admitted = given < 0 and server or given, {}, {}, asked ~= DENIED
  -- The check that cannot be decided, unless a block beside it denies it.
  local beyond
  for i = 1, count do
    local index, key, cost, total, spent
    if plain then
      index, key, cost, total, spent = plain.index, plain.key, plain.cost, plain.cost, 0
    else
      index, key, cost, total, spent, at = struct.unpack('<I4I4ddd', blob, at)
    end
    if units then
      cost, total = units, total - cost + units
    end
    local rule, corrupt = rule_of(index), false
    local algorithm = rule.algorithm
    if not states[key] then
      local state = algorithm.read(algorithm, rule, KEYS[key], now)
      states[key], corrupt = state, state.corrupt
    end
    local state = states[key]
    local repaired = algorithm.advance(rule, state, now)
    local fits, wait, bears = true, 0, true
    local before, closes = checks[i - 1], false
    if algorithm.blocks then
      local open = algorithm.fits(rule, state, now, total)
      if asked == LIMIT or asked == PEEK or asked == ACQUIRE or asked == DENIED then
        before.closed, closes = not open, asked ~= PEEK and not before.fits
      elseif asked == CHARGE then
        closes = not before.rule.algorithm.fits(before.rule, states[before.key], now, before.total)
      end
      beyond = not before.closed and beyond or nil
      closes = closes and cost > 0
    end
    if beyond then
      failed = failed or not follows
      return struct.pack('<Bd', 254, beyond), at + (count - i) * 32
    end
    if asked == ACQUIRE and algorithm.reserves then
      wait = algorithm.wait(rule, state, now, total)
      fits = wait <= number
      bears = not fits or algorithm.bears(rule, state, now, total)
    elseif asked == LIMIT or asked == PEEK or asked == ACQUIRE or asked == DENIED then
      fits = algorithm.fits(rule, state, now, total)
      -- A cost that fits is bounded by the quota, unless it is paid later; a denied one may be charged too.
      local unbounded = algorithm.pays_later
      if not fits then
        unbounded = rule.counts_blocked and asked ~= PEEK
      end
      bears = not unbounded or algorithm.bears(rule, state, now, total)
    elseif asked == OBSERVE then
      -- The cost is what is left upstream, the number the time to wait.
      local raised = algorithm.observe(rule, state, now, cost, number)
      bears = not raised or algorithm.bears(rule, raised, now, 0)
    elseif asked == RENEW then
      -- Here the total is the instant of the charge.
      fits = algorithm.holds(rule, state, now, cost, total)
    elseif asked == CHARGE then
      bears = algorithm.bears(rule, state, now, total)
    elseif asked == UNDO and spent > cost then
      bears = algorithm.bears(rule, state, now, spent - cost)
    end
    if not bears then
      beyond, fits = i, false
    end
    admitted = admitted and fits
    checks[i] = {
      rule = rule,
      key = key,
      cost = cost,
      total = total,
      spent = spent,
      fits = fits,
      closes = closes,
      first = (fits and 1 or 0) + (corrupt and 2 or 0) + (repaired and 4 or 0),
      wait = wait,
      repaired = repaired,
    }
  end

  if beyond then
    failed = failed or not follows
    return struct.pack('<Bd', 254, beyond), at
  end

  -- The second step, when it is known whether every check is admitted: charges or gives back.
  local told = { count == 0 and '\1' or nil }
  for i = 1, count do
    local check = checks[i]
    local rule, cost = check.rule, check.cost
    local algorithm, state = rule.algorithm, states[check.key]
    local gives_back = asked == REFUND or asked == UNDO
    local charges = asked == CHARGE
      or not gives_back
        and asked ~= PEEK
        and asked ~= OBSERVE
        and asked ~= BLOCK
        and (admitted or rule.counts_blocked and not check.closed)
    local raised = asked == OBSERVE and algorithm.observe(rule, state, now, cost, number)
    -- True if the state has to be kept; and the units that must fit for the answer's reset.
    local keeps, awaited, writes = true, 1, true
    if not gives_back and asked ~= OBSERVE and asked ~= BLOCK and not (charges and admitted) then
      awaited = (charges or asked == RENEW) and cost or check.total
    end
    if algorithm.blocks then
      if check.closes and algorithm.fits(rule, state, now, 1) then
        algorithm.charge(rule, state, now)
      else
        writes = asked == BLOCK and algorithm.close_for(rule, state, now, number)
        keeps = writes or check.repaired and asked ~= PEEK
      end
    elseif asked == UNDO and check.spent > cost then
      algorithm.charge(rule, state, now, check.spent - cost)
    elseif raised then
      for name, value in pairs(raised) do
        state[name] = value
      end
    elseif asked == OBSERVE or cost == 0 or not charges and not gives_back then
      -- Nothing is written, so that what was seen is there again for a clock that steps back.
      keeps, writes = check.repaired and asked ~= PEEK, false
    elseif charges and asked == RENEW then
      algorithm.renew(rule, state, now, cost, check.total)
    elseif charges then
      algorithm.charge(rule, state, now, cost)
    elseif asked == REFUND then
      algorithm.give_back(rule, state, now, cost)
    else
      -- Here the total is the instant of the charge.
      algorithm.undo(rule, state, now, cost, check.spent, check.total)
    end
    told[i] = algorithm.tell(rule, state, now, check.first, check.wait, awaited)
    check.keeps, state.changed = keeps, state.changed or writes
  end

  -- The last step: of several checks of one entry the last says how it is kept.
  for i = count, 1, -1 do
    local check = checks[i]
    local key = check.key
    if check.keeps and states[key] then
      local rule = check.rule
      rule.algorithm.write(rule.algorithm, rule, KEYS[key], states[key], now, given >= 0)
      states[key] = nil
    end
  end
  return table.concat(told) .. (units and struct.pack('<d', units) or ''), at
end
