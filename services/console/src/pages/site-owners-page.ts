/**
 * The page for owners of sites, which a User-Agent can link to: who visits, which rules are obeyed, how to slow or stop it, whom to contact. It is
 * public, so it says nothing about the fleet that its requests do not show anyway. Pure.
 */
import { type Agent, contactIn } from '@decorum/config'
import { type Policy, policies } from '@decorum/robots'
import { length } from '../words.ts'
import { type Html, html } from './html.ts'
import { headOf } from './layout.ts'

export type SiteOwnersFacts = {
  agents: readonly Agent[]
  /** DECORUM_CONTACT: the contact for all agents; '' when it is not set */
  contact: string
}

export function siteOwnersPage({ agents, contact }: SiteOwnersFacts): string {
  const contacts = contactsOf(agents, contact)
  const page = html`${headOf('For owners of sites', { script: false, indexed: true })}
<body>
<header><span class="name">For owners of sites</span></header>
<main class="prose"><h1>About the requests to your site</h1>
<p>You have probably followed a link in the User-Agent of a request. It came from a crawler, a program that reads web pages for its operator. The
crawler may run on many machines; it uses Decorum, software that makes all of them together behave as one polite visitor.</p>
${whoAnswers(contacts)}
<section><h2>Who visits</h2>${agents.map(described)}</section>
${obeyed(agents)}
${howToSlow(agents)}
</main>
</body>
</html>
`
  return page.text
}

/** The contacts without duplicates, the operator's first. */
function contactsOf(agents: readonly Agent[], contact: string): string[] {
  const all = [contactIn(contact) ?? contact, ...agents.map(({ userAgent }) => contactIn(userAgent) ?? '')]
  return [...new Set(all.filter((one) => one !== ''))]
}

function whoAnswers(contacts: readonly string[]): Html {
  if (contacts.length === 0)
    return html`<section><h2>Whom to write to</h2><p>No contact is named. A crawler without a contact visits no public site.</p></section>`
  const links = contacts.map(
    (one) => html`<li><a href="${/^https?:/i.test(one) ? one : `mailto:${one}`}">${one}</a></li>`,
  )
  return html`<section><h2>Whom to write to</h2>
<p>The operator of this crawler. Please name your host and, if you can, a line of your access log.</p><ul>${links}</ul></section>`
}

function described({
  name,
  fallbacks,
  userAgent,
  minDelayMs,
  maxDelayMs,
  honourCrawlDelay,
  honourVisitTime,
}: Agent): Html {
  const crawlDelay = honourCrawlDelay ? `kept, up to ${length(maxDelayMs)}` : 'not read by this crawler'
  return html`<section class="card"><h3><code>${name}</code></h3><dl class="facts">
<dt>User-Agent</dt><dd class="long">${userAgent}</dd>
<dt>Group of robots.txt</dt><dd>${[name, ...fallbacks].map((token, n) => html`${n > 0 && ', else '}<code>${token}</code>`)}, else <code>*</code></dd>
<dt>Pause after each request</dt><dd>at least ${length(minDelayMs)}, unless you have agreed to less</dd>
<dt>Crawl-delay</dt><dd>${crawlDelay}</dd>${
    honourVisitTime &&
    html`
<dt>Visit-time</dt><dd>kept (UTC)</dd>`
  }</dl></section>`
}

function obeyed(agents: readonly Agent[]): Html {
  const used = [...new Set(agents.map(({ profile }) => profile))].map((profile) => policies[profile])
  const waits = used.every(({ answers }) => answers['server-error'] === 'unreachable')
  const hours = Math.min(...used.map(({ denyForMs }) => denyForMs)) / HOUR_MS
  const unreachable = waits
    ? `While robots.txt answers with an error of the server (5xx), or does not answer, your pages are not requested for ${hours} hours at least.`
    : `While robots.txt does not answer, your pages are not requested for ${hours} hours at least. For some of the crawlers above, an error of the server (5xx) counts as a robots.txt without restrictions.`
  return html`<section><h2>What is obeyed</h2><ul>
<li>One request at a time to each host; the next one leaves only after the pause that follows the last byte of the one before.</li>
<li>Your robots.txt is read before anything else, by RFC 9309, and again after ${hoursFresh(used)} hours at the latest, sooner where its Cache-Control says so.</li>
<li>${unreachable}</li>
<li>After an answer of 429 or 503 your site is left alone for as long as Retry-After says, or for some time when it says nothing; longer each time.</li>
<li>Nothing is sent but GET and HEAD: no logins, no cookies, no forms.${agents.some(({ pool }) => pool !== undefined) && ' Programs of the operator that fetch pages themselves, such as browsers that run the scripts of a page, keep to all of the above.'}</li>
</ul></section>`
}

const HOUR_MS = 3_600_000
const hoursFresh = (used: readonly Policy[]): number =>
  Math.max(...used.map(({ mostFreshMs }) => mostFreshMs)) / HOUR_MS

function howToSlow(agents: readonly Agent[]): Html {
  const slower = agents.filter(({ honourCrawlDelay }) => honourCrawlDelay)
  const groups = (lines: string, of: readonly Agent[]) =>
    html`<pre><code>${of.map(
      ({ name }) => html`User-agent: ${name}
`,
    )}${lines}</code></pre>`
  return html`<section><h2>How to slow or stop it</h2>
<p>To keep crawlers away from a part of your site, or all of it, write into <code>/robots.txt</code>:</p>
${groups('Disallow: /', agents)}
${slower.length > 0 && html`<p>To make each pause longer, in seconds:</p>${groups('Crawl-delay: 10', slower)}`}
<p>To be left alone for a while, without a change of robots.txt: answer <code>429</code> or <code>503</code>, with
<code>Retry-After: 86400</code> for a day.</p>
<p>To have it stopped at once, or to agree on visiting hours, on a number of requests a day, or on a faster pace: write to the contact named on this page. A
stop holds within a second on all machines.</p></section>`
}
