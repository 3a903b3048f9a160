/** Why a server could not listen, as a message for the person who set HOST and PORT. */

const sentences: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) => `port ${port} of ${host} is in use: set PORT to another one, or to 0 for any free one`,
  EACCES: (host, port) => `port ${port} of ${host} may not be opened by this user`,
  EADDRNOTAVAIL: (host) => `HOST=${host} is no address of this machine`,
  ENOTFOUND: (host) => `HOST=${host} is no address of this machine`,
}

/** Keeps the system's error code: the command line has its own words for a port that is taken. */
export function listenError(error: unknown, host: string, port: number): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const text = sentences[code]?.(host, port)
  if (text === undefined) return error instanceof Error ? error : new Error(String(error))
  return Object.assign(new Error(text, { cause: error }), { code, address: host, port })
}
