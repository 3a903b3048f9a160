/**
 * Every command with its options. The code of a command is imported when the command is run, so `--help` stays fast.
 * Every action ends in an exit code; main.ts turns errors into one.
 */
import { createRequire } from 'node:module'
import type * as Config from '@decorum/config'
import { CRAWL_NAME, CRAWL_NAME_FORM, DEFAULT_CRAWL } from '@decorum/protocol/crawl-name'
import { policies } from '@decorum/robots/policies'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { completion, SHELLS, type Shell } from './completion.ts'
import { DONE } from './exit.ts'
import { ROLES } from './roles.ts'
import { tell, warn } from './terminal.ts'

const require = createRequire(import.meta.url)
const PROFILES = Object.keys(policies)

/** @param done  receives the exit code of the command */
export function buildProgram(done: (code: number) => void): Command {
  const program = new Command('decorum')
    .description('A politeness gateway for distributed crawlers: every site sees one well-behaved visitor.')
    .version('0.2.0')
    .addOption(
      new Option('--completion <shell>', 'prints what this shell needs to complete commands and options').choices(
        SHELLS,
      ),
    )
    .on('option:completion', (shell: Shell) => {
      tell(completion(shell, program))
      throw new CommanderError(DONE, 'decorum.completion', '')
    })
    .exitOverride()
    .enablePositionalOptions()
    .helpCommand(false) // `decorum help X` is X --help (run-command.ts)
    .configureOutput({ writeOut: (text) => tell(text.trimEnd()), writeErr: (text) => warn(text.trimEnd()) })
    .showHelpAfterError('(--help lists commands and options)')
    .addHelpText('after', AFTER_HELP)
  /** Adds a sub-command that inherits these settings, and reports errors as --json like all of them. */
  const below = (parent: Command, name: string, description: string): Command =>
    parent.command(name).description(description).option('--json', 'machine-readable output')
  const command = (name: string, description: string): Command => below(program, name, description)
  /** A word before other commands, without an action. */
  const group = (name: string, description: string): Command =>
    program.command(name).description(description).helpCommand(false)

  program.commandsGroup('Crawl:')
  command('demo', 'crawls a small synthetic web on loopback and audits that crawl')
    .option('--keep <dir>', "keep the origins' record there")
    .action(async (options) => done(await (await import('./demo/command.ts')).demoCommand(options)))

  command('up', 'a whole small fleet: Redis, one gateway, one fetcher, the console; until Ctrl-C')
    .option('--data <dir>', 'where the embedded Redis keeps its data (default: ~/.local/share/decorum)')
    .option(
      '--port <n>',
      'port of the console (default: PORT, else 7070 or, when taken, any free one)',
      whole(0, 65_535),
    )
    .option('--gateways <n>', 'gateway processes', whole(0, 64), 1)
    .option('--fetchers <n>', 'fetcher processes', whole(0, 64), 1)
    .action(async (options) => done(await (await import('./commands/up.ts')).up(options)))

  command('crawl', 'crawls a list of URLs and ends when each has its outcome')
    .argument('[file]', 'one URL per line, # starts a comment; - reads from standard input')
    .option('--agent <name>', 'name of one of DECORUM_AGENTS (default: the first)')
    .option('--out <dir>', 'where outcomes.ndjson and pages/ go, and what is not done yet is kept', 'decorum-out')
    .option('--gateways <n>', 'gateway processes; 0: others run already (REDIS_URL)', whole(0, 64), 1)
    .option('--fetchers <n>', 'fetcher processes; 0: others run already (REDIS_URL)', whole(0, 64), 1)
    .option('--max-minutes <n>', 'stop after so long; what is left stays stored (exit 3)', positive)
    .option('--max-pages <n>', 'stop after so many fetched pages; what is left stays stored (exit 3)', whole(1))
    .option(
      '--expire-minutes <n>',
      'a URL that cannot be fetched for so long ends as expired (default: 24 hours)',
      positive,
    )
    .option('--name <crawl>', 'of the crawl in a fleet that others use as well (default: a new name)', crawlName)
    .option('--no-archive', 'write no WARC files')
    .option('--resume', 'go on with the unfinished crawl in --out; needs no file')
    .action(async (file, options) => done(await (await import('./commands/crawl.ts')).crawl(file, options)))

  command('guard', 'runs a command whose requests all go through a proxy of its own, and ends with its exit code')
    .argument('<command...>', 'the crawler with its arguments; behind --')
    .option('--agent <name>', 'name of one of DECORUM_AGENTS (default: the first)')
    .option('--crawl <name>', 'its requests take their turns as this crawl', crawlName)
    .option('--tunnels', 'HTTPS as tunnels, paced by host and not judged')
    .option('--no-inspect', 'HTTPS is refused; otherwise the command is told to trust an authority of its own')
    .option('--hosts <names>', 'only these hosts and names below them, separated by commas (PROXY_HOSTS)')
    .action(async (args, options) => done(await (await import('./commands/guard.ts')).guard(args, options)))

  command('env', 'prints REDIS_URL of the fleet that runs here for a shell: eval "$(decorum env)"').action(
    async (options) => done(await (await import('./commands/env.ts')).env(options)),
  )

  command('enqueue', 'adds candidates and returns at once; a running fleet fetches them')
    .argument('<file>', 'one URL, or one candidate as JSON, per line; - reads from standard input')
    .option('--agent <name>', 'one of DECORUM_AGENTS (default: the first)')
    .addOption(new Option('--priority <p>', 'before or behind others of the same site').choices(['high', 'normal']))
    .option('--crawl <name>', 'of this crawl', crawlName, DEFAULT_CRAWL)
    .action(async (file, options) => done(await (await import('./commands/enqueue.ts')).enqueue(file, options)))

  command('outcomes', 'prints what became of candidates, as NDJSON; each line once per group')
    .option('--group <name>', 'consumer group: who reads; it continues where it stopped', 'decorum-cli')
    .option('--follow', 'wait for more')
    .option('--crawl <name>', 'of this crawl', crawlName, DEFAULT_CRAWL)
    .option('--forget', 'forgets the group instead: outcomes are no longer kept for it; recorded')
    .option('--force', 'with --forget: even while a reader of this group is active')
    .option('--reason <text>', 'with --forget: why; recorded')
    .option('--by <name>', 'with --forget: who; recorded (default: the user)')
    .action(async (options) => done(await (await import('./commands/outcomes.ts')).outcomes(options)))

  command('check', 'may this URL be fetched? explains the verdict: group, rule, line, delay')
    .argument('<url>')
    .option('--agent <name>', 'product token or whole User-Agent (default: the first of DECORUM_AGENTS)')
    .option('--robots <file>', 'judge by this file instead of fetching robots.txt; - reads from standard input')
    .addOption(new Option('--profile <name>', 'how the rules are read').choices([...PROFILES, 'all']))
    .action(async (url, options) => done(await (await import('./commands/check.ts')).check(url, options)))

  command('audit', 'judges recorded access logs against the promises')
    .argument('[log...]', 'NDJSON, nginx, Apache, Caddy, Traefik or CloudFront; gzip too; - reads from standard input')
    .option('--robots <dir>', 'robots.txt bodies, one file per host')
    .option('--delay-ms <n>', 'delay where robots.txt asks for none (default: 1000)', whole(0))
    .option('--max-delay-ms <n>', 'longest delay that a crawl-delay can ask for (default: 10000)', whole(0))
    .option('--agents <file>', 'agents of one fleet, as DECORUM_AGENTS; requests of others are left out')
    .option('--agent <token>', 'all requests are of this one agent, whatever their User-Agent')
    .option('--only <name>', 'only requests whose User-Agent holds this name: one crawler of an ordinary log')
    .option('--origin <origin>', 'whose log it is, when its lines do not say')
    .option('--continues', 'the logs go on where older ones ended, so rules may be known from before')
    .option('--robots-retry-ms <n>', 'first retry of an unreachable robots.txt', whole(1))
    .option('--pace-groups <file>', 'delays that several lanes share, as PACE_GROUPS; {} for one delay per host')
    .option('--stops <file>', 'emergency stops of the fleet, as `decorum stop list --ended --json` prints them')
    .option('--site-policies <file>', 'policies of sites, as `decorum config policies --json` prints them')
    .option('--lanes <n>', 'how many lanes are listed', whole(0), 10)
    .addOption(new Option('--profile <name>', 'how the rules are read').choices(PROFILES))
    .option('--html <file>', 'writes the report as one HTML page as well; - prints it instead')
    .option('--schema', 'prints the JSON schema of --json')
    .addHelpText(
      'after',
      '\nExit codes: 0 judged and clean · 1 violations · 2 could not run · 4 clean, part could not be judged',
    )
    .action(async (logs, options) => done(await (await import('./commands/audit.ts')).auditCommand(logs, options)))

  program.commandsGroup('See what the fleet does, and act on it:')
  const status = command(
    'status',
    'the state of the fleet in a sentence: polite, moving, stalled, or stopped by a reader',
  )
  status.action(async (options) => done(await (await import('./commands/status.ts')).status(options)))
  below(status, 'top', 'the fleet as it works, every second, until q or Ctrl-C; on a pipe once')
    .option('--every <s>', 'seconds between two looks', whole(1, 3_600), 1)
    .action(async (options) => done(await (await import('./commands/top.ts')).top(options)))

  below(status, 'fleet', 'which processes run, where, and with which version of the configuration').action(
    async (options) => done(await (await import('./commands/fleet.ts')).fleet(options)),
  )

  below(status, 'readers', 'who reads outcomes: each consumer group, and what it has not acknowledged')
    .option('--crawl <name>', 'of this crawl', crawlName, DEFAULT_CRAWL)
    .action(async (options) => done(await (await import('./commands/readers.ts')).readers(options)))

  command(
    'doctor',
    'checks Redis, the fleet and this machine, and says how to fix what is wrong (exit 1 when something is)',
  )
    .option('--host <name...>', 'host names that are looked up as a fetcher would', [])
    .action(async (options) => done(await (await import('./commands/doctor.ts')).doctor(options)))

  const origin = command(
    'origin',
    'shows what the fleet knows of one origin, or acts on it: pause, block, slow down, drop',
  )
    .argument('<origin>', 'scheme://host[:port], or any URL of it')
    .option('--pause', 'nothing is fetched, URLs wait')
    .option('--resume', 'ends a pause')
    .option('--block', 'nothing is fetched, URLs end as refused')
    .option('--unblock', 'ends a block')
    .option('--delay <ms>', 'a delay of at least so long; never less than its rules ask', whole(1))
    .option('--restore-delay', 'ends such a delay')
    .option('--refetch', 'its robots.txt is fetched again before anything else')
    .option('--drop', 'pending URLs end as refused')
    .option('--for <length>', 'how long: 90s, 30m, 1h, 7d (default: until an operator ends it)', lengthOfTime)
    .option('--reason <text>', 'why; recorded')
    .option('--by <name>', 'who; recorded (default: the user)')
    .option('--agent <name>', 'with --drop: only the pending URLs of this agent')
    .action(async (origin, options) => done(await (await import('./commands/origin.ts')).origin(origin, options)))

  below(origin, 'sitemaps', 'prints the URLs of the sitemaps that a robots.txt names; the running fleet fetches them')
    .argument('<origin>', 'scheme://host[:port], or any URL of it')
    .option('--agent <name>', 'one of DECORUM_AGENTS (default: the first)')
    .option('--enqueue', 'adds the URLs of its host as candidates instead of printing them')
    .option('--most <n>', 'URLs at most', whole(1), 1_000_000)
    .option('--max-sitemaps <n>', 'sitemaps fetched at most, those of indexes included', whole(1, 50_000), 1_000)
    .action(async (origin, options) => done(await (await import('./commands/sitemaps.ts')).sitemaps(origin, options)))

  const url = group('url', 'one URL: where it is and why it waits, or its end before it is requested')
  const candidate = (name: string, description: string): Command =>
    below(url, name, description)
      .option('--url <url>', 'its URL, when an id is given')
      .option('--agent <name>', 'only the lane of this agent (default: all)')
      .option('--crawl <name>', 'of this crawl', crawlName, DEFAULT_CRAWL)
  candidate('why', 'where a URL is and why it waits: its lane, its place, the gate that holds it, or its outcome')
    .argument('<url-or-id>')
    .action(async (text, options) => done(await (await import('./commands/candidate.ts')).why(text, options)))
  candidate('cancel', 'cancels one candidate by its id: it ends as refused: cancelled, unless it is in flight')
    .argument('<id>')
    .action(async (id, options) => done(await (await import('./commands/candidate.ts')).cancel(id, options)))

  const crawls = command('crawls', 'the crawls that share this fleet: counts, weight, limits')
  crawls.action(async (options) => done(await (await import('./commands/crawls.ts')).listCrawls(options)))
  const changingCrawl = (name: string, description: string): Command =>
    below(crawls, name, description)
      .argument('<crawl>', 'its name', crawlName)
      .option('--reason <text>', 'why; recorded')
      .option('--by <name>', 'who; recorded (default: the user)')
  below(crawls, 'list', 'the same as without a word').action(async (options) =>
    done(await (await import('./commands/crawls.ts')).listCrawls(options)),
  )
  for (const [name, state, description] of [
    ['pause', 'paused', 'its URLs wait until it is resumed'],
    ['resume', 'running', 'it goes on within half a minute'],
    ['cancel', 'cancelled', 'each of its stored URLs ends as refused: cancelled; for good'],
  ] as const)
    changingCrawl(name, description).action(async (crawl, options) =>
      done(await (await import('./commands/crawls.ts')).setState(crawl, state, options)),
    )
  changingCrawl('set', 'sets its weight, end, limits and defaults for its candidates; none removes one')
    .option('--weight <n>', 'turns beside other crawls of the same site: 1 to 100; 1 is usual', whole(1, 100))
    .option('--for <length>', 'it ends after so long: 90s, 30m, 1h, 7d', orNone(lengthOfTime))
    .option('--stored <n>', 'URLs stored at once', orNone(whole(1)))
    .option('--per-day <n>', 'URLs taken in on one day (UTC)', orNone(whole(1)))
    .option('--per-host <n>', 'URLs taken in of one host', orNone(whole(1)))
    .option('--per-domain <n>', 'URLs taken in of one registrable domain', orNone(whole(1)))
    .option('--bytes <n>', 'bytes of bodies in all', orNone(whole(1)))
    .addOption(new Option('--redirects <what>', 'what becomes of redirects').choices(['follow', 'report', 'none']))
    .addOption(new Option('--priority <p>', 'of candidates that name none').choices(['high', 'normal', 'none']))
    .option('--accept <types>', 'media types that are read, separated by commas')
    .option('--max-bytes <n>', 'bytes of one body', orNone(whole(1)))
    .option('--deadline-ms <n>', 'of one request', orNone(whole(100)))
    .option('--attempts <n>', 'requests for one URL; never more than MAX_ATTEMPTS', orNone(whole(1)))
    .option('--pool <name>', 'its pages are fetched by the workers of this pool')
    .action(async (crawl, options) => done(await (await import('./commands/crawls.ts')).setCrawl(crawl, options)))
  below(crawls, 'forget', 'removes a crawl that holds no URLs and that nobody reads from the list')
    .argument('<crawl>', 'its name', crawlName)
    .action(async (crawl, options) => done(await (await import('./commands/crawls.ts')).forgetCrawl(crawl, options)))

  const stop = command(
    'stop',
    'emergency stop of the whole fleet: of everything, or of domains, hosts and addresses, within a second',
  )
  const naming = (of: Command): Command =>
    of
      .argument('[names...]', 'domains or hosts, with all names below them; addresses; or any URL of a host')
      .option('--all', 'everything')
      .option('--file <file>', 'names from a file, one per line, # starts a comment; - reads from standard input')
      .option('--by <name>', 'who; recorded (default: the user)')
  naming(stop)
    .option('--reason <text>', 'why; recorded')
    .option('--until <instant>', 'when it ends, such as 2026-11-22T18:00Z (default: when it is lifted)')
    .option('--for <length>', 'how long: 90s, 30m, 1h, 7d', lengthOfTime)
    .action(async (names, options) => done(await (await import('./commands/stop.ts')).stop(names, options)))
  below(stop, 'list', 'what is stopped, by whom, when and why')
    .option('--ended', 'what has ended as well; with --json what audit --stops reads')
    .action(async (options) => done(await (await import('./commands/stop.ts')).listStops(options)))
  naming(below(stop, 'lift', 'ends stops; URLs that waited go on within half a minute'))
    .option('--reason <text>', 'why; recorded')
    .action(async (names, options) => done(await (await import('./commands/stop.ts')).lift(names, options)))

  const config = group('config', "the fleet's one configuration: settings that all processes agree on")
  const changing = (name: string, description: string): Command =>
    below(config, name, description)
      .option('--yes', 'does not ask')
      .option('--reason <text>', 'why; written down')
      .option('--by <name>', 'who; written down (default: the user)')
  below(config, 'show', 'the configuration in force, as a file that can be applied').action(async (options) =>
    done(await (await import('./commands/config.ts')).configShow(options)),
  )
  below(config, 'check', 'is this file well-formed, and what would it change?')
    .argument('<file>', 'YAML or JSON; - reads from standard input')
    .action(async (file, options) => done(await (await import('./commands/config.ts')).configCheck(file, options)))
  changing('apply', 'shows what changes and applies it; what the file leaves out stays as it is')
    .argument('<file>', 'YAML or JSON; - reads from standard input')
    .action(async (file, options) => done(await (await import('./commands/config.ts')).configApply(file, options)))
  below(config, 'history', 'who changed what, when and why, the latest first').action(async (options) =>
    done(await (await import('./commands/config.ts')).configHistory(options)),
  )
  changing('rollback', 'makes an earlier version the latest one (default: the one before)')
    .argument('[version]', 'as history names it', whole(1))
    .action(async (version, options) =>
      done(await (await import('./commands/config.ts')).configRollback(version, options)),
    )
  below(
    config,
    'policies',
    'the policies of sites in force; with --json those of all versions that are kept, for audit',
  ).action(async (options) => done(await (await import('./commands/config.ts')).configPolicies(options)))
  below(config, 'schema', 'the JSON Schema of the file, for editors').action(async () =>
    done((await import('./commands/config.ts')).configSchema()),
  )

  const ledger = group('ledger', 'how the fleet is stored in Redis: its partitions, and the layout of its version')
  below(
    ledger,
    'partitions',
    'shows how many partitions the hosts are spread over; with a number: changes it while the fleet is stopped',
  )
    .argument('[number]', 'the new number; stop all gateways and fetchers first', whole(1, 1_024))
    .option(
      '--new',
      'this Redis has never held a ledger: the first start need not wait for requests that may be in flight',
    )
    .option('--restart', 'the fleet is stopped and Redis is about to be restarted: what starts then need not wait')
    .action(async (number, options) =>
      done(await (await import('./commands/partitions.ts')).partitions(number, options)),
    )

  below(ledger, 'upgrade', "brings a ledger of an earlier version to this version's layout, while URLs wait there")
    .option('--show', 'only says which layout this Redis holds')
    .option('--back', 'undoes an upgrade that broke off, as long as its end was not written down')
    .action(async (options) => done(await (await import('./commands/upgrade.ts')).upgrade(options)))

  program.commandsGroup('One process of a fleet, for containers and services:')
  for (const role of ROLES) {
    const its = command(role, WHAT_ROLES_ARE[role])
    if (role === 'proxy') {
      below(its, 'ca', 'makes an authority by which proxies look into HTTPS (PROXY_CA)')
        .argument('<dir>', 'where ca.pem and ca-key.pem are written; neither may be there')
        .option('--hosts <names>', 'it may sign for these alone and names below them, separated by commas')
        .option('--days <n>', 'how long it lasts', whole(1, 3_650), 365)
        .action(async (dir, options) => done(await (await import('./commands/proxy-ca.ts')).proxyCa(dir, options)))
      its.option('--tunnels', 'HTTPS as tunnels, paced by host and not judged (PROXY_TUNNELS=yes)')
    }
    if (role === 'permits') {
      below(its, 'conform', 'tries a worker of a pool in every situation, and judges it by what recording sites saw')
        .argument('<command...>', 'starts the worker; {url} and {pool} stand for what it needs; behind --')
        .option('--only <names>', 'these situations alone, separated by commas', (text) => text.split(','))
        .action(async (worker, options) => done(await (await import('./conform/command.ts')).conform(worker, options)))
    }
    its
      .addHelpText(
        'after',
        () => `\n${settingsOf(role)}\n\nIt logs JSON, and lines for people where standard output is a terminal.`,
      )
      .action(async ({ tunnels }: { tunnels?: boolean }) => {
        if (tunnels) process.env.PROXY_TUNNELS = 'yes'
        done(await (await import('./commands/role.ts')).runRole(role))
      })
  }
  return program
}

const WHAT_ROLES_ARE = {
  gateway: 'one gateway process: candidates in, robots gate, orders out (for containers)',
  fetcher: 'one fetcher process: orders in, one polite request each (for containers)',
  console: 'one console process: health, metrics, queue board, origins (for containers)',
  permits: 'one permits process: leases for crawlers that fetch by themselves, over HTTP (for containers)',
  proxy: 'one proxy process: holds each request of a crawler until its turn, and sends it (http_proxy)',
}

/** Settings are loaded only for the help of a role, and by `require`, since help is built synchronously. */
const settingsOf = (role: (typeof ROLES)[number]): string =>
  (require('@decorum/config') as typeof Config).settingsHelp(role)

const AFTER_HELP = `
Settings come from the environment; the first ones to know:
  REDIS_URL                the fleet's Redis; without it up, crawl and demo start one of their own on loopback
  DECORUM_CONTACT          who answers for the built-in agent: a URL or an e-mail address
  DECORUM_AGENTS           other agents: path of a JSON file, or inline JSON
  DECORUM_ALLOW_ADDRESSES  private addresses that may be visited, as CIDRs

Exit codes: 0 done · 1 failed · 2 wrong usage or settings · 3 stopped by a limit or Ctrl-C, the rest is stored`

/** Parses a whole number. */
function whole(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`A whole number from ${least}${most < 1e9 ? ` to ${most}` : ''} is needed.`)
    }
    return value
  }
}

/** Parses a setting, or the word that removes it. */
const orNone =
  <T>(read: (text: string) => T) =>
  (text: string): T | 'none' =>
    text === 'none' ? 'none' : read(text)

function crawlName(text: string): string {
  if (CRAWL_NAME_FORM.test(text)) return text
  throw new InvalidArgumentError(`${CRAWL_NAME}.`)
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const MAX_DAYS = 3_650

/** Parses 90s, 30m, 1h, 7d or 1h30m; returns ms. */
function lengthOfTime(text: string): number {
  const parts = [...text.matchAll(/(\d{1,9})([smhd])/g)]
  const ms = parts.reduce((sum, [, n, unit]) => sum + Number(n) * UNITS[unit as keyof typeof UNITS], 0)
  if (parts.map(([part]) => part).join('') !== text || ms === 0 || ms > MAX_DAYS * UNITS.d) {
    throw new InvalidArgumentError(`A length such as 90s, 30m, 1h or 7d is needed, at most ${MAX_DAYS}d.`)
  }
  return ms
}

function positive(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('A number above 0 is needed.')
  return value
}
