/** The login page. Pure. */
import { field } from './forms.ts'
import { html } from './html.ts'
import { headOf } from './layout.ts'

export type LoginFacts = { next: string; problem?: string; user?: string }

export function loginPage({ next, problem, user = 'decorum' }: LoginFacts): string {
  const page = html`${headOf('Sign in · Decorum', { script: false })}
<body>
<header><span class="name">Decorum</span></header>
<main class="login"><h1>Sign in</h1>
${problem !== undefined && html`<p class="notice trouble" role="alert">${problem}</p>`}
<form class="card" method="post" action="/login"><input type="hidden" name="next" value="${next}">
${field('User', 'user', user, { autocomplete: 'username', required: true })}
${field('Password', 'password', '', { type: 'password', autocomplete: 'current-password', required: true })}
<p class="small">The password is <code>CONSOLE_PASSWORD</code>; where that is not set, <code>decorum up</code> makes one and prints the name of its file.</p>
<button>Sign in</button></form></main>
</body>
</html>
`
  return page.text
}

/** The target after signing in: only a path of this console. */
export const pathOf = (next: string | undefined): string =>
  next !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) && !next.startsWith('/login') ? next : '/'
