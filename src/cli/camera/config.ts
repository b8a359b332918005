import { parse } from 'yaml';
import { freeSecretFile, type Settings, secretFiles, sitePlan } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { Secret } from '#lib/secret.ts';
import { type SiteFile, secretFolder } from '../site-file.ts';

/** Where a camera, recorder or channel stands in the file. */
export interface Place {
  readonly id: string;
  readonly kind: 'camera' | 'nvr' | 'channel';
  /** Of a channel: the recorder. */
  readonly nvr?: string;
  readonly section: 'cameras' | 'nvrs';
  /** Of the camera, or of the recorder, in its section. */
  readonly index: number;
  readonly url: string;
}

export function placesOf({ cameras, nvrs }: Settings): readonly Place[] {
  return [
    ...cameras.map(({ id, url }, index): Place => ({ id, url, index, kind: 'camera', section: 'cameras' })),
    ...nvrs.flatMap(({ id, url, channels }, index): Place[] => {
      const at = { url, index, section: 'nvrs' } as const;
      return [
        { id, kind: 'nvr', ...at },
        ...channels.map((one): Place => ({ id: one.id, kind: 'channel', nvr: id, ...at })),
      ];
    }),
  ];
}

/** A camera or a recorder. Throws `camera_unknown`, and `camera_refused` for a channel, which is changed with its recorder. */
export function mustFind({ settings, file }: SiteFile, id: string): Place {
  const found = placesOf(settings).find((place) => place.id === id);
  if (found === undefined) throw new SitewardError('camera_unknown', `${file} has no camera or recorder ${id}`);
  if (found.kind !== 'channel') return found;
  throw new SitewardError(
    'camera_refused',
    `${id} is a channel of the recorder ${found.nvr}: change the recorder, or edit the line of the channel in ${file}`,
  );
}

/** The members of an entry as they stand in the file. */
export function writtenEntry({ text }: SiteFile, { section, index }: Place): Record<string, unknown> {
  const value = parse(text, { logLevel: 'silent' }) as Record<string, Record<string, unknown>[]>;
  return value[section]?.[index] ?? {};
}

/** A file for the password of `id`. Throws `file_unusable`. */
export const passwordFile = (site: SiteFile, id: string, password: Secret): Promise<string> =>
  freeSecretFile(secretFolder(site), `camera-${id}`, secretFiles(site.text), password.reveal());

/** Zone numbers and whose they are, in words. */
export const zoneOwners = (settings: Settings): ReadonlyMap<string, string> =>
  new Map(sitePlan(settings).zones.map(({ number, source }) => [number, `the ${source.kind} ${source.id}`]));
