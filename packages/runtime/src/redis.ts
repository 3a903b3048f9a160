/** Logs outages of Redis. */
import { explainRefusal } from '@decorum/protocol/redis-refusal'
import type { Cluster, Redis } from 'ioredis'
import type { Logger } from 'pino'

/**
 * Logs when Redis becomes unreachable and when it answers again; in a cluster, for each node.
 */
export function logOutages<Link extends Redis | Cluster>(link: Link, log: Logger): Link {
  const away = new Set<string>()
  const gone = (error: Error, node = ''): void => {
    if (!away.has(node))
      log.warn(
        { err: explainRefusal(error.message), ...(node === '' ? {} : { node }) },
        'Redis is away: nothing new is sent until it answers',
      )
    away.add(node)
  }
  const back = (node = ''): void => {
    if (away.delete(node)) log.info(node === '' ? {} : { node }, 'Redis is back')
  }
  const one: Redis | Cluster = link
  if (!one.isCluster) return (one as Redis).on('error', (error: Error) => gone(error)).on('ready', () => back()) as Link
  ;(one as Cluster)
    .on('error', (error: Error) => gone(error))
    .on('ready', () => back())
    .on('node error', gone)
    .on('+node', (node: Redis) => node.on('ready', () => back(`${node.options.host}:${node.options.port}`)))
  return link
}
