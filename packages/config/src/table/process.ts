/** Addresses, ports, log level and other things that one process has to itself. */
import { readRedisAddress } from '@decorum/protocol'
import { z } from 'zod'
import { addressRange, entriesOf } from '../allow-lists.ts'
import { type Setting, textThat, wholeNumber } from './setting.ts'

export const processes = {
  REDIS_URL: {
    schema: textThat(readRedisAddress, 'a Redis address such as redis://127.0.0.1:6379 is needed'),
    means:
      "The fleet's Redis: redis://, rediss:// for TLS, sentinel:// or unix://; several nodes of a cluster separated by commas, or ?cluster behind one name ([all forms](cluster.md)).",
    reason: 'Without it `decorum up`, `crawl` and `demo` start a Redis of their own on loopback; a role needs it.',
    roles: ['gateway', 'fetcher', 'console', 'permits', 'proxy', 'command'],
    scope: 'process',
    change: 'restart',
  },
  HOST: {
    schema: z.string().default('127.0.0.1'),
    means: 'The address that the process listens on: its health server, the console, permits, or the proxy.',
    reason: 'The console shows every URL and accepts new ones, so other machines must be let in explicitly.',
    roles: ['gateway', 'fetcher', 'console', 'permits', 'proxy'],
    scope: 'process',
    change: 'restart',
  },
  PORT: {
    schema: wholeNumber(0, 65_535).default(0),
    means: 'The port that the process listens on; 0: any free one, which its first log line names.',
    reason: 'Several processes of a role run on one machine.',
    roles: ['gateway', 'fetcher', 'console', 'permits', 'proxy', 'command'],
    scope: 'process',
    change: 'restart',
  },
  LOG_LEVEL: {
    schema: z.enum(['silent', 'error', 'warn', 'info', 'debug']).default('info'),
    means: 'What the process logs, as JSON lines on standard output.',
    reason: 'A line per start, stop and notable event, none per request.',
    roles: ['gateway', 'fetcher', 'console', 'permits', 'proxy'],
    scope: 'process',
    change: 'restart',
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
    scope: 'process',
    change: 'restart',
  },
  INTAKE_CONCURRENCY: {
    schema: wholeNumber(1, 64).default(4),
    unit: 'jobs',
    means: 'Jobs of candidates that one gateway works on at once, per partition.',
    reason: 'More at once would only hold more candidates in memory.',
    roles: ['gateway'],
    scope: 'process',
    change: 'restart',
  },
  CONSOLE_USER: {
    schema: z.string().default('decorum'),
    means: 'User name of the console login.',
    reason: 'The password is the secret.',
    roles: ['console'],
    scope: 'process',
    change: 'restart',
  },
  CONSOLE_PASSWORD: {
    schema: z.string().min(8, 'at least 8 characters are needed').optional(),
    means: 'Password of the console login, at least 8 characters; required when HOST is not a loopback address.',
    reason: 'On loopback only this machine can reach the console.',
    roles: ['console'],
    scope: 'process',
    change: 'restart',
  },
  CONSOLE_READ_USER: {
    schema: z.string().default('reader'),
    means: 'User name of those who may look at everything in the console and change nothing.',
    reason: 'The password is the secret.',
    roles: ['console'],
    scope: 'process',
    change: 'restart',
  },
  CONSOLE_READ_PASSWORD: {
    schema: z.string().min(8, 'at least 8 characters are needed').optional(),
    means: 'Their password, at least 8 characters; only beside CONSOLE_PASSWORD. Without it there is no such login.',
    reason: 'People who only watch should not be able to stop the fleet.',
    roles: ['console'],
    scope: 'process',
    change: 'restart',
  },
  CONSOLE_SESSION_MS: {
    schema: wholeNumber(60_000, 2_592_000_000).default(43_200_000),
    unit: 'ms',
    means: 'How long a login to the console lasts; then the password is needed again.',
    reason: 'A working day.',
    roles: ['console'],
    scope: 'process',
    change: 'restart',
  },
  CONSOLE_TRUSTED_PROXIES: {
    schema: textThat((text) => entriesOf(text).map(addressRange)).default(''),
    means:
      'Addresses and ranges of proxies in front of the console, separated by commas: their X-Forwarded-For says who asks.',
    reason: 'Anybody can send such a header, so it counts from no address that is not named.',
    roles: ['console'],
    scope: 'process',
    change: 'restart',
  },
  PERMITS_MAX_WAITING: {
    schema: wholeNumber(1).default(25_000),
    unit: 'callers',
    means:
      'Callers that wait for a permit at once in one permits process, or requests in one proxy; more of them are refused and have to ask again.',
    reason: 'Each is an open connection, and so many fit into the memory and the file descriptors of one process.',
    roles: ['permits', 'proxy'],
    scope: 'process',
    change: 'restart',
  },
  HEARTBEAT_MS: {
    schema: wholeNumber(10).default(15_000),
    unit: 'ms',
    means: 'A stream of outcomes that has nothing to send sends a comment this often.',
    reason: 'Proxies cut streams that are silent for 30 to 60 s.',
    roles: ['console'],
    scope: 'process',
    change: 'restart',
  },
  REQUEST_DEADLINE_MS: {
    schema: wholeNumber(100).default(60_000),
    unit: 'ms',
    means: 'A request to the console whose body has not arrived by then is given up.',
    reason: 'The largest body arrives within it over 2 Mbit/s.',
    roles: ['console'],
    scope: 'process',
    change: 'restart',
  },
} as const satisfies Record<string, Setting>
