/** A supervised process whose supervisor is gone before its role starts. */
import { once } from 'node:events'
import { runSupervised } from '@decorum/runtime'

process.send?.('loading')
await once(process, 'disconnect')
setTimeout(() => {}, 2 ** 31 - 1) // as a connection would, it keeps the process alive
await runSupervised(() => new Promise(() => {}))
