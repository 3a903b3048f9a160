/** A real gateway, as `decorum gateway` starts it, that can be asked for its CPU time. */
import { main } from '@decorum/gateway'
import { answerParent } from './words.ts'

await main(process.env)
answerParent(() => undefined)
