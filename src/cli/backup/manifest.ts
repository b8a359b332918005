import { z } from 'zod';
import { formatBytes, printable, table } from '../table.ts';
import { unreadable } from './archive.ts';

/** The first entry of every backup: what is in it, without a secret. Unknown members are of a later version and left alone. */
export const manifestName = 'manifest.json';
export const stateFolder = 'state/';
/** Below it files of the configuration lie under their whole path. */
export const filesFolder = 'files/';

const manifestSchema = z.object({
  format: z.literal(1),
  /** Version of siteward. */
  version: z.string().max(100),
  /** Versions of the databases' tables. */
  schema: z.object({ site: z.int().min(0), bulk: z.int().min(0) }),
  made_at: z.iso.datetime(),
  site: z.object({ id: z.string().optional(), external_id: z.string() }),
  bridge: z.string(),
  /** Of the state directory when the backup was made. */
  epoch: z.int().min(0),
  /** Whether siteward ran meanwhile. */
  running: z.boolean(),
  /** Events that wait for the cloud, by lane; null where nobody could say. */
  waiting: z.record(z.string(), z.int()).nullable(),
  /** State by partition; null where nobody could say. */
  partitions: z.record(z.string(), z.string()).nullable(),
  config: z.string(),
  state_dir: z.string(),
  /** How many files, and their bytes unpacked, about. */
  files: z.int().min(0),
  bytes: z.int().min(0),
  /** Secrets that lie where a backup cannot take them, and files that were not there. */
  outside: z.array(z.string()),
});
export type Manifest = z.output<typeof manifestSchema>;

export const manifestBytes = 1024 * 1024;

export function readManifest(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable('its manifest is damaged', error);
  }
  const format = z.object({ format: z.int() }).safeParse(value);
  if (format.success && format.data.format > 1)
    throw unreadable('it was made by a newer siteward; install that version, or a later one, first');
  const found = manifestSchema.safeParse(value);
  if (!found.success) throw unreadable('its manifest is none of siteward');
  return found.data;
}

export function manifestText(manifest: Manifest): string {
  const { site, bridge, waiting, partitions, outside } = manifest;
  const counts = (what: Readonly<Record<string, number | string>> | null) =>
    what === null
      ? 'not known: siteward did not run'
      : Object.entries(what)
          .map(([name, value]) => `${name} ${value}`)
          .join(', ') || 'none';
  const rows = [
    ['made at', manifest.made_at],
    ['siteward', `${manifest.version}${manifest.running ? '' : ', stopped'}`],
    ['site', `${site.external_id}${site.id === undefined ? '' : ` (${site.id})`}`],
    ['bridge', bridge],
    ['epoch', `${manifest.epoch}`],
    ['waiting for the cloud', counts(waiting)],
    ['partitions', counts(partitions)],
    ['configuration', manifest.config],
    ['state directory', manifest.state_dir],
    ['files', `${manifest.files}, about ${formatBytes(manifest.bytes)}`],
    ...outside.map((what, index) => [index === 0 ? 'not in it' : '', what]),
  ];
  return table(rows.map((row) => row.map(printable)));
}
