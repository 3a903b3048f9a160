/** `decorum --completion bash|zsh|fish`: a completion script, generated from the parser's commands and options. */
import type { Command } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** A command with the words before it, and the words that may follow. */
type Known = {
  /** such as `config apply`; '' for decorum itself */
  path: string
  means: string
  commands: { name: string; means: string }[]
  options: { flag: string; means: string; values: string[]; takesValue: boolean }[]
}

export const completion = (shell: Shell, program: Command): string => ({ bash, zsh, fish })[shell](knownOf(program, []))

function knownOf(command: Command, path: string[]): Known[] {
  const options = command.options
    .filter((option) => !option.hidden && option.long)
    .map(({ long, description, argChoices = [], required, optional }) => ({
      flag: long as string,
      means: description,
      values: argChoices,
      takesValue: required || optional,
    }))
  const help = { flag: '--help', means: 'Print this help', values: [], takesValue: false }
  const commands = command.commands.map((one) => ({ name: one.name(), means: one.description() }))
  const own: Known = { path: path.join(' '), means: command.description(), commands, options: [...options, help] }
  return [own, ...command.commands.flatMap((one) => knownOf(one, [...path, one.name()]))]
}

/** Words for a shell list: names and flags contain no blank and no quote. */
const wordsOf = ({ commands, options }: Known): string =>
  [...commands.map(({ name }) => name), ...options.map(({ flag }) => flag)].join(' ')

const values = (known: Known[]): [flag: string, values: string][] =>
  [...new Map(known.flatMap(({ options }) => options.map((one) => [one.flag, one.values.join(' ')] as const)))].filter(
    ([, list]) => list !== '',
  )

/** Two-word command names between commas: `,origin sitemaps,url why,`. `origin` may also be followed by an address. */
const pairs = (known: Known[]): string =>
  `,${known.flatMap(({ path }) => (path.includes(' ') ? [path] : [])).join(',')},`

/** Both shells find the command in the words typed so far: the first, and the second if it belongs to it. */
const findName = (known: Known[]): string => `    if [[ -z $name ]]; then name=$word
    else
      [[ '${pairs(known)}' == *",$name $word,"* ]] && name="$name $word"
      break
    fi
  done`

function bash(known: Known[]): string {
  const cases = known.map((one) => `    '${one.path}') words='${wordsOf(one)}' ;;`)
  const chosen = values(known).map(
    ([flag, list]) => `    ${flag}) COMPREPLY=($(compgen -W '${list}' -- "$cur")); return ;;`,
  )
  return `# decorum: completion for bash
_decorum() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} name='' word words
  case $prev in
${chosen.join('\n')}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) continue ;; esac
${findName(known)}
  case $name in
${cases.join('\n')}
    *) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ \${#COMPREPLY[@]} -gt 0 || $cur == -* ]] || COMPREPLY=($(compgen -f -- "$cur"))
}
complete -o filenames -F _decorum decorum`
}

/** A text in single quotes, for zsh's _describe and fish; zsh separates name and meaning by a colon. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function zsh(known: Known[]): string {
  const described = (name: string, means: string): string =>
    quoted(`${name.replaceAll(':', '\\:')}${means === '' ? '' : `:${means}`}`)
  const cases = known.map((one) => {
    const all = [...one.commands, ...one.options.map(({ flag, means }) => ({ name: flag, means }))]
    return `    ${quoted(one.path)}) found=(${all.map(({ name, means }) => described(name, means)).join(' ')}) ;;`
  })
  const chosen = values(known).map(([flag, list]) => `    ${flag}) compadd -- ${list}; return ;;`)
  return `#compdef decorum
_decorum() {
  local name='' word
  local -a before found
  case $words[CURRENT-1] in
${chosen.join('\n')}
  esac
  before=("\${(@)words[2,CURRENT-1]}")
  for word in $before; do
    [[ $word == -* ]] && continue
${findName(known)}
  found=()
  case $name in
${cases.join('\n')}
  esac
  _describe decorum found
  _files
}
compdef _decorum decorum`
}

function fish(known: Known[]): string {
  const lines = known.flatMap(({ path, commands, options }) => {
    const [first = '', second] = path.split(' ')
    const subs = commands.map(({ name }) => name).join(' ')
    const here =
      path === ''
        ? '__fish_use_subcommand'
        : second === undefined
          ? `__fish_seen_subcommand_from ${first}${subs === '' ? '' : `; and not __fish_seen_subcommand_from ${subs}`}`
          : `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}`
    const of = `complete -c decorum -n ${quoted(here)}`
    return [
      ...commands.map(({ name, means }) => `${of} -f -a ${quoted(name)} -d ${quoted(means)}`),
      ...options.map(({ flag, means, values: list, takesValue }) => {
        const value = list.length > 0 ? ` -x -a ${quoted(list.join(' '))}` : takesValue ? ' -r' : ''
        return `${of} -l ${flag.slice(2)}${value} -d ${quoted(means)}`
      }),
    ]
  })
  return ['# decorum: completion for fish', ...lines].join('\n')
}
