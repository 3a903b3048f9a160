/** A site that stood still hears late of those who have gone: its record may not hold that against them. */
import { type ClientRequest, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { agentsOf, judgeRecord } from '@decorum/audit'
import { expect, onTestFinished, test } from 'vitest'
import { recordedWeb } from '../support/origins/index.ts'

const DELAY_MS = 300
const agents = agentsOf({ agent: 'bot', profile: 'decorum', minDelayMs: DELAY_MS, maxDelayMs: DELAY_MS })

test.each([{ delayMs: 10 }, {}])(
  'requests that were given up before the site heard of them, each after its delay (%o)',
  async (page) => {
    const web = await recordedWeb([{ name: 'site', robots: { body: '' }, pages: { ...page, body: 'x' } }])
    onTestFinished(() => web.close())
    const send = (path: string): ClientRequest => {
      const sent = request(`${web.origins.site}${path}`, { agent: false }, (answer) => void answer.resume())
      sent.on('error', () => undefined).end()
      return sent
    }
    await new Promise((resolve) => send('/robots.txt').once('close', resolve))
    process.kill(web.pid, 'SIGSTOP')
    for (const path of ['/a', '/b']) {
      await sleep(DELAY_MS)
      const sent = send(path)
      await sleep(50)
      sent.destroy()
    }
    await sleep(DELAY_MS)
    const last = send('/c')
    process.kill(web.pid, 'SIGCONT')
    await new Promise((resolve) => last.once('close', resolve))
    const { requests, total, examples } = judgeRecord(await web.evidence(), { agents })
    expect(examples.map(({ path, because }) => `${path}: ${because}`)).toEqual([])
    expect([requests, total]).toEqual([4, 0])
  },
)
