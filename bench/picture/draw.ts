/** The picture of the README: what one site received, bare and through Decorum, as SVG. */

/** Instants in ms since the first request. */
export type Drawn = { start: number; end: number; offence: string | undefined }
export type Panel = { title: string; requests: Drawn[] }
type Colours = { back: string; text: string; faint: string; request: string; owed: string; bad: string }

export const THEMES: Record<'light' | 'dark', Colours> = {
  light: { back: '#ffffff', text: '#1f2328', faint: '#59636e', request: '#0969da', owed: '#cfe3fb', bad: '#cf222e' },
  dark: { back: '#0d1117', text: '#f0f6fc', faint: '#9198a1', request: '#4493f8', owed: '#1b3557', bad: '#f85149' },
}

const [WIDTH, MARGIN, ROW, HEAD, BAR] = [880, 20, 96, 30, 40]
const LEAST_WIDTH = 3

export function draw(panels: Panel[], owedMs: number, colours: Colours): string {
  const { back, text, faint, request, owed, bad } = colours
  const lastMs = Math.max(...panels.flatMap(({ requests }) => requests.map(({ end }) => end + owedMs)))
  const x = (ms: number): number => MARGIN + (ms / lastMs) * (WIDTH - 2 * MARGIN)
  const box = (from: number, to: number, y: number, height: number, colour: string): string =>
    `<rect x="${x(from).toFixed(1)}" y="${y}" width="${Math.max(LEAST_WIDTH, x(to) - x(from)).toFixed(1)}" height="${height}" fill="${colour}"/>`
  const rows = panels.map(({ title, requests }, n) => {
    const top = 8 + n * ROW
    const found = requests.filter(({ offence }) => offence !== undefined).length
    const bars = requests.map(({ start, end, offence }) =>
      box(start, end, top + HEAD, BAR, offence === undefined ? request : bad),
    )
    const delays = requests.map(({ end }) => box(end, end + owedMs, top + HEAD + 12, BAR - 24, owed))
    const verdict = `<tspan fill="${found > 0 ? bad : faint}">${requests.length} requests, ${found} too early</tspan>`
    return `<text x="${MARGIN}" y="${top + 18}" fill="${text}">${title}: ${verdict}</text>${delays.join('')}${bars.join('')}`
  })
  const height = 8 + panels.length * ROW + 18
  const foot = `each bar is a request that the site received, with the delay that is owed after it (${owedMs / 1_000} s); red: too early. ${(lastMs / 1_000).toFixed(0)} seconds`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="15" role="img">
<rect width="${WIDTH}" height="${height}" fill="${back}"/>
${rows.join('\n')}
<text x="${MARGIN}" y="${height - 14}" fill="${faint}" font-size="12">${foot}</text>
</svg>
`
}
