/** Addresses, ports, log level and other settings of a single process. */
import { readRedisAddress } from '@decorum/protocol'
import { z } from 'zod'
import { addressRange, entriesOf } from '../allow-lists.ts'
import { PROCESSES, ROLES, type Setting, textThat, wholeNumber } from './setting.ts'

export const processes = {
  REDIS_URL: {
    schema: textThat(readRedisAddress, 'a Redis address such as redis://127.0.0.1:6379 is needed'),
    means:
      "The fleet's Redis: redis://, rediss:// for TLS, sentinel:// or unix://; several nodes of a cluster separated by commas, or ?cluster behind one name ([all forms](cluster.md)).",
    reason:
      'Without it `decorum up`, `crawl` and `demo` start a Redis of their own on loopback, and a role joins the fleet of its user on this machine, if one runs.',
    roles: ROLES,
  },
  HOST: {
    schema: z.string().default('127.0.0.1'),
    means: 'The address that the process listens on: its health server, the console, permits, or the proxy.',
    reason: 'The console shows every URL and accepts new ones, so other machines must be let in explicitly.',
    roles: PROCESSES,
  },
  PORT: {
    schema: wholeNumber(0, 65_535).default(0),
    means: 'The port that the process listens on; 0: any free one, which its first log line names.',
    reason: 'Several processes of a role run on one machine.',
    roles: ROLES,
  },
  LOG_LEVEL: {
    schema: z.enum(['silent', 'error', 'warn', 'info', 'debug']).default('info'),
    means: 'What the process logs, as JSON lines on standard output.',
    reason: 'A line per start, stop and notable event, none per request.',
    roles: PROCESSES,
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: textThat((text) => {
      if (text !== '' && !/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
        throw new Error(`an http: or https: address such as http://127.0.0.1:4318 is needed, not '${text}'`)
    }).default(''),
    means:
      'Base address of an OpenTelemetry collector (OTLP over HTTP, JSON) that receives the spans of traced URLs; empty: no traces. Its other variables (`OTEL_EXPORTER_OTLP_HEADERS` …) count as well.',
    reason: 'Without it nothing of OpenTelemetry is loaded.',
    roles: ['gateway', 'fetcher', 'permits', 'proxy'],
  },
  CONSOLE_PASSWORD: {
    schema: z.string().min(8, 'at least 8 characters are needed').optional(),
    means: 'Password of the console login, at least 8 characters; required when HOST is not a loopback address.',
    reason: 'On loopback only this machine can reach the console.',
    roles: ['console'],
  },
  CONSOLE_READ_PASSWORD: {
    schema: z.string().min(8, 'at least 8 characters are needed').optional(),
    means: 'Their password, at least 8 characters; only beside CONSOLE_PASSWORD. Without it there is no such login.',
    reason: 'People who only watch should not be able to stop the fleet.',
    roles: ['console'],
  },
  CONSOLE_TRUSTED_PROXIES: {
    schema: textThat((text) => entriesOf(text).map(addressRange)).default(''),
    means:
      'Addresses and ranges of proxies in front of the console, separated by commas: their X-Forwarded-For says who asks.',
    reason: 'Anybody can send such a header, so it counts from no address that is not named.',
    roles: ['console'],
  },
} as const satisfies Record<string, Setting>
