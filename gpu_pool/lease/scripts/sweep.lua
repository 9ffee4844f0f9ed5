-- ARGV: epoch, limit
if not meta or not confirmed() or tonumber(ARGV[1]) > meta[EPOCH] then return answer('NO_EPOCH') end
if tonumber(ARGV[1]) < meta[EPOCH] then return answer('STALE_EPOCH') end
local limit = tonumber(ARGV[2])
local counts = {0, 0, 0, 0, 0, 0}  -- suspect, unclaimed, absent, silent, timed out, quarantined
sweep(limit, counts)

local function drop(id, r, state)  -- a request that does not run
  if r[R_STATE] == WAITING then dequeue(id, r) end
  if r[R_STATE] == GRANTED then settle(id, r) end
  finish(id, state)
  if r[R_STATE] == GRANTED then vacate(r[R_GPU], get(GPU, r[R_GPU])) end
end

local function absent(gpu)
  local g = get(GPU, gpu)
  if not g or g[G_STATE] == 'quarantined' then return end
  local r = live_lease(g)
  if r and g[G_STATE] == 'suspect' then
    settle(g[G_REQUEST], r)
    finish(g[G_REQUEST], 'expired')
  elseif r then
    requeue(g[G_REQUEST], r)
  end
  g[G_STATE], g[G_REQUEST], g[G_SINCE] = 'absent', '', now
  put(GPU, gpu, g)
  call('ZREM', FREE, gpu)
  counts[3] = counts[3] + 1
end

local function silent(client)
  local all = call('HKEYS', REQ)
  table.sort(all)
  for _, id in ipairs(all) do
    local r = get(REQ, id)
    if r and r[R_CLIENT] == client and r[R_STATE] ~= HELD then
      drop(id, r, 'cancelled')
      counts[4] = counts[4] + 1
    end
  end
end

for _, who in ipairs(call('ZRANGEBYSCORE', SEEN, '-inf', now, 'LIMIT', 0, limit)) do
  call('ZREM', SEEN, who)
  local kind, id = string.sub(who, 1, 1), string.sub(who, 3)
  if kind == 'g' then absent(id) else silent(id) end
end

local runs = call('ZRANGE', ELIG, 0, -1)
table.sort(runs)
for _, run in ipairs(runs) do
  while counts[5] < limit do
    local first = call('ZRANGEBYLEX', WAIT, '[' .. run .. '|', '(' .. run .. '}', 'LIMIT', 0, 1)[1]
    if not first then break end
    local id = string.sub(first, #run + 19)
    local r = get(REQ, id)
    if now - r[R_ENQUEUED] <= settings[MAX_WAIT] then break end
    drop(id, r, 'timeout')
    counts[5] = counts[5] + 1
  end
end

local gpus = call('HKEYS', GPU)
table.sort(gpus)
for _, gpu in ipairs(gpus) do
  local g = get(GPU, gpu)
  if g[G_STATE] == 'suspect' and now - g[G_SINCE] > settings[CLEARING] then
    local r = live_lease(g)
    if r then
      settle(g[G_REQUEST], r)
      finish(g[G_REQUEST], 'expired')
    end
    g[G_STATE], g[G_REQUEST], g[G_SINCE], g[G_FAILS] = 'quarantined', '', now, g[G_FAILS] + 1
    put(GPU, gpu, g)
    count('quarantined')
    counts[6] = counts[6] + 1
  end
end
return answer('OK', meta[FLOOR], unpack(counts))
