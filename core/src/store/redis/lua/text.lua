-- What the rooms share whose state is a few numbers: they are one string.

-- What a cell is kept as; the others are texts.
local function is_cell(value)
  return #value == 15 and string.sub(value, 1, 1) == 'c'
end

-- True where something is kept here that no room of ours has left.
local function is_foreign(key)
  local value = redis.pcall('GET', key)
  if type(value) == 'string' then
    return not is_cell(value) and not string.find(value, '^[wdp]%d')
  end
  local newest = redis.pcall('ZRANGE', key, -1, -1)
  return newest.err ~= nil or not string.find(newest[1] or 's0', '^[sl]%d')
end

-- The state that is kept, or else the one that an absent entry stands for.
local function read(room, rule, key, now)
  local value = redis.pcall('GET', key)
  if not value then
    return room.fresh(rule, now)
  end
  local state
  if type(value) == 'string' then
    state = room.decode(value)
  elseif string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then
    redis.call('GET', key)
  end
  if not state then
    state = room.fresh(rule, now)
    -- Under the tag of this room it is no other room's either.
    state.corrupt = is_foreign(key) or type(value) == 'string' and string.sub(value, 1, 1) == room.tag
  end
  state.kept = true
  return state
end

local function write(room, rule, key, state, now, given)
  if room.is_empty(rule, state, now) then
    if state.kept then
      redis.call('PEXPIRE', key, 0)
    end
    return
  end
  local full = room.full(rule, state, now)
  if full > 2 ^ 53 then
    full = 2 ^ 53
  end
  if given then
    -- The caller's clock says nothing of the server's.
    full = full > 3600000000 and full or 3600000000
    redis.call('SET', key, room.encode(state), 'PX', math.ceil(full / 1000))
  else
    redis.call('SET', key, room.encode(state), 'PXAT', math.ceil((now + full) / 1000))
  end
end
