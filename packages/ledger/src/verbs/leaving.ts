/** Outcomes in the form that the scripts read: JSON, kind, and where the id is stored. */
import { isAssigned, type Outcome } from '@decorum/protocol'
import { type Arg, LEAVING } from '../calls.ts'
import { countedAs } from '../notes.ts'
import { idSlot } from '../records/pending-text.ts'

/** An id that a gateway has assigned is not looked up: its job is accepted once, so no second candidate has this id. */
export const slotOf = (id: string, crawl?: string): { bucket: string; number: string } =>
  isAssigned(id) ? { bucket: '', number: '' } : idSlot(id, crawl)

export const leaving = (outcome: Outcome): Arg[] => LEAVING.write(leavingOf(outcome))

/** The parts of LEAVING for an outcome. */
export function leavingOf(outcome: Outcome): { json: string; kind: string; id: string } {
  const { bucket, number } = slotOf(outcome.id, outcome.crawl)
  const id = bucket === '' ? '' : `${bucket}:${number}`
  return { json: JSON.stringify(outcome), kind: kindOf(outcome), id }
}

/** The kind of an outcome; for a page of a crawl other than the default one followed by its bytes, which count for the crawl's limit. */
export const kindOf = (outcome: Outcome): string =>
  outcome.crawl !== undefined && outcome.kind === 'fetched' ? `fetched ${outcome.bytes}` : countedAs(outcome)
