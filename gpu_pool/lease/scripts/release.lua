-- ARGV: request, token epoch, token counter, clear | unsure | retry
if not meta then return answer('NO_EPOCH') end
local id, epoch, counter, how = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local r = get(REQ, id)
if not r then
  local state = ended(id)
  -- A retry that was the last one left nothing to hold: its repeat hears the same.
  if state == 'released' or (state == 'dead' and how == 'retry') then return answer('OK') end
  return answer(state and 'NOT_HOLDER' or 'UNKNOWN')
end
seen_client(r[R_CLIENT])
if r[R_RETURNED] == counter and how == 'retry' then return answer('OK') end
if r[R_EPOCH] ~= epoch or r[R_COUNTER] ~= counter or r[R_STATE] == WAITING or
   r[R_STATE] == PARKED then
  return answer('NOT_HOLDER')
end
local gpu = r[R_GPU]
local g = get(GPU, gpu)
local clear = g[G_STATE] == 'leased' and how == 'clear'
if how == 'retry' then
  r[R_RETURNED] = counter
  requeue(id, r)
else
  settle(id, r, r[R_STATE] == HELD and clear)
  finish(id, 'released')
end
if clear then
  vacate(gpu, g)
else
  g[G_REQUEST] = ''
  unsure(gpu, g)
end
return answer('OK')
