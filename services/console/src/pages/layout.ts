/** What every page has: head, header, footer; no inline style or script. */
import { type Html, html } from './html.ts'

export type Layout = {
  title: string
  /** the page's own parts: what follows the fleet says so by `data-follow` */
  body: Html
  version: string
  /** without JavaScript the whole page loads itself again; not where somebody types */
  reload?: boolean
}

export function layout({ title, body, version, reload = false }: Layout): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/console.css">
${reload && html`<noscript><meta http-equiv="refresh" content="5"></noscript>`}
<script src="/static/console.js" defer></script>
</head>
<body>
<header><a class="name" href="/">Decorum</a><nav><a href="/stops">Emergency stop</a><a href="/queues">Queue board</a><a href="/metrics">Metrics</a><a href="/reference">API</a></nav>
<form class="find" action="/origins" method="get" role="search"><input name="origin" type="text" placeholder="https://example.com" aria-label="Origin" required><button>Look up</button></form>
<span class="live" title="this page follows the fleet">live</span></header>
${body}
<footer>Decorum ${version} · every delay is counted by the clock of Redis</footer>
</body>
</html>
`
  return page.text
}
