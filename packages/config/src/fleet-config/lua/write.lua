--[[
  write: replaces the fleet's configuration. The script also runs when the memory of Redis is full, because the new
  configuration may be what frees memory.
  KEYS     {decorum:partitions}:config, a hash: version, at, record; and {decorum:partitions}:config-history, a list of
           'version at record', the latest last
  ARGV     expected: the version that the new record replaces; '': any version up to `least`
           least: the lowest version number that the new record may get
           at: when the new record was decided, ms by the clock of Redis; '' for now
           record: the new record, as JSON;  most: number of versions to keep
  Returns  'written', 'kept' (the record was already in force) or 'overtaken' (another version is in force); then the
           version in force, and its `at`
  Keeps    two records never have the same version: if `least` is already in use, the new record gets the next number.
]]
local expected, least, at, record = ARGV[ARG.expected], tonumber(ARGV[ARG.least]), ARGV[ARG.at], ARGV[ARG.record]
local current, currentAt = unpack(redis.call('HMGET', KEYS[1], 'version', 'at'))
current = tonumber(current or '0')
if expected ~= '' and current ~= tonumber(expected) then return { 'overtaken', current, currentAt or '' } end
if expected == '' and current > least then return { 'overtaken', current, currentAt } end
if expected == '' and current == least and at == currentAt then return { 'kept', current, currentAt } end
if at == '' then
  local t = redis.call('TIME')
  at = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
end
local version = string.format('%.0f', math.max(current + 1, least))
redis.call('HSET', KEYS[1], 'version', version, 'at', at, 'record', record)
redis.call('RPUSH', KEYS[2], version .. ' ' .. at .. ' ' .. record)
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[ARG.most]), -1)
return { 'written', version, at }
