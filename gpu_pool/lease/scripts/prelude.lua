-- The lease queue's state machine, first part of every script (leases.md). The same machine in C++
-- is gpu_pool/lease/core; a property test holds the two together. All times are microseconds of the
-- server clock, all records MessagePack arrays.
local META, GPU, FREE, REQ, WAIT, RUN, ELIG, DUE, DONE0, DONE1, DEAD, STAT, SEEN = unpack(KEYS)
local call, pack, decode, floor = redis.call, cmsgpack.pack, cmsgpack.unpack, math.floor

-- meta
local EPOCH, SERVER, CLOCK, SKEW, COUNTER, VCLOCK, GENERATION, SWAPPED, FLOOR, MEANS, SETTINGS =
  2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
-- settings
local TTL, CLAIM, MARGIN, CLEARING, HOLD, MAX_WAIT, ABSENT_AFTER, SILENT_AFTER, MAX_WAITING,
  MAX_CLIENT, MAX_ATTEMPTS, CLOSED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
-- gpu
local G_STATE, G_BOOT, G_ADDRESS, G_REQUEST, G_EPOCH, G_COUNTER, G_FAILS, G_SINCE =
  1, 2, 3, 4, 5, 6, 7, 8
-- request
local R_STATE, R_RUN, R_CLASS, R_CLIENT, R_GPU, R_EPOCH, R_COUNTER, R_ENQUEUED, R_GRANTED,
  R_ATTEMPTS, R_ESTIMATE, R_RETURNED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
local WAITING, PARKED, GRANTED, HELD = 'waiting', 'parked', 'granted', 'held'
-- run
local WEIGHT, CAP, IN_USE, QUEUED, VT = 1, 2, 3, 4, 5

local AGEING = {0, 20000000, 60000000}  -- score, verify, profile
local SWAP_AFTER, SWAP_ENTRIES, TRIES = 300000000, 100000, 8

local time = call('TIME')
local raw_now = time[1] * 1000000 + time[2]
local meta, now, settings
local packed_meta = call('GET', META)
if packed_meta then
  meta = decode(packed_meta)
  settings = meta[SETTINGS]
  now = raw_now + meta[SKEW]
  if now <= meta[CLOCK] then
    meta[SKEW] = meta[SKEW] + meta[CLOCK] + 1 - now
    now = meta[CLOCK] + 1
  end
  meta[CLOCK] = now
end

-- Every answer starts with the raw server time.
local function answer(...)
  if meta then call('SET', META, pack(meta)) end
  return {raw_now, ...}
end

local function identity()
  return string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
end
local confirmed_
local function confirmed()  -- whether this server is the one that the epoch was installed for
  if confirmed_ == nil then confirmed_ = identity() == meta[SERVER] end
  return confirmed_
end

local function get(key, id)
  local packed = call('HGET', key, id)
  return packed and decode(packed)
end
local function put(key, id, record) call('HSET', key, id, pack(record)) end
local function count(what, by) call('HINCRBY', STAT, what, by or 1) end
local function seen_client(client) call('ZADD', SEEN, now + settings[SILENT_AFTER], 'c|' .. client) end
local function seen_gpu(gpu) call('ZADD', SEEN, now + settings[ABSENT_AFTER], 'g|' .. gpu) end
local function member(id, r)
  return string.format('%s|%016.0f|%s', r[R_RUN], r[R_ENQUEUED] + AGEING[r[R_CLASS] + 1], id)
end
local function live_lease(g)  -- the request that holds this GPU, if any
  if g[G_REQUEST] == '' then return nil end
  return get(REQ, g[G_REQUEST])
end

-- Virtual time stays within [vclock, vclock + 120 s / weight]: idling earns no credit.
local function bounded(run, vt)
  local limit = meta[VCLOCK] + floor(120000000 / run[WEIGHT])
  return math.max(meta[VCLOCK], math.min(vt, limit))
end
local function put_run(id, run)
  put(RUN, id, run)
  if run[QUEUED] > 0 then call('ZADD', ELIG, run[VT], id) else call('ZREM', ELIG, id) end
end

local function enqueue(id, r)
  r[R_STATE] = WAITING
  put(REQ, id, r)
  call('ZADD', WAIT, 0, member(id, r))
  count('w|' .. r[R_CLIENT])
  local run = get(RUN, r[R_RUN])
  run[QUEUED] = run[QUEUED] + 1
  if run[QUEUED] == 1 then run[VT] = math.max(run[VT], meta[VCLOCK]) end
  put_run(r[R_RUN], run)
end
local function dequeue(id, r)  -- the caller puts `r`
  call('ZREM', WAIT, member(id, r))
  if call('HINCRBY', STAT, 'w|' .. r[R_CLIENT], -1) <= 0 then
    call('HDEL', STAT, 'w|' .. r[R_CLIENT])
  end
  local run = get(RUN, r[R_RUN])
  run[QUEUED] = run[QUEUED] - 1
  put_run(r[R_RUN], run)
end
local function park(id, r)
  dequeue(id, r)
  r[R_STATE] = PARKED
  put(REQ, id, r)
  count('parked')
end

local function finish(id, state)
  if now - meta[SWAPPED] > SWAP_AFTER or
     call('HLEN', meta[GENERATION] % 2 == 0 and DONE0 or DONE1) >= SWAP_ENTRIES then
    meta[GENERATION] = meta[GENERATION] + 1
    meta[SWAPPED] = now
    call('DEL', meta[GENERATION] % 2 == 0 and DONE0 or DONE1)
  end
  call('HDEL', REQ, id)
  call('HSET', meta[GENERATION] % 2 == 0 and DONE0 or DONE1, id, state)
  count(state)
end
local function ended(id) return call('HGET', DONE0, id) or call('HGET', DONE1, id) end

local function grant(id, r, gpu, g, state)
  meta[COUNTER] = meta[COUNTER] + 1
  local run = get(RUN, r[R_RUN])
  run[VT] = math.max(run[VT], meta[VCLOCK])
  meta[VCLOCK] = run[VT]
  r[R_ESTIMATE] = meta[MEANS][r[R_CLASS] + 1]
  run[VT] = bounded(run, run[VT] + floor(r[R_ESTIMATE] / run[WEIGHT]))
  run[IN_USE] = run[IN_USE] + 1
  put_run(r[R_RUN], run)
  r[R_STATE], r[R_GPU], r[R_EPOCH], r[R_COUNTER], r[R_GRANTED] =
    state, gpu, meta[EPOCH], meta[COUNTER], now
  put(REQ, id, r)
  call('ZADD', DUE, now + (state == HELD and settings[TTL] or settings[CLAIM]), id)
  g[G_STATE], g[G_REQUEST], g[G_EPOCH], g[G_COUNTER], g[G_SINCE] =
    'leased', id, meta[EPOCH], meta[COUNTER], now
  put(GPU, gpu, g)
  call('ZREM', FREE, gpu)
  count('granted')
end
-- A lease is over: charge what was used instead of what was expected.
local function settle(id, r, measured)
  local held = r[R_STATE] == HELD and now - r[R_GRANTED] or 0
  call('ZREM', DUE, id)
  local run = get(RUN, r[R_RUN])
  run[IN_USE] = run[IN_USE] - 1
  run[VT] = bounded(run, run[VT] + floor((held - r[R_ESTIMATE]) / run[WEIGHT]))
  put_run(r[R_RUN], run)
  if measured then
    local mean = meta[MEANS][r[R_CLASS] + 1]
    mean = floor(mean + (held - mean) / 32)
    meta[MEANS][r[R_CLASS] + 1] = math.max(250000, math.min(mean, 60000000))
  end
end
-- Back to waiting with its rank; after the third time it is given up.
local function requeue(id, r)
  settle(id, r)
  r[R_ATTEMPTS] = r[R_ATTEMPTS] + 1
  r[R_GPU] = ''
  if r[R_ATTEMPTS] >= settings[MAX_ATTEMPTS] then return finish(id, 'dead') end
  count('requeued')
  enqueue(id, r)
end

local function suspect(gpu, g)
  g[G_STATE], g[G_SINCE] = 'suspect', now
  put(GPU, gpu, g)
  call('ZREM', FREE, gpu)
end
-- Nobody vouches for what runs on it. One that is not confirmed proves itself by registering.
local function unsure(gpu, g)
  if g[G_STATE] == 'leased' then suspect(gpu, g) else put(GPU, gpu, g) end
end
-- Gives an idle GPU to the first request of the run that is owed most. here: requests that this
-- call itself answers; others hear by their mailbox. held: the state of a grant told by the answer.
-- Returns whether the GPU was given away.
local function hand_on(gpu, g, here, state)
  for _ = 1, confirmed() and TRIES or 0 do
    local run = call('ZRANGE', ELIG, 0, 0)[1]
    if not run then break end
    local first = call('ZRANGEBYLEX', WAIT, '[' .. run .. '|', '(' .. run .. '}', 'LIMIT', 0, 1)[1]
    local id = string.sub(first, #run + 19)
    local r = get(REQ, id)
    local told = here and here[id]
    if told or call('PUBLISH', string.sub(META, 1, -5) .. 'box:' .. r[R_CLIENT],
                    pack({id, gpu, g[G_ADDRESS], meta[EPOCH], meta[COUNTER] + 1})) > 0 then
      dequeue(id, r)
      grant(id, r, gpu, g, told and state or GRANTED)
      return true
    end
    park(id, r)
  end
  if g[G_STATE] ~= 'idle' then g[G_SINCE] = now end
  g[G_STATE], g[G_REQUEST] = 'idle', ''
  put(GPU, gpu, g)
  call('ZADD', FREE, 'NX', now, gpu)
  return false
end
local function use_free(here, state)
  for _ = 1, TRIES do
    local gpu = call('ZREVRANGE', FREE, 0, 0)[1]
    if not gpu or call('ZCARD', ELIG) == 0 then return end
    if not hand_on(gpu, get(GPU, gpu), here, state) then return end
  end
end

-- A lease ended that never ran, or whose holder vouches for the GPU.
local function vacate(gpu, g)
  g[G_REQUEST] = ''
  if g[G_STATE] == 'leased' then hand_on(gpu, g) else put(GPU, gpu, g) end
end

-- Phase 1 of taking back: what is overdue, and workers that are silent.
local function sweep(limit, counts)
  for _, id in ipairs(call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, limit)) do
    local r = get(REQ, id)
    local gpu = r[R_GPU]
    local g = get(GPU, gpu)
    if r[R_STATE] == HELD then  -- the request stays live until its GPU is clear
      call('ZREM', DUE, id)
      unsure(gpu, g)
      counts[1] = counts[1] + 1
    else
      requeue(id, r)
      vacate(gpu, g)
      counts[2] = counts[2] + 1
    end
  end
end

-- What a call about `id` is told. first: the answer to a first sending.
local function state_of(id, r, first)
  if r[R_STATE] == WAITING or r[R_STATE] == PARKED then
    local ahead = call('ZLEXCOUNT', WAIT, '[' .. r[R_RUN] .. '|', '(' .. member(id, r))
    return 'WAITING', ahead, call('HLEN', GPU)
  end
  local g = get(GPU, r[R_GPU])
  local usable = 0
  if first then usable = floor((settings[TTL] - settings[MARGIN]) / 1000) end
  return 'GRANTED', id, r[R_GPU], g[G_ADDRESS], r[R_EPOCH], r[R_COUNTER], first and 0 or 1, usable
end
