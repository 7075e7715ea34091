-- The level in the layout of Sharkey's SkRateLimiterService: two keys, `…c` for how much is in it and `…t` for the
-- millisecond from which its ticks count. Others change them by differences, in between two of our calls.

if kind == 0 then
  local level_algorithm = algorithm_of(1)

  -- Nothing where there is none; nil and true where it is something else.
  local function number(key)
    local value = redis.pcall('GET', key)
    if not value then
      return nil
    elseif type(value) ~= 'string' and string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then
      redis.call('GET', key)
    end
    local found = type(value) == 'string' and #value <= 17 and string.find(value, '^-?%d+$') and value + 0
    if found and found <= 2 ^ 53 and found >= -(2 ^ 53) then
      return found
    end
    return nil, true
  end

  local function tick_of(key)
    return string.sub(key, 1, -2) .. 't'
  end

  local function whole(now)
    return now - now % 1000
  end

  local algorithm = setmetatable({}, { __index = level_algorithm })

  -- Nothing is kept of how far a clock of the caller's own may be behind. The server's does not go back: a tick that is
  -- ahead of it was moved there by a process that has dripped what others had dripped already, and is about to take it
  -- back. As many drips as it is ahead are still in the bucket; until then its tick is let alone.
  algorithm.read = function(_, rule, key, now)
    local counter, foreign = number(key)
    local tick, foreign_too = number(tick_of(key))
    local level = counter and counter > 0 and counter or 0
    local state = { level = level, since = whole(now), owed = 0 }
    state.kept = counter or tick or foreign or foreign_too
    state.corrupt = foreign or foreign_too
    if tick and tick > 0 then
      local ahead = tick * 1000 - whole(now)
      local window = level_algorithm.full(rule, { level = rule.quota, since = 0 }, 0)
      if now == server and ahead > 0 and ahead <= 1000 * window then
        local drips = math.ceil(ahead / rule.tick)
        local inside = math.min((counter or 0) + drips * rule.drain, math.max(level, rule.quota))
        state.level = inside > 0 and inside or 0
        state.since = tick * 1000 - drips * rule.tick
        state.owed, state.tick = (counter or 0) - state.level, tick
      else
        state.since = tick * 1000
      end
    elseif level > 0 then
      -- A counter whose tick was lost drips from now on.
      state.untimed = true
    end
    return state
  end

  algorithm.write = function(_, rule, key, state, now, given)
    if state.level == 0 and state.owed == 0 then
      if state.kept then
        redis.call('PEXPIRE', key, 0)
        redis.call('PEXPIRE', tick_of(key), 0)
      end
      return
    end
    -- Both live equally long, and as long as a full bucket takes: others charge without looking.
    local time = math.max(algorithm.full(rule, state, now), level_algorithm.full(rule, { level = rule.quota, since = 0 }, 0))
    if given then
      time = math.max(time, 3600000000)
    end
    time = math.ceil(math.min(time, 2 ^ 53) / 1000000)
    redis.call('SET', key, string.format('%.0f', state.level + state.owed), 'EX', time)
    redis.call('SET', tick_of(key), string.format('%.0f', state.tick or state.since / 1000), 'EX', time)
  end

  algorithm.advance = function(rule, state, now)
    if state.tick then
      -- Less than a drip has passed, and what is empty is not begun anew.
      return false
    end
    local repaired = level_algorithm.advance(rule, state, whole(now)) or state.untimed
    state.untimed = nil
    return repaired
  end

  algorithm.wait = function(rule, state, now, cost)
    return level_algorithm.wait(rule, state, whole(now), cost)
  end

  algorithm.full = function(rule, state, now)
    return level_algorithm.full(rule, state, whole(now))
  end

  return algorithm
end
