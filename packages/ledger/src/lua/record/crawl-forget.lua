--[[
  crawl-forget: removes the record of a crawl from one partition, unless it holds URLs or a group reads its outcomes.
  KEYS     {tag}:epoch
  ARGV     name: of the crawl;  keptMs: how long the forgotten version is remembered;  most: the number of forgotten
           versions that are remembered, the latest ones
  Returns  'forgotten'; 'stored' if the crawl holds URLs; or 'read' if a group reads its outcomes
  Keeps    {tag}:forgotten, zset 'name version' → when that record was forgotten: a process that still has the record is
           not allowed to write it again
]]
local tag, name = string.match(KEYS[1], '^{.-}:'), ARGV[ARG.name]
local crawl, stream, forgotten = tag .. KEY.crawl .. name, tag .. KEY.outcomes .. ':' .. name, tag .. KEY.forgotten
local stored, gone, version = unpack(redis.call('HMGET', crawl, CRAWL.storedEver, CRAWL.left, CRAWL.version))
if tonumber(stored or '0') > tonumber(gone or '0') then return 'stored' end
if redis.call('EXISTS', stream) == 1 and #redis.call('XINFO', 'GROUPS', stream) > 0 then return 'read' end
redis.call('UNLINK', crawl, stream, tag .. KEY.hostsOf .. name, tag .. KEY.lanesOf .. name)
redis.call('HDEL', tag .. KEY.crawls, name)
if version then
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', forgotten, '-inf', string.format('%.0f', now - ARGV[ARG.keptMs]))
  redis.call('ZADD', forgotten, string.format('%.0f', now), name .. ' ' .. version)
  redis.call('ZREMRANGEBYRANK', forgotten, 0, -1 - ARGV[ARG.most])
  redis.call('PEXPIRE', forgotten, ARGV[ARG.keptMs])
end
return 'forgotten'
