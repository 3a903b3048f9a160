/** What a guarded command is given in its environment: the address of the proxy, by every name that clients read. Pure. */

/** Variables that would lead requests past the proxy, or to another one. */
const OTHER_WAYS = ['no_proxy', 'all_proxy', 'ftp_proxy']

/** @param login  agent and crawl, as the proxy takes them; '': the first agent */
export function guardedEnv(env: NodeJS.ProcessEnv, port: number, login: string): NodeJS.ProcessEnv {
  const proxy = `http://${login === '' ? '' : `${login}:@`}127.0.0.1:${port}`
  const given = { ...env }
  for (const name of OTHER_WAYS) {
    delete given[name]
    delete given[name.toUpperCase()]
  }
  // Go and libcurl read http_proxy in small letters alone, others the capitals (httpoxy, 2016)
  for (const name of ['http_proxy', 'https_proxy']) {
    given[name] = proxy
    given[name.toUpperCase()] = proxy
  }
  given.NODE_USE_ENV_PROXY = '1' // Node's own http and fetch look at the others only then
  return given
}

/** The user name in the address of the proxy. */
export const loginOf = (agent: string | undefined, crawl: string | undefined): string =>
  crawl === undefined ? (agent ?? '') : `${agent ?? ''}+${crawl}`
