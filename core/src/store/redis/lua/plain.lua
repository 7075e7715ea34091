-- The commonest call: `limit` with one check, of a cell. What the cell's room says is written out here.

local known, kind, unit, tick, drain, aligned, capacity
while place < rules_at do
  if answer then
    answers = answers or {}
    answers[#answers + 1] = answer
  end
  local asked, count, _, given, deadline, rule, key, cost, next = unpack('<BI4dddI4I4d', blob, place)
  if asked ~= 1 or count ~= 1 then
    break
  end
  if rule ~= known then
    known, kind, unit, tick, drain, aligned, capacity = rule, unpack('<Bddddd', blob, rules_at + rule * 49)
  end
  if kind ~= 1 then
    break
  end
  if deadline < server then
    answer = '\255'
  else
    key = KEYS[key]
    local now = given < 0 and server or given
    local value, level, since = try('GET', key), 0, now
    if value then
      -- Cell::decode
      if value.err then
        break
      elseif byte(value) == 99 then
        since, level = tonumber(sub(value, 2, 17)), tonumber(sub(value, 19))
      elseif #value == 19 then
        local hundreds, tens, ones = byte(value, 17, 19)
        since, level = tonumber(sub(value, 1, 16)), hundreds * 100 + tens * 10 + ones - 5328
        if not (since and since >= 1000000000000000 and tens >= 48 and tens <= 57 and ones >= 48 and ones <= 57) then
          break
        end
      else
        break
      end
      if
        not (since and level)
        or since % 1 + level % 1 ~= 0
        or not (level >= 0 and level <= capacity and since >= 0 and since - now <= ceil(capacity / drain) * tick)
      then
        -- Something else is kept here, or it is overfilled, or from a future that may have to be mended.
        break
      end
    end

    -- Cell::advance
    local elapsed = now > since and now - since or 0
    if elapsed >= tick or level == 0 then
      local ticks = floor(elapsed / tick)
      if ticks * drain >= level then
        level, since = 0, aligned == 1 and now - now % tick or now
      else
        level, since = level - ticks * drain, since + ticks * tick
      end
    end

    -- Cell::fits, Cell::charge
    local more = cost * unit
    if more > capacity - level then
      answer = pack('<Bddd', 0, 0, level, since)
    else
      level = level + more
      answer = pack('<Bddd', 1, 0, level, since)
      -- Cell::full, and how the cell's room writes
      if level == 0 then
        if value then
          call('PEXPIRE', key, 0)
        end
      else
        local high, time = floor(since / 10000000), since - now + ceil(level / drain) * tick
        local low, text = since - high * 10000000, nil
        if level <= 999 and since >= 1000000000000000 then
          text = format('%d%07d%03d', high, low, level)
        else
          text = format(level < 2147483648 and 'c%09d%07d:%d' or 'c%09d%07d:%.0f', high, low, level)
        end
        if given < 0 then
          -- Given as a number, it would take longer to become text.
          local millis = ceil((now + time) / 1000)
          high = floor(millis / 1000000)
          call('SET', key, text, 'PXAT', format('%d%06d', high, millis - high * 1000000))
        else
          call('SET', key, text, 'PX', ceil((time > 3600000000 and time or 3600000000) / 1000))
        end
      end
    end
  end
  place = next + 16
end
