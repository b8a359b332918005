import type { Option } from 'commander';
import { allVerbs, type Verb } from './verbs.ts';

/** For bash: verbs, options, the choices of an option, and file names elsewhere. */
export function bashCompletion(program: Verb): string {
  const entries = allVerbs(program).map(
    (verb) => `    '${pathOf(program, verb)}') words='${wordsOf(verb).join(' ')}' ;;`,
  );
  const names = new Set(allVerbs(program).map((verb) => pathOf(program, verb)));
  const valued = allVerbs(program).flatMap((verb) =>
    verb.options.flatMap((option) =>
      option.argChoices === undefined
        ? []
        : [`    '${pathOf(program, verb)} ${option.long}') words='${option.argChoices.join(' ')}' ;;`],
    ),
  );
  return `# bash completion of siteward; made of its verbs
_siteward() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} at= words= each
  for each in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "|${[...names].filter((name) => name !== '').join('|')}|" in
    *"|\${at:+$at }$each|"*) at="\${at:+$at }$each" ;;
    esac
  done
  case "$at $before" in
${valued.join('\n')}
  esac
  if [ -z "$words" ]; then
    case "$at" in
${entries.join('\n')}
    esac
    case "$word" in -*) ;; *) words=$(printf '%s\\n' $words | grep -v '^-') ;; esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o bashdefault -o default -F _siteward siteward
`;
}

/** For fish. */
export function fishCompletion(program: Verb): string {
  const lines = allVerbs(program).flatMap((verb) => {
    const path = pathOf(program, verb);
    const above =
      path === ''
        ? '__fish_use_subcommand'
        : path
            .split(' ')
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join('; and ');
    const left =
      verb.below.length === 0 ? '' : `; and not __fish_seen_subcommand_from ${verb.below.map(lastOf).join(' ')}`;
    const when = path === '' ? above : `${above}${left}`;
    return [
      ...verb.below.map(
        (one) => `complete -c siteward -f -n ${shell(when)} -a ${lastOf(one)} -d ${shell(one.description)}`,
      ),
      ...verb.options
        .filter(({ long }) => long !== undefined)
        .map((option) => `complete -c siteward -n ${shell(when)} ${fishOption(option)}`),
    ];
  });
  return `# fish completion of siteward; made of its verbs\n${lines.join('\n')}\n`;
}

function fishOption({ long, short, description, argChoices, required }: Option): string {
  const value = argChoices !== undefined ? ` -x -a ${shell(argChoices.join(' '))}` : required ? ' -r' : '';
  return `-l ${long?.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}${value} -d ${shell(description)}`;
}

/** For zsh: the same with what each means beside it. */
export function zshCompletion(program: Verb): string {
  const verbs = allVerbs(program);
  const cases = verbs.map((verb) => {
    const below = verb.below.map((one) => described(lastOf(one), one.description));
    const choices = verb.args.flatMap(({ argChoices }) => argChoices ?? []).map((one) => described(one, ''));
    const options = verb.options.map(({ long, short, description }) => described(long ?? short ?? '', description));
    return `  '${pathOf(program, verb)}') verbs=(${[...below, ...choices].join(' ')}) options=(${options.join(' ')}) ;;`;
  });
  const valued = verbs.flatMap((verb) =>
    verb.options.flatMap(({ long, argChoices }) =>
      argChoices === undefined
        ? []
        : [`  '${pathOf(program, verb)} ${long}') compadd -- ${argChoices.join(' ')}; return ;;`],
    ),
  );
  const names = verbs.map((verb) => pathOf(program, verb)).filter((name) => name !== '');
  return `#compdef siteward
# zsh completion of siteward; made of its verbs
local at= each
local -a verbs options
for each in "\${(@)words[2,CURRENT-1]}"; do
  case "|${names.join('|')}|" in
  *"|\${at:+$at }$each|"*) at="\${at:+$at }$each" ;;
  esac
done
case "$at $words[CURRENT-1]" in
${valued.join('\n')}
esac
case "$at" in
${cases.join('\n')}
esac
if [[ $words[CURRENT] == -* ]]; then
  _describe -o option options
elif (( $#verbs )); then
  _describe verb verbs
else
  _files
fi
`;
}

/** A word and its meaning, as `_describe` reads them. */
const described = (word: string, meaning: string): string =>
  zshQuoted(`${word.replaceAll(':', '\\:')}${meaning === '' ? '' : `:${meaning}`}`);
const zshQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const pathOf = (program: Verb, { name }: Verb): string => name.slice(program.name.length).trim();
const lastOf = ({ name }: Verb): string => name.split(' ').at(-1) ?? '';
const wordsOf = ({ below, options, args }: Verb): string[] => [
  ...below.map(lastOf),
  ...args.flatMap(({ argChoices }) => argChoices ?? []),
  ...options.flatMap(({ long, short }) => long ?? short ?? []),
];
const shell = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
