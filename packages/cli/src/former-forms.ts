/** Command forms of 0.1 and their replacements: a former form prints its replacement and does nothing else. */
export const FORMER_FORMS: Readonly<Record<string, string>> = {
  top: 'status top',
  fleet: 'status fleet',
  'readers forget': 'outcomes --forget --group NAME',
  readers: 'status readers',
  'crawls weight': 'crawls set NAME --weight N',
  partitions: 'ledger partitions',
  upgrade: 'ledger upgrade',
  why: 'url why',
  cancel: 'url cancel',
  sitemaps: 'origin sitemaps',
  conform: 'permits conform',
  completion: '--completion SHELL',
}

/** A sentence that names the replacement; undefined when these words are no former form. */
export function presentForm([first = '', second = '']: string[]): string | undefined {
  const former = [`${first} ${second}`, first].find((words) => Object.hasOwn(FORMER_FORMS, words))
  return former && `'decorum ${former}' is now 'decorum ${FORMER_FORMS[former]}'`
}
