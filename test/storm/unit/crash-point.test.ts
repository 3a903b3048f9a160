import { afterEach, expect, test, vi } from 'vitest'

const load = async (settings: Record<string, string>) => {
  vi.resetModules()
  vi.unstubAllEnvs()
  for (const [name, text] of Object.entries(settings)) vi.stubEnv(name, text)
  return import('@decorum/runtime')
}
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test('a crash point that does not exist is refused by name', async () => {
  await expect(load({ DECORUM_CRASH_AT: 'settle.befor:1' })).rejects.toThrow("no crash point is called 'settle.befor'")
  await expect(load({ DECORUM_FREEZE_AT: 'complete.before:0' })).rejects.toThrow(
    "DECORUM_FREEZE_AT: '0' is not a number of passes",
  )
  await expect(load({ DECORUM_CRASH_AT: 'complete.before' })).rejects.toThrow('is not a number of passes')
})

test.each([
  ['DECORUM_CRASH_AT', 'SIGKILL'],
  ['DECORUM_FREEZE_AT', 'SIGSTOP'],
])('%s: %s of oneself at the n-th pass of that point, once', async (variable, signal) => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const { crashPoint } = await load({ [variable]: 'complete.before:2' })
  crashPoint('complete.before')
  crashPoint('complete.after')
  expect(kill).not.toHaveBeenCalled()
  crashPoint('complete.before')
  crashPoint('complete.before')
  expect(kill.mock.calls).toEqual([[process.pid, signal]])
})

test('both: it stands still first, and the passes of the other point are counted from then on', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const { crashPoint } = await load({ DECORUM_FREEZE_AT: 'complete.before:1', DECORUM_CRASH_AT: 'complete.after:2' })
  crashPoint('complete.after')
  crashPoint('complete.before')
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGSTOP']])
  crashPoint('complete.after')
  expect(kill).toHaveBeenCalledOnce()
  crashPoint('complete.after')
  expect(kill.mock.calls.at(-1)).toEqual([process.pid, 'SIGKILL'])
})

test('unset, a pass does nothing', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const { crashPoint } = await load({ DECORUM_CRASH_AT: '' })
  crashPoint('complete.before')
  expect(kill).not.toHaveBeenCalled()
})
