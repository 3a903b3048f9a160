/** Twenty owners of hostile sites. Each has a registrable domain with as many hosts as anybody names, at an address of its own. */

/** What the hosts of an owner do, and how many owners do so. */
export const KINDS = {
  /** accept a connection and never answer, not even for robots.txt */
  silent: 4,
  'silent-pages': 2,
  /** send an octet a second, for ever */
  drips: 2,
  /** each page redirects to another silent host */
  'leads-to-silent': 3,
  'leads-to-polite': 1,
  /** the robots.txt of each host redirects to a polite site */
  'robots-at-polite': 3,
  /** whatever `behaviours.ts` has */
  garbage: 2,
  /** 429 with a Retry-After of thousands of years */
  'never-again': 2,
  /** frames of HTTP/2 for no request, as fast as they are taken */
  'frames-flood': 1,
} as const
export type Kind = keyof typeof KINDS
export type Owner = { kind: Kind; domain: string; address: string }
/** An owner whose sites run. */
export type Place = Owner & { port: number }

export const OWNERS: Owner[] = (Object.entries(KINDS) as [Kind, number][])
  .flatMap(([kind, count]) => Array.from({ length: count }, (_, n) => ({ kind, domain: `${kind}-${n}.test` })))
  .map((one, n) => ({ ...one, address: `127.50.0.${n + 1}` }))

/** The n-th of all hostile hosts. The certificate of the tests is for one host only. */
export function hostileOrigin(places: readonly Place[], n: number): string {
  const { kind, domain, port } = places[n % places.length] as Place
  return kind === 'frames-flood' ? `https://127.0.0.1:${port}` : `http://h${n}.${domain}:${port}`
}
