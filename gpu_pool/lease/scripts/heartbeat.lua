-- ARGV: gpu, boot
if not meta or not confirmed() then return answer('NO_EPOCH') end
local gpu = ARGV[1]
local g = get(GPU, gpu)
if not g or g[G_STATE] == 'unconfirmed' or g[G_STATE] == 'absent' then return answer('REGISTER') end
if g[G_BOOT] ~= ARGV[2] then return answer('BOOT_REPLACED') end
seen_gpu(gpu)
sweep(8, {0, 0})
g = get(GPU, gpu)
if g[G_STATE] == 'suspect' then return answer('CLEAR', g[G_EPOCH], g[G_COUNTER]) end
if g[G_STATE] == 'quarantined' then return answer('QUARANTINED') end
if g[G_STATE] == 'idle' and call('ZCARD', ELIG) > 0 then hand_on(gpu, g) end
return answer('NONE')
