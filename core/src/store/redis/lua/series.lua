-- Counts in order of time, of which the oldest and the newest can be taken away.
--
-- A sorted set of runs: a run's instant is its score, and its member the sum of all units up to it, behind the tag of
-- its algorithm. A run at -1 stands for what was dropped: its sum is where those that are kept begin. In slots an instant
-- is the latest of its slot, and the member ends in their length, by which a definition of other slots is recognised.

local pattern = kind == 5 and '^s(%d+):(%d+)$' or kind == 6 and '^l(%d+)()$' or '^h(%d+)()$'

local function sum_of(member)
  return tonumber(string.match(member, '^%a(%d+)') or '') or 0
end

local function name(state, sum)
  if kind == 5 then
    return string.format('s%.0f:%.0f', sum, state.grain)
  end
  return string.format(kind == 6 and 'l%.0f' or 'h%.0f', sum)
end

-- The newest run is `at` (nil = there is none), and `sum` is the sum up to it. What is `stale` is still kept, but has
-- to go before anything is written.
local function read(_, _, key)
  local newest = redis.pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
  if newest.err then
    if string.sub(newest.err, 1, 9) ~= 'WRONGTYPE' then
      redis.call('ZRANGE', key, -1, -1)
    end
    return { key = key, sum = 0, kept = true, stale = true, corrupt = true }
  end
  if not newest[1] then
    return { key = key, sum = 0 }
  end
  local sum, grain = string.match(newest[1], pattern)
  local at = tonumber(newest[2])
  if not sum or #sum > 16 or not (at >= 0 and at <= 2 ^ 53) then
    return { key = key, sum = 0, kept = true, stale = true, corrupt = true }
  end
  return { key = key, at = at, sum = sum + 0, grain = grain + 0, kept = true }
end

local function clear(state)
  if state.kept then
    redis.call('PEXPIRE', state.key, 0)
  end
  state.at, state.sum, state.from, state.kept, state.stale = nil, 0, nil, false, false
end

-- The sum before an instant, remembered until it changes.
local function sum_before(state, from)
  if state.from ~= from then
    local base, is_old = 0, false
    if state.at and state.at < from then
      base, is_old = state.sum, true
    elseif state.at then
      local run = redis.call('ZRANGE', state.key, from - 1, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
      if run[1] then
        base, is_old = sum_of(run[1]), tonumber(run[2]) >= 0
      end
    end
    state.from, state.base, state.is_old = from, base, is_old
  end
  return state.base
end

-- The number of units that came at `from` or later.
local function count_from(state, from)
  return state.sum - sum_before(state, from)
end

-- A run as it is told: what a wrong clock has left in the future is of the latest instant that can be.
local function seen(state, run)
  local at, sum = tonumber(run[2]), sum_of(run[1])
  if state.latest and at > state.latest then
    return state.latest, state.sum
  end
  return at, sum
end

-- The instant of the first run up to which there are this many, the sum up to it, and its rank.
local function run_at(state, sum)
  local low, high = 0, redis.call('ZCARD', state.key) - 1
  local below, above = 0, state.sum
  local halve = false
  while low < high do
    -- If all runs hold the same number, the first guess is right.
    local guess = low - 1 + math.ceil((sum - below) * (high - low + 1) / (above - below))
    if halve then
      guess = math.floor((low + high) / 2)
    end
    if not (guess > low) then
      guess = low
    elseif guess >= high then
      guess = high - 1
    end
    local found = sum_of(redis.call('ZRANGE', state.key, guess, guess)[1])
    if found >= sum then
      high, above = guess, found
    else
      low, below = guess + 1, found
    end
    halve = not halve
  end
  local at, last = seen(state, redis.call('ZRANGE', state.key, low, low, 'WITHSCORES'))
  return at, last, low
end

-- Sums start over before they are no longer exact.
local function start_over(state)
  local runs = redis.call('ZRANGE', state.key, 0, -1, 'WITHSCORES')
  local dropped = sum_before(state, 0)
  redis.call('PEXPIRE', state.key, 0)
  for i = 1, #runs, 2 do
    local sum = sum_of(runs[i]) - dropped
    if sum > 0 then
      redis.call('ZADD', state.key, runs[i + 1], name(state, sum))
    end
  end
  state.sum, state.from = state.sum - dropped, nil
end

-- Adds to the newest end; `at` is not before the newest. What came at `from` or later becomes of this instant too.
local function push(state, from, at, units)
  if units == 0 then
    return
  end
  if state.stale then
    clear(state)
  end
  if units > 2 ^ 53 - state.sum and state.at then
    start_over(state)
  end
  if units > 2 ^ 53 - state.sum then
    units = 2 ^ 53 - state.sum
  end
  if state.at and state.at >= from then
    redis.call('ZREMRANGEBYRANK', state.key, -1, -1)
  end
  state.at, state.sum, state.kept = at, state.sum + units, true
  redis.call('ZADD', state.key, at, name(state, state.sum))
end

-- Takes the newest units away.
local function take_newest(state, units)
  if not state.at or units == 0 then
    return
  end
  local dropped = sum_before(state, 0)
  if units >= state.sum - dropped then
    clear(state)
    return
  end
  local sum = state.sum - units
  local at, _, rank = run_at(state, sum)
  redis.call('ZREMRANGEBYRANK', state.key, rank, -1)
  redis.call('ZADD', state.key, at, name(state, sum))
  state.at, state.sum, state.from = at, sum, nil
end

-- Takes the newest of the units that came at `from` or later and before `to`, as far as there are so many.
local function take_between(state, from, to, units)
  if not state.at or state.at < from then
    return
  end
  local before = sum_before(state, from)
  local runs = redis.call('ZRANGE', state.key, from, '+inf', 'BYSCORE', 'WITHSCORES')
  local there = before
  for i = 1, #runs, 2 do
    if tonumber(runs[i + 1]) < to then
      there = sum_of(runs[i])
    end
  end
  local taken = there - before
  taken = taken < units and taken or units
  if taken <= 0 then
    return
  end
  redis.call('ZREMRANGEBYSCORE', state.key, from, '+inf')
  state.at = nil
  local last = before
  for i = 1, #runs, 2 do
    local at, sum = tonumber(runs[i + 1]), sum_of(runs[i])
    if at >= to then
      sum = sum - taken
    elseif sum > there - taken then
      sum = there - taken
    end
    if sum > last then
      state.at, state.sum, last = at, sum, sum
      redis.call('ZADD', state.key, runs[i + 1], name(state, sum))
    end
  end
  state.from = nil
  if not state.at then
    local newest = redis.call('ZRANGE', state.key, -1, -1, 'WITHSCORES')
    if newest[1] and tonumber(newest[2]) >= 0 then
      state.at, state.sum = tonumber(newest[2]), sum_of(newest[1])
    else
      clear(state)
    end
  end
end

-- Makes one run of all that lies in one slot of this length, of the latest of its instants.
local function gather(state, grain)
  if state.at and state.grain ~= grain then
    local runs = redis.call('ZRANGE', state.key, 0, -1, 'WITHSCORES')
    redis.call('PEXPIRE', state.key, 0)
    state.grain, state.from = grain, nil
    for i = 1, #runs, 2 do
      local at, next = tonumber(runs[i + 1]), tonumber(runs[i + 3])
      if at < 0 or not next or next - next % grain > at then
        redis.call('ZADD', state.key, runs[i + 1], name(state, sum_of(runs[i])))
      end
    end
  end
  state.grain = grain
end

-- Forgets what came before this.
local function keep_from(state, from)
  local dropped = sum_before(state, from)
  if not state.is_old then
    return
  end
  if state.at < from then
    clear(state)
    return
  end
  redis.call('ZREMRANGEBYSCORE', state.key, '-inf', from - 1)
  redis.call('ZADD', state.key, -1, name(state, dropped))
  state.is_old = false
end

-- Forgets all but the newest units, of a series that is kept from `from`.
local function keep_newest(state, units, from)
  local dropped = state.sum - units
  if not state.at or dropped <= sum_before(state, from) then
    return
  end
  local _, _, rank = run_at(state, dropped + 1)
  if rank > 0 then
    redis.call('ZREMRANGEBYRANK', state.key, 0, rank - 1)
  end
  redis.call('ZADD', state.key, -1, name(state, dropped))
  state.base = dropped
end

local function write(algorithm, rule, _, state, now, given)
  local full = algorithm.full(rule, state, now)
  if full == 0 then
    clear(state)
  elseif given then
    redis.call('PEXPIRE', state.key, math.ceil((full > 3600000000 and full or 3600000000) / 1000))
  else
    redis.call('PEXPIREAT', state.key, math.ceil((now + full) / 1000))
  end
end

-- The runs that an answer depends on: the newest, and those up to which as many units came as have to leave until
-- `awaited` fit, and until one more remains.
local function tell(rule, state, from, first, wait, awaited)
  if not state.at then
    return struct.pack('<BdB', first, wait, 0)
  end
  local count = count_from(state, from)
  local over, next_over = count + awaited - rule.max, count + 1 - rule.max
  if next_over < 1 then
    next_over = 1
  end
  if over > next_over then
    over, next_over = next_over, over
  end
  local runs, told, last = 0, '', 0
  for _ = 1, 2 do
    if over > last and over <= count then
      local at, sum
      if over == 1 then
        local run = redis.call('ZRANGE', state.key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
        at, sum = seen(state, run)
      else
        at, sum = run_at(state, state.base + over)
      end
      last = sum - state.base
      runs, told = runs + 1, told .. struct.pack('<dd', at, last)
    end
    over = next_over
  end
  if last < count or count == 0 then
    runs, told = runs + 1, told .. struct.pack('<dd', state.at, count)
  end
  return struct.pack('<BdB', first, wait, runs) .. told
end
