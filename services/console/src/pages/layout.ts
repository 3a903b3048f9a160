/** The common frame of every page: head, header, navigation, footer; no inline style or script. */
import { MAX_URL_CHARS } from '@decorum/protocol'
import type { Viewer } from '../access/sessions.ts'
import { type Html, html } from './html.ts'

export const mayAct = ({ who }: Viewer): boolean => who?.role !== 'read'

/** The pages in the order of the navigation. */
const PAGES = {
  '/': 'Overview',
  '/origins': 'Origins',
  '/crawls': 'Crawls',
  '/failures': 'Failures',
  '/hours': 'Last hours',
  '/readers': 'Readers',
  '/fleet': 'Fleet',
  '/stops': 'Emergency stop',
}
/** Pages behind "More": made by libraries, for programs, or seldom needed. */
const MORE = { '/configuration': 'Configuration', '/queues': 'Queue board', '/metrics': 'Metrics', '/reference': 'API' }

/** A page as its handler returns it. */
export type Page = {
  title: string
  /** an element with `data-still` is not updated */
  body: Html
  /** the entry of the navigation that is marked as current */
  place?: keyof typeof PAGES | keyof typeof MORE
  /** about the action just done, or about nothing found */
  notice?: Html | undefined
  /** the address of the page, if it is updated while open */
  follow?: string
  /** the search text: it stays in the box */
  requested?: string
  /** the page draws charts */
  charts?: boolean
}

export function layout(version: string, viewer: Viewer, page: Page): string {
  const { title, body, place, notice, follow, requested = '', charts = false } = page
  const links = (pages: Record<string, string>) =>
    Object.entries(pages).map(
      ([path, name]) => html`<li><a href="${path}"${path === place && html` aria-current="page"`}>${name}</a></li>`,
    )
  // Without JavaScript only the overview reloads: it has no form that somebody may be filling in
  const whole = html`${headOf(`${title} · Decorum`, { reload: follow === '/', charts })}
<body>
<a class="skip" href="#content">To the content</a>
<header><a class="name" href="/">Decorum</a>
<form class="find" action="/urls" method="get" role="search"><input name="what" type="text" maxlength="${MAX_URL_CHARS}" value="${requested}" placeholder="URL, host or id" aria-label="URL, host or id" required><button>Find</button></form>
<span class="live" title="this page follows the fleet">live</span>${account(viewer)}</header>
<nav aria-label="Pages"><ul>${links(PAGES)}<li><details><summary>More</summary><ul>${links(MORE)}</ul></details></li></ul></nav>
<main id="content" tabindex="-1">${notice}<div${follow !== undefined && html` data-follow="${follow}"`}>${body}</div></main>
<footer>Decorum ${version} · every delay is counted by the clock of Redis</footer>
</body>
</html>
`
  return whole.text
}

/**
 * @param script   whether the page loads the scripts that update it while open
 * @param indexed  whether search engines may list the page
 */
export function headOf(title: string, { reload = false, charts = false, script = true, indexed = false } = {}): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${!indexed && html`<meta name="robots" content="noindex">`}
<title>${title}</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/console.css">
${charts && html`<link rel="stylesheet" href="/static/uplot.css"><script src="/static/uplot.js" defer></script><script src="/static/charts.js" defer></script>`}
${reload && html`<noscript><meta http-equiv="refresh" content="5"></noscript>`}
${script && html`<script src="/static/idiomorph.js" defer></script><script src="/static/console.js" defer></script>`}
</head>`
}

const account = ({ who }: Viewer): Html | undefined =>
  who &&
  html`<form class="account" method="post" action="/logout"><span>${who.user}${who.role === 'read' && ' (read only)'}</span><button>Sign out</button></form>`
