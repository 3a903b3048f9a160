// Updates the parts marked `data-follow` every two seconds, unless the page is hidden or text is being selected. Only changed parts are
// replaced, so focus, scroll position, opened details and typed text stay.
const EVERY_MS = 2000
const part = document.querySelector('[data-follow]')
const live = document.querySelector('.live')
const MORPH = {
  morphStyle: 'innerHTML',
  callbacks: {
    beforeNodeMorphed: (node) => !(node instanceof Element && node.hasAttribute('data-still')),
    beforeAttributeUpdated: (name, node) => !(name === 'open' && node.localName === 'details'),
  },
}

async function refresh() {
  if (document.hidden || !getSelection().isCollapsed) return
  try {
    const answer = await fetch(part.dataset.follow, { signal: AbortSignal.timeout(5000) })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    const text = await answer.text()
    const active = document.activeElement
    Idiomorph.morph(part, text, MORPH)
    if (active !== document.activeElement && part.contains(active)) active.focus({ preventScroll: true }) // its row has moved
    live.textContent = 'live'
    live.classList.remove('lost')
  } catch {
    live.textContent = 'the console does not answer'
    live.classList.add('lost')
  }
}

async function follow() {
  await refresh()
  setTimeout(() => void follow(), EVERY_MS)
}

if (part) {
  setTimeout(() => void follow(), EVERY_MS)
  document.addEventListener('visibilitychange', () => void refresh())
}
