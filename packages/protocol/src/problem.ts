/** Why a request over HTTP was not carried out, in the format of RFC 9457: `type` for programs, `detail` for people. */
export const PROBLEM_TYPE = 'application/problem+json'

export type ProblemBody = { type: string; title: string; status: number; detail: string }

export const problemBody = (status: number, type: string, detail: string): ProblemBody => ({
  type,
  title: type.replaceAll('-', ' '),
  status,
  detail,
})
