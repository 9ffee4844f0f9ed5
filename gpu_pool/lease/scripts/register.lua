-- ARGV: gpu, boot, address, floor epoch, floor counter; if something runs: request, token epoch,
-- token counter, run, class, client
if not meta or not confirmed() then return answer('NO_EPOCH') end
local gpu, boot = ARGV[1], ARGV[2]
local floor_epoch, floor_counter = tonumber(ARGV[4]), tonumber(ARGV[5])
if floor_epoch > meta[EPOCH] or (floor_epoch == meta[EPOCH] and floor_counter > meta[COUNTER]) then
  meta[FLOOR] = math.max(meta[FLOOR], floor_epoch)
  return answer('EPOCH_BEHIND')
end
local g = get(GPU, gpu) or {'unconfirmed', '', '', '', 0, 0, 0, now}
local new_boot = g[G_BOOT] ~= boot
g[G_BOOT], g[G_ADDRESS] = boot, ARGV[3]
seen_gpu(gpu)
if g[G_STATE] == 'quarantined' then
  put(GPU, gpu, g)
  return answer('QUARANTINED')
end
-- Grants up to here are not this boot's; what is handed on below has a newer token.
local newest = meta[COUNTER]
local running = ARGV[6]
local run_epoch, run_counter = tonumber(ARGV[7]), tonumber(ARGV[8])
local restored = 0
local r = live_lease(g)
if r then
  local runs_it = running == g[G_REQUEST] and run_epoch == g[G_EPOCH] and run_counter == g[G_COUNTER]
  if g[G_STATE] == 'suspect' and not new_boot then
    put(GPU, gpu, g)  -- overdue; CLEAR follows
  elseif runs_it and g[G_STATE] ~= 'suspect' then
    r[R_STATE] = HELD
    put(REQ, g[G_REQUEST], r)
    call('ZADD', DUE, now + settings[TTL], g[G_REQUEST])
    g[G_STATE] = 'leased'
    put(GPU, gpu, g)
    restored = 1
  else
    if g[G_STATE] == 'suspect' then
      settle(g[G_REQUEST], r)
      finish(g[G_REQUEST], 'expired')
    else
      requeue(g[G_REQUEST], r)
    end
    g[G_REQUEST] = ''
    if running then
      g[G_EPOCH], g[G_COUNTER] = run_epoch, run_counter
      suspect(gpu, g)
    else
      hand_on(gpu, g)
    end
  end
elseif running and not get(REQ, running) and not ended(running) then
  -- the queue lost a lease that is still being used
  local run = ARGV[9]
  local record = get(RUN, run) or {1, 0, 0, 0, 0}
  record[IN_USE] = record[IN_USE] + 1
  put_run(run, record)
  put(REQ, running, {HELD, run, tonumber(ARGV[10]), ARGV[11], gpu, run_epoch, run_counter, now, now,
                     0, 0, 0})
  call('ZADD', DUE, now + settings[TTL], running)
  g[G_STATE], g[G_REQUEST], g[G_EPOCH], g[G_COUNTER], g[G_SINCE] =
    'leased', running, run_epoch, run_counter, now
  put(GPU, gpu, g)
  call('ZREM', FREE, gpu)
  restored = 1
elseif running then
  g[G_REQUEST], g[G_EPOCH], g[G_COUNTER] = '', run_epoch, run_counter
  suspect(gpu, g)
elseif g[G_STATE] == 'suspect' and not new_boot then
  put(GPU, gpu, g)
else
  hand_on(gpu, g)
end
return answer('OK', meta[EPOCH], newest, restored, unpack(settings))
