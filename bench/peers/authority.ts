/** An authority of the bench's own and a certificate of all its sites, made by openssl: known to nobody beyond one run. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOSTS } from './sites.ts'

export type Authority = { file: string; wgetrc: string; ofSites: { cert: string; key: string } }

/** @throws Error of openssl */
export function makeAuthority(folder: string): Authority {
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const ca = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign']
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'ca-key.pem',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=Decorum bench',
    ...ca,
  )
  openssl('req', ...key, '-keyout', 'key.pem', '-out', 'site.csr', '-subj', '/CN=sites')
  const names = HOSTS.map((host) => `DNS:${host}`).join(',')
  writeFileSync(join(folder, 'site.ext'), `subjectAltName=${names}\nextendedKeyUsage=serverAuth\n`)
  const by = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-CAcreateserial', '-extfile', 'site.ext']
  openssl('x509', '-req', '-in', 'site.csr', ...by, '-days', '2', '-out', 'site.pem')
  const file = join(folder, 'ca.pem')
  const wgetrc = join(folder, 'wgetrc')
  writeFileSync(wgetrc, `ca_certificate = ${file}\n`)
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  return { file, wgetrc, ofSites: { cert: read('site.pem') + read('ca.pem'), key: read('key.pem') } }
}
