/** Answers and their bodies for code that keeps or reads them, without the modules that send requests. Start at `Answer`. */
export { type Answer, type Exchange, fieldsThatFit, type Headers, type NoAnswer, type Truncated } from './answer.ts'
export { Body } from './body.ts'
export { freeChunk } from './chunk-memory.ts'
export { type Unpacked, unpack, unpacking } from './decode.ts'
export { decodedLength, isCoded } from './decoded-length.ts'
export { ACCEPTED_CODINGS, headersFor, headersOf, requestHead } from './request-head.ts'
export { openTurns } from './turns.ts'
