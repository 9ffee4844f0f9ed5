-- ARGV: client, then requests
if not meta then return answer('NO_EPOCH') end
seen_client(ARGV[1])
local here = {}
for i = 2, #ARGV do
  local r = get(REQ, ARGV[i])
  if r and r[R_CLIENT] == ARGV[1] then here[ARGV[i]] = true end
  if r and r[R_STATE] == PARKED then enqueue(ARGV[i], r) end
end
use_free(here, GRANTED)
local states = {}
for i = 2, #ARGV do
  local r = get(REQ, ARGV[i])
  if r then
    states[i - 1] = {state_of(ARGV[i], r, false)}
  else
    local how = ended(ARGV[i])
    states[i - 1] = how and {'DONE', how} or {'UNKNOWN'}
  end
end
return answer('OK', states)
