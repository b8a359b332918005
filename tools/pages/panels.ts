import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadProfile, type Profile, profileIds, profileSchema } from '#devices/panels/index.ts';

const folder = join(import.meta.dirname, '..', '..', 'config', 'panels');

/** `docs/panels.md`: the template with the table of the presets. */
export function panelsPage(): string {
  const template = readFileSync(join(import.meta.dirname, 'panels.template.md'), 'utf8');
  const profiles = profileIds([folder]).map((id) => profileSchema.parse(loadProfile(id, [folder])));
  const ordered = profiles.toSorted((a, b) => Number(b.supported ?? false) - Number(a.supported ?? false));
  const table = ['| profile | for | commands | known from |', '|---|---|---|---|', ...ordered.map(row), receiver].join(
    '\n',
  );
  return template.replace('{{presets}}', table);
}

/** It has no file: siteward itself is what such a panel calls. */
const receiver =
  '| `sia-dc09` | Panels that call by SIA DC-09 themselves, without a bridge ([below](#a-panel-that-calls-by-sia-dc-09)) | none | the standard |';

function row({ id, title, out, supported, from_documentation: documented }: Profile): string {
  // `panic` is in profiles for later.
  const sent = Object.keys(out).filter((name) => name !== 'panic');
  const commands = sent.length === 0 ? 'none' : sent.join(', ');
  const known = [documented === true ? 'documentation' : 'recordings', ...(supported === true ? ['supported'] : [])];
  return `| \`${id}\` | ${title} | ${commands} | ${known.join(', ')} |`;
}
