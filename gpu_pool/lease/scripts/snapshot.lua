-- Read only.
if not meta then return {raw_now, 'NO_EPOCH'} end
local gpus, leased = {}, 0
local all = call('HGETALL', GPU)
for i = 1, #all, 2 do
  local g = decode(all[i + 1])
  if g[G_REQUEST] ~= '' then leased = leased + 1 end
  gpus[#gpus + 1] = {all[i], g[G_STATE], g[G_ADDRESS], g[G_REQUEST]}
end
local oldest = now
for _, run in ipairs(call('ZRANGE', ELIG, 0, -1)) do
  local first = call('ZRANGEBYLEX', WAIT, '[' .. run .. '|', '(' .. run .. '}', 'LIMIT', 0, 1)[1]
  local r = first and get(REQ, string.sub(first, #run + 19))
  if r then oldest = math.min(oldest, r[R_ENQUEUED]) end
end
return {raw_now, 'OK', meta[EPOCH], meta[COUNTER], call('HLEN', REQ) - leased, leased, now - oldest,
        gpus, call('HGETALL', STAT)}
