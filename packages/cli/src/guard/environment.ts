/** The environment of a guarded command: the address of the proxy, under every name that clients read. Pure. */

/** Variables that would make requests bypass this proxy or use another one. */
const OTHER_WAYS = ['no_proxy', 'all_proxy', 'ftp_proxy']

/** @param login  user name from `loginOf`; '': the first agent */
export function guardedEnv(env: NodeJS.ProcessEnv, port: number, login: string): NodeJS.ProcessEnv {
  const proxy = `http://${login === '' ? '' : `${login}:@`}127.0.0.1:${port}`
  const given = { ...env }
  for (const name of OTHER_WAYS) {
    delete given[name]
    delete given[name.toUpperCase()]
  }
  // Go and libcurl read http_proxy only in lower case, others in upper case (httpoxy, 2016)
  for (const name of ['http_proxy', 'https_proxy']) {
    given[name] = proxy
    given[name.toUpperCase()] = proxy
  }
  given.NODE_USE_ENV_PROXY = '1' // without it, Node's http and fetch ignore the other variables
  return given
}

/** The user name in the address of the proxy, which names agent and crawl. */
export const loginOf = (agent: string | undefined, crawl: string | undefined): string =>
  crawl === undefined ? (agent ?? '') : `${agent ?? ''}+${crawl}`
