-- ARGV: epoch, gpu | run, id
if not meta or tonumber(ARGV[1]) > meta[EPOCH] then return answer('NO_EPOCH') end
if tonumber(ARGV[1]) < meta[EPOCH] then return answer('STALE_EPOCH') end
local id = ARGV[3]
if ARGV[2] == 'gpu' then
  local g = get(GPU, id)
  if g then
    local r = live_lease(g)
    if r and g[G_STATE] == 'suspect' then
      settle(g[G_REQUEST], r)
      finish(g[G_REQUEST], 'expired')
    elseif r then
      requeue(g[G_REQUEST], r)
    end
    call('HDEL', GPU, id)
    call('ZREM', FREE, id)
    call('ZREM', SEEN, 'g|' .. id)
  end
  return answer('OK')
end
local all = call('HKEYS', REQ)
table.sort(all)
for _, request in ipairs(all) do
  local r = get(REQ, request)
  if r and r[R_RUN] == id and (r[R_STATE] == WAITING or r[R_STATE] == PARKED) then
    if r[R_STATE] == WAITING then dequeue(request, r) end
    finish(request, 'cancelled')
  end
end
local run = get(RUN, id)
if run and run[IN_USE] == 0 then
  call('HDEL', RUN, id)
  call('ZREM', ELIG, id)
end
return answer('OK')
