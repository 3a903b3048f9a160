/**
 * zod without its messages in fifty languages, which nobody asks for: 9 MB and 15 ms of CPU in every process, at each start
 * (docs/decisions/0010-compiled-code-is-kept.md). All of zod loads them and its entry points leave no way round, so what they are kept
 * under in Node's cache of modules is taken before zod is loaded, and `z.locales` is empty. English is loaded by the schemas themselves.
 * JavaScript, because `z` is a namespace of types as well, which only a declaration (zod.d.ts) can pass on as it is.
 */
import { createRequire, Module } from 'node:module'

const require = createRequire(import.meta.url)
const messages = require.resolve('zod/v4/locales')
require.cache[messages] ??= Object.assign(new Module(messages), { filename: messages, loaded: true })

export const { z } = require('zod')
