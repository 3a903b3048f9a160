--[[
  crawl-share: gives a partition its share of a crawl's limits.
  KEYS     {tag}:crawl:<name>
  ARGV     version: of the record whose limits are shared; then fields of CRAWL and their values
  Keeps    a share is not written if the limits have changed since: their record has another version here.
]]
if redis.call('HGET', KEYS[1], CRAWL.version) ~= ARGV[ARG.version] then return end
redis.call('HSET', KEYS[1], unpack(ARGV, ARG.items))
