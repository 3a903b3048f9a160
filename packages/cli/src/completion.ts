/**
 * `decorum --completion bash|zsh|fish` prints a script for the shell, which completes with what `decorum --complete WORDS…` prints: the
 * commands, options and values that may follow, each with its meaning after a tab.
 */
import type { Command } from 'commander'

const SCRIPTS = {
  bash: `# decorum: completion for bash
_decorum() {
  local cur=\${COMP_WORDS[COMP_CWORD]} IFS=$'\\n'
  COMPREPLY=($(compgen -W "$("\${COMP_WORDS[0]}" --complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)" -- "$cur"))
  [[ \${#COMPREPLY[@]} -gt 0 || $cur == -* ]] || COMPREPLY=($(compgen -f -- "$cur"))
}
complete -o filenames -F _decorum decorum`,
  zsh: `#compdef decorum
_decorum() {
  local -a found
  found=("\${(@f)$($words[1] --complete "\${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\\\:/g; s/\\t/:/')}")
  _describe decorum found
  _files
}
compdef _decorum decorum`,
  fish: `# decorum: completion for fish
complete -c decorum -a '(decorum --complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
}
export type Shell = keyof typeof SCRIPTS
export const SHELLS = Object.keys(SCRIPTS) as Shell[]

export const completion = (shell: Shell): string => SCRIPTS[shell]

/** Words that may replace the last one, which may be empty or incomplete; one per line, with its meaning after a tab. */
export function completed(program: Command, words: string[]): string {
  const typed = words.slice(0, -1)
  let command = program
  for (const word of typed.filter((one) => !one.startsWith('-'))) {
    const below = command.commands.find((one) => one.name() === word)
    if (below === undefined) break
    command = below
  }
  const options = command.options.filter(({ hidden, long }) => !hidden && long)
  const values = options.find(({ long }) => long === typed.at(-1))?.argChoices
  const found = values?.map((one) => [one]) ?? [
    ...command.commands.map((one) => [one.name(), one.description()]),
    ...options.map(({ long, description }) => [long, description]),
    ['--help', 'Print this help'],
  ]
  return found.map((one) => `${one.join('\t')}\n`).join('')
}
