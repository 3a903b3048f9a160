/**
 * The connection of one process to the real Redis, as the world plays it: each command leaves when it is sent, is run by the real server when it
 * arrives there in virtual time, and its reply comes when the world says so, or never. Commands of one connection arrive in order,
 * and so do their replies. Scripts of the ledger are told the world's time in place of the server's own (`time` in EVERY_CALL of calls.ts).
 */
import { EventEmitter } from 'node:events'
import type { RedisLink } from '@decorum/ledger'
import type { ChainableCommander } from 'ioredis'
import { isScript, readCall } from './calls.ts'
import type { Process } from './process.ts'
import { ENDS_KEY, longer, MEMBERS } from './redis-lua.ts'
import type { Server } from './server.ts'

/** The network between a process and Redis. */
export type Wire = {
  /** nothing arrives before this; what is on its way is lost */
  cutUntil: number
  /** what is sent until then arrives, and its replies do not */
  deafUntil: number
  /** what is published until then does not arrive */
  unheardUntil: number
  /** further ms that each way takes */
  slowMs: number
}
export const openWire = (): Wire => ({ cutUntil: 0, deafUntil: 0, unheardUntil: 0, slowMs: 0 })

const LEAST_MS = 0.05
const MOST_MS = 0.6
/** Where the time stands among the arguments of a verb, behind its two keys. */
export const TIME_AT = 2

/** As ioredis fails what it cannot send or has no answer to, with `away: 'fail'`. */
const gone = (): Error => new Error('Connection is closed.')

/** Scripts that the real connection knows; each has one text in a world. */
type Known = Map<string, string>
const known = new WeakMap<object, Known>()

export function linkOf(server: Server, process: Process, wire: Wire): RedisLink {
  const { timeline, real, dice } = server
  let arrival = 0
  let delivery = 0
  const way = (): number => dice.between(LEAST_MS, MOST_MS) + wire.slowMs

  const send = (what: string, work: () => Promise<unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        if (timeline.now < wire.cutUntil) return // no answer comes, and the deadline of the call passes
        const fail = (): void => void timeline.after(way(), `has no connection: ${what}`, () => reject(gone()), process)
        if (server.isAway) {
          fail()
          return
        }
        const { life } = server
        arrival = Math.max(arrival, Math.max(timeline.now, server.hangsUntil) + way())
        const sentAt = timeline.now
        const asked = `${process.name} asks Redis: ${what}`
        const arrive = async (): Promise<void> => {
          if (wire.cutUntil > sentAt) return
          if (server.hangsUntil > timeline.now) return void timeline.at(server.hangsUntil, asked, arrive)
          if (server.life !== life) return fail()
          const answer = await work().then(
            (value) => () => resolve(value),
            (error: Error) => () => reject(error),
          )
          if (wire.deafUntil > timeline.now) return timeline.note('  its reply is lost')
          delivery = Math.max(delivery, timeline.now + way())
          const deliver = (): void => {
            if (wire.cutUntil > sentAt) return
            if (server.life !== life) reject(gone())
            else answer()
          }
          timeline.at(delivery, `is answered: ${what}`, deliver, process)
        }
        timeline.at(arrival, asked, arrive)
      }
      process.whenRunning(leave)
    })

  /** Commands that are gathered, and sent by `exec`. */
  const gathered = (commands: ChainableCommander): ChainableCommander => {
    const proxy: ChainableCommander = new Proxy(commands, {
      get(target, name) {
        if (name === 'exec') return () => send(`${target.length} commands`, () => target.exec())
        if (name === 'pexpire')
          return (key: string, lifeMs: number) => {
            target.pexpire(key, longer(lifeMs)).zadd(ENDS_KEY, server.time() + lifeMs, key)
            return proxy
          }
        if (name === 'srandmember')
          return (key: string, count: number) => {
            target.eval(MEMBERS, 1, key, count, dice.next())
            return proxy
          }
        const value = Reflect.get(target, name) as unknown
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          const answer = (value as (...of: unknown[]) => unknown).apply(target, args)
          return answer === target ? proxy : answer
        }
      },
    })
    return proxy
  }

  /** A connection that hears what is published. */
  const listener = (): unknown => {
    const emitter = new EventEmitter()
    let end: (() => void) | undefined
    const channels = new Set<string>()
    const hear = (channel: string): void => {
      const isLost = (): boolean => timeline.now < Math.max(wire.unheardUntil, wire.cutUntil) || server.isAway
      if (!channels.has(channel) || isLost()) return
      timeline.after(way(), `hears of ${channel}`, () => isLost() || emitter.emit('message', channel), process)
    }
    process.onDeath(() => end?.())
    const own = {
      on: (name: string, act: () => void) => {
        emitter.on(name, act)
        return own
      },
      subscribe: (...names: string[]) =>
        send('subscribe', async () => {
          for (const name of names) channels.add(name)
          end ??= server.listen(hear)
          return names.length
        }),
      disconnect: () => {
        end?.()
        end = undefined
      },
    }
    return own
  }

  const emitter = new EventEmitter().setMaxListeners(0) // each ledger that could not be opened leaves some
  const own: Record<string, unknown> = {
    get status() {
      return server.isAway ? 'reconnecting' : 'ready'
    },
    isCluster: false,
    on(name: string, act: () => void) {
      emitter.on(name, act)
      return link
    },
    once(name: string, act: () => void) {
      emitter.once(name, act)
      return link
    },
    off(name: string, act: () => void) {
      emitter.off(name, act)
      return link
    },
    duplicate: listener,
    disconnect: () => undefined,
    pipeline: () => gathered(real.pipeline()),
    multi: () => gathered(real.multi()),
    defineCommand: (name: string, { lua, ...rest }: { lua: string; numberOfKeys?: number }) => {
      const text = server.script(name, lua)
      const all: Known = known.get(real) ?? new Map<string, string>()
      known.set(real, all)
      if (all.get(name) === text) return
      all.set(name, text)
      real.defineCommand(name, { ...rest, lua: text })
    },
    set: (key: string, value: string, ...how: unknown[]) =>
      send('set', async () => {
        const at = how.indexOf('PX') + 1
        const lifeMs = Number(how[at])
        const further = at > 0 ? how.with(at, longer(lifeMs)) : how
        const answer = await real.call('set', key, value, ...further.map(String))
        if (at > 0 && answer !== null) await real.zadd(ENDS_KEY, server.time() + lifeMs, key)
        return answer
      }),
    pexpire: (key: string, lifeMs: number) =>
      send('pexpire', async () => {
        const answer = await real.pexpire(key, longer(lifeMs))
        if (answer === 1) await real.zadd(ENDS_KEY, server.time() + lifeMs, key)
        return answer
      }),
    pttl: (key: string) =>
      send('pttl', async () => {
        const left = await real.pttl(key)
        const endsAt = Number(await real.zscore(ENDS_KEY, key))
        return left < 0 ? left : Math.max(0, Math.floor(endsAt - server.time()))
      }),
  }
  const link = new Proxy(real, {
    get(target, name) {
      if (typeof name === 'string' && name in own) return own[name]
      const value = Reflect.get(target, name) as unknown
      if (typeof value !== 'function' || typeof name !== 'string') return value
      return (...args: unknown[]) =>
        send(name, async () => {
          const isVerb = isScript(name)
          if (isVerb) args[TIME_AT] = timed(String(args[TIME_AT]), server.time())
          const reply = await (value as (...of: unknown[]) => Promise<unknown>).apply(target, args)
          if (isVerb) {
            server.noted(reply)
            const call = readCall(name, args, reply)
            if (call !== undefined) server.observer.ran(call, process)
          }
          return reply
        })
    },
  }) as RedisLink
  return link
}

/** What a process vouches for, with the time of the server before it, as the ledger's tests hand it in. */
export const timed = (said: string, now: number): string => `${now.toFixed(3)}${said.startsWith('/') ? '' : '/'}${said}`
