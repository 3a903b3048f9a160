/** The files and URLs that the robots bench reads: made here, so that they are the same on every machine. */

/** A small generator with a seed (mulberry32): the same files in every run. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const WORDS =
  'admin api archive article author basket blog brand cart category checkout compare content customer detail download export feed filter forum gallery help image index item login media member news order page print product profile review search session shop sort static tag user video wishlist'.split(
    ' ',
  )

/** 1 KB, 22 rules in three groups: what most sites have. */
export function small(): string {
  return `# robots.txt of example.org
User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Disallow: /cgi-bin/
Disallow: /checkout/
Disallow: /cart/
Disallow: /customer/account/
Disallow: /customer/session/
Disallow: /catalogsearch/
Disallow: /search
Disallow: /*?sort=
Disallow: /*?filter=
Disallow: /*.pdf$
Disallow: /print/
Disallow: /tag/private/
Allow: /tag/
Disallow: /api/internal/
Crawl-delay: 2

User-agent: AhrefsBot
User-agent: SemrushBot
User-agent: MJ12bot
Disallow: /

# images may be shown
User-agent: Googlebot-Image
Allow: /media/public/
Disallow: /media/
Disallow: /download/
Disallow: /gallery/raw/

User-agent: Mediapartners-Google
Disallow: /login
Disallow: /profile/
${'# the shop team keeps this file; write to webmaster@example.org before you change it\n'.repeat(2)}
Sitemap: https://example.org/sitemap.xml
Sitemap: https://example.org/news/sitemap.xml
`
}

/** A path of `least` to `least` + 3 words. */
function path(next: () => number, least = 2): string {
  const parts = Array.from({ length: least + Math.floor(next() * 4) }, () => WORDS[Math.floor(next() * WORDS.length)])
  return `/${parts.join('/')}`
}

/** 90 KB, 2,000 rules for everybody: 12 % with wildcards, 10 % allow. */
export function large(rules = 2_000): string {
  const next = random(7)
  const lines = ['User-agent: *']
  for (let i = 0; i < rules; i++) {
    const type = next() < 0.1 ? 'Allow' : 'Disallow'
    const plain = `${path(next, 3)}/${i}`
    const kind = next()
    const pattern =
      kind < 0.04 ? `/*${plain}` : kind < 0.08 ? `${plain}/*/print` : kind < 0.12 ? `${plain}*.php$` : plain
    lines.push(`${type}: ${pattern}`)
  }
  return `${lines.join('\n')}\n`
}

/** Literal rules alone, of the same kind. */
export function literals(rules: number): string {
  const next = random(11)
  const lines = ['User-agent: *']
  for (let i = 0; i < rules; i++) lines.push(`Disallow: ${path(next).slice(0, 14)}/${i}`)
  return `${lines.join('\n')}\n`
}

/** 500 KiB of patterns that a back-tracking matcher cannot leave: `/*a*a*a*a*a*b<n>$`. */
export function hostile(): string {
  const lines = ['User-agent: *']
  for (let n = 0, size = 14; ; n++) {
    const line = `Disallow: /*a*a*a*a*a*b${n}$`
    size += line.length + 1
    if (size > 512_000) break
    lines.push(line)
  }
  return `${lines.join('\n')}\n`
}

/** What many sites answer instead: a page of HTML, 60 KB in 1,200 indented lines. */
export function page(): string {
  const next = random(31)
  const lines = ['<!DOCTYPE html>', '<html><head>', '<script>if (navigator.userAgent) track()</script></head><body>']
  for (let i = 0; i < 1_200; i++) lines.push(`${'  '.repeat(i % 9)}<a class="item" href="${path(next)}">${i}</a>`)
  return `${lines.join('\n')}\n</body></html>\n`
}

export function sitemapList(): string {
  const next = random(37)
  const lines = ['User-agent: *', 'Disallow: /search']
  for (let i = 0; i < 5_000; i++) lines.push(`Sitemap: https://example.org${path(next)}/sitemap-${i}.xml`)
  return `${lines.join('\n')}\n`
}

/** 10,000 URLs of about 43 characters, some of which the rules of `large` speak of. */
export function ordinaryUrls(): string[] {
  const next = random(23)
  return Array.from(
    { length: 10_000 },
    (_, i) => `https://example.org${path(next)}${next() < 0.3 ? `?page=${i}` : `/${i % 2_000}`}`,
  )
}

/** 200 URLs of 100 to 200 times the letter a. */
export function hostileUrls(): string[] {
  return Array.from({ length: 200 }, (_, i) => `https://example.org/${'a'.repeat(100 + (i % 101))}`)
}

/** Files and URLs written against this very matcher: each is a worst case of one of its parts. */
export function worstCases(): { name: string; file: string; url: string }[] {
  const fill = (line: (n: number) => string): string => {
    const lines = ['User-agent: *']
    for (let n = 0, size = 14; lines.length <= 20_000; n++) {
      const text = `Disallow: ${line(n)}`
      size += text.length + 1
      if (size > 511_000) break
      lines.push(text)
    }
    return `${lines.join('\n')}\n`
  }
  const next = random(5)
  const letters = (count: number, of: string): string =>
    Array.from({ length: count }, () => of[Math.floor(next() * of.length)]).join('')
  const url = (path: string): string => `https://h.example/${path}`.slice(0, 2_048)
  const binary = letters(2_040, 'ab')
  return [
    {
      name: 'stars and a tail that is not there',
      file: fill((n) => `/*a*a*a*a*a*b${n}$`),
      url: url('a'.repeat(2_030)),
    },
    {
      name: 'one letter between stars',
      file: fill(() => `/*${letters(7, 'ab').split('').join('*')}*c`),
      url: url(binary),
    },
    {
      name: 'two letters between stars',
      file: fill(() => `/${Array.from({ length: 4 }, () => `*${letters(2, 'ab')}`).join('')}*ba*abc`),
      url: url(binary),
    },
    {
      name: 'two letters between stars, tail given',
      file: fill(() => `/${Array.from({ length: 4 }, () => `*${letters(2, 'ab')}`).join('')}*bbb*c$`),
      url: url(`${binary.slice(0, 2_000)}bbb`),
    },
    {
      name: 'segments of seven',
      file: fill(() => `/*${letters(7, 'ab')}*${letters(7, 'ab')}`),
      url: url(`${'a'.repeat(1_000)}${binary}`),
    },
    {
      name: 'long segments, the odd octet in the middle',
      file: fill((n) => `/*${'a'.repeat(200)}${'bc'[n % 2]}${'a'.repeat(100 + (n % 90))}*`),
      url: url('a'.repeat(2_030)),
    },
    { name: 'segments of 1,000', file: fill((n) => `/*${'a'.repeat(900 + (n % 100))}b`), url: url('a'.repeat(2_030)) },
    {
      name: 'ever longer runs',
      file: fill((n) => `/*${'a'.repeat(1 + (n % 900))}*${'a'.repeat(1 + ((n * 7) % 900))}*b`),
      url: url(`${'a'.repeat(2_000)}`),
    },
    {
      name: 'literals that share 1,000 octets',
      file: fill((n) => `/${'a'.repeat(1_000)}${n}`),
      url: url(`${'a'.repeat(1_000)}499x`),
    },
    { name: 'short literals', file: fill((n) => `/${n.toString(36)}`), url: url('zzz/'.repeat(500)) },
    { name: 'nested literals', file: fill((n) => `/${'a'.repeat(n % 1_000)}`), url: url('a'.repeat(2_030)) },
    {
      name: 'wildcards of one prefix, all gone through',
      file: fill((n) => `/a*${(n * 7919).toString(36)}`),
      url: url(`a${Array.from({ length: 500 }, (_, i) => (i * 97).toString(36)).join('')}`),
    },
    {
      name: 'every pair of letters is there',
      file: fill(
        () =>
          `/*${letters(3, 'abcdefghijklmnop')}*${letters(3, 'abcdefghijklmnop')}*${letters(3, 'abcdefghijklmnop')}q`,
      ),
      url: url(letters(2_030, 'abcdefghijklmnop')),
    },
    {
      name: 'a letter that stands at the end only',
      file: fill((n) => `/*c*c*${n}`),
      url: url(`c${binary.slice(0, 2_000)}c`),
    },
    { name: 'encoded on both sides', file: fill((n) => `/%61%7e%2A${n}*%62`), url: url('%61%7E%2a'.repeat(220)) },
  ]
}
