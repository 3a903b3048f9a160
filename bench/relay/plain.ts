/**
 * The other side of the relay bench: two BullMQ queues, one URL per job, in their best form. `relay` moves jobs from
 * `candidates` to `orders`, all adds of one turn of the event loop in one addBulk; `sink` takes them out.
 */
import { Queue, Worker } from 'bullmq'
import { answerParent } from './words.ts'

const [role = '', url = '', prefix = ''] = process.argv.slice(2)
const connection = { url, maxRetriesPerRequest: null }
const finished = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } }

function forwarder(): (data: unknown) => Promise<void> {
  const orders = new Queue('orders', { connection, prefix })
  let waiting: { data: unknown; resolve: () => void; reject: (error: unknown) => void }[] = []
  const flush = (): void => {
    const batch = waiting
    waiting = []
    const jobs = batch.map(({ data }) => ({ name: 'orders', data, opts: { removeOnComplete: true } }))
    orders.addBulk(jobs).then(
      () => {
        for (const { resolve } of batch) resolve()
      },
      (error) => {
        for (const { reject } of batch) reject(error)
      },
    )
  }
  return (data) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ data, resolve, reject }) === 1) setImmediate(flush)
    })
}

const forward = role === 'relay' ? forwarder() : async () => undefined
const queue = role === 'relay' ? 'candidates' : 'orders'
const worker = new Worker(queue, (job) => forward(job.data), { connection, prefix, concurrency: 50, ...finished })
await worker.waitUntilReady()
const counter = answerParent((width) => {
  worker.concurrency = width
})
worker.on('completed', () => counter.done())
worker.on('failed', (_, error) => {
  throw error // a bench that loses jobs measures nothing
})
