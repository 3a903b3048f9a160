/** What the bench and its processes say to each other, over IPC. */

export type ToChild =
  | { kind: 'expect'; count: number } //  begin to count; say when so many are done
  | { kind: 'width'; value: number } //   how many at once
  | { kind: 'cpu' }

export type FromChild =
  | { kind: 'ready' }
  | { kind: 'reached' /** ms since 1970 */; at: number }
  | { kind: 'cpu' /** of this process so far, µs */; micros: number }

export type Counter = { done(): void }

/** The child's side: counts what it has finished, answers how much CPU it used. `ready` is said at once. */
export function answerParent(onWidth: (value: number) => void): Counter {
  let count = 0
  let wanted = Number.POSITIVE_INFINITY
  const say = (word: FromChild): void => void process.send?.(word)
  process.on('message', (word: ToChild) => {
    switch (word.kind) {
      case 'expect':
        count = 0
        wanted = word.count
        return
      case 'width':
        return onWidth(word.value)
      case 'cpu': {
        const { user, system } = process.cpuUsage()
        return say({ kind: 'cpu', micros: user + system })
      }
      default:
        return word satisfies never
    }
  })
  process.once('disconnect', () => process.exit())
  say({ kind: 'ready' })
  return {
    done() {
      count += 1
      if (count === wanted) say({ kind: 'reached', at: Date.now() })
    },
  }
}
