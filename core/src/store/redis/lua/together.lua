-- The decisions, one after the other; in each, all of its checks are charged, or none is.

local RESET, LIMIT, PEEK, CHARGE, REFUND, UNDO, ACQUIRE = 0, 1, 2, 3, 4, 5, 6
-- What the first byte of an answer says: that nothing was decided, or the sum of what is true of the first check.
local LATE, OVERFLOWS, FITS, CORRUPT = 255, 254, 1, 2

-- The first step of a call: whether the cost fits, how long to wait for it, and whether the state had to be mended.
-- Nothing where the charge would take the state out of the range in which it is exact.
local function examine(room, rule, state, now, asked, number, total)
  local mended = room.advance(rule, state, now)
  if asked == LIMIT or asked == PEEK or asked == ACQUIRE and not room.reserves then
    local fits = room.fits(rule, state, now, total)
    if fits and room.pays_later and not room.bears(rule, state, total) then
      return nil
    end
    return fits, 0, mended
  elseif asked == ACQUIRE then
    local wait = room.wait(rule, state, now, total)
    return wait <= number and room.bears(rule, state, total), wait, mended
  elseif asked == CHARGE and not room.bears(rule, state, total) then
    return nil
  end
  return true, 0, mended
end

-- The second step, when it is known whether every check is admitted: charges or gives back. Answers whether the state
-- has to be kept, and how much has to fit for what the answer calls a reset.
local function commit(room, rule, state, now, asked, number, admitted, mended, cost, total, spent)
  if asked == CHARGE or (asked == LIMIT or asked == ACQUIRE) and (admitted or rule.counts_blocked) then
    room.charge(rule, state, now, cost)
    return true, admitted and 1 or cost
  elseif asked == REFUND then
    room.give_back(rule, state, now, cost)
    return true, 1
  elseif asked == UNDO then
    room.undo(rule, state, now, cost, spent, number)
    return true, 1
  end
  return mended and asked ~= PEEK, total
end

local rules, rooms, entered = {}, {}, {}
local answers = {}
local blob = ARGV[1]

-- The time is asked for once: it goes on while a script runs.
local asks_for_time, rule_count, place = unpack('<BI4', blob)
local server = -1
if asks_for_time == 1 then
  local time = call('TIME')
  server = time[1] * 1000000 + time[2]
end
answers[1] = pack('<d', server)

for i = 1, rule_count do
  local kind, a, b, c, d, e, f
  kind, a, b, c, d, e, f, place = unpack('<Bdddddd', blob, place)
  local room = entered[kind]
  if not room then
    room = room_of(kind)
    entered[kind] = room
  end
  rooms[i], rules[i] = room, room.rule(a, b, c, d, e, f)
end

-- The only check of its decision, which most are.
local function one(asked, number, now, given, rule, key, cost, total, spent)
  local room = rooms[rule]
  rule, key = rules[rule], KEYS[key]
  local state = room.read(room, rule, key, now)
  local fits, wait, mended = examine(room, rule, state, now, asked, number, total)
  if fits == nil then
    return pack('<Bd', OVERFLOWS, 1)
  end
  local kept, awaited = commit(room, rule, state, now, asked, number, fits, mended, cost, total, spent)
  local first = (fits and FITS or 0) + (state.corrupt and CORRUPT or 0)
  local told = room.tell(rule, state, now, first, wait, awaited)
  if kept then
    room.write(room, rule, key, state, now, given)
  end
  return told
end

-- What a rule's room sees of an entry: what another kind of room left there counts as absent.
local function state_in(room, rule, entry, now)
  if entry.room ~= room then
    entry.room, entry.state = room, room.fresh(rule, now, entry.key)
    entry.state.kept = true
  end
  return entry.state
end

-- Several checks. All of them are looked at before the first of them writes.
local function several(asked, number, now, given, at, count)
  local checks, entries, admitted = {}, {}, true
  for i = 1, count do
    local rule, key, cost, total, spent
    rule, key, cost, total, spent, at = unpack('<I4I4ddd', blob, at)
    local room, first, entry = rooms[rule], 0, entries[key]
    rule = rules[rule]
    if not entry then
      entry = { key = KEYS[key], room = room, state = room.read(room, rule, KEYS[key], now) }
      entries[key] = entry
      first = entry.state.corrupt and CORRUPT or 0
    end
    local fits, wait, mended = examine(room, rule, state_in(room, rule, entry, now), now, asked, number, total)
    if fits == nil then
      return pack('<Bd', OVERFLOWS, i)
    end
    admitted = admitted and fits
    checks[i] = {
      room = room,
      rule = rule,
      entry = entry,
      cost = cost,
      total = total,
      spent = spent,
      first = first + (fits and FITS or 0),
      wait = wait,
      mended = mended,
    }
  end
  local told = {}
  for i, check in ipairs(checks) do
    local room, rule, entry = check.room, check.rule, check.entry
    local state = state_in(room, rule, entry, now)
    local kept, awaited =
      commit(room, rule, state, now, asked, number, admitted, check.mended, check.cost, check.total, check.spent)
    told[i] = room.tell(rule, state, now, check.first, check.wait, awaited)
    if kept then
      -- Of several checks of one entry the last says how it is kept.
      entry.kept_by = check
    end
  end
  for _, entry in pairs(entries) do
    local check = entry.kept_by
    if check then
      local state = state_in(check.room, check.rule, entry, now)
      check.room.write(check.room, check.rule, entry.key, state, now, given)
    end
  end
  return table.concat(told)
end

local function reset(at, count)
  for _ = 1, count do
    local _, key
    _, key, at = unpack('<I4I4', blob, at)
    forget(KEYS[key])
    at = at + 24
  end
  return '\1'
end

local made = 1
while place <= #blob do
  local asked, count, number, given, deadline
  asked, count, number, given, deadline, place = unpack('<BI4ddd', blob, place)
  local now = given < 0 and server or given
  made = made + 1
  if deadline < server then
    answers[made] = pack('B', LATE)
  elseif asked == RESET then
    answers[made] = reset(place, count)
  elseif count == 1 then
    answers[made] = one(asked, number, now, given >= 0, unpack('<I4I4ddd', blob, place))
  elseif count == 0 then
    answers[made] = pack('B', FITS)
  else
    answers[made] = several(asked, number, now, given >= 0, place, count)
  end
  place = place + count * 32
end
return table.concat(answers)
