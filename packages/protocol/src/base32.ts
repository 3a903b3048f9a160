/** RFC 4648 base32, as archives write digests: 160 bits need no padding. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
/** Two characters at a time, for speed: each page has a digest. */
const PAIRS = Array.from({ length: 1_024 }, (_, bits) => `${ALPHABET[bits >> 5]}${ALPHABET[bits & 31]}`)

/** @param bytes  of a length that is a multiple of five */
export function base32(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 5) {
    const middle = bytes[i + 2] ?? 0
    const high = ((bytes[i] ?? 0) << 12) | ((bytes[i + 1] ?? 0) << 4) | (middle >> 4)
    const low = ((middle & 15) << 16) | ((bytes[i + 3] ?? 0) << 8) | (bytes[i + 4] ?? 0)
    text += `${PAIRS[high >> 10]}${PAIRS[high & 1_023]}${PAIRS[low >> 10]}${PAIRS[low & 1_023]}`
  }
  return text
}
