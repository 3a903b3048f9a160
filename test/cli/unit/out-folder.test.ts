/** The folder of a crawl: what can be begun in it, what can go on from it, and what a crash may have left in it. */

import { execFileSync } from 'node:child_process'
import {
  appendFile,
  chmod,
  chown,
  lchown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAppendFile, type OutFolderRequest, openOutFolder, outcomeLines, outcomesIn } from '@decorum/cli/testing'
import type { Outcome } from '@decorum/protocol'
import { expect, onTestFinished, test } from 'vitest'

async function place(): Promise<{
  dir: string
  list: string
  ask(over?: Partial<OutFolderRequest>): OutFolderRequest
}> {
  const dir = await mkdtemp(join(tmpdir(), 'decorum-out-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const list = join(dir, 'urls.txt')
  await writeFile(list, 'http://a.example/\n')
  const ask = (over: Partial<OutFolderRequest> = {}): OutFolderRequest => ({
    out: join(dir, 'a/b'),
    file: list,
    resume: false,
    agent: undefined,
    redis: undefined,
    settings: {},
    ...over,
  })
  return { dir, list, ask }
}
const RESUME = { resume: true, file: undefined }

test('a folder that was only opened is not started; a started one is unfinished until it is finished', async () => {
  const { ask } = await place()
  await openOutFolder(ask())
  const started = await openOutFolder(ask())
  await started.start()
  await expect(openOutFolder(ask())).rejects.toThrow(
    /holds an unfinished crawl of .*urls\.txt: continue it with --resume/,
  )
  const resumed = await openOutFolder(ask(RESUME))
  expect([resumed.resumed, resumed.note]).toEqual([true, started.note])
  await resumed.finish()
  await expect(openOutFolder(ask(RESUME))).rejects.toThrow('there is no unfinished crawl')
  expect((await openOutFolder(ask())).note.run).not.toBe(started.note.run)
})

test('a link of our own leads to its folder; a folder that everybody may write to is refused, also behind a link', async () => {
  const { dir, ask } = await place()
  await mkdir(join(dir, 'real'))
  await symlink(join(dir, 'real'), join(dir, 'link'))
  expect((await openOutFolder(ask({ out: join(dir, 'link') }))).dir).toBe(join(dir, 'real'))
  await chmod(join(dir, 'real'), 0o777)
  for (const out of ['real', 'link'])
    await expect(openOutFolder(ask({ out: join(dir, out) }))).rejects.toThrow('everybody may write to it')
})

test.runIf(process.getuid?.() === 0)('a link or a folder of another user is refused', async () => {
  const { dir, ask } = await place()
  await mkdir(join(dir, 'real'))
  await symlink(join(dir, 'real'), join(dir, 'link'))
  await lchown(join(dir, 'link'), 12_345, 12_345)
  await expect(openOutFolder(ask({ out: join(dir, 'link') }))).rejects.toThrow('it belongs to another user')
  await chown(join(dir, 'real'), 12_345, 12_345)
  await expect(openOutFolder(ask({ out: join(dir, 'real') }))).rejects.toThrow('it belongs to another user')
})

test('the outcomes of a finished crawl are set aside under the name of its run', async () => {
  const { ask } = await place()
  const first = await openOutFolder(ask())
  await first.start()
  await writeFile(first.outcomes, '{}\n')
  await first.finish()
  await (await openOutFolder(ask())).start()
  expect(await readdir(first.dir)).toEqual(['crawl.json', `outcomes-${first.note.run}.ndjson`])
})

test('what a crawl that ended in another Redis has left in its own is not found by the next crawl', async () => {
  const { dir, ask } = await place()
  const first = await openOutFolder(ask())
  await first.start()
  await mkdir(first.state)
  const joined = await openOutFolder(ask(RESUME))
  await joined.start(join(dir, 'of-another'))
  await joined.finish()
  expect(await readdir(first.dir)).toContain('state')
  await (await openOutFolder(ask())).start()
  expect(await readdir(first.dir)).not.toContain('state')
})

test('a folder that cannot be resumed is refused with the reason', async () => {
  const { list, ask } = await place()
  const redis = 'redis://user:secret@10.0.0.1:6379/2'
  const first = await openOutFolder(ask({ redis }))
  await first.start()
  await expect(openOutFolder(ask(RESUME))).rejects.toThrow('set REDIS_URL to that address')
  await expect(openOutFolder(ask({ redis, resume: true, file: '/other.txt' }))).rejects.toThrow('not of /other.txt')
  expect(await openOutFolder(ask({ ...RESUME, redis }))).toMatchObject({ resumed: true })
  await utimes(list, 1, 1)
  await expect(openOutFolder(ask({ ...RESUME, redis }))).rejects.toThrow('has changed since the crawl began')
  await rm(list)
  await expect(openOutFolder(ask({ ...RESUME, redis }))).rejects.toThrow('is not there any more')
  expect(await readFile(join(first.dir, 'crawl.json'), 'utf8')).not.toContain('secret')
})

test('a list that can be read only once is copied as standard input is, and its crawl goes on from the copy', async () => {
  const { dir, ask } = await place()
  const pipe = join(dir, 'pipe')
  execFileSync('/usr/bin/mkfifo', [pipe])
  for (const [at, file] of [pipe, '/dev/stdin', '/dev/fd/0'].entries()) {
    const out = join(dir, `out-${at}`)
    const first = await openOutFolder(ask({ out, file }))
    expect([first.note.file, first.list]).toEqual(['-', join(out, 'urls.txt')])
    await first.start()
    if (file === pipe) await rm(pipe)
    expect(await openOutFolder(ask({ ...RESUME, out }))).toMatchObject({ resumed: true, list: first.list })
  }
})

test("somebody else's crawl.json is left alone", async () => {
  const { dir, ask } = await place()
  await writeFile(join(dir, 'crawl.json'), '{"name":"mine"}')
  await expect(openOutFolder(ask({ out: dir }))).rejects.toThrow("is not a crawl's note")
})

const outcome = (id: string, more: object = {}): Outcome => ({
  id,
  url: 'http://a.example/',
  agent: 'a',
  at: 0,
  attempts: 0,
  kind: 'invalid',
  reason: 'bad-candidate',
  meta: { own: 1 },
  ...more,
})
async function read(path: string): Promise<Outcome[]> {
  const kept: Outcome[] = []
  for await (const one of outcomesIn(path)) kept.push(one)
  return kept
}

test('outcomes are written with their line; a line that a crash has cut is cut off', async () => {
  const { dir } = await place()
  const path = join(dir, 'outcomes.ndjson')
  const file = await openAppendFile(path)
  await file.append(outcomeLines([outcome('1')], () => 7))
  expect(await read(path)).toEqual([outcome('1', { meta: { own: 1, line: 7 } })])
  await file.close()
  await appendFile(path, `{"id":"2","long":"${'x'.repeat(200_000)}`)

  const again = await openAppendFile(path)
  await again.append(outcomeLines([outcome('3')], () => undefined))
  await again.close()
  expect(await read(path)).toEqual([outcome('1', { meta: { own: 1, line: 7 } }), outcome('3')])
})

test('line ends that JSON may hold as they are end no line: U+2028, U+2029, NEL', async () => {
  const { dir } = await place()
  const path = join(dir, 'outcomes.ndjson')
  const file = await openAppendFile(path)
  const odd = outcome('1', { reason: 'a\u2028b\u2029c\u0085d\re' })
  await file.append(outcomeLines([odd, outcome('2')], () => undefined))
  await file.close()
  expect(await read(path)).toEqual([odd, outcome('2')])
})

test('a line that is no outcome is named', async () => {
  const { dir } = await place()
  const path = join(dir, 'outcomes.ndjson')
  await writeFile(path, `${JSON.stringify(outcome('1'))}\n{"id":"2","ur{"id":"3"}\n`)
  await expect(read(path)).rejects.toThrow(`line 2 of ${path} is no outcome: remove it`)
})

test('what cannot be written leaves the note as it was', async () => {
  const { ask } = await place()
  const started = await openOutFolder(ask())
  await started.start()
  await rm(started.dir, { recursive: true })
  await expect(started.finish()).rejects.toThrow(`${join(started.dir, 'crawl.json')} cannot be written: ENOENT`)
})
