--[[
  make-group: makes a consumer group at a stream of outcomes. A full Redis (maxmemory) would refuse the plain command
  XGROUP, even if the group exists. But only readers of outcomes can make room there.

  KEYS[1]  {tag}:outcomes, or {tag}:outcomes:<crawl>; made if it does not exist
  ARGV     group: its name;  from: the entry after which the group begins to read, '$' for new entries only;  crawl: the
           crawl to which the stream belongs, '' for the default one
  Returns  the error BUSYGROUP if the group exists
]]
local crawl = ARGV[ARG.crawl]
if crawl ~= '' then
  local tag = string.match(KEYS[1], '^{.-}:')
  --[[rule:a-crawl-that-is-read-is-known]] redis.call('HSETNX', tag .. KEY.crawls, crawl, '0') --[[end]]
end
return redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[ARG.group], ARGV[ARG.from], 'MKSTREAM')
