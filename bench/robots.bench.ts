import { parseRobots } from '@decorum/robots'
import robotsParser from 'robots-parser'
import { hostile, hostileUrls, large, literals, ordinaryUrls, small, worstCases } from './robots/files.ts'
import { heldKb, once, rates } from './robots/measure.ts'

const ms = 300
const rp = robotsParser as any
for (const [name, text, urls] of [
  ['a', small(), ordinaryUrls()],
  ['b', large(), ordinaryUrls()],
  ['c', hostile(), ordinaryUrls()],
  ['adv', hostile(), hostileUrls()],
] as const) {
  const oct = Buffer.from(text)
  const o = parseRobots(oct),
    p = rp('https://example.org/robots.txt', text)
  let diff = 0
  for (const u of urls.slice(0, 1000).slice(0, name === 'adv' ? 5 : name === 'c' ? 50 : 1000))
    if (o.isAllowed(u, 'avocet') !== p.isAllowed(u, 'avocet')) diff++
  const r = rates(
    {
      ours: (i) => o.isAllowed(urls[i % urls.length]!, 'avocet'),
      rp: (i) => p.isAllowed(urls[i % urls.length]!, 'avocet'),
    },
    ms,
  )
  const q = rates(
    {
      ours: () => parseRobots(text),
      oursOct: () => parseRobots(oct),
      withCheck: () => parseRobots(oct).isAllowed(urls[1]!, 'avocet'),
      rp: () => rp('https://example.org/robots.txt', text),
    },
    ms,
  )
  const n = name === 'a' ? 2000 : name === 'b' ? 40 : 8
  const m = {
    ours: heldKb(() => {
      const x = parseRobots(oct)
      x.isAllowed(urls[0]!, 'avocet')
      return x
    }, n),
    rp: heldKb(() => rp('https://example.org/robots.txt', Buffer.from(oct).toString('latin1')), n),
  }
  console.log(
    name,
    text.length,
    'diff',
    diff,
    'match',
    r.ours | 0,
    r.rp | 0,
    (r.ours / r.rp).toFixed(1),
    'parse',
    q.ours | 0,
    q.oursOct | 0,
    'check+',
    q.withCheck | 0,
    q.rp | 0,
    (q.ours / q.rp).toFixed(2),
    (((q.oursOct * text.length) / 1e6) | 0) + 'MB/s',
    'mem',
    m.ours.toFixed(2),
    m.rp.toFixed(2),
    (m.ours / m.rp).toFixed(2),
  )
}
for (const n of [20, 200, 2000, 20000]) {
  const o = parseRobots(literals(n))
  const urls = ordinaryUrls()
  o.isAllowed(urls[0]!, 'x')
  console.log(n, rates({ x: (i) => o.isAllowed(urls[i % urls.length]!, 'x') }, 200).x | 0)
}
for (const w of worstCases()) {
  const t = once(() => parseRobots(w.file), 5)
  const o = () => parseRobots(w.file)
  const first = once(() => {
    const x = o()
    const s = performance.now()
    x.isAllowed(w.url, 'x')
    ;(globalThis as any).f = performance.now() - s
    return 1
  }, 3)
  const x = o()
  x.isAllowed(w.url, 'x')
  const d = once(() => x.isAllowed(w.url, 'x'), 20)
  const e = once(() => x.explain(w.url, 'x'), 3)
  console.log(
    w.name,
    w.file.length,
    'parse',
    t.least.toFixed(1),
    'first',
    (globalThis as any).f.toFixed(2),
    'decide',
    d.least.toFixed(2),
    d.greatest.toFixed(2),
    'explain',
    e.least.toFixed(2),
  )
}
