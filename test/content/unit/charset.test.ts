/** Which encoding a page is read in: byte order mark, header, `meta` to the end of the head, XML declaration, then what its bytes are. */
import { encodingOf, SAMPLE_BYTES } from '@decorum/content/testing'
import { mediaTypeOf } from '@decorum/protocol'
import { expect, test } from 'vitest'

const HTML = 'text/html'
const encoding = (text: string | Uint8Array, header: string | null = HTML): string =>
  encodingOf(typeof text === 'string' ? Buffer.from(text, 'latin1') : text, header)
const META = '<meta charset=gbk>'

test.each<[string, string, string | null, string]>([
  ['a byte order mark before all else', `\xef\xbb\xbf${META}`, `${HTML}; charset=koi8-r`, 'UTF-8'],
  ['that of UTF-16', '\xff\xfe<\0', `${HTML}; charset=koi8-r`, 'UTF-16LE'],
  ['that of UTF-16, the other way', '\xfe\xff\0<', HTML, 'UTF-16BE'],
  ['the header before meta', META, `${HTML}; charset=koi8-r`, 'KOI8-R'],
  ['a header in quotes', META, `${HTML};charset="koi8-r"`, 'KOI8-R'],
  ['a header in quotes of another kind', META, `${HTML};charset='koi8-r'`, 'KOI8-R'],
  ['two semicolons', META, `${HTML};;charset=koi8-r`, 'KOI8-R'],
  ['a label of the header that nobody knows', META, `${HTML}; charset=ISO-88509-1`, 'GBK'],
  ['that, and no meta', '<p>\xc3\xa9', `${HTML}; charset=utf8mb4`, 'UTF-8'],
  ['a label of meta that nobody knows, and another', `<meta charset=utf8mb4>${META}`, HTML, 'GBK'],
  ['meta by http-equiv', '<META http-equiv="Content-Type" content="text/html; charset = \'GBK\'">', HTML, 'GBK'],
  ['the same without http-equiv', '<meta content="text/html; charset=gbk">', HTML, 'UTF-8'],
  ['UTF-16 in bytes', '<meta charset=utf-16>', HTML, 'UTF-8'],
  ['x-user-defined', '<meta charset=x-user-defined>', HTML, 'windows-1252'],
  ['a comment', `<!-- ${META} -->`, HTML, 'UTF-8'],
  ['a script', `<script>"${META}"</script>`, HTML, 'UTF-8'],
  ['a title', `<title>${META}</title>`, HTML, 'UTF-8'],
  ['an XML declaration, also of HTML', '<?xml version="1.0" encoding="koi8-r"?><p>', HTML, 'KOI8-R'],
  ['meta before it', `<?xml version="1.0" encoding="koi8-r"?>${META}`, HTML, 'GBK'],
  ['XHTML: no meta', `<?xml version="1.0" encoding='koi8-r'?>${META}`, 'application/xhtml+xml', 'KOI8-R'],
  ['UTF-16 without a mark', '<\0?\0x\0', 'application/xml', 'UTF-16LE'],
  ['the same, the other way', '\0<\0?\0x', 'application/xml', 'UTF-16BE'],
  ['no page: no meta', META, 'text/plain', 'UTF-8'],
  ['no type', META, null, 'GBK'],
  ['nothing said, UTF-8', 'caf\xc3\xa9', HTML, 'UTF-8'],
  ['nothing said, no UTF-8', 'caf\xe9', HTML, 'windows-1252'],
])('%s', (_, text, header, name) => {
  expect(encoding(text, header)).toBe(name)
})

const pad = (bytes: number): string => `<!--${'x'.repeat(bytes - 7)}-->`

test.each([
  [1_000, 'GBK'],
  [1_024, 'GBK'],
  [5_000, 'GBK'],
  [60_000, 'GBK'],
  [SAMPLE_BYTES, 'UTF-8'],
])('meta behind %d bytes of head: %s', (bytes, name) => {
  expect(encoding(`<html><head>${pad(bytes)}<link><title>x</title>${META}`)).toBe(name)
})

test('behind the head meta counts within 1,024 bytes, as browsers read it', () => {
  expect(encoding(`<body>${pad(900)}${META}`)).toBe('GBK')
  expect(encoding(`<body>${pad(1_100)}${META}`)).toBe('UTF-8')
  expect(encoding(`<head></head>${pad(1_100)}${META}`)).toBe('UTF-8')
})

test('a character that is cut off at the end does not make a text of UTF-8 another one', () => {
  for (const text of ['é', '日', '😀'])
    for (let cut = 1; cut < Buffer.byteLength(text); cut++) {
      expect(encoding(Buffer.from(`xé${text}`).subarray(0, 3 + cut))).toBe('UTF-8')
      const full = Buffer.from(`${'x'.repeat(SAMPLE_BYTES - cut)}${text}`).subarray(0, SAMPLE_BYTES)
      expect(encoding(full)).toBe('UTF-8')
    }
  expect(encoding('xé\xe9')).toBe('windows-1252')
  expect(encoding('\x80\x80\x80\x80')).toBe('windows-1252')
})

test.each<[string | null, string | undefined, string | undefined]>([
  [null, undefined, undefined],
  ['', undefined, undefined],
  ['html', undefined, undefined],
  ['*/*', undefined, undefined],
  ['unknown/unknown', undefined, undefined],
  ['Text/HTML ; Charset="utf-8"', 'text/html', 'utf-8'],
  ['text/html charset=utf-8', 'text/html', undefined],
  ['text/html,text/html', 'text/html', undefined],
  ['text/html; charset=gbk, text/html', 'text/html', 'gbk'],
  ['text/html; charset=gbk, text/plain', 'text/plain', undefined],
  ['text/plain, text/html; charset=gbk', 'text/html', 'gbk'],
  ['text/html, charset=utf-8', 'text/html', undefined],
  ['text/html; charset="a,b", image/png', 'image/png', undefined],
  ['text/html; charset="gbk', 'text/html', 'gbk'],
])('a Content-Type of %j is %j in %j', (header, essence, charset) => {
  expect(mediaTypeOf(header)).toEqual({ essence, charset })
})
