-- ARGV: request, run, weight, cap, class, client, age, first
if not meta then return answer('NO_EPOCH') end
local id, client, first = ARGV[1], ARGV[6], ARGV[8] == '1'
seen_client(client)
local r = get(REQ, id)
if r then
  if r[R_STATE] == PARKED then
    enqueue(id, r)
    use_free({[id] = true}, GRANTED)
    r = get(REQ, id)
  end
  return answer(state_of(id, r, false))
end
local how = ended(id)
if how then return answer('DONE', how) end
if settings[CLOSED] == 1 then return answer('CLOSED') end
local mine = tonumber(call('HGET', STAT, 'w|' .. client) or 0)
if mine >= settings[MAX_CLIENT] or call('ZCARD', WAIT) >= settings[MAX_WAITING] then
  count('refused')
  return answer('QUEUE_FULL', 1000)
end
local run = get(RUN, ARGV[2]) or {1, 0, 0, 0, meta[VCLOCK]}
run[WEIGHT], run[CAP] = tonumber(ARGV[3]), tonumber(ARGV[4])
put_run(ARGV[2], run)
r = {WAITING, ARGV[2], tonumber(ARGV[5]), client, '', 0, 0, now - tonumber(ARGV[7]), 0, 0, 0, 0}
local gpu = call('ZREVRANGE', FREE, 0, 0)[1]
if gpu and call('ZCARD', ELIG) == 0 and confirmed() then
  grant(id, r, gpu, get(GPU, gpu), first and HELD or GRANTED)
else
  enqueue(id, r)
  use_free({[id] = true}, first and HELD or GRANTED)
  r = get(REQ, id)
end
return answer(state_of(id, r, first and r[R_STATE] == HELD))
