-- Functions shared by the algorithms whose state is a few numbers, kept as one string.

-- The state that is kept, or else the one that an absent entry stands for.
local function read(algorithm, rule, key, now)
  local value = redis.pcall('GET', key)
  if not value then
    return algorithm.fresh(rule, now)
  end
  local state
  if type(value) == 'string' then
    state = algorithm.decode(value)
  elseif string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then
    redis.call('GET', key)
  end
  if not state then
    -- No limit of ours has left this here.
    state = algorithm.fresh(rule, now)
    state.corrupt = true
  end
  state.kept = true
  return state
end

-- A state that a wrong clock had left in the future, and that nothing else was written to, is kept as `mended` says; where
-- this rule finds it empty, for as long as the rule that wrote it has said.
local function write(algorithm, rule, key, state, now, given)
  local value = not state.changed and state.mended
  if algorithm.is_empty(rule, state, now) then
    if value then
      redis.call('SET', key, value, 'KEEPTTL')
    elseif state.kept then
      redis.call('PEXPIRE', key, 0)
    end
    return
  end
  value = value or algorithm.encode(state)
  local full = algorithm.full(rule, state, now)
  if full > 2 ^ 53 then
    full = 2 ^ 53
  end
  if given then
    -- The caller's clock says nothing of the server's.
    full = full > 3600000000 and full or 3600000000
    redis.call('SET', key, value, 'PX', math.ceil(full / 1000))
  else
    redis.call('SET', key, value, 'PXAT', math.ceil((now + full) / 1000))
  end
end
