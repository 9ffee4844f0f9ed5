-- ARGV: gpu, boot. The worker's self-test passed after a quarantine; it registers next.
if not meta then return answer('NO_EPOCH') end
local g = get(GPU, ARGV[1])
if not g or g[G_BOOT] ~= ARGV[2] or g[G_STATE] ~= 'quarantined' or g[G_FAILS] >= 3 then
  return answer('UNKNOWN')
end
g[G_STATE], g[G_SINCE] = 'unconfirmed', now
put(GPU, ARGV[1], g)
seen_gpu(ARGV[1])
return answer('OK')
