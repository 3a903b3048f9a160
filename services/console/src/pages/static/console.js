// Updates the part marked `data-follow` every two seconds from the page at that address, unless the page is hidden or text is being selected.
// Only changed parts are replaced, so focus, scroll position and opened details stay; parts marked `data-still`, such as forms, are left alone.
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
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('[data-follow]')
    const active = document.activeElement
    Idiomorph.morph(part, next.innerHTML, MORPH)
    if (active !== document.activeElement && part.contains(active)) active.focus({ preventScroll: true }) // it was lost when its row moved
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
