/**
 * The first bytes of an answer as text; the rest is not read, however much there is. If the answer breaks off, returns what had come. Never rejects.
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
    // the status has been read, and what came
  }
  return Buffer.concat(pieces).toString('utf8', 0, maxBytes)
}
