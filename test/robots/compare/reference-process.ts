/**
 * The wrapper of google/robotstxt that the comparison runs against, and how it is spoken to.
 *
 * It is a small program around `RobotsMatcher::OneAgentAllowedByRobots`, built elsewhere. It reads records from stdin; all
 * numbers are 32 bits little-endian, all texts a length and that many bytes: file; count of agents, agents; count of URLs,
 * URLs. For each record it prints one line of answers parted by blanks, agent by agent: `1` (allowed) or `0`, a colon, and
 * what `matching_line()` says.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Probe {
  readonly name: string
  readonly body: Uint8Array
  readonly agents: readonly string[]
  readonly urls: readonly string[]
}

export interface Answer {
  readonly allowed: boolean
  readonly line: number
}

export interface ReferenceProcess {
  /** The answers to one probe, agent by agent and URL by URL. */
  ask(probe: Probe): Promise<Answer[]>
  close(): void
}

export function startReference(binary: string): ReferenceProcess {
  const child = spawn(binary, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask(probe) {
      if (!child.stdin.write(record(probe))) await once(child.stdin, 'drain')
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`the reference ended at ${probe.name}`)
      const answers = value.trimEnd().split(' ')
      if (answers.length !== probe.agents.length * probe.urls.length)
        throw new Error(`${answers.length} answers to ${probe.name}`)
      return answers.map((answer) => ({ allowed: answer.startsWith('1'), line: Number(answer.slice(2)) }))
    },
    close: () => child.stdin.end(),
  }
}

export function record(probe: Pick<Probe, 'body' | 'agents' | 'urls'>): Buffer {
  const parts: Uint8Array[] = []
  const number = (value: number): void => {
    const four = Buffer.alloc(4)
    four.writeUInt32LE(value)
    parts.push(four)
  }
  const bytes = (value: Uint8Array): void => {
    number(value.length)
    parts.push(value)
  }
  bytes(probe.body)
  for (const list of [probe.agents, probe.urls]) {
    number(list.length)
    for (const item of list) bytes(Buffer.from(item))
  }
  return Buffer.concat(parts)
}
