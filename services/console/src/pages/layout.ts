/** The common frame of every page: head, header, navigation, footer; no inline style or script. */
import { MAX_URL_CHARS } from '@decorum/protocol'
import type { Who } from '../access/sessions.ts'
import { type Html, html } from './html.ts'

/** Parts of a page that depend on the visitor. */
export type Frame = { version: string; who?: Who | undefined }

/** The pages in the order of the navigation. */
const PAGES = [
  ['/', 'Overview'],
  ['/origins', 'Origins'],
  ['/crawls', 'Crawls'],
  ['/failures', 'Failures'],
  ['/hours', 'Last hours'],
  ['/readers', 'Readers'],
  ['/fleet', 'Fleet'],
  ['/configuration', 'Configuration'],
  ['/stops', 'Emergency stop'],
] as const
/** Pages behind "More": made by libraries, for programs, or seldom needed. */
const MORE = [
  ['/queues', 'Queue board'],
  ['/metrics', 'Metrics'],
  ['/reference', 'API'],
] as const
type Place = (typeof PAGES)[number][0]

export type Layout = {
  title: string
  /** content of the page; `data-follow` marks the parts that are updated */
  body: Html
  frame: Frame
  /** the page of the navigation that it is, or belongs to */
  place?: Place
  /** the search text: it stays in the box */
  asked?: string
  /** without JavaScript the whole page reloads; not while a person types */
  reload?: boolean
  /** the page draws charts */
  charts?: boolean
}

export function layout({ title, body, frame, place, asked = '', reload = false, charts = false }: Layout): string {
  const link = ([path, name]: readonly [string, string]) =>
    html`<li><a href="${path}"${path === place && html` aria-current="page"`}>${name}</a></li>`
  const page = html`${headOf(title, { reload, charts })}
<body>
<a class="skip" href="#content">To the content</a>
<header><a class="name" href="/">Decorum</a>
<form class="find" action="/urls" method="get" role="search"><input name="what" type="text" maxlength="${MAX_URL_CHARS}" value="${asked}" placeholder="URL, host or id" aria-label="URL, host or id" required><button>Find</button></form>
<span class="live" title="this page follows the fleet">live</span>${account(frame)}</header>
<nav aria-label="Pages"><ul>${PAGES.map(link)}<li><details><summary>More</summary><ul>${MORE.map(link)}</ul></details></li></ul></nav>
<div id="content" tabindex="-1">${body}</div>
<footer>Decorum ${frame.version} · every delay is counted by the clock of Redis</footer>
</body>
</html>
`
  return page.text
}

/**
 * @param script   the page is updated while open
 * @param indexed  search engines may list it
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

function account({ who }: Frame): Html | undefined {
  if (who === undefined) return undefined
  const may = who.role === 'read' ? ' (looks only)' : ''
  return html`<form class="account" method="post" action="/logout"><span>${who.user}${may}</span><button>Sign out</button></form>`
}
