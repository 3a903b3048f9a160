/** The sender: one request from its turn to its end, whoever asks for it. Start at `exchange` in `./http`. */
export {
  DECODED_MAX_BYTES,
  FRESH_LEASE_MS,
  KEEP_LEAST_MS,
  LAST_WORD_MS,
  LEASE_MARGIN_MS,
  ROBOTS_MAX_REDIRECTS,
  ROBOTS_WIRE_MAX_BYTES,
} from './limits.ts'
