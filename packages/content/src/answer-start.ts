/**
 * The first bytes of an answer as text; the rest is not read. If the answer breaks off, returns the part that arrived. Never rejects.
 */
export async function startOf({ body }: Response, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const piece of body ?? []) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes >= maxBytes) break
    }
  } catch {
    // the status and the part that arrived are enough
  }
  return Buffer.concat(pieces).toString('utf8', 0, maxBytes)
}
