/** Outcomes as the scripts take them: JSON, kind, and where the id is stored. */
import { isAssigned, type Outcome } from '@decorum/protocol'
import { type Arg, LEAVING } from '../calls.ts'
import { countedAs } from '../notes.ts'
import { idSlot } from '../records/entry.ts'

/** An id that a gateway has assigned is not looked up: its job is accepted once, so there is no second one. */
export const slotOf = (id: string): { bucket: string; number: string } =>
  isAssigned(id) ? { bucket: '', number: '' } : idSlot(id)

export function leaving(outcome: Outcome): Arg[] {
  const { bucket, number } = slotOf(outcome.id)
  const id = bucket === '' ? '' : `${bucket}:${number}`
  return LEAVING.write({ json: JSON.stringify(outcome), kind: countedAs(outcome), id })
}
