/** Questions about a folder of real files: what each file names and what every site has. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Probe } from './reference-process.ts'

const ALWAYS = [
  '/',
  '/index.html',
  '/a',
  '/wp-admin/admin-ajax.php',
  '/search?q=x&page=2',
  '/%E3%81%82?x=%2f',
  '/a/b/c.pdf',
]

/**
 * Agents: each token that the file names, and one that it does not. URLs: each pattern of the file turned into URLs, with
 * and without something more behind it, and some that every site has.
 * @param perFile  bytes that the reference may read for one file: it reads the file again for each question
 */
export function* corpusProbes(folder: string, perFile: number): Generator<Probe> {
  for (const name of filesBelow(folder)) {
    const body = readFileSync(name)
    const agents = new Set<string>()
    const patterns = new Set<string>()
    for (const line of body.toString('utf8').split(/[\r\n]+/)) {
      const agent = /^\s*user.?agent\s*:?\s*([A-Za-z_-]+)/i.exec(line)?.[1]
      if (agent) agents.add(agent)
      const pattern = /^\s*(?:dis+|di)?al*[oa]w\w*\s*:?\s*([^#]*)/i.exec(line)?.[1]?.trim()
      if (pattern) patterns.add(pattern)
    }
    const named = [...agents, 'kestrelbot']
    const urls = [...new Set([...ALWAYS, ...[...patterns].flatMap(urlsOf)])].map(
      (path) => `http://host.example${ascii(path.toWellFormed())}`,
    )
    const affordable = Math.max(200, Math.floor(perFile / (body.length + 1)))
    const perAgent = Math.max(20, Math.floor(affordable / named.length))
    const asked = spread(named, Math.max(4, Math.floor(affordable / 20)))
    yield { name, body, agents: asked, urls: spread(urls, perAgent) }
  }
}

/** Files below a folder, in the order of their names. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? [path] : []
    })
}

/** URLs that a pattern may match, and near ones that it should not. */
function urlsOf(pattern: string): string[] {
  const anchored = pattern.endsWith('$') ? pattern.slice(0, -1) : pattern
  const rooted = anchored.startsWith('/') ? anchored : `/${anchored}`
  const filled = [rooted.replaceAll('*', ''), rooted.replaceAll('*', 'x'), rooted.replaceAll('*', 'a/b?c=d')]
  return [...new Set(filled)].flatMap((path) => [path, `${path}x`, `${path}/index.html`, path.slice(0, -1)])
}

/** At most `count` of a list, evenly spread. */
function spread<T>(list: readonly T[], count: number): T[] {
  if (list.length <= count) return [...list]
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)] as T)
}

const ascii = (text: string): string => encodeURI(text).replaceAll('%25', '%')
