import { checkConfig, loadConfig, type Settings } from '#config/index.ts';
import type { Examined } from '#devices/onvif/index.ts';
import { SitewardError } from '#errors.ts';
import { printable } from '../table.ts';

/** A camera, recorder or channel of the configuration. */
export interface ConfiguredDevice {
  readonly id: string;
  /**
   * As the configuration has it. Throws `secret_unreadable` where the password is wanted and cannot be read: a wrong one
   * would count at the camera, which locks the account after a few.
   */
  device(withPassword: boolean): Examined;
}

/**
 * What stands under this id; undefined for a text that is no id but an address. Throws `config_*`, and `camera_unknown` for
 * an id that nothing has.
 */
export function configuredDevice(text: string, file: string): ConfiguredDevice | undefined {
  if (!/^[a-z0-9][\w-]*$/i.test(text) || text === 'localhost') return undefined;
  const { settings } = loadConfig(file, { unreadableSecrets: 'degrade' });
  const found = find(settings, text);
  if (found === undefined) {
    const ids = [...settings.cameras, ...settings.nvrs].map(({ id }) => id).join(', ') || 'none';
    const said = `${file} has no camera ${printable(text)}; it has ${ids}. A host name without a dot is given as http://NAME/`;
    throw new SitewardError('camera_unknown', said);
  }
  const { entry, path } = found;
  return {
    id: text,
    device(withPassword) {
      if (withPassword) mustBeReadable(file, path);
      const {
        url,
        username,
        password,
        tls_fingerprint: fingerprint,
        addresses,
        topics,
        basic_login: basicLogin,
      } = entry;
      return {
        url,
        username,
        password,
        fingerprint,
        addresses,
        topics,
        basicLogin,
        snapshotUrl: found.snapshotUrl,
        discreet: true,
      };
    },
  };
}

type Entry = Settings['cameras'][number] | Settings['nvrs'][number];

interface Found {
  readonly entry: Entry;
  /** Of its password, as problems write it. */
  readonly path: string;
  readonly snapshotUrl: string | undefined;
}

function find(settings: Settings, id: string): Found | undefined {
  for (const [at, entry] of settings.cameras.entries())
    if (entry.id === id) return { entry, path: `cameras[${at}].password`, snapshotUrl: entry.snapshot_url };
  for (const [at, entry] of settings.nvrs.entries()) {
    const channel = entry.channels.find((one) => one.id === id);
    if (entry.id === id || channel !== undefined)
      return { entry, path: `nvrs[${at}].password`, snapshotUrl: channel?.snapshot_url };
  }
  return undefined;
}

function mustBeReadable(file: string, path: string): void {
  const problem = checkConfig(file, { unreadableSecrets: 'refuse' }).problems.find((one) => one.path === path);
  if (problem === undefined) return;
  throw new SitewardError(
    'secret_unreadable',
    `${problem.message}; run this as a user who may read it, or say --user to type the password`,
  );
}
