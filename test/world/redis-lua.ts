/**
 * The ledger's scripts as the world runs them: the real text, with three things noted behind the reply that the world plays itself, because the
 * real server would do them by its own clock or on another connection: keys that end, wake-ups, and which cell of the table of gates was closed. What
 * the server draws by chance is chosen by the world.
 */

/** Sorted set: key → the instant of the server's clock at which it ends. */
export const ENDS_KEY = 'world:ends'

/** Real lives of keys are so many times as long: however slowly a machine runs the world, none ends by itself. */
const LONGER = 1_000
const LONGEST_LIFE_MS = 1e12
export const longer = (lifeMs: number): string => String(Math.min(LONGEST_LIFE_MS, Math.ceil(lifeMs) * LONGER))

/** In front of the notes in the last member of a reply. */
const NOTES = '\u0001world'

const BEFORE = `local world, worldSeen = {}, {}
local function worldNote(text)
  if not worldSeen[text] then worldSeen[text], world[#world + 1] = true, text end
end
local function worldNow() return tonumber((string.match(ARGV[1], '^[^/]*'))) end
local function worldLife(life) return string.format('%d', math.min(tonumber(life) * ${LONGER}, ${LONGEST_LIFE_MS})) end
local function worldExpire(key, life)
  local is = redis.call('PEXPIRE', key, worldLife(life))
  if is == 1 then redis.call('ZADD', '${ENDS_KEY}', worldNow() + tonumber(life), key) end
  return is
end
local function worldSet(key, value, ...)
  local how, life = { ... }, nil
  for i = 1, #how do
    if how[i] == 'PX' then life, how[i + 1] = how[i + 1], worldLife(how[i + 1]) break end
  end
  local is = redis.call('SET', key, value, unpack(how))
  if is then redis.call('ZADD', '${ENDS_KEY}', worldNow() + tonumber(life), key) end
  return is
end
local function worldTtl(key)
  local left = redis.call('PTTL', key)
  if left < 0 then return left end
  return math.max(0, math.floor(tonumber(redis.call('ZSCORE', '${ENDS_KEY}', key) or worldNow()) - worldNow()))
end
local function worldPop(key, most)
  local all, some = redis.call('SMEMBERS', key), {}
  table.sort(all)
  for i = 1, math.min(tonumber(most), #all) do some[i] = all[i] end
  if some[1] then redis.call('SREM', key, unpack(some)) end
  return some
end
local worldReply = (function()
`
const BEHIND = `
end)()
if world[1] and type(worldReply) == 'table' and not worldReply.err then
  worldReply[#worldReply + 1] = '${NOTES}\\n' .. table.concat(world, '\\n')
end
return worldReply
`

/** Ends the keys whose time has come; a key that was made anew without an end since stays. */
export const END_KEYS = `
local due = redis.call('ZRANGEBYSCORE', '${ENDS_KEY}', '-inf', ARGV[1], 'LIMIT', 0, 500)
for i = 1, #due do
  if redis.call('PTTL', due[i]) >= 0 then redis.call('UNLINK', due[i]) end
  redis.call('ZREM', '${ENDS_KEY}', due[i])
end
return #due`

/** SRANDMEMBER by a number in [0, 1) of the world: so many members, in order, from there. */
export const MEMBERS = `
local all, some = redis.call('SMEMBERS', KEYS[1]), {}
table.sort(all)
local from = math.floor(#all * tonumber(ARGV[2]))
for i = 1, math.min(tonumber(ARGV[1]), #all) do some[i] = all[(from + i - 1) % #all + 1] end
return some`

/** A gate that is closed until an instant, in the functions that packages/ledger/src/gate-text.ts makes. */
const WAITS = /if t > till then till, gate = t, '([\w-]+)' end/g

const texts = new Map<string, string>()

export function played(lua: string): string {
  const known = texts.get(lua) ?? playedAnew(lua)
  texts.set(lua, known)
  return known
}

function playedAnew(lua: string): string {
  const first = /^#!.*\n/.exec(lua)?.[0] ?? ''
  const body = lua
    .slice(first.length)
    .replace(/(?<![.\w])call\('PUBLISH', (.+?), ms\(\w+\)\)/g, "worldNote('wake ' .. $1)")
    .replace(/(?<![.\w])call\('PEXPIRE', /g, 'worldExpire(')
    .replace(/(?<![.\w])call\('PTTL', /g, 'worldTtl(')
    .replace(/(?<![.\w])call\('SPOP', /g, 'worldPop(')
    .replace(/(?<![.\w])call\('SET', (?=.*'PX')/g, 'worldSet(')
    .replace(
      /^local function gates_(\w+)\(([^)]*)\)\n([\s\S]*?)^end$/gm,
      (_, name: string, args: string, rest: string) =>
        [
          `local function worldGates_${name}(${args})`,
          // Of several closed gates a script names the one that opens last
          `${rest.replace(WAITS, (line, gate: string) => `if t > now then worldNote('cell ${name} ${gate}') end ${line}`)}end`,
          `local function gates_${name}(${args})`,
          `  local gate, till = worldGates_${name}(${args})`,
          name.endsWith('Each')
            ? `  for i = 1, #gate, 2 do worldNote('cell ${name} ' .. gate[i]) end`
            : `  if gate then worldNote('cell ${name} ' .. gate) end`,
          '  return gate, till',
          'end',
        ].join('\n'),
    )
  return `${first}${BEFORE}${body}${BEHIND}`
}

export type Notes = { wakes: string[]; cells: string[] }

/** Takes the world's notes off a reply. */
export function notesIn(reply: unknown): Notes {
  const notes: Notes = { wakes: [], cells: [] }
  if (!Array.isArray(reply)) return notes
  const last: unknown = reply.at(-1)
  if (typeof last !== 'string' || !last.startsWith(NOTES)) return notes
  reply.pop()
  for (const line of last.split('\n').slice(1)) {
    const at = line.indexOf(' ')
    const list = line.startsWith('wake') ? notes.wakes : notes.cells
    list.push(line.slice(at + 1))
  }
  return notes
}
