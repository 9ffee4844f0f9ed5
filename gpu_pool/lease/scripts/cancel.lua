-- ARGV: request
if not meta then return answer('NO_EPOCH') end
local id = ARGV[1]
local r = get(REQ, id)
if not r then return answer('OK') end
seen_client(r[R_CLIENT])
if r[R_STATE] == HELD then return answer('HELD') end
if r[R_STATE] == GRANTED then
  settle(id, r)
  finish(id, 'cancelled')
  vacate(r[R_GPU], get(GPU, r[R_GPU]))
else
  if r[R_STATE] == WAITING then dequeue(id, r) end
  finish(id, 'cancelled')
end
return answer('OK')
