/** Parts that the forms of operators share, and the reading of a post. Forms are plain posts that work without JavaScript. Pure. */
import { Problem } from '@decorum/runtime/http-api'
import type { Viewer } from '../access/sessions.ts'
import { type Html, html, type Piece } from './html.ts'

/** The fields of a form: text by name. */
export type Fields = Record<string, string>
/** A refused form: why, and its fields, which are shown again. */
export type Refused = { problem: Problem; fields: Fields }

export const done = (sentence: string): Html => html`<p class="notice" role="status">${sentence}</p>`
export const notDone = (problem: Problem | undefined): Html | undefined =>
  problem && html`<p class="notice trouble" role="alert">Not done: ${problem.message}</p>`

export const notConfirmed = (what: string): Problem => new Problem(400, 'not-confirmed', `${what} has to be confirmed`)

type Attributes = Record<string, string | number | boolean>

/** @param more  attributes beside name and value; the type is text unless they set another */
export const field = (label: string, name: string, value: Piece, more: Attributes = {}): Html =>
  html`<label>${label}<input${Object.entries<Attributes[string]>({ type: 'text', name, ...more }).map(
    ([key, content]) => content !== false && html` ${key}="${content === true ? '' : content}"`,
  )} value="${value}"></label>`

/** Fields for the reason and the operator; if the latter stays empty, the login counts. */
export const whyAndWho = ({ reason = '', by = '' }: Fields, { who }: Viewer, isNeeded = true): Html =>
  html`${field('Reason', 'reason', reason, { required: isNeeded, maxlength: 512, placeholder: 'it is written down' })}
${field('By', 'by', by, { maxlength: 512, placeholder: who?.user ?? 'console', autocomplete: 'username' })}`

/** Converts the fields of `whyAndWho` to the API's form. */
export const readWhyAndWho = ({ reason = '', by = '' }: Fields): { reason: string; by?: string } => ({
  reason,
  ...(by.trim() === '' ? {} : { by }),
})

export const choice = (field: Piece, label: string, meaning: string): Html =>
  html`<label class="choice"><input ${field}><b>${label}</b><small>${meaning}</small></label>`

export const confirmation = (label: string, meaning: string): Html =>
  choice(html`type="checkbox" name="confirm" value="yes" required`, label, meaning)

export const radio = (name: string, value: string, chosen: string, label: string, meaning: string): Html =>
  choice(html`type="radio" name="${name}" value="${value}"${value === chosen && html` checked`}`, label, meaning)

/** @param choices  each value, and the text that is shown for it */
export const select = (
  label: string,
  name: string,
  choices: readonly (readonly [value: string, text: string])[],
  chosen = '',
): Html =>
  html`<label>${label}<select name="${name}">${choices.map(
    ([value, text]) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
  )}</select></label>`
