-- The engine's arithmetic once more, where the entries are: the rooms of core/src/decision, function by function.
--
-- Numbers are doubles, so every integer stays below 2^53, sums that may not are compared as differences, and no number
-- becomes text but by a format. A number that is an argument of a command is written in full.

local call, try = redis.call, redis.pcall
local floor, ceil = math.floor, math.ceil
local find, match, sub, format = string.find, string.match, string.sub, string.format
local pack, unpack = struct.pack, struct.unpack

local EXACT = 2 ^ 53
local HOUR = 3600000000

local CELL, COUNTER, DECAY, SMOOTH, SLOTS, LOG = 1, 2, 3, 4, 5, 6

-- Expired at once: the least that a user may do includes this, and not DEL.
local function forget(key)
  call('PEXPIRE', key, 0)
end
