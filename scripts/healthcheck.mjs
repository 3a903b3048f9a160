/** The container's health check: whether the role's health server answers /livez on PORT. Exit code 0 or 1. */
const port = process.env.PORT || '8080'

try {
  const answer = await fetch(`http://127.0.0.1:${port}/livez`, { signal: AbortSignal.timeout(3_000) })
  if (!answer.ok) throw new Error(`/livez answers ${answer.status}`)
} catch (error) {
  console.error(`not alive on port ${port}: ${error.cause?.code ?? error.message}`)
  process.exitCode = 1
}
