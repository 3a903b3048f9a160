/**
 * undici's client, connector and errors, without the rest of it. Its index also loads caches, mocks, WebSockets and a fetch, which this
 * process never uses: 14 MB and 60 ms of CPU at each start (docs/decisions/0010-compiled-code-is-kept.md). The paths are internal to undici:
 * test/runtime/unit/deep-imports.test.ts names one that has moved.
 */
import { createRequire } from 'node:module'
import type Undici from 'undici'

const require = createRequire(import.meta.url)

export const Client = require('undici/lib/dispatcher/client.js') as typeof Undici.Client
export type Client = Undici.Client
export const makeConnector = require('undici/lib/core/connect.js') as typeof Undici.buildConnector
export const errors = require('undici/lib/core/errors.js') as typeof Undici.errors
