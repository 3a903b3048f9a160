/** A caller that wants no answer any more. */
import { expect, test } from 'vitest'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { ask, testConnections } from '../../fetcher/support/tools.ts'

test('a request whose caller has gone before is not sent, also where a connection stands open', async () => {
  const site = await rawOrigin((socket) => void socket.write(answerOf(200, {}, 'page')))
  const connections = testConnections()
  expect((await ask(connections, site.origin)).kind).toBe('answered')
  const result = await ask(connections, site.origin, { signal: AbortSignal.abort(new Error('gone')) })
  expect(result).toMatchObject({ kind: 'not-sent', why: 'gone' })
  expect((await ask(connections, site.origin)).kind).toBe('answered')
  expect([site.asked.length, site.connections]).toEqual([2, 1])
})
