/**
 * BullMQ's queue, worker and errors only. Its index also loads a store in PostgreSQL, flows, relays and sandboxed processors: 30 ms of CPU
 * and 6 MB at each start (docs/decisions/0010-compiled-code-is-kept.md). The paths are internal to BullMQ, so its version is pinned, like
 * all versions.
 */
import { createRequire } from 'node:module'
import type * as BullMQ from 'bullmq'

const require = createRequire(import.meta.url)

// Literal names, so that the bundler of the client's package can follow them
export const { Queue } = require('bullmq/dist/cjs/classes/queue.js') as Pick<typeof BullMQ, 'Queue'>
export type Queue = BullMQ.Queue
export const { Worker } = require('bullmq/dist/cjs/classes/worker.js') as Pick<typeof BullMQ, 'Worker'>
export type Worker = BullMQ.Worker
export const { DelayedError } = require('bullmq/dist/cjs/classes/errors/delayed-error.js') as Pick<
  typeof BullMQ,
  'DelayedError'
>
export const { UnrecoverableError } = require('bullmq/dist/cjs/classes/errors/unrecoverable-error.js') as Pick<
  typeof BullMQ,
  'UnrecoverableError'
>
export type { ConnectionOptions, Job } from 'bullmq'

type Commands = { defineCommand(name: string, definition: { lua: string; numberOfKeys?: number }): void }

/**
 * Lets BullMQ's scripts run on this connection in a Redis that has reached its maxmemory: sending orders and ending jobs frees the memory
 * of URLs. Not for connections that add candidates.
 */
export function servingWhenFull<Link extends Commands>(link: Link): Link {
  const define = link.defineCommand.bind(link)
  link.defineCommand = (name, { lua, ...rest }) =>
    define(name, { ...rest, lua: lua.startsWith('#!') ? lua : `#!lua flags=allow-oom\n${lua}` })
  return link
}

/**
 * Adds jobs to a queue; they are stored once the promise resolves.
 * @throws any error of Redis, and an error when a job has no id: for commands that a cluster redirects too often, ioredis 6.0.0 loses the
 * errors, and BullMQ takes the empty answer for success
 */
export async function addJobs(queue: Queue, jobs: Parameters<Queue['addBulk']>[0]): Promise<void> {
  const added = await queue.addBulk(jobs)
  if (added.length !== jobs.length || added.some(({ id }) => !id))
    throw new Error('Redis did not confirm the jobs: their slot is on its way to another server')
}
