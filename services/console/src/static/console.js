// Follows the fleet: replaces <main> every two seconds, unless nobody looks or somebody selects text in it.
const EVERY_MS = 2000
const main = document.querySelector('main')
const live = document.querySelector('.live')

async function refresh() {
  if (document.hidden || !getSelection().isCollapsed) return
  try {
    const answer = await fetch('/overview', { signal: AbortSignal.timeout(5000) })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    main.innerHTML = await answer.text()
    live.textContent = 'live'
    live.classList.remove('lost')
  } catch {
    live.textContent = 'the console does not answer'
    live.classList.add('lost')
  }
}

async function follow() {
  await refresh()
  setTimeout(follow, EVERY_MS)
}

setTimeout(follow, EVERY_MS)
document.addEventListener('visibilitychange', () => void refresh())
