import { profileFolders } from '#box/folders.ts';
import { type CatalogueEntry, catalogue, dc09Profile } from '#devices/panels/index.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../table.ts';

/** `siteward panel list`: every profile that can be named in the configuration, also the broken ones. */
export function list(options: { readonly config: string; readonly json: boolean }): ExitCode {
  const entries = catalogue(profileFolders(options.config)).map(entryOf);
  if (options.json) for (const entry of [...entries, receiver]) console.log(JSON.stringify(entry));
  else console.log(table([...entries.map(row), receiverRow]));
  return exitCodes.ok;
}

/** No file stands for it: siteward itself is what such a panel calls. */
const receiver = {
  id: dc09Profile,
  title: 'Panels that call by SIA DC-09 themselves, without a bridge',
  hardware: [],
  commands: [],
  from: 'the standard',
  own: false,
};
const receiverRow = [receiver.id, 'built in', receiver.title, `from ${receiver.from}`, 'reads only'];

/** A profile may have it; nothing in siteward presses a panel's panic button. */
const neverSent = 'panic';

function entryOf({ id, file, own, hidesPreset, compiled, problem }: CatalogueEntry) {
  const profile = compiled?.profile;
  return {
    id,
    title: profile?.title,
    hardware: profile?.hardware,
    commands: profile === undefined ? undefined : Object.keys(profile.out).filter((name) => name !== neverSent),
    code: profile?.code.mode,
    vars: profile?.vars,
    notes: profile?.notes,
    from: profile === undefined ? undefined : profile.from_documentation === true ? 'documentation' : 'recordings',
    supported: profile?.supported ?? false,
    own,
    hides_preset: hidesPreset,
    file,
    error: problem,
  };
}

function row(entry: ReturnType<typeof entryOf>): string[] {
  const { id, title = '', hardware = [], commands = [], own, hides_preset: hides, file, error } = entry;
  const where = own ? file : entry.supported ? 'preset, supported' : 'preset';
  if (error !== undefined) return [id, where, `broken: ${error}`];
  const does = commands.length === 0 ? 'reads only' : commands.join(' ');
  // Of a profile of one's own nobody says what it was written from, unless it does.
  const from = own && entry.from !== 'documentation' ? '-' : `from ${entry.from}`;
  return [id, hides ? `${where} (instead of the preset)` : where, title, from, does, hardware.join(', ')];
}
