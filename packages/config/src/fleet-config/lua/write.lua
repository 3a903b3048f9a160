--[[
  write: replaces the configuration. A full Redis runs it, because the change may be what frees memory.
  KEYS     {decorum:partitions}:config, a hash: version, at, record; and {decorum:partitions}:config-history, a list of
           'version at record', the latest last
  ARGV     expected: the version from which this record was made; '' for any earlier one
           least: the least version that the record gets
           at: when it was decided, ms by the clock of Redis; '' for now
           record: as JSON;  most: number of versions to keep
  Returns  'written', 'kept' or 'overtaken'; the version in force, and its `at`
  Keeps    a version is never used for two records: if another record has the wanted version already, this one gets
           the next.
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
