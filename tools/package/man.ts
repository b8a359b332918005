import { type ConfigRow, configSections } from '../pages/configuration.ts';
import { allVerbs, optionText, type Verb } from './verbs.ts';

export interface ManOf {
  readonly version: string;
  /** Seconds since 1970. */
  readonly date: number;
}

/** `siteward(1)`, of what `--help` of each verb says. */
export function commandPage(program: Verb, of: ManOf): string {
  const verbs = allVerbs(program).filter(({ below, name }) => below.length === 0 || name !== program.name);
  return page('SITEWARD', '1', of, [
    ['NAME', text('siteward - controller of one security site')],
    ['SYNOPSIS', `.B siteward\n${text('VERB [ARGUMENT ...] [OPTION ...]')}`],
    ['DESCRIPTION', text(program.description), '.PP', text('"siteward VERB --help" shows what follows for one verb.')],
    ['VERBS', ...verbs.map(verbText)],
    [
      'EXIT STATUS',
      text(
        '0 done, 1 failed, 2 wrong usage, 65 refused, 66 not found, 69 unreachable, 77 unauthorised, 78 configuration.',
      ),
    ],
    [
      'FILES',
      tagged('/etc/siteward/siteward.yaml', 'the configuration, see siteward.yaml(5)'),
      tagged('/var/lib/siteward', 'state: events, pictures, keys'),
      tagged('/var/backups/siteward', 'databases as they were before the newest upgrades'),
      tagged(
        '/usr/share/doc/siteward/docs',
        'the pages that are named here as docs/...; operations.md has what to do, by symptom',
      ),
      tagged('/run/siteward/control.sock', 'where the verbs find the daemon; open to the group siteward'),
    ],
    ['SEE ALSO', '.BR siteward.yaml (5),\n.BR systemctl (1),\n.BR journalctl (1)'],
  ]);
}

function verbText({ name, synopsis, description, args, options }: Verb): string {
  return [
    `.SS "${quoted(name)}"`,
    `.B ${quoted(synopsis)}`,
    '.PP',
    text(`${description.charAt(0).toUpperCase()}${description.slice(1)}.`),
    ...args.filter((one) => one.description !== '').map((one) => tagged(one.name(), one.description)),
    ...options.filter(({ long }) => long !== '--help').map((one) => tagged(one.flags, optionText(one))),
  ].join('\n');
}

/** `siteward.yaml(5)`, of the schema that the file is checked against. */
export function configPage(of: ManOf): string {
  return page('SITEWARD.YAML', '5', of, [
    ['NAME', text('siteward.yaml - configuration of siteward(1)')],
    [
      'DESCRIPTION',
      text(
        'The file is YAML. "siteward check" lists every mistake with line and column; "systemctl reload siteward" reads it again, and a file with errors changes nothing.',
      ),
      '.PP',
      text(
        'Times are written with their unit (500ms, 30s, 5m, 2h, 1d), sizes too (512MB, 8GB). A secret never stands in the file; it says where the secret lies: { credential: NAME }, { file: /PATH } or { env: NAME }. [] stands for each entry of a list.',
      ),
    ],
    ...configSections().map(
      ({ name, intro, rows }): Section => [name.toUpperCase(), text(intro), ...rows.map(keyText)],
    ),
    ['SEE ALSO', '.BR siteward (1)'],
  ]);
}

const keyText = ({ key, value, fallback, meaning }: ConfigRow): string => {
  const otherwise = fallback === '' || fallback === 'required' ? fallback : `default ${fallback}`;
  return tagged(key, `${[value, otherwise].filter((one) => one !== '').join('; ')}. ${meaning}`);
};

type Section = readonly [title: string, ...parts: readonly string[]];

function page(name: string, section: string, { version, date }: ManOf, sections: readonly Section[]): string {
  const day = new Date(date * 1000).toISOString().slice(0, 10);
  const head = `.TH ${name} ${section} ${day} "siteward ${quoted(version)}" siteward\n.nh\n.ad l`;
  return `${[head, ...sections.map(([title, ...parts]) => [`.SH "${quoted(title)}"`, ...parts].join('\n'))].join('\n')}\n`;
}

const tagged = (term: string, meaning: string): string => `.TP\n.B ${quoted(term)}\n${text(meaning)}`;

/** One line of roff that means itself. */
const text = (words: string): string => escaped(words).replace(/^([.'])/, '\\&$1');

const quoted = (words: string): string => escaped(words).replaceAll('"', '\\(dq');

const escaped = (words: string): string =>
  words
    .replaceAll('\\', '\\e')
    .replaceAll('`', '')
    .replaceAll('-', '\\-')
    .replaceAll('\n', ' ')
    .replaceAll(/[^\x20-\x7e]/g, (sign) => `\\[u${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`);
