/** Bugs that one could have written: each a small change to the text of a script, put into a connection by a test. */
import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { KEYS, scriptOf, VERBS } from '../../../packages/ledger/src/scripts.ts'

const FOLDER = new URL('../../../packages/ledger/src/lua/', import.meta.url)

export type Mutant = { name: string; file: string; find: string; put: string }

/**
 * Teaches a connection the verbs, one of them wrong.
 * @throws  Error when the line to spoil is not there (any more), or not once: a mutant that changes nothing proves nothing
 */
export function defineMutant(redis: Redis, mutant: Mutant): void {
  const read = (file: string): string => {
    const text = readFileSync(new URL(`${file}.lua`, FOLDER), 'utf8')
    if (file !== mutant.file) return text
    if (text.split(mutant.find).length !== 2)
      throw new Error(`${mutant.file}.lua does not hold once: ${mutant.find} (mutant '${mutant.name}')`)
    return text.replace(mutant.find, () => mutant.put)
  }
  for (const verb of VERBS) redis.defineCommand(`decorum_${verb}`, { numberOfKeys: KEYS, lua: scriptOf(verb, read) })
}

export const MUTANTS: Mutant[] = [
  // who may write back
  { name: 'settle does not look at the fence', file: 'complete', find: 'if owner ~= fence or', put: 'if not owner or' },
  {
    name: 'settle accepts a lease that nobody has started',
    file: 'complete',
    find: "if owner ~= fence or (not unused and (ends or what == 'unused') ~= (started ~= '')) then",
    put: "if started == '' and ends then started = ms(now) end if owner ~= fence then",
  },
  {
    name: 'a word of the gateway counts after start',
    file: 'complete',
    find: "(not unused and (ends or what == 'unused') ~= (started ~= ''))",
    put: "(not unused and ends and started == '')",
  },
  {
    name: 'begin does not look at the fence',
    file: 'start',
    find: "if owner == fence and since == ''",
    put: "if owner and since == ''",
  },
  {
    name: 'begin grants a second time',
    file: 'start',
    find: "if owner == fence and since == ''",
    put: 'if owner == fence',
  },
  { name: 'learn accepts any fence', file: 'record', find: 'if asked ~= fence then', put: 'if not asked then' },
  { name: 'fences are counted, not taken from the clock', file: 'reserve', find: 'math.floor(now * 1000)', put: '0' },
  // silences
  {
    name: 'the delay counts from the beginning',
    file: 'complete',
    find: 'setDue(lane, ended + owed)',
    put: 'setDue(lane, tonumber(started) + owed)',
  },
  {
    name: 'rested silence is believed without limit',
    file: 'complete',
    find: 'now - math.min(tonumber(ARGV[i + 4]), now - tonumber(started))',
    put: 'now - tonumber(ARGV[i + 4])',
  },
  {
    name: 'the clock is lost with an emptied lane',
    file: 'complete',
    find: 'setDue(lane, ended + owed)',
    put: 'if hasWork(lane, high) then setDue(lane, ended + owed) end',
  },
  {
    name: 'looking ahead drops the clock of an emptied lane',
    file: 'reserve',
    find: 'if opens <= now then gone[',
    put: 'if true then gone[',
  },
  {
    name: 'a lane with work is forgotten when nothing is owed',
    file: 'complete',
    find: 'if ended + owed <= now and not hasWork(lane, high) then',
    put: 'if ended + owed <= now then',
  },
  {
    name: 'a lane with urgent work alone is forgotten',
    file: 'common',
    find: "or high ~= '' and call('EXISTS', P .. 'h:' .. lane) == 1",
    put: '',
  },
  {
    name: 'park lowers a running clock',
    file: 'park',
    find: "call('ZADD', DUE, 'NX', unpack(added))",
    put: "call('ZADD', DUE, 'LT', unpack(added))",
  },
  {
    name: 'a lane that is given back may be taken at once',
    file: 'complete',
    find: 'endLease(lane, kind); giveBack(lane, tonumber(notBefore))',
    put: 'endLease(lane, kind); giveBack(lane, now)',
  },
  {
    name: 'a reaped reservation forgets its clock',
    file: 'reap',
    find: 'setDue(lane, math.max(tonumber(notBefore), now))',
    put: 'setDue(lane, now)',
  },
  {
    name: 'begin does not wait until the lane opens',
    file: 'start',
    find: 'elseif opens > now + ahead then',
    put: 'elseif false then',
  },
  {
    name: 'waking lowers a clock',
    file: 'record',
    find: 'setDue(other, tonumber(clock) + longer)',
    put: 'setDue(other, now)',
  },
  {
    name: 'a longer delay does not count for silences that are running',
    file: 'record',
    find: 'setDue(other, tonumber(opens) + longer)',
    put: 'setDue(other, tonumber(opens))',
  },
  {
    name: 'a longer delay does not count for a lane that is reserved',
    file: 'record',
    find: "if owner and since == '' and longer > 0 then",
    put: 'if false then',
  },
  {
    name: 'a longer delay does not count for a lane in flight',
    file: 'complete',
    find: "if least ~= '' then owed",
    put: 'if false then owed',
  },
  {
    name: 'the asker owes the delay from before it asked',
    file: 'record',
    find: 'setDue(lane, ended + owed)',
    put: 'setDue(lane, ended + tonumber(ARGV[12]))',
  },
  {
    name: 'a visit by name ignores the clock',
    file: 'visit',
    find: 'shut <= now and clock <= now + ahead',
    put: 'shut <= now',
  },
  // leases and questions
  {
    name: 'who was told to wait for an answer that has come sleeps on',
    file: 'complete',
    find: "why == 'robots-in-flight' and",
    put: 'false and',
  },
  {
    name: 'reap does not wait for the quarantine',
    file: 'reap',
    find: '+ quarantine)\n    if kind',
    put: ')\n    if kind',
  },
  {
    name: 'a started lease ends with its reservation',
    file: 'reap',
    find: "ends == '' or tonumber(ends) <= now",
    put: 'true',
  },
  {
    name: 'begin goes by what stood at the taking, whatever changed since',
    file: 'start',
    find: '(not changed or isAfter(fence, changed))',
    put: 'true',
  },
  {
    name: 'begin does not see what its own batch has changed',
    file: 'start',
    find: 'changes[origin] = LATEST',
    put: '',
  },
  {
    name: 'a closed gate is taken for an open one',
    file: 'reserve',
    find: 'not (o[3] or o[5] or o[6] or o[7] or o[10] or o[11])',
    put: 'not (o[3] or o[10] or o[11])',
  },
  {
    name: 'failures in a row are not seen when nothing else is wrong',
    file: 'reserve',
    find: 'not (o[3] or o[5] or o[6] or o[7] or o[10] or o[11])',
    put: 'not (o[3] or o[5] or o[6] or o[7] or o[11])',
  },
  {
    name: 'a delay by hand that stands at the taking is not seen',
    file: 'reserve',
    find: 'not (o[3] or o[5] or o[6] or o[7] or o[10] or o[11])',
    put: 'not (o[3] or o[5] or o[6] or o[7] or o[10])',
  },
  {
    name: 'take goes by gates that stood open once',
    file: 'common',
    find: "  call('HDEL', P .. 'o:' .. origin, 'p')\n",
    put: '',
  },
  {
    name: 'an answer opens all gates',
    file: 'record',
    find: 'if not (gates[1] or',
    put: 'if true or not (gates[1] or',
  },
  { name: 'back-off is not noted', file: 'complete', find: '  noteChange(origin)\n', put: '' },
  { name: "the operator's hand is not noted", file: 'operate', find: 'noteChange(origin)\n', put: '' },
  {
    name: 'a visit by name overlaps',
    file: 'visit',
    find: 'if isFirst and not held and shut',
    put: 'if isFirst and shut',
  },
  {
    name: 'a visit goes on for ever when its sender dies',
    file: 'reap',
    find: "for _, lane in ipairs(call('ZRANGE', VISITS",
    put: "for _, lane in ipairs(call('ZRANGE', P .. 'nothing'",
  },
  {
    name: 'a request goes out although the clock above its lane is shut',
    file: 'start',
    find: 'return not clockFence',
    put: "if not clockFence then clockFence, silence = '1', '0' end return false",
  },
  {
    name: 'a visit that was not used opens the lane before its clock',
    file: 'visit',
    find: "setLease(lane, f, 'q', clock, now",
    put: "setLease(lane, f, 'q', 0, now",
  },
  {
    name: 'a visit owes only what its sender knows',
    file: 'visit',
    find: "ms(math.max(delay, tonumber(o[6] or '0'), tonumber(least) or 0))",
    put: 'ms(delay)',
  },
  {
    name: 'any request can be declared unused',
    file: 'complete',
    find: "what == 'release' and isVisit(kind)",
    put: "what == 'release'",
  },
  {
    name: 'who comes last is let in before those who wait',
    file: 'visit',
    find: 'isFirst = isFirst and queue[k].at > now + step',
    put: 'isFirst = true',
  },
  {
    name: "a lane's own URLs have no place among those who visit it",
    file: 'visit',
    find: 'if ownWaits and not placeIn(queue, lane) then queue[#queue + 1] = { name = lane, at = 0 } end',
    put: '',
  },
  {
    name: "a lane's own URLs come before those who wait for it",
    file: 'complete',
    find: "elseif before ~= '' and hasWork(lane, high) then",
    put: 'elseif false then',
  },
  {
    name: 'who does not come keeps the place for ever',
    file: 'visit',
    find: 'name == asker or at + grace >= now',
    put: 'true',
  },
  {
    name: 'two may ask for robots.txt at once',
    file: 'start',
    find: "kind ~= 'page' and o[4] and",
    put: 'false and',
  },
  {
    name: 'a page whose URL is a robots.txt does not wait for a robots fetch',
    file: 'start',
    find: "kind ~= 'page' and o[4] and",
    put: "kind == 'robots' and o[4] and",
  },
  {
    name: 'nobody is told of a page whose URL is a robots.txt',
    file: 'start',
    find: "if kind ~= 'page' then",
    put: "if kind == 'robots' then",
  },
  {
    name: 'a hop does not wait for a robots fetch',
    file: 'acquire',
    find: 'if asked > now then',
    put: 'if false then',
  },
  {
    name: 'nobody is told of a hop that fetches a robots.txt',
    file: 'acquire',
    find: "if ARGV[8] == '1' then startRobotsFetch(originOf(lane), f,",
    put: 'if false then startRobotsFetch(originOf(lane), f,',
  },
  {
    name: 'a hop into a blocked origin waits as if the block would end soon',
    file: 'acquire',
    find: 'if o[4] and tonumber(o[4]) > now then',
    put: 'if false then',
  },
  {
    name: 'the clock of a hop owes only what its sender knows',
    file: 'acquire',
    find: "delay = math.max(delay, tonumber(o[1] or '0'),",
    put: 'delay = math.max(delay,',
  },
  {
    name: 'a page whose URL is a robots.txt may teach rules',
    file: 'record',
    find: "or kind ~= 'robots' then asked",
    put: "or since == '' then asked",
  },
  {
    name: 'a robots fetch that taught nothing wakes nobody',
    file: 'record',
    find: '  if opens then\n    local tries',
    put: '  if opens and recorded then\n    local tries',
  },
  {
    name: 'the asker owes less than what was known',
    file: 'record',
    find: "owed = math.max(owed, tonumber(call('HGET', key, 'g:' .. agent) or '0'))",
    put: '',
  },
  {
    name: 'a hop that died is taken for an asker that died',
    file: 'reap',
    find: "elseif kind == 'robots' and o[1] == fence",
    put: 'elseif o[1] == fence',
  },
  {
    name: 'the death of a page whose URL is a robots.txt counts no attempt',
    file: 'reap',
    find: "if kind == 'page' or kind == 'robots-page' then",
    put: "if kind == 'page' then",
  },
  {
    name: 'a question ends with the lease of its asker',
    file: 'visit',
    find: 'math.max(tonumber(ARGV[2]), leaseMs)',
    put: 'leaseMs',
  },
  { name: 'leave under other rules is granted', file: 'start', find: 'inForce ~= version', put: 'false' },
  // restarts
  {
    name: 'the epoch is ignored',
    file: 'common',
    find: 'if e[1] ~= run or leap then',
    put: 'if not e[1] or leap then',
  },
  {
    name: 'take looks at the hold, begin does not',
    file: 'start',
    find: 'if holdUntil > now then',
    put: 'if false then',
  },
  {
    name: 'begin looks at the hold, take does not',
    file: 'reserve',
    find: 'if holdUntil > now then',
    put: 'if false then',
  },
  {
    name: 'who remembers another epoch is not heard',
    file: 'common',
    find: "elseif known ~= '' and known ~= epochId",
    put: 'elseif false and known ~= epochId',
  },
  {
    name: 'the clock may run backwards',
    file: 'common',
    find: 'elseif last and last > now then now = last end',
    put: 'end',
  },
  // a clock that leaps
  {
    name: 'a clock that went back stands still until it has caught up',
    file: 'common',
    find: 'if now < last - BELIEVED_MS then\n    local back',
    put: 'if false then\n    local back',
  },
  {
    name: 'a clock that is ahead is believed',
    file: 'common',
    find: 'if unseen > 0 then',
    put: 'if false then',
  },
  {
    name: 'a leap needs no hold',
    file: 'common',
    find: 'if e[1] ~= run or leap then',
    put: 'if e[1] ~= run then',
  },
  {
    name: 'who has only just started is believed at once',
    file: 'common',
    find: 'elseif not most and now > last + UNSEEN_MS then',
    put: 'elseif false then',
  },
  {
    name: 'a living process that has not seen the time is not heard',
    file: 'common',
    find: "if denied ~= '' then return '', string.format('clock %.0f', delay) end",
    put: '',
  },
  {
    name: 'what is granted in doubt is granted',
    file: 'common',
    find: 'if inDoubt then holdUntil =',
    put: 'if false then holdUntil =',
  },
  {
    name: 'a silence is written down while it is in doubt what time it is',
    file: 'complete',
    find: 'if inDoubt then return inDoubt end\n',
    put: '',
  },
  {
    name: 'an expiry goes by the time of the ledger',
    file: 'reserve',
    find: '* 1000 + shift\n',
    put: '* 1000\n',
  },
  {
    name: 'fences begin anew with a Redis that has forgotten them',
    file: 'common',
    find: '  shift, now = shift + most - now, most\n',
    put: '',
  },
  {
    name: 'an empty ledger is taken for a new one',
    file: 'common',
    find: "if announced and known == '' then wait",
    put: "if known == '' then wait",
  },
  // the permit asked for again
  {
    name: 'who asks again does not hear of the back-off',
    file: 'confirm',
    find: "tonumber(o[2] or '0'), ",
    put: '',
  },
  { name: 'who asks again does not hear of a pause', file: 'confirm', find: "tonumber(o[3] or '0'), ", put: '' },
  { name: 'who asks again does not hear of a block', file: 'confirm', find: ", tonumber(block or '0')", put: '' },
  { name: 'other rules are confirmed', file: 'confirm', find: "version ~= '' and", put: 'false and' },
  { name: 'a lease that has ended is confirmed', file: 'confirm', find: 'owner ~= fence or', put: 'owner and' },
  { name: 'a hold is not heard of', file: 'confirm', find: "holdUntil > now and 'startup-hold'", put: 'nil' },
  {
    name: 'what was not sent opens the lane at once',
    file: 'complete',
    find: 'giveBack(lane, math.max(tonumber(notBefore), now + math.max(tonumber(delay), tonumber(least) or 0)))',
    put: 'giveBack(lane, now)',
  },
  {
    name: 'an announcement outlives what was granted after it',
    file: 'common',
    find: "if announced then call('HDEL', KEYS[1], 'planned') end",
    put: '',
  },
  // back-off
  {
    name: 'take does not look at the back-off',
    file: 'reserve',
    find: 'if shut > opens and shut > now',
    put: 'if false and shut > now',
  },
  {
    name: 'begin does not look at the back-off',
    file: 'start',
    find: 'elseif shut > now then',
    put: 'elseif false then',
  },
  {
    name: 'every agent escalates the same incident',
    file: 'complete',
    find: 'local another = began >= til',
    put: 'local another = true',
  },
  { name: 'jitter shortens', file: 'complete', find: '(1 + jitter / 10)', put: '(1 - jitter / 10)' },
  {
    name: 'a shorter Retry-After shortens',
    file: 'complete',
    find: 'til = math.max(til, ended',
    put: 'til = math.max(0, ended',
  },
  {
    name: 'incidents are never forgotten',
    file: 'complete',
    find: '(til > 0 and now - til > QUIET) and 1 or',
    put: '',
  },
  // URLs
  {
    name: 'the wrong list loses its head',
    file: 'complete',
    find: "if list == 'h' then call('LPOP'",
    put: "if false then call('LPOP'",
  },
  {
    name: 'what stands behind the head leaves with it',
    file: 'complete',
    find: 'setHead(lane, rest and rest[n], true)',
    put: 'setHead(lane, nil)',
  },
  {
    name: 'nobody says that there is more behind the head',
    file: 'park',
    find: 'if not more then setHead(lane, head, true) end',
    put: '',
  },
  {
    name: 'park puts a URL over the head',
    file: 'park',
    find: 'if not head then',
    put: 'if not more then',
  },
  {
    name: 'an id is not free after its outcome',
    file: 'complete',
    find: "call('SREM', P .. 'ids:' .. string.sub(id, 1, colon - 1), string.sub(id, colon + 1))",
    put: '',
  },
  {
    name: 'a death counts no attempt',
    file: 'reap',
    find: "tostring(tonumber(tries == '' and '0' or tries) + 1)",
    put: 'tries',
  },
  {
    name: 'high passes a head that was tried',
    file: 'reserve',
    find: "if tries ~= '' then heads = urlsOf(list, lane)",
    put: "if tries == 'x' then heads = urlsOf(list, lane)",
  },
  {
    name: 'a job delivered again parks again',
    file: 'park',
    find: "or (markable and call('HEXISTS', markKey, markField) == 1)\n",
    put: '\n',
  },
  {
    name: 'a worker that has lost its job parks for it',
    file: 'park',
    find: "call('GET', markKey .. ':lock') ~= ARGV[5]",
    put: "call('EXISTS', markKey) == 0",
  },
  {
    name: 'a stored id is parked again',
    file: 'park',
    find: "call('SADD', P .. 'ids:' .. bucket, number) == 1",
    put: "call('SADD', P .. 'ids:' .. bucket, number) >= 0",
  },
  {
    name: 'the lane limit is one too high',
    file: 'park',
    find: 'if length + n > limit then',
    put: 'if length + n > limit + 1 then',
  },
  { name: 'parking makes a lane in flight due', file: 'park', find: 'if not leased[i] then', put: 'if true then' },
  // the operator's hand
  {
    name: 'resume wakes below the clock',
    file: 'operate',
    find: 'setDue(lane, tonumber(clock) + longer(ARGV[i]))',
    put: 'setDue(lane, now)',
  },
  {
    name: 'a delay by hand waits for the next request',
    file: 'operate',
    find: 'setDue(lane, tonumber(opens) + longer(ARGV[i]))',
    put: 'setDue(lane, tonumber(opens))',
  },
  {
    name: 'a robotsRecord undoes the delay by hand',
    file: 'record',
    find: 'math.max(delay, tonumber(least) or 0)',
    put: 'delay',
  },
  {
    name: 'a delay by hand does not bind the asker of robots.txt',
    file: 'record',
    find: 'math.max(tonumber(ARGV[12]), tonumber(demanded) or 0)',
    put: 'tonumber(ARGV[12])',
  },
  {
    name: 'a delay by hand does not bind the clock above the lane',
    file: 'start',
    find: 'isShut(clock, math.max(tonumber(delay), tonumber(least) or 0), lane)',
    put: 'isShut(clock, tonumber(delay), lane)',
  },
  {
    name: 'a delay by hand does not bind a visit by name',
    file: 'visit',
    find: "local least = (o[5] and tonumber(o[5]) > now) and o[4] or ''",
    put: "local least = ''",
  },
]
