/** Makes the usual clients trust the authority of the proxy, for one command: by temporary files that are removed with it. */
import { readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import { temporaryFolder } from '../temporary-folder.ts'

/**
 * Readers of each variable: OpenSSL and its users (Python's ssl, Ruby, Go on Linux, Rust's native-tls) · curl · requests · git · Cargo · Deno ·
 * pip · the AWS SDKs · Nix. Each replaces the system's roots, so the file contains those as well.
 */
const NAMES = [
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'CARGO_HTTP_CAINFO',
  'DENO_CERT',
  'PIP_CERT',
  'AWS_CA_BUNDLE',
  'NIX_SSL_CERT_FILE',
] as const

/** @param certificate  the authority's certificate, PEM. @returns environment variables for the command */
export async function writeTrust(certificate: string, env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const folder = temporaryFolder('guard')
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, text, { mode: 0o600 })
    return path
  }
  const bundle = await write('roots.pem', [await rootsOf(env), certificate].join('\n'))
  // Node adds these certificates to its roots. The user's file is included; the authority is first, because `openssl x509` reads only one
  const extra = await write('extra.pem', [certificate, await read(env.NODE_EXTRA_CA_CERTS)].join('\n'))
  // wget has no variable for roots; WGETRC replaces the user's file, so its lines are copied first
  const own = await read(env.WGETRC ?? join(homedir(), '.wgetrc'))
  const wgetrc = await write('wgetrc', `${own}\nca_certificate = ${bundle}\n`)
  return { ...Object.fromEntries(NAMES.map((name) => [name, bundle])), NODE_EXTRA_CA_CERTS: extra, WGETRC: wgetrc }
}

/** The certificates that the command would have trusted. */
async function rootsOf({ SSL_CERT_FILE }: NodeJS.ProcessEnv): Promise<string> {
  const named = await read(SSL_CERT_FILE)
  if (named !== '') return named
  const system = getCACertificates('system')
  return (system.length > 0 ? system : getCACertificates('bundled')).join('\n')
}

const read = (path: string | undefined): Promise<string> =>
  path === undefined || path === '' ? Promise.resolve('') : readFile(path, 'utf8').catch(() => '')
