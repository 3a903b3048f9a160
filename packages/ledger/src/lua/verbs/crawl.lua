--- @include "lib/epoch"
--[[
  crawl: writes what an operator or a frontier has set of a crawl.
  ARGV    ARGS.crawl in calls.ts: its name; `expected`, the version that is to be replaced, '' for any older one; the record's version;
          its weight; held, '1' while none of its URLs may go out, else ''; the limits that store counts by, '' for none; the record as JSON
  Returns 'written', or 'newer' and the record that stays
  Keeps   a record is replaced by a later one alone, so that a change which died between two partitions can be written again.
]]
local name, key = ARGV[ARG.name], TAG .. KEY.crawl .. ARGV[ARG.name]
local stored, record = unpack(call('HMGET', key, CRAWL.version, CRAWL.record))
local isOther = ARGV[ARG.expected] ~= '' and (stored or '0') ~= ARGV[ARG.expected]
if isOther or --[[rule:a-later-record-replaces-an-earlier-one]] tonumber(stored or '0') >= tonumber(ARGV[ARG.version]) --[[end]] then return reply('newer', record or '') end
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
return reply('written')
