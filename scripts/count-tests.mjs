/** A vitest reporter for `parts.mjs`: how many tests passed, failed and were skipped, as JSON in DECORUM_TEST_COUNTS. */
import { writeFileSync } from 'node:fs'

export default class CountTests {
  /** Also a failure: a file that cannot be loaded (none of its tests failed), an error that no test caught. */
  onTestRunEnd(files, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const file of files) {
      if (file.errors().length > 0) counts.failed += 1
      for (const test of file.children.allTests()) {
        const { state } = test.result()
        counts[state === 'passed' || state === 'failed' ? state : 'skipped'] += 1
      }
    }
    writeFileSync(process.env.DECORUM_TEST_COUNTS, JSON.stringify(counts))
  }
}
