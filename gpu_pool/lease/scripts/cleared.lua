-- ARGV: gpu, boot, token epoch, token counter, ok
if not meta then return answer('NO_EPOCH') end
local gpu = ARGV[1]
local g = get(GPU, gpu)
if not g or g[G_BOOT] ~= ARGV[2] or g[G_STATE] ~= 'suspect' or g[G_EPOCH] ~= tonumber(ARGV[3]) or
   g[G_COUNTER] ~= tonumber(ARGV[4]) then
  return answer('NOT_SUSPECT')
end
seen_gpu(gpu)
local r = live_lease(g)
if r then
  settle(g[G_REQUEST], r)
  finish(g[G_REQUEST], 'expired')
  g[G_REQUEST] = ''
end
if ARGV[5] == '1' and now - g[G_SINCE] <= settings[CLEARING] then
  hand_on(gpu, g)
else
  g[G_STATE], g[G_SINCE], g[G_FAILS] = 'quarantined', now, g[G_FAILS] + 1
  put(GPU, gpu, g)
  count('quarantined')
end
return answer('OK')
