/** Commands as 0.1 had them, and their form now: whoever types one is told, and nothing is done. */
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

/** What to type instead; undefined when these words are no former form. */
export function presentForm([first = '', second = '']: string[]): string | undefined {
  const former = [`${first} ${second}`, first].find((words) => Object.hasOwn(FORMER_FORMS, words))
  return former && `'decorum ${former}' is now 'decorum ${FORMER_FORMS[former]}'`
}
