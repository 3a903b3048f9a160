/**
 * Every command with its options. The code of a command is imported when the command is run, so `--help` stays fast.
 * Every action ends in an exit code; run-command.ts turns errors into exit codes.
 */
import { createRequire } from 'node:module'
import type * as Config from '@decorum/config'
import { CRAWL_NAME_FORM, DEFAULT_CRAWL } from '@decorum/protocol/crawl-name'
import { policies } from '@decorum/robots/policies'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { completion, SHELLS, type Shell } from './completion.ts'
import { DONE } from './exit.ts'
import { ROLES } from './roles.ts'
import { printText, warn } from './terminal.ts'

const require = createRequire(import.meta.url)
const PROFILES = Object.keys(policies)

type End = number | void
/** The function of a command, from its arguments and options as commander parses them to its exit code, 0 unless it returns one. */
type Run = (...given: never[]) => End | Promise<End>

/** @param done  receives the exit code of the command */
export function buildProgram(done: (code: number) => void): Command {
  const program = new Command('decorum')
    .description('A politeness gateway for distributed crawlers: every site sees one well-behaved visitor.')
    .version('0.2.0', '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Print this help')
    .addOption(new Option('--completion <shell>', 'Print the completion script for a shell').choices(SHELLS))
    .on('option:completion', (shell: Shell) => {
      printText(completion(shell))
      throw new CommanderError(DONE, 'decorum.completion', '')
    })
    .exitOverride()
    .enablePositionalOptions()
    .helpCommand(false) // `decorum help X` is X --help (run-command.ts)
    .configureOutput({ writeOut: (text) => printText(text.trimEnd()), writeErr: (text) => warn(text.trimEnd()) })
    .showHelpAfterError('(--help lists commands and options)')
    .addHelpText('after', AFTER_HELP)
  /** Adds a sub-command that inherits the settings of its parent and has the option --json. */
  const below = (parent: Command, name: string, description: string): Command =>
    parent.command(name).description(description).option('--json', 'Print JSON')
  const command = (name: string, description: string): Command => below(program, name, description)
  /** Adds a word that only groups other commands and has no action. */
  const group = (name: string, description: string): Command =>
    program.command(name).description(description).helpCommand(false)
  /** Returns an action that loads a module and then calls its function `name`. */
  const run =
    <N extends string>(load: () => Promise<Record<NoInfer<N>, Run>>, name: N) =>
    async (...given: unknown[]): Promise<void> =>
      done((await (await load())[name](...(given.slice(0, -1) as never[]))) ?? DONE) // the last argument is the command itself

  program.commandsGroup('Crawl:')
  command('demo', 'Crawl a small synthetic web on loopback, and audit that crawl')
    .option('--keep <dir>', 'Keep what the sites recorded in this folder')
    .action(run(() => import('./demo/command.ts'), 'demoCommand'))

  command('up', 'Run a small fleet until Ctrl-C: Redis, a gateway, a fetcher and the console')
    .option('--data <dir>', 'Data folder of the embedded Redis (default: ~/.local/share/decorum)')
    .option('--port <n>', 'Port of the console (default: PORT, else 7070 or any free port)', whole(0, 65_535))
    .option('--gateways <n>', 'Number of gateway processes', whole(0, 64), 1)
    .option('--fetchers <n>', 'Number of fetcher processes', whole(0, 64), 1)
    .action(run(() => import('./commands/up.ts'), 'up'))

  command('crawl', 'Crawl a list of URLs; end when each of them has its outcome')
    .argument('[file]', 'List with one URL per line, # starts a comment; - reads standard input')
    .addOption(AGENT)
    .option('--out <dir>', 'Folder for outcomes.ndjson, pages/, and the state of an unfinished crawl', 'decorum-out')
    .option('--gateways <n>', 'Number of gateway processes; 0 uses those that run on REDIS_URL', whole(0, 64), 1)
    .option('--fetchers <n>', 'Number of fetcher processes; 0 uses those that run on REDIS_URL', whole(0, 64), 1)
    .option('--max-minutes <n>', 'Stop after this time; the remaining URLs stay stored (exit code 3)', positive)
    .option('--max-pages <n>', 'Stop after this many pages; the remaining URLs stay stored (exit code 3)', whole(1))
    .option('--expire-minutes <n>', 'Give up a URL that waits for longer than this (default: 24 hours)', positive)
    .option('--name <crawl>', 'Name of the crawl, if others use the same fleet (default: a new name)', crawlName)
    .option('--no-archive', 'Write no WARC files')
    .option('--resume', 'Continue the unfinished crawl in --out; no file is needed')
    .action(run(() => import('./commands/early.ts'), 'crawl'))

  command('guard', 'Run a crawler behind a separate proxy, and end with its exit code')
    .argument('<command...>', 'The crawler with its arguments, after --')
    .passThroughOptions()
    .addOption(AGENT)
    .option('--crawl <name>', 'Name of the crawl that its requests belong to', crawlName)
    .option('--tunnels', TUNNELS)
    .option('--no-inspect', 'Refuse HTTPS instead of making the crawler trust a new certificate authority')
    .option('--hosts <names>', 'Allow only these hosts and the names below them, separated by commas (PROXY_HOSTS)')
    .action(run(() => import('./commands/early.ts'), 'guard'))

  command('env', 'Print REDIS_URL of the running fleet for a shell: eval "$(decorum env)"').action(
    run(() => import('./commands/env.ts'), 'env'),
  )

  command('enqueue', 'Add candidates to the running fleet, and return at once')
    .argument('<file>', 'List with one URL, or one candidate as JSON, per line; - reads standard input')
    .addOption(AGENT)
    .addOption(new Option('--priority <p>', 'Place before or behind other URLs of a site').choices(['high', 'normal']))
    .addOption(CRAWL)
    .action(run(() => import('./commands/enqueue.ts'), 'enqueue'))

  command('outcomes', 'Print outcomes as NDJSON, each once per consumer group')
    .option('--group <name>', 'Consumer group that reads; it continues where it stopped', 'decorum-cli')
    .option('--follow', 'Wait for further outcomes')
    .addOption(CRAWL)
    .option('--forget', 'Delete the group instead, so that no outcomes are kept for it; takes --force, --reason, --by')
    .option('--force', 'Delete the group even while it has an active reader')
    .addOption(REASON)
    .addOption(BY)
    .action(run(() => import('./commands/outcomes.ts'), 'outcomes'))

  command('check', 'Explain whether a URL may be fetched: group, rule, line and delay')
    .argument('<url>', 'URL to check')
    .option('--agent <name>', 'Product token or User-Agent (default: the first agent of DECORUM_AGENTS)')
    .option('--robots <file>', 'Use this file instead of fetching robots.txt; - reads standard input')
    .addOption(profile([...PROFILES, 'all']))
    .action(run(() => import('./commands/check.ts'), 'check'))

  command('audit', 'Check recorded access logs against the promises of a polite crawler')
    .argument('[log...]', 'NDJSON, nginx, Apache, Caddy, Traefik or CloudFront; gzip too; - reads standard input')
    .option('--robots <dir>', 'Folder with robots.txt bodies, one file per host')
    .option('--delay-ms <n>', 'Delay where robots.txt requires none (default: 1000)', whole(0))
    .option('--max-delay-ms <n>', 'Longest crawl-delay that is kept (default: 10000)', whole(0))
    .option('--agents <file>', 'Agents of one fleet, as in DECORUM_AGENTS; other requests are left out')
    .option('--agent <token>', 'Attribute every request to this agent, whatever its User-Agent')
    .option('--only <name>', 'Check only requests whose User-Agent contains this name')
    .option('--origin <origin>', 'Origin of the log, if its lines do not name it')
    .option('--continues', 'The logs continue older ones, so rules may be known from before')
    .option('--robots-retry-ms <n>', 'Time until the first retry of an unreachable robots.txt', whole(1))
    .option('--pace-groups <file>', 'Delays that lanes share, as in PACE_GROUPS; {} for one delay per host')
    .option('--stops <file>', 'Emergency stops: the output of `decorum stop list --ended --json`')
    .option('--site-policies <file>', 'Policies of sites: the output of `decorum config policies --json`')
    .option('--lanes <n>', 'Number of rows in the table of origins and agents', whole(0), 10)
    .addOption(profile(PROFILES))
    .option('--html <file>', 'Also write the report as an HTML page; - prints it instead')
    .option('--schema', 'Print the JSON Schema of the output of --json')
    .addHelpText('after', '\nExit codes: 0 clean · 1 violations · 2 could not run · 4 clean, but partly not judged')
    .action(run(() => import('./commands/audit.ts'), 'auditCommand'))

  program.commandsGroup('See what the fleet does, and act on it:')
  const status = command(
    'status',
    'Print whether the fleet crawls, waits politely or has nothing to do, or what is wrong and what to do',
  )
  status.action(run(() => import('./commands/status.ts'), 'status'))
  below(status, 'top', 'Show the state of the fleet until q or Ctrl-C; on a pipe, print it once')
    .option('--every <s>', 'Seconds between two updates', whole(1, 3_600), 1)
    .action(run(() => import('./commands/top.ts'), 'top'))
  below(status, 'fleet', 'List the running processes, their hosts and their version of the configuration').action(
    run(() => import('./commands/fleet.ts'), 'fleet'),
  )
  below(status, 'readers', 'List the consumer groups and the outcomes they have not acknowledged')
    .addOption(CRAWL)
    .action(run(() => import('./commands/readers.ts'), 'readers'))

  command('doctor', 'Check Redis, the fleet and this machine; exit with 1 and print fixes if something is wrong')
    .option('--host <name...>', 'Host names to look up in the way of a fetcher', [])
    .action(run(() => import('./commands/doctor.ts'), 'doctor'))

  const origin = command('origin', 'Show what the fleet knows of an origin; pause, block, slow or drop it')
    .argument('<origin>', ORIGIN)
    .option('--pause', 'Fetch nothing; URLs wait')
    .option('--resume', 'End a pause')
    .option('--block', 'Fetch nothing; URLs end as refused')
    .option('--unblock', 'End a block')
    .option('--delay <ms>', 'Set a least delay; the site is never visited faster than its rules allow', whole(1))
    .option('--restore-delay', 'End a delay that was set by hand')
    .option('--refetch', 'Fetch robots.txt again before anything else')
    .option('--drop', 'End pending URLs as refused')
    .addOption(length('Length of the action', ' (default: until an operator ends it)'))
    .addOption(REASON)
    .addOption(BY)
    .option('--agent <name>', 'With --drop: only pending URLs of this agent')
    .action(run(() => import('./commands/origin.ts'), 'origin'))
  below(origin, 'sitemaps', 'Print the URLs in the sitemaps of an origin, which the running fleet fetches')
    .argument('<origin>', ORIGIN)
    .addOption(AGENT)
    .option('--enqueue', 'Add the URLs of this host as candidates instead of printing them')
    .option('--most <n>', 'Most URLs to print or add', whole(1), 1_000_000)
    .option(
      '--max-sitemaps <n>',
      'Most sitemaps to fetch, including those that an index names',
      whole(1, 50_000),
      1_000,
    )
    .action(run(() => import('./commands/sitemaps.ts'), 'sitemaps'))

  const url = group('url', 'Find one URL, or cancel it')
  const candidate = (name: string, description: string): Command =>
    below(url, name, description)
      .option('--url <url>', 'URL of the candidate, if an id is given')
      .option('--agent <name>', 'Search only the lane of this agent (default: all)')
      .addOption(CRAWL)
  candidate('why', 'Print where a URL is and why it waits, or its outcome')
    .argument('<url-or-id>', 'URL, or id of a candidate')
    .action(run(() => import('./commands/candidate.ts'), 'why'))
  candidate('cancel', 'Cancel a candidate that is not in flight; it ends as refused: cancelled')
    .argument('<id>', 'Id of the candidate')
    .action(run(() => import('./commands/candidate.ts'), 'cancel'))

  const crawls = command('crawls', 'List the crawls of the fleet: counts, weights and limits')
  crawls.action(run(ofCrawls, 'listCrawls'))
  const changingCrawl = (name: string, description: string): Command =>
    below(crawls, name, description).argument('<crawl>', 'Name of the crawl', crawlName).addOption(REASON).addOption(BY)
  below(crawls, 'list', 'List the crawls, as without a word').action(run(ofCrawls, 'listCrawls'))
  for (const [name, state, description] of [
    ['pause', 'paused', 'Hold the URLs of a crawl until it is resumed'],
    ['resume', 'running', 'Continue a crawl within half a minute'],
    ['cancel', 'cancelled', 'Cancel a crawl for good; each stored URL ends as refused: cancelled'],
  ] as const)
    changingCrawl(name, description).action(async (crawl, options) =>
      done(await (await ofCrawls()).setState(crawl, state, options)),
    )
  changingCrawl('set', 'Set the weight, end and limits of a crawl, and defaults of its candidates')
    .option('--weight <n>', 'Turns beside other crawls of the same site, 1 to 100; usually 1', whole(1, 100))
    .addOption(removable('--for <length>', `Time until its end: ${LENGTHS}`, lengthOfTime))
    .addOption(removable('--stored <n>', 'Most URLs stored at once', whole(1)))
    .addOption(removable('--per-day <n>', 'Most URLs accepted in a day (UTC)', whole(1)))
    .addOption(removable('--per-host <n>', 'Most URLs accepted for a host', whole(1)))
    .addOption(removable('--per-domain <n>', 'Most URLs accepted for a registrable domain', whole(1)))
    .addOption(removable('--bytes <n>', 'Most bytes of all bodies', whole(1)))
    .addOption(new Option('--redirects <what>', 'Handling of redirects').choices(['follow', 'report', 'none']))
    .addOption(new Option('--priority <p>', 'Default priority').choices(['high', 'normal', 'none']))
    .addOption(removable('--accept <types>', 'Media types to read, separated by commas', String))
    .addOption(removable('--max-bytes <n>', 'Most bytes of a body', whole(1)))
    .addOption(removable('--deadline-ms <n>', 'Longest request, ms', whole(100)))
    .addOption(removable('--attempts <n>', 'Most requests for a URL, up to MAX_ATTEMPTS', whole(1)))
    .addOption(removable('--pool <name>', 'Pool whose workers fetch its pages', String))
    .action(run(ofCrawls, 'setCrawl'))
  below(crawls, 'forget', 'Remove a crawl without URLs and readers from the list')
    .argument('<crawl>', 'Name of the crawl', crawlName)
    .action(run(ofCrawls, 'forgetCrawl'))

  const naming = (of: Command): Command =>
    of
      .argument('[names...]', 'Domains or hosts, with the names below them; addresses; or any URL of a host')
      .option('--all', 'Everything')
      .option('--file <file>', 'File with one name per line, # starts a comment; - reads standard input')
      .addOption(REASON)
      .addOption(BY)
  const stop = naming(command('stop', 'Stop all requests to domains, hosts or addresses within a second'))
    .option('--until <instant>', 'End of the stop, such as 2026-11-22T18:00Z (default: when it is lifted)')
    .addOption(length('Length of the stop'))
    .action(run(ofStops, 'stop'))
  below(stop, 'list', 'List the stops in force: who made them, when and why')
    .option('--ended', 'Include stops that have ended; with --json, the input of audit --stops')
    .action(run(ofStops, 'listStops'))
  naming(below(stop, 'lift', 'Lift stops; URLs that waited continue within half a minute')).action(run(ofStops, 'lift'))

  const config = group('config', 'Show and change the settings that all processes of the fleet share')
  const changing = (name: string, description: string): Command =>
    below(config, name, description).option('--yes', 'Apply without confirmation').addOption(REASON).addOption(BY)
  below(config, 'show', 'Print the configuration in force, as a file that can be applied').action(
    run(ofConfig, 'configShow'),
  )
  below(config, 'check', 'Check a file, and print what it would change')
    .argument('<file>', CONFIG_FILE)
    .action(run(ofConfig, 'configCheck'))
  changing('apply', 'Print what a file changes, and apply it; settings that it omits stay as they are')
    .argument('<file>', CONFIG_FILE)
    .action(run(ofConfig, 'configApply'))
  below(config, 'history', 'List the versions, newest first: who made them, when and why').action(
    run(ofConfig, 'configHistory'),
  )
  changing('rollback', 'Apply an earlier version again (default: the one before)')
    .argument('[version]', 'Number of the version', whole(1))
    .action(run(ofConfig, 'configRollback'))
  below(config, 'policies', 'Print the policies of sites in force; with --json, those of every kept version').action(
    run(ofConfig, 'configPolicies'),
  )
  below(config, 'schema', 'Print the JSON Schema of the file, for editors').action(run(ofConfig, 'configSchema'))

  const ledger = group('ledger', 'Show and change how the fleet is stored in Redis')
  below(ledger, 'partitions', 'Print the number of partitions, or change it while the fleet is stopped')
    .argument('[number]', 'New number; stop all gateways and fetchers first', whole(1, 1_024))
    .option('--new', 'Declare that this Redis has never held a ledger, so the first start need not wait')
    .option('--restart', 'Declare that Redis is about to be restarted, so the next start of the fleet need not wait')
    .action(run(() => import('./commands/partitions.ts'), 'partitions'))
  below(ledger, 'upgrade', 'Convert the ledger of an earlier version to the layout of this one')
    .option('--show', 'Only print the layout of this Redis')
    .option('--back', 'Undo an interrupted upgrade')
    .action(run(() => import('./commands/upgrade.ts'), 'upgrade'))

  program.commandsGroup('One process of a fleet, for containers and services:')
  for (const role of ROLES) {
    const its = command(role, WHAT_ROLES_ARE[role])
    if (role === 'proxy') {
      below(its, 'ca', 'Create a certificate authority for proxies that inspect HTTPS (PROXY_CA)')
        .argument('<dir>', 'Folder for ca.pem and ca-key.pem, which must not exist yet')
        .option('--hosts <names>', 'Only sign for these hosts and the names below them, separated by commas')
        .option('--days <n>', 'Days until it expires', whole(1, 3_650), 365)
        .action(run(() => import('./commands/proxy-ca.ts'), 'proxyCa'))
      its.option('--tunnels', `${TUNNELS} (PROXY_TUNNELS=yes)`)
    }
    if (role === 'permits') {
      below(its, 'conform', 'Test a worker of a pool in every situation against recording sites')
        .argument('<command...>', 'Command of the worker, after --; {url} and {pool} are replaced by its settings')
        .option('--only <names>', 'Names of situations, separated by commas (default: all)', (text) => text.split(','))
        .action(run(() => import('./conform/command.ts'), 'conform'))
    }
    its
      .addHelpText('after', () => `\n${settingsOf(role)}\n\nLogs are JSON, and plain lines on a terminal.`)
      .action(async ({ tunnels }: { tunnels?: boolean }) => {
        if (tunnels) process.env.PROXY_TUNNELS = 'yes'
        done(await (await import('./commands/role.ts')).runRole(role))
      })
  }
  return program
}

const ofConfig = () => import('./commands/config.ts')
const ofCrawls = () => import('./commands/crawls.ts')
const ofStops = () => import('./commands/stop.ts')

const WHAT_ROLES_ARE = {
  gateway: 'Run a gateway: accepts candidates, checks robots.txt, sends orders',
  fetcher: 'Run a fetcher: carries out orders, one polite request each',
  console: 'Run a console: health, metrics, queues and origins over HTTP',
  permits: 'Run a permits service: leases over HTTP for crawlers that fetch pages themselves',
  proxy: 'Run a proxy (http_proxy): holds each request of a crawler until its turn, and sends it',
}

const TUNNELS = 'Pass HTTPS through tunnels, paced by host and not judged'
const ORIGIN = 'scheme://host[:port], or any URL of the origin'
const CONFIG_FILE = 'YAML or JSON; - reads standard input'
const LENGTHS = '90s, 30m, 1h or 7d'

const AGENT = new Option('--agent <name>', 'Name of an agent of DECORUM_AGENTS (default: the first)')
const CRAWL = new Option('--crawl <name>', 'Name of the crawl').argParser(crawlName).default(DEFAULT_CRAWL)
const REASON = new Option('--reason <text>', 'Reason, which is recorded')
const BY = new Option('--by <name>', 'Name that is recorded (default: the user and the machine)')
const profile = (names: string[]): Option => new Option('--profile <name>', 'How rules are read').choices(names)
const length = (means: string, more = ''): Option =>
  new Option('--for <length>', `${means}: ${LENGTHS}${more}`).argParser(lengthOfTime)

/** Settings are loaded only for the help of a role, and by `require`, since help is built synchronously. */
const settingsOf = (role: (typeof ROLES)[number]): string =>
  (require('@decorum/config') as typeof Config).settingsHelp(role)

const AFTER_HELP = `
Settings come from the environment. The first ones to know:
  REDIS_URL                the fleet's Redis; without it, up and crawl start one on loopback
  DECORUM_CONTACT          contact of the built-in agent: a URL or an e-mail address
  DECORUM_AGENTS           other agents: path of a JSON file, or inline JSON
  DECORUM_ALLOW_ADDRESSES  private addresses that may be visited, as CIDRs

Exit codes: 0 done · 1 failed · 2 wrong usage or settings · 3 stopped by a limit or Ctrl-C, the rest is stored`

/** Returns a parser of whole numbers from `least` to `most`. */
function whole(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`A whole number from ${least}${most < 1e9 ? ` to ${most}` : ''} is needed.`)
    }
    return value
  }
}

/** An option whose value is a setting, or `none`, which removes the setting. */
const removable = (flags: string, description: string, read: (text: string) => unknown): Option =>
  new Option(flags, `${description}; none removes it`).argParser((text) => (text === 'none' ? 'none' : read(text)))

function crawlName(text: string): string {
  if (CRAWL_NAME_FORM.test(text)) return text
  throw new InvalidArgumentError('A name of 1 to 64 lower-case letters, digits and hyphens is needed.')
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
