import { configJsonSchema } from '#config/index.ts';

/** As much of JSON Schema as the configuration's schema uses. */
interface Node {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly (string | number)[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  /** Bounds of a time: JSON Schema has no words for them. */
  readonly $comment?: string;
  readonly anyOf?: readonly Node[];
  readonly not?: object;
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly required?: readonly string[];
}

interface Row {
  readonly key: string;
  readonly node: Node;
  readonly required: boolean;
}

/** `docs/configuration.md`: every key of the configuration file. */
export function configurationPage(): string {
  const root = configJsonSchema() as Node;
  const sections = configSections().map(section);
  const zoneTypes = valuesOf(root, 'type', 'entry_exit_1');
  const detections = valuesOf(root, 'detections', 'person');
  const kinds = valuesOf(root, 'kind', 'entry_delay_started');
  return `# The configuration file

Made from the schema in \`src/config/\` by \`npm run generate\`; do not edit. A file to start from is
[config/siteward.example.yaml](../config/siteward.example.yaml); editors check against
[config/siteward.schema.json](../config/siteward.schema.json). \`siteward check FILE\` lists every mistake with line and
column.

- A **required** key must be there where its section is. An empty default means that without the key there is no such thing.
- **Time** is written with its unit: \`500ms\`, \`30s\`, \`5m\`, \`2h\`, \`1d\`. **Size** too: \`512MB\`, \`8GB\`, \`1GiB\`.
- A **secret** never stands in the file. It says where the secret lies: \`{ credential: NAME }\` (systemd), \`{ file: /PATH }\`
  (readable by siteward's user only) or \`{ env: NAME }\`.
- \`[]\` stands for each entry of a list, \`NUMBER\` for a zone's number.
- SIGHUP (\`systemctl reload siteward\`) reads the file again. A file with errors changes nothing.
- Nothing writes the file but \`siteward setup\`, \`camera\`, \`mqtt\`, \`cloud rotate-key\` and \`restore\`, and a save or a factory reset over the LAN API. All but
  a restore, a reset and the beginning of a setup keep its comments and every other line ([lan-api.md](lan-api.md#changing-the-configuration)). A save, \`setup\` and
  \`cloud rotate-key\` keep the file before as \`FILE.bak\`.

${sections.join('\n')}
## Zone types

${wrapped(zoneTypes)}

## Detections

${wrapped(detections)}

## Event kinds

${wrapped(kinds)}
`;
}

export interface ConfigRow {
  readonly key: string;
  readonly value: string;
  /** `required`, the default, or empty where the key has neither. */
  readonly fallback: string;
  readonly meaning: string;
}

export interface ConfigSection {
  readonly name: string;
  readonly intro: string;
  readonly rows: readonly ConfigRow[];
}

/** The same as the page, for others to write. */
export function configSections(): readonly ConfigSection[] {
  const root = configJsonSchema() as Node;
  return Object.entries(root.properties ?? {}).map(([name, node]) => ({
    name,
    intro: `${sentence(node)}${root.required?.includes(name) === true ? ' Required.' : ''}`,
    rows: rowsOf(name, node).map(shownRow),
  }));
}

function section({ name, intro, rows }: ConfigSection): string {
  const head = `## ${name}\n\n${intro}\n`;
  if (rows.length === 0) return head;
  return `${head}\n| key | value | default | meaning |\n|---|---|---|---|\n${rows.map(row).join('\n')}\n`;
}

/** Every key below a node, containers included where they have a meaning of their own. */
function rowsOf(prefix: string, node: Node): Row[] {
  if (node.properties !== undefined) {
    return Object.entries(node.properties).flatMap(([name, child]) => {
      const key = `${prefix}.${name}`;
      return [{ key, node: child, required: node.required?.includes(name) === true }, ...rowsOf(key, child)];
    });
  }
  if (node.items?.properties !== undefined) return rowsOf(`${prefix}[]`, node.items);
  // A section, or a word in its place.
  const [section, more] = node.anyOf?.filter(({ properties }) => properties !== undefined) ?? [];
  if (section !== undefined && more === undefined && !isSecret(node)) return rowsOf(prefix, section);
  const { additionalProperties: values } = node;
  if (typeof values === 'object' && values.properties !== undefined) return rowsOf(`${prefix}.NUMBER`, values);
  return [];
}

const shownRow = ({ key, node, required }: Row): ConfigRow => ({
  key,
  value: formOf(node),
  fallback: required ? 'required' : node.default === undefined ? '' : code(shown(node.default)),
  meaning: sentence(node),
});

const row = ({ key, value, fallback, meaning }: ConfigRow): string =>
  `| \`${key}\` | ${cell(value)} | ${cell(fallback)} | ${cell(meaning)} |`;

/** What may stand there, with its unit. */
function formOf(node: Node): string {
  if (node.not !== undefined) return 'nothing';
  if (node.anyOf !== undefined) return isSecret(node) ? 'secret' : node.anyOf.map(formOf).join(' or ');
  if (node.const !== undefined) return code(shown(node.const));
  if (node.enum !== undefined) return node.enum.length > 10 ? nameOfList(node.enum) : node.enum.map(code).join(', ');
  if (node.type === 'array') return listOf(node);
  if (node.type === 'object') return node.properties === undefined ? 'map' : 'section';
  if (node.type === 'boolean') return `${code('true')}, ${code('false')}`;
  if (node.type === 'integer')
    return node.maximum === undefined ? `${node.minimum ?? 0} or more` : `${node.minimum ?? ''} to ${node.maximum}`;
  return textOf(node);
}

function textOf({ pattern, format, maxLength, $comment }: Node): string {
  if (pattern?.includes('ms|s|m|h|d') === true) return $comment === undefined ? 'time' : `time, ${$comment}`;
  if (pattern?.includes('GiB') === true) return 'size';
  if (pattern?.startsWith('^mqtts?') === true) return `${code('mqtt://HOST:PORT')} or ${code('mqtts://HOST:PORT')}`;
  if (format === 'uri') return 'address';
  return maxLength === undefined ? 'text' : `text, at most ${maxLength} characters`;
}

function listOf({ items, maxItems }: Node): string {
  const most = maxItems === undefined ? '' : `, at most ${maxItems}`;
  if (maxItems === 0) return 'empty list';
  const named = items?.enum !== undefined || items?.type === 'string';
  return `list${named ? ` of ${formOf(items)}` : ''}${most}`;
}

function nameOfList(values: readonly unknown[]): string {
  if (values.includes('entry_exit_1')) return '[zone type](#zone-types)';
  return values.includes('entry_delay_started') ? '[event kind](#event-kinds)' : '[detections](#detections)';
}

const isSecret = (node: Node): boolean => node.anyOf?.some((one) => one.properties?.credential !== undefined) === true;

function sentence({ description = '' }: Node): string {
  return description === '' || /[.!?]$/.test(description) ? description : `${description}.`;
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const code = (text: string | number): string => `\`${text}\``;
const cell = (text: string): string => text.replaceAll('|', '\\|');

/** The enum that holds `member`, found under a key of this name. */
function valuesOf(node: unknown, key: string, member: string): string[] {
  if (typeof node !== 'object' || node === null) return [];
  for (const [name, child] of Object.entries(node)) {
    const list = name === key ? ((child as Node).enum ?? (child as Node).items?.enum) : undefined;
    const found = list?.includes(member) === true ? list.map(String) : valuesOf(child, key, member);
    if (found.length > 0) return found;
  }
  return [];
}

function wrapped(words: readonly string[]): string {
  const lines: string[] = [''];
  for (const word of words.map((one, index) => `${code(one)}${index === words.length - 1 ? '' : ','}`)) {
    const last = lines.at(-1) ?? '';
    if (last.length + word.length > 110) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.join('\n');
}
