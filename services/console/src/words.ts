/** Numbers and instants for people. */
import { isForever, systemClock } from '@decorum/protocol'

/** 0.8 s · 12 s · 3 min 20 s · 2 h 5 min · 3 d 4 h */
export function length(ms: number): string {
  if (ms < 1) return '0 s'
  if (ms < 1_000) return `${(ms / 1_000).toFixed(ms < 100 ? 2 : 1)} s`
  if (ms < 10_000) return `${trim((ms / 1_000).toFixed(1))} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 1_440) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
  const hours = Math.round(minutes / 60)
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

/** 1 234 567, with narrow spaces at which no line breaks, and never with many decimals. */
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f')
}

/** '1 URL', '2 URLs' */
export function some(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${Math.round(n) === 1 ? one : many}`
}

/** With a capital letter. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** 14:03:22 UTC */
export const clock = (at: number): string => `${new Date(at).toISOString().slice(11, 19)} UTC`

/** 20 Nov 14:03 UTC; with the year if it is not the present one: 2027-01-05 14:03 UTC */
export function day(at: number, now = systemClock.machine()): string {
  const iso = new Date(at).toISOString()
  const time = `${iso.slice(11, 16)} UTC`
  if (iso.slice(0, 4) !== new Date(now).toISOString().slice(0, 4)) return `${iso.slice(0, 10)} ${time}`
  return `${Number(iso.slice(8, 10))} ${MONTHS[Number(iso.slice(5, 7)) - 1]} ${time}`
}
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** 'for another 3 min' · 'until somebody ends it' */
export const lasting = (until: number, now: number): string =>
  isForever(until) ? 'until somebody ends it' : `for another ${length(until - now)}`

const trim = (text: string): string => text.replace(/\.0$/, '')
const pair = (a: number, unit: string, b: number, small: string): string =>
  b === 0 ? `${a} ${unit}` : `${a} ${unit} ${b} ${small}`
