/** The target of a refresh: `<meta http-equiv=refresh>` and the header Refresh (HTML standard, "shared declarative refresh steps"). */

const REFRESH =
  /^[\t\n\f\r ]*(?:\d|(?=\.))[\d.]*(?:[\t\n\f\r ]*[;,]|[\t\n\f\r ])[\t\n\f\r ]*(?:url[\t\n\f\r ]*=[\t\n\f\r ]*)?(.*)$/is

/** @returns the address as written; undefined: the refresh reloads the page, or there is none */
export function refreshTarget(content: string): string | undefined {
  const [, text = ''] = REFRESH.exec(content.slice(0, 8_192)) ?? []
  const quote = text[0] === '"' || text[0] === "'" ? text[0] : undefined
  const end = quote === undefined ? -1 : text.indexOf(quote, 1)
  const target = quote === undefined ? text : text.slice(1, end < 0 ? undefined : end)
  return target.trim() === '' ? undefined : target
}
