/** An object store of one test, behind a door of the test's own: away, slow, refusing, or broken off half way. */
import { onTestFinished } from 'vitest'
import { openStoreServer, SECRET } from './store-server.ts'

export type TestStore = Awaited<ReturnType<typeof testStore>>

export async function testStore() {
  const bucket = 'pages'
  const store = await openStoreServer(bucket)
  onTestFinished(() => store.close())
  return Object.assign(store, {
    access: {
      endpoint: store.endpoint,
      region: 'us-east-1',
      bucket,
      prefix: 'crawl/',
      accessKeyId: 'test',
      secretAccessKey: SECRET,
    },
    names: (): string[] => [...store.objects.keys()].sort(),
    bytes: (name: string): Buffer => store.objects.get(name) ?? Buffer.of(),
  })
}
