/** Opens the sink that PAGE_SINK names. */
import { access, constants, mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SettingsError, wrongSettings } from '@decorum/config'
import { wrongBucket } from '@decorum/content/server'
import { noSink, type OpenSink, type Sink, type SinkOptions } from './sink.ts'

/**
 * @param which  `warc` (keeps nothing when there is no folder) · `s3` · `folder` · `none` · the path of a module
 * @throws       SettingsError naming what is wrong with PAGE_SINK or ARCHIVE_DIR
 */
export async function openSink(which: string, options: SinkOptions): Promise<Sink> {
  if (options.folder !== '' && which !== 'none') await checkFolder(options.folder)
  switch (which) {
    case 'none':
      return noSink
    case 'warc':
      if (options.folder === '') return noSink
      return (await import('./archive.ts')).openArchive(options.folder, options.agents, options)
    case 's3': {
      const { folder, agents, contentUrl = '', s3 } = options
      if (folder === '') throw wrongSettings('PAGE_SINK: s3 needs ARCHIVE_DIR, for pages on their way to the store')
      if (s3 === undefined) throw wrongSettings('PAGE_SINK: s3 needs S3_ENDPOINT')
      const wrong = wrongBucket(s3.settings)
      if (wrong !== undefined) throw wrongSettings(`S3_BUCKET: ${wrong}`)
      return (await import('./s3.ts')).openS3(folder, agents, s3, contentUrl)
    }
    case 'folder':
      if (options.folder === '') throw new SettingsError('wrong settings:\n  PAGE_SINK: folder needs ARCHIVE_DIR')
      return (await import('./folder.ts')).openFolder(options.folder)
    default:
      return ownSink(which, options)
  }
}

async function checkFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
  } catch (error) {
    throw new SettingsError(`wrong settings:\n  ARCHIVE_DIR: ${folder} cannot be written: ${(error as Error).message}`)
  }
}

async function ownSink(path: string, options: SinkOptions): Promise<Sink> {
  const wrong = (why: string) => new SettingsError(`wrong settings:\n  PAGE_SINK: ${path}: ${why}`)
  let module: { openSink?: unknown }
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as { openSink?: unknown }
  } catch (error) {
    throw wrong(`neither warc, s3, folder, none, nor a module that loads: ${(error as Error).message}`)
  }
  if (typeof module.openSink !== 'function') throw wrong('the module exports no function openSink')
  const sink = (await (module.openSink as OpenSink)(options)) as Partial<Sink> | undefined
  if (typeof sink?.keepsBodies !== 'boolean' || typeof sink.store !== 'function' || typeof sink.close !== 'function') {
    throw wrong('openSink must give { keepsBodies, store, close }')
  }
  return sink as Sink
}
