--[[
  crawl-share: gives a partition its share of a crawl's limits.
  KEYS     {tag}:crawl:<name>
  ARGV     version: of the crawl's record whose limits are shared out; then fields of CRAWL and their values
  Keeps    the share is not written if the stored record has another version, because its limits may differ.
]]
if redis.call('HGET', KEYS[1], CRAWL.version) ~= ARGV[ARG.version] then return end
redis.call('HSET', KEYS[1], unpack(ARGV, ARG.items))
