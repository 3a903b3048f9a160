/** Prints some thousand odd URLs in the form in which a fetcher has them, the same ones each time: surt-cases.py makes their keys. */

const HOSTS =
  'example.com www.example.com WWW2.Example.co.uk www.www.example.org www123.com www.com wwwx.example.com example.com. a..b ' +
  'bücher.example xn--bcher-kva.example мир.example 127.0.0.1 0x7f.1 1.2.3.4 0.0.0.8 010.1.1.1 [::1] [2001:DB8::A] [::ffff:1.2.3.4] ' +
  'localhost a_b.example {x}.example a-b.c.d.e.example example.com:80 example.com:8080 example.com:443 example.com:0 1.2.3.4:81 ' +
  '[::1]:8080 [::1]:80 www.example.com:8443 user:secret@example.com user@www.example.com:81 u%40v:w@example.com 3com.com 1.com'
const PATHS =
  '|/|/a|/A|/a/|/a//|//|///|//a//b//|/a/./b|/a/../b|/../a|/a/..|/a/.|/%2e%2e/a|/a/%2E%2E/b|/a%2F..%2Fb|/a/..%2f..%2f..%2fb|/%2F|/%2f%2f' +
  '|/%7Etilde|/~tilde|/%41%42|/%2541|/%252541|/%25252541|/%|/%%|/%zz|/%4|/%a|/%%41|/%2%35|/%25zz|/a%|/a%2|/p|pipe|/p[br]|/{x}|/a^b|/a`b|/a\\b' +
  '|/a b|/a+b|/a%20b|/a%2Bb|/%00|/%0a|/%0D%0A|/%7F|/%80|/%FF%FE|/é|/caf%C3%A9|/caf%e9|/日本|/%E6%97%A5|/😀|/a%3Fb|/a%23b|/a%3fb=c%26d' +
  '|/index.html|/INDEX.HTML|/a;jsessionid=0123456789ABCDEF0123456789ABCDEF|/a;b=c;d|/(S(0123456789abcdefghijklmn))/page.aspx' +
  '|/x/(S(0123456789abcdefghijklmn))/y.ASPX|/(0123456789abcdefghijklmn)/p.aspx|/(0123456789abcdefghijklmn)/p.html' +
  '|/(A(0123456789abcdefghijklmn)F(0123456789abcdefghijklmn))/p.aspx|/a/(0123456789abcdefghijklmn)/b/(0123456789abcdefghijklmn)/p.aspx?x=1' +
  '|/(s(0123456789abcdefghijklmn))/(0123456789abcdefghijklmn)/p.aspx|/a\'b"c<d>e|/http://www.example.com//x/|/web/2020/http:%2F%2Fx.example/' +
  '|/a/b/c/d/|/a/b/../../..|/.well-known/x|/..a/b|/a/...|/a/b..|/./|/.|/..|/../..|/a//../b|/a/..//b|/%2e|/www.example.com|/a=b&c|/a&b?'
const ID = '0123456789abcdef0123456789ABCDEF'
const QUERIES =
  `|?|??|?x|?X=Y|?b=2&a=1|?a=1&a|?a&a=|?a=&a|?a=1&a=0&a=|?&|?&&|?a&|?&a|?=|?=a|?a==b|?a=b=c&a=b|?a=%2B|?a=+|?a=%26b|?a%3Db=c|?a=b%3Dc&a%3Da|?%41=%61` +
  `|?q=é|?q=%e9|?q=%C3%A9|?q={}|?q=|^\`|?q[]=1&q[]=0|?q=\\|?q=%zz&b=%|?q=a b|?q='x'|?q="x"|?a/b/../c/|?a//b|?A=b&a=B|?a!&a=1|?a$=1&a=2|?a.=1&a-=1&a=1` +
  `|?PHPSESSID=${ID}|?PHPSESSID=${ID}&y=1|?x=1&PHPSESSID=${ID}|?x=1&phpsessid=${ID}&y=1|?jsessionid=${ID}|?a=1&JSESSIONID=${ID}&b` +
  `|?sid=${ID}|?sid=${ID}x|?x=1&sid=${ID}&y|?mysid=${ID}&z|?sid=${ID}&sid=${ID}|?sid=short|?ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx` +
  `|?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&b=2&a=1|?cfid=1&cftoken=2|?a=1&cfid=12&cftoken=ab-cd&b=1|?CFID=1&CFTOKEN=2&CFID=3&CFTOKEN=4` +
  `|?cfid=&cftoken=1|?cfid=1&x&cftoken=2|?cfid=cfid=1&cftoken=2|?jsessionid=${ID}&phpsessid=${ID}&sid=${ID}|?x=jsessionid=${ID}|?%73id=${ID}` +
  '|?utm_source=a&Z=1|?a=1;b=2|?a=1&amp;b=2|?a=%00|?a=%0a|?url=http://www.Example.com/%3Fx=1%26y=2|?a=1#frag|?a%2523b'

/** Numbers from a seed, so that the list is the same each time (mulberry32). */
let seed = 36
function below(most: number): number {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) % most
}
const oneOf = <T>(list: readonly T[]): T => list[below(list.length)] as T

const [hosts, paths, queries] = [
  HOSTS.split(' '),
  PATHS.split('|/').map((path) => `/${path}`),
  QUERIES.split('|?').map((query) => `?${query}`),
]
const PIECES =
  '/ // . .. a A %2F %2e %25 % %4 41 %e9 é | [ ] ~ + & = ; ? ( ) .aspx ! $ * , @ : www. %7C sid= {} ^ \\ - _'.split(' ')
const octets = Array.from({ length: 256 }, (_, octet) => `%${octet.toString(16).padStart(2, '0')}`)

const made = [
  ...hosts.flatMap((host) => [`http://${host}`, `https://${host}/A/?b&a`]),
  ...paths.map((path) => `http://example.com${path}`),
  ...queries.flatMap((query) => [`http://example.com/${query}`, `https://example.com/a/${query}`]),
  ...octets.flatMap((octet) => [`http://example.com/a${octet}b/`, `http://example.com/?a${octet}b=1&a=2`]),
  ...Array.from({ length: 96 }, (_, at) => String.fromCharCode(32 + at)).flatMap((char) => [
    `http://example.com/a${char}b`,
    `http://example.com/?a${char}b`,
  ]),
  ...Array.from(
    { length: 1_500 },
    () => `${oneOf(['http', 'https'])}://${oneOf(hosts)}${oneOf(paths)}${oneOf(queries)}`,
  ),
  ...Array.from(
    { length: 1_500 },
    () => `http://example.com/${Array.from({ length: 1 + below(12) }, () => oneOf(PIECES)).join('')}`,
  ),
]
const forms = made.flatMap((text) => (URL.canParse(text) ? [new URL(text)] : []))
for (const url of forms) url.hash = ''
console.log([...new Set(forms.map(({ href }) => href))].join('\n'))
