/**
 * Arguments with which Chromium itself can send nothing: no name and no address is resolved, the proxy's neither. Interception alone is
 * not enough, because Chromium sends what it holds back when the interception ends before the request: a page that is closed while one of
 * its requests waits (seen on a busy machine, under Chromium's own User-Agent). What is sent from Node does not go this way.
 */
export const NO_NETWORK = ['--host-resolver-rules=MAP * ~NOTFOUND']
