--- @include "lib/record"
--[[
  crawl: writes the settings of a crawl.
  ARGV    ARGS.crawl in calls.ts: the crawl's name; `expected`, the version to be replaced, '' for any older version;
          the new record's version; the crawl's weight; held, '1' while none of the crawl's URLs may be sent, else '';
          the limits that store applies, each '' for none; the record as JSON
  Returns 'written', 'kept' or 'overtaken' (lib/record.lua); and the version in force
]]
local name, key = ARGV[ARG.name], TAG .. KEY.crawl .. ARGV[ARG.name]
local known = call('HGET', key, CRAWL.version) or '0'
local kind = judgeRecord(known)
if kind ~= 'written' then return reply(kind, known) end
-- The caller may be a process that has not yet noticed that this version was forgotten (crawl-forget.lua).
if call('ZSCORE', TAG .. KEY.forgotten, name .. ' ' .. ARGV[ARG.version]) then return reply('overtaken', known) end
local function set(field, value)
  if value == '' then call('HDEL', key, field) else call('HSET', key, field, value) end
end
call('HSET', TAG .. KEY.crawls, name, ARGV[ARG.version])
call('HSET', key, CRAWL.version, ARGV[ARG.version], CRAWL.weight, ARGV[ARG.weight], CRAWL.record, ARGV[ARG.record])
set(CRAWL.held, ARGV[ARG.held])
set(CRAWL.stored, ARGV[ARG.stored])
set(CRAWL.perDay, ARGV[ARG.perDay])
set(CRAWL.perHost, ARGV[ARG.perHost])
set(CRAWL.perDomain, ARGV[ARG.perDomain])
if not hasCrawls then call('HSET', KEYS[1], EPOCH.layout, LAYOUT.withCrawls) end
return reply(kind, ARGV[ARG.version])
