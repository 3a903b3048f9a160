/** A real browser that looks at one console, and what it complained of. Skipped where there is none. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'
import { programOf } from '../support/programs.ts'

/** undefined: there is none on PATH */
export const chromiumPath = programOf('chromium', 'chromium-browser', 'google-chrome')
if (chromiumPath === undefined) {
  console.warn('skipped: no chromium on PATH (install one to run the tests of the pages)')
}

export type BrowserForTest = {
  browser: BrowserContext
  /** errors and warnings of the pages, and requests that went anywhere but to this console */
  complaints: string[]
  close(): Promise<void>
}

export type BrowserOptions = {
  javaScriptEnabled?: boolean
  /** names under .test that lead to 127.0.0.1 */
  names?: boolean
  /** given to whoever asks, as a browser does that has logged in before */
  login?: { username: string; password: string }
}

export async function browserForTest(
  port: number,
  { javaScriptEnabled = true, names = false, login }: BrowserOptions = {},
): Promise<BrowserForTest> {
  const profile = await mkdtemp(join(tmpdir(), 'decorum-browser-'))
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath ?? '',
    headless: true,
    timeout: 0, // what hangs is ended by the limit of its test, here and below
    baseURL: `http://127.0.0.1:${port}`,
    javaScriptEnabled,
    ...(login === undefined ? {} : { httpCredentials: login }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      ...(names ? ['--host-resolver-rules=MAP *.test 127.0.0.1'] : []),
    ],
  })
  browser.setDefaultTimeout(0)
  const complaints: string[] = []
  browser.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  browser.on('weberror', (error) => complaints.push(error.error().message))
  browser.on('request', (asked) => {
    if (new URL(asked.url()).port !== String(port)) complaints.push(`asked ${asked.url()}`)
  })
  return {
    browser,
    complaints,
    async close() {
      await browser.close()
      await rm(profile, { recursive: true, force: true })
    },
  }
}
