// Follows the fleet: replaces what is marked `data-follow` every two seconds, unless nobody looks or somebody selects text.
const EVERY_MS = 2000
const part = document.querySelector('[data-follow]')
const live = document.querySelector('.live')

async function refresh() {
  if (document.hidden || !getSelection().isCollapsed) return
  try {
    const answer = await fetch(part.dataset.follow, { signal: AbortSignal.timeout(5000) })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    part.innerHTML = await answer.text()
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
