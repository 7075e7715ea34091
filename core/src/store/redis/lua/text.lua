-- What the rooms share whose state is a few numbers: they are one string.

-- True where something is kept here that no room of ours has left.
local function is_foreign(key)
  local value = try('GET', key)
  if type(value) == 'string' then
    return not find(value, '^[cwdp]%d') and not (#value == 19 and not find(value, '%D'))
  end
  local newest = try('ZRANGE', key, -1, -1)
  return newest.err ~= nil or not find(newest[1] or 's0', '^[sl]%d')
end

-- The state that is kept, or else the one that an absent entry stands for.
local function read(room, rule, key, now)
  local value = try('GET', key)
  if value then
    local state
    if type(value) == 'string' then
      state = room.decode(value)
    elseif sub(value.err, 1, 9) ~= 'WRONGTYPE' then
      call('GET', key)
    end
    if not state then
      state = room.fresh(rule, now)
      -- The wrong kind of text is foreign even where the tag is this room's own.
      state.corrupt = is_foreign(key) or type(value) == 'string' and sub(value, 1, 1) == room.tag
    end
    state.kept = true
    return state
  end
  return room.fresh(rule, now)
end

local function write(room, rule, key, state, now, given)
  if room.is_empty(rule, state, now) then
    if state.kept then
      forget(key)
    end
    return
  end
  local full = room.full(rule, state, now)
  if full > EXACT then
    full = EXACT
  end
  if given then
    -- The caller's clock says nothing of the server's.
    call('SET', key, room.encode(state), 'PX', ceil((full > HOUR and full or HOUR) / 1000))
  else
    call('SET', key, room.encode(state), 'PXAT', ceil((now + full) / 1000))
  end
end
