-- The commonest call: `limit` with one check, of a level. What the level's algorithm says is written out here.

local known, tick, drain, ticks, aligned, quota, most
local expiry, text
while place < rules_at do
  if fits then
    answer, fits = pack('<Bddd', fits, 0, level, since), nil
  end
  if answer then
    answers = answers or {}
    filled = filled + 1
    answers[filled] = answer
  end
  local asked, key, rule, cost, deadline, next = unpack('<BI4I4I4d', blob, place)
  if asked ~= 7 then
    break
  end
  if rule ~= known then
    known, tick, drain, ticks, aligned, quota, most = rule, unpack('<dddddd', blob, rules_at + rule * 49 + 1)
  end
  if deadline < server then
    answer = '\255'
  else
    key, level, since = keys[key], 0, server
    local value = try('GET', key)
    if value then
      -- The bytes that the level reads
      if #value ~= 15 then
        break
      end
      local tag
      tag, level, since = unpack('<BI7I7', value)
      if tag ~= 99 or level > most or since > server then
        -- Something else is kept here, or it is overfilled beyond measure, or from a future that may have to be repaired.
        break
      end
    end

    -- advance, left
    local passed = floor((server - since) / tick)
    local left = level
    if passed > 0 and ticks == 1 then
      level = level - passed * drain
      left, since = level, since + passed * tick
    elseif passed > 0 then
      local groups = floor(passed / ticks)
      level, since, passed = level - groups * drain, since + groups * ticks * tick, passed - groups * ticks
      left = level - floor(passed * drain / ticks)
    end
    if left <= 0 then
      level, left, since = 0, 0, aligned == 1 and server - server % tick or server
    end

    -- fits, charge
    if cost > quota - left then
      fits = 0
    else
      fits = 1
      if cost > 0 then
        level = level + cost
        -- full, and how the level's algorithm writes
        local time
        if ticks == 1 then
          time = ceil(level / drain) * tick
        else
          local groups = floor(level / drain)
          time = (groups * ticks + ceil((level - groups * drain) * ticks / drain)) * tick
        end
        local millis = ceil((since + time) / 1000)
        if millis ~= expiry then
          -- Given as a number, it would take longer to become text.
          local high = floor(millis / 1000000)
          expiry, text = millis, format('%d%06d', high, millis - high * 1000000)
        end
        call('SET', key, pack('<BI7I7', 99, level, since), 'PXAT', text)
      end
    end
  end
  place = next
end
