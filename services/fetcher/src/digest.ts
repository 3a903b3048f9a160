/** Digests as archives write them: RFC 4648 base32, which SHA-1's 160 bits fill without padding. */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** @param octets  a multiple of five of them */
export function base32(octets: Uint8Array): string {
  let text = ''
  for (let i = 0; i < octets.length; i += 5) {
    const high = ((octets[i] ?? 0) << 12) | ((octets[i + 1] ?? 0) << 4) | ((octets[i + 2] ?? 0) >> 4)
    const low = (((octets[i + 2] ?? 0) & 15) << 16) | ((octets[i + 3] ?? 0) << 8) | (octets[i + 4] ?? 0)
    for (const part of [high, low]) {
      for (let shift = 15; shift >= 0; shift -= 5) text += ALPHABET[(part >> shift) & 31]
    }
  }
  return text
}
