-- ARGV: epoch, server, then the settings in their order
local epoch, server = tonumber(ARGV[1]), ARGV[2]
if identity() ~= server then return answer('WRONG_SERVER') end
local changed = not meta or meta[SERVER] ~= server
if meta then
  local newer = epoch > meta[EPOCH] and epoch > meta[FLOOR]
  local again = not changed and epoch == meta[EPOCH] and epoch > meta[FLOOR]
  if not newer and not again then return answer('STALE_EPOCH') end
else
  meta = {1, 0, '', raw_now, 0, 0, 0, 0, raw_now, 0, {1000000, 1000000, 1000000}, {}}
  now = raw_now
end
meta[EPOCH], meta[SERVER] = epoch, server
for i = 1, 12 do meta[SETTINGS][i] = tonumber(ARGV[i + 2]) end
settings = meta[SETTINGS]
if changed then
  call('DEL', FREE)
  local all = call('HGETALL', GPU)
  for i = 1, #all, 2 do
    local g = decode(all[i + 1])
    if g[G_STATE] ~= 'quarantined' then
      g[G_STATE], g[G_SINCE] = 'unconfirmed', now
      put(GPU, all[i], g)
      seen_gpu(all[i])
    end
  end
end
return answer('OK')
