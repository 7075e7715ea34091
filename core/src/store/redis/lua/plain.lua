-- The commonest call: `limit` with one check, of a cell. What the cell's room says is written out here.

local known, unit, tick, drain, aligned, capacity
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
    known, unit, tick, drain, aligned, capacity = rule, unpack('<ddddd', blob, rules_at + rule * 49 + 1)
  end
  if deadline < server then
    answer = '\255'
  else
    key, level, since = keys[key], 0, server
    local value = try('GET', key)
    if value then
      -- Cell::decode
      if #value ~= 15 then
        break
      end
      local tag
      tag, level, since = unpack('<BI7I7', value)
      if tag ~= 99 or level > capacity or since > server and since - server > ceil(capacity / drain) * tick then
        -- Something else is kept here, or it is overfilled, or from a future that may have to be mended.
        break
      end
    end

    -- Cell::advance
    local elapsed = server > since and server - since or 0
    if elapsed >= tick or level == 0 then
      local ticks = floor(elapsed / tick)
      if ticks * drain >= level then
        level, since = 0, aligned == 1 and server - server % tick or server
      else
        level, since = level - ticks * drain, since + ticks * tick
      end
    end

    -- Cell::fits, Cell::charge
    local more = cost * unit
    if more > capacity - level then
      fits = 0
    else
      fits, level = 1, level + more
      -- Cell::full, and how the cell's room writes
      if level == 0 then
        if value then
          call('PEXPIRE', key, 0)
        end
      else
        local millis = ceil((since + ceil(level / drain) * tick) / 1000)
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
