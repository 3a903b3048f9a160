/** Client of an S3-compatible store: writes whole objects, reads ranges. aws4fetch signs the requests; addresses are path-style. */
import { type Clock, systemClock } from '@decorum/protocol/time'
import { AwsClient } from 'aws4fetch'
import { startOf, wholeBody } from './answer.ts'
import { ContentError } from './errors.ts'

export type StoreAccess = {
  /** scheme, host and port */
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}
export type ObjectPlace = { bucket: string /** without a leading slash */; key: string }

/** The store answered with an error, or not at all. A retry is safe. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code = 'STORE'
  /** 0: no answer */
  readonly status: number
  constructor(message: string, status: number, cause?: unknown) {
    super(message, { cause })
    this.status = status
  }
}

export type ObjectStore = {
  /**
   * Stores an object as a whole: a partial object is never visible, and storing the same object again changes nothing.
   * @param body  opened for each try. @param sha256  of the whole body, hex: the store refuses a body damaged on the way
   * @throws StoreError
   */
  put(place: ObjectPlace, body: () => ReadableStream, bytes: number, sha256: string, signal: AbortSignal): Promise<void>
  /** Length of an object; undefined: there is no such object. @throws StoreError */
  size(place: ObjectPlace, signal: AbortSignal): Promise<number | undefined>
  /** Reads a range. @throws ContentError `gone` when there is no such object, else `unavailable` */
  range(place: ObjectPlace, offset: number, length: number): AsyncGenerator<Uint8Array>
}

const MAX_PROBLEM_CHARS = 300

/** Keys that sign requests; each is made once a day. */
const signingKeys = new Map<string, ArrayBuffer>()

export function storeAt(
  { endpoint, region, accessKeyId, secretAccessKey }: StoreAccess,
  clock: Clock = systemClock,
): ObjectStore {
  // The caller decides when to try again
  const aws = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0, cache: signingKeys })
  const base = new URL(endpoint).origin
  const urlOf = ({ bucket, key }: ObjectPlace): string =>
    `${base}/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`
  const request = async (place: ObjectPlace, init: RequestInit & { duplex?: 'half' }): Promise<Response> => {
    try {
      const signed = await aws.sign(urlOf(place), { ...init, body: null })
      const { body, duplex } = init
      return await fetch(signed, {
        redirect: 'error',
        ...(body == null ? {} : { body, duplex }),
        signal: init.signal ?? null,
      })
    } catch (error) {
      const why = ((error as Error).cause ?? error) as Error
      throw new StoreError(`${base} does not answer: ${why.message}`, 0, why)
    }
  }
  return {
    async put(place, body, bytes, sha256, signal) {
      const headers = {
        'content-type': place.key.endsWith('.gz') ? 'application/gzip' : 'text/plain',
        'content-length': String(bytes),
        'x-amz-content-sha256': sha256,
      }
      const answer = await request(place, { method: 'PUT', headers, body: body(), duplex: 'half', signal })
      if (answer.status !== 200) throw await refused(answer, base)
      await answer.body?.cancel()
    },
    async size(place, signal) {
      const answer = await request(place, { method: 'HEAD', signal })
      await answer.body?.cancel()
      if (answer.status === 404) return undefined
      if (answer.status !== 200) throw new StoreError(`${base} answers ${answer.status}`, answer.status)
      return Number(answer.headers.get('content-length'))
    },
    range(place, offset, length) {
      const name = `${place.bucket}/${place.key}`
      const headers = { range: `bytes=${offset}-${offset + length - 1}` }
      const fetchRange = async (signal: AbortSignal): Promise<Response> => {
        const answer = await request(place, { headers, signal })
        if (answer.status === 404) throw new ContentError('gone', `${name} is not in the store`)
        if (answer.status === 416) throw new ContentError('damaged', `${name} ends before the record`)
        if (answer.status !== 206) throw await refused(answer, base)
        return answer
      }
      return wholeBody(name, fetchRange, length, clock)
    },
  }
}

/** The error with the store's code, else with the start of its message, which may repeat the request but never the secret key. */
async function refused(answer: Response, base: string): Promise<StoreError> {
  const text = await startOf(answer)
  const detail = /<Code>([^<]{1,100})<\/Code>/.exec(text)?.[1] ?? text.slice(0, MAX_PROBLEM_CHARS)
  return new StoreError(`${base} answers ${answer.status}${detail === '' ? '' : ` ${detail}`}`, answer.status)
}
