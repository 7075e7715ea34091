-- The cell in the layout of Sharkey's SkRateLimiterService: two keys, `…c` for how much is in it and `…t` for the
-- millisecond from which its ticks count. Others change them by differences, in between two of our calls.

if kind == 7 then
  local cell = room_of(1)

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

  local room = setmetatable({}, { __index = cell })

  room.read = function(_, rule, key, now)
    local level, foreign = number(key)
    local tick, foreign_too = number(tick_of(key))
    local state = { kind = 7, level = 0, since = whole(now), owed = 0, kept = level or tick or foreign or foreign_too }
    state.corrupt = foreign or foreign_too
    if level and level > 0 then
      state.level = level
    elseif level then
      -- Somebody dripped twice and is about to take it back; no more than a bucket of that is believed.
      state.owed = math.max(level, -rule.capacity)
    end
    if tick and tick > 0 then
      state.since = tick * 1000
    elseif state.level > 0 then
      -- A counter whose tick was lost drips from now on.
      state.untimed = true
    end
    return state
  end

  room.write = function(_, rule, key, state, now, given)
    if state.level == 0 and state.owed == 0 then
      if state.kept then
        redis.call('PEXPIRE', key, 0)
        redis.call('PEXPIRE', tick_of(key), 0)
      end
      return
    end
    -- Both live equally long, and as long as a full bucket takes: others charge without looking.
    local time = math.max(room.full(rule, state, now), cell.full(rule, { level = rule.capacity, since = 0 }, 0))
    if given then
      time = math.max(time, 3600000000)
    end
    time = math.ceil(math.min(time, 2 ^ 53) / 1000000)
    redis.call('SET', key, string.format('%.0f', state.level + state.owed), 'EX', time)
    redis.call('SET', tick_of(key), string.format('%.0f', state.since / 1000), 'EX', time)
  end

  room.advance = function(rule, state, now)
    local mended = cell.advance(rule, state, whole(now)) or state.untimed
    state.untimed = nil
    return mended
  end

  room.wait = function(rule, state, now, cost)
    return cell.wait(rule, state, whole(now), cost)
  end

  room.full = function(rule, state, now)
    return cell.full(rule, state, whole(now))
  end

  return room
end
