/** The offences: the rule that was broken, and the meaning of a finding. The order is that of reports. */
export const OFFENCES = {
  overlap: {
    promise: 'one request at a time to an origin',
    means: 'a request began while another request of the same agent to the same origin was open',
  },
  'short-delay': {
    promise: 'never less than the delay between two requests',
    means: 'a request came too soon after the previous one',
  },
  disallowed: { promise: 'nothing that the rules disallow', means: 'the rules in force disallow the URL' },
  'before-rules': {
    promise: 'no page before robots.txt was answered',
    means: 'a page was requested before robots.txt had been answered',
  },
  'rules-unreachable': {
    promise: 'no page while robots.txt is unreachable',
    means: 'a page was requested while robots.txt was unreachable',
  },
  'in-back-off': {
    promise: 'nothing before a Retry-After is over',
    means: 'a request came before a Retry-After was over',
  },
  'rules-too-old': {
    promise: 'no rules older than a day',
    means: 'a page was requested more than a day after robots.txt had last been answered',
  },
  'robots-overlap': {
    promise: 'one robots fetch at a time per origin',
    means: 'two fetches of one robots.txt were in flight at once',
  },
  'robots-too-often': {
    promise: 'robots.txt is not fetched too often',
    means: 'robots.txt was fetched again too soon',
  },
  'pace-group': {
    promise: 'the delay of a pace group is kept',
    means: 'a request came while the pace group was taken',
  },
  'outside-hours': {
    promise: 'nothing outside the visiting hours of a site',
    means: "a request began outside the visiting hours of the site's policy",
  },
  'over-budget': {
    promise: 'no more requests a day than a site is given',
    means: "a host had more requests in one day than the site's policy gives it",
  },
  stopped: {
    promise: 'nothing while an emergency stop is in force',
    means: 'a request began more than a second after it had been stopped',
  },
} as const
export type Offence = keyof typeof OFFENCES
export const OFFENCE_NAMES = Object.keys(OFFENCES) as Offence[]
