-- ARGV: request, token epoch, token counter
if not meta then return answer('NO_EPOCH') end
local id, epoch, counter = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local r = get(REQ, id)
if not r then return answer(ended(id) and 'EXPIRED' or 'UNKNOWN') end
seen_client(r[R_CLIENT])
local newer = r[R_EPOCH] > epoch or (r[R_EPOCH] == epoch and r[R_COUNTER] > counter)
local same = r[R_EPOCH] == epoch and r[R_COUNTER] == counter
if not same and not newer then return answer('NOT_HOLDER') end
if newer or r[R_STATE] == WAITING or r[R_STATE] == PARKED then return answer('REQUEUED') end
local g = get(GPU, r[R_GPU])
if g[G_STATE] == 'suspect' then return answer('EXPIRED') end
local due = math.min(now + settings[TTL], r[R_GRANTED] + settings[HOLD])
if due - settings[MARGIN] <= now then return answer('HOLD_LIMIT') end
if r[R_STATE] == GRANTED then
  r[R_STATE] = HELD
  put(REQ, id, r)
end
call('ZADD', DUE, due, id)
return answer('OK', floor((due - now - settings[MARGIN]) / 1000),
              floor((settings[TTL] - settings[MARGIN]) / 3000))
