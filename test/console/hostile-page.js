// A page that tries everything a page can try against a console at another origin. It runs in the browser. Each kind
// asks for outcomes in a group of its own, so that one that gets through is known by its name.

const PATHS = ['/v1/outcomes', '/v1/%6futcomes', '/%76%31/outcome%73']
const asking = (at, kind) => PATHS.map((path) => `${at}${path}?group=taken-${kind}&follow=false`)

/** @returns the texts of answers that came into the page's hands */
async function tryEverything(at) {
  const read = []
  const hear = (asked) =>
    asked
      .then((answer) => answer.text())
      .then((text) => text !== '' && read.push(text))
      .catch(() => 0)
  const ended = [...silentFetches(at), ...writes(at)].map(hear)
  embed(at)
  submit(at)
  for (const url of asking(at, 'eventsource')) {
    const stream = new EventSource(url, { withCredentials: true })
    stream.addEventListener('outcome', (event) => read.push(event.data))
    stream.onerror = () => stream.close()
  }
  for (const url of asking(at, 'websocket')) {
    const socket = new WebSocket(url.replace('http', 'ws'))
    socket.onmessage = (event) => read.push(String(event.data))
  }
  await Promise.all(ended)
  return read
}

function silentFetches(at) {
  const asked = []
  const kinds = { plain: {}, stream: { accept: 'text/event-stream' }, header: { 'x-requested-with': 'me' } }
  for (const [what, headers] of Object.entries(kinds)) {
    for (const mode of ['cors', 'no-cors'])
      for (const url of asking(at, `fetch-${mode}-${what}`))
        asked.push(fetch(url, { mode, headers, credentials: 'include' }))
  }
  return asked
}

function embed(at) {
  const add = (name, attributes) => document.body.append(Object.assign(document.createElement(name), attributes))
  for (const name of ['img', 'script', 'iframe', 'video', 'embed'])
    for (const src of asking(at, name)) add(name, { src })
  for (const data of asking(at, 'object')) add('object', { data })
  for (const href of asking(at, 'stylesheet')) add('link', { rel: 'stylesheet', href })
  for (const href of asking(at, 'prefetch')) add('link', { rel: 'prefetch', href })
}

const ORIGIN = encodeURIComponent('http://a.example')

function writes(at) {
  const body = JSON.stringify({ action: 'block', reason: 'taken' })
  navigator.sendBeacon(`${at}/v1/candidates?taken-beacon`, 'http://a.example/')
  const asked = []
  for (const path of ['/v1/candidates', '/v1/%63andidates'])
    for (const mode of ['cors', 'no-cors'])
      asked.push(
        fetch(`${at}${path}?taken-post-${mode}`, {
          method: 'POST',
          mode,
          body: 'http://a.example/',
          credentials: 'include',
        }),
      )
  for (const type of ['application/json', 'text/plain']) {
    const headers = { 'content-type': type }
    asked.push(
      fetch(`${at}/v1/origins/${ORIGIN}?taken-patch`, { method: 'PATCH', body, headers, credentials: 'include' }),
    )
  }
  return asked
}

/** Forms, each into a frame of its own. */
function submit(at) {
  const reading = { group: 'taken-form-get', follow: 'false' }
  const acting = { action: 'block', reason: 'taken' }
  for (const { method, path, enctype, fields } of [
    { method: 'get', path: '/v1/outcomes', fields: reading },
    { method: 'get', path: '/v1/%6futcomes', fields: reading },
    {
      method: 'post',
      path: '/v1/candidates?taken-form-text',
      enctype: 'text/plain',
      fields: { 'http://a.example/': '' },
    },
    { method: 'post', path: `/origins/${ORIGIN}?taken-form-post`, fields: acting },
  ]) {
    const frame = document.createElement('iframe')
    frame.name = `frame-${path}`
    const form = Object.assign(document.createElement('form'), { method, action: at + path, target: frame.name })
    if (enctype !== undefined) form.enctype = enctype
    for (const [name, value] of Object.entries(fields))
      form.append(Object.assign(document.createElement('input'), { name, value }))
    document.body.append(frame, form)
    form.submit()
  }
}

Object.assign(globalThis, { tryEverything })
