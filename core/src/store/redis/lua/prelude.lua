-- The engine's arithmetic once more, where the entries are: the algorithms of core/src/algorithm, function by function.
--
-- Numbers are doubles, so every integer stays below 2^53, sums that may not are compared as differences, and no number
-- becomes text but by a format. A number that is an argument of a command is written in full.
--
-- A key that is to be removed expires at once: a user may be allowed EXPIRE, and not DEL.
--
-- Making a function or a table takes as long as a good part of a command, and a local that a function sees takes longer
-- than a global. So the algorithms come after the commonest call, are entered only when they are needed, and see little.

local call, try = redis.call, redis.pcall
local floor, ceil = math.floor, math.ceil
local format = string.format
local pack, unpack = struct.pack, struct.unpack

-- The encoding of decisions and rules is in encode.rs, that of answers in decode.rs.
local keys, blob = KEYS, ARGV[1]
local place, asks_for_time, rules_at = 6, unpack('<BI4', blob)
rules_at = rules_at + 1

-- The time is asked for once: it goes on while a script runs.
local server = -1
if asks_for_time > 0 then
  local time = call('TIME')
  server = time[1] * 1000000 + time[2]
end
if asks_for_time == 2 then
  -- The rules know the calendar of these instants.
  local from, to
  from, to, place = unpack('<dd', blob, place)
  if server < from or server >= to then
    return pack('<dB', server, 253)
  end
end

-- The answer of the last decision, and those of the decisions before it.
local answer, answers
local filled = 0
-- The same of the commonest call, while nothing has come after it.
local fits, level, since
local decide
