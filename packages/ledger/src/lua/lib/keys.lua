--[[
  keys: how every script is called, and the keys that it reads and writes.

  A script is a verb (verbs/) and the parts that it includes (lib/). script-text.ts assembles them: each part once, and
  every name such as KEY.due, FIELD.version or ARG.limit is replaced by its text or number from layout.ts or calls.ts.

  KEYS[1]  {tag}:epoch   hash, its fields are EPOCH in layout.ts. The names of all other keys are built from its tag.
  KEYS[2]  {tag}:of:<n>  never exists (layout.ts says why). n is the number of partitions that the caller knows of.
  ARGV     the arguments of every verb (EVERY_CALL in calls.ts), then those of the verb itself
  Returns  every reply begins with the epoch and the ledger's time (`reply`)

  Keys of a partition, each behind its tag:
    due          zset   lane → instant from which it may be reserved; negative: its place in line (line.lua)
    line         hash   crawl → the end of its latest turn in line;  lined: zset, instant → the last turn given by then
    inflight     zset   lane → instant at which reap checks its lease: first the reservation's end, then the lease's
    slotless     set    lanes in `inflight` whose lease takes no slot of a fetcher: secondary ones, and orders of pools
    queues       hash   lane → requests that wait for a secondary lease of the lane (queue.lua)
    leases       hash   lane → its lease, packed (lease.lua)
    ended        hash   lane → the end of its last exchange, and the delay owed from then on (owed.lua)
    lanes        hash   lane → its memory and its first URL (lane.lua)
    q:<lane>     list   URLs of priority normal behind the first one
    h:<lane>     list   URLs of priority high; the first one stays here while it is in flight
    q@<crawl>:<lane>, h@<crawl>:<lane>   the same for a crawl that is not the default one; both include the first URL
    t:<lane>     zset   crawl → its next turn, in a lane with URLs of a crawl that is not the default one
                        (docs/decisions/0025-many-crawls.md)
    pt:<lane>    zset   crawl → its next turn, for crawls that request permits (permit-turns.lua)
    crawls       hash   crawl → version of its record;  crawl:<name>  hash, its fields are CRAWL in layout.ts
    in:<crawl>   set    lanes with URLs of a crawl that is not the default one
    hosts:<crawl> hash  host, or @domain → number of its URLs taken in, for a crawl with limits per host or domain
    o:<origin>   hash   the facts about an origin; its fields are FIELD in layout.ts
    changed      zset   origin → the latest fence handed out when one of its gates changed
    ids:<n>      set    ids of URLs that are stored, as numbers, in 4096 buckets
    mark:<…>     marks of items that are already stored
    b:<hash>     a robots.txt body
    spent, spent-beyond, and both with :<domain>   bytes used of the budgets of robots.txt bodies (body-budget.lua)
    spent-unclaimed, and with :<token>             the same for origins that have no URLs and no permit
    outcomes     stream of outcomes;  outcomes:<crawl>: those of a crawl that is not the default one
    outbox       stream of the candidates that redirects gave
    later        zset   candidate of a redirect that must wait, as JSON → when it enters the outbox
    operations   stream of the operations of operators
    counts       hash   name of an event → how often it has happened in this partition
    fleet        zset   process → instant at which it is forgotten
    pool:<name>  list of orders, as JSON, that wait for workers of a pool; it lives as long as its latest reservation
    hop:<host>   exists while no robots fetch of another host may follow a redirect to <host>
    stops        hash   name → when its emergency stop ends (stops.lua)
    n:<origin>   list   recent notes of an origin (notes.lua);  noted: zset origin → instant of its latest note
    f:<reason>   list   examples of outcomes with a reason
    ring         list   samples of the last hours, the latest first (verbs/sample.lua)
    shut:<gate>  zset   origin → when the gate that holds it opens (closed-index.lua)
    wake         channel, published to when a lane becomes due before all others

  A lane is named '<agent> <origin>'. Instants are ms since 1970 UTC on the ledger's clock (clock.lua), to three places.
]]
-- Copies in locals, because Lua looks up a global by its name at each use.
local KEYS, ARGV, call, tonumber, unpack, string, math = KEYS, ARGV, redis.call, tonumber, unpack, string, math
local TAG = string.sub(KEYS[1], 1, -1 - #KEY.epoch)
local DUE, INFLIGHT, SLOTLESS = TAG .. KEY.due, TAG .. KEY.inFlight, TAG .. KEY.slotless
local LEASES, LANES, QUEUES, ENDED = TAG .. KEY.leases, TAG .. KEY.lanes, TAG .. KEY.queues, TAG .. KEY.ended
local OUTCOMES, COUNTS = TAG .. KEY.outcomes, TAG .. KEY.counts

local function originKey(origin) return TAG .. KEY.origin .. origin end
-- Number of leases and reservations of fetchers.
local function slotsTaken() return call('ZCARD', INFLIGHT) - call('SCARD', SLOTLESS) end
local function normalList(lane) return TAG .. KEY.normal .. lane end
local function crawlKey(crawl) return TAG .. KEY.crawl .. crawl end
-- listOf: the name of a crawl's list, given the name of the default crawl's list ('q' → 'q@<crawl>'; LIST in
-- layout.ts).  crawlOf: the crawl to which the list of this name belongs.
local function listOf(base, crawl) return crawl == CRAWLS.default and base or base .. '@' .. crawl end
local function crawlOf(list) return #list > 1 and string.sub(list, 3) or CRAWLS.default end
local function listKey(list, lane) return TAG .. list .. ':' .. lane end

local function agentOf(lane) return string.sub(lane, 1, string.find(lane, ' ', 1, true) - 1) end
local function originOf(lane) return string.sub(lane, string.find(lane, ' ', 1, true) + 1) end
-- The host of an origin or a lane, nil when there is none; an IPv6 address with its brackets.
local function hostOf(name) return string.match(name, '://(%[[^%]]*%])') or string.match(name, '://([^:]*)') end
