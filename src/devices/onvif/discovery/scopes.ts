import { cleanWords } from '#site/model/index.ts';

/** What the scopes of a device tell about it. Texts are the device's own: to be cleaned before they are shown. */
export interface ScopeFacts {
  readonly vendor?: string;
  readonly name?: string;
  readonly hardware?: string;
  readonly location?: string;
  readonly mac?: string;
}

const cap = 100;

/** Reads `onvif://www.onvif.org/KIND/VALUE` scopes; the first of each kind counts. Never throws. */
export function readScopes(scopes: readonly string[]): ScopeFacts {
  const found = new Map<string, string[]>();
  for (const scope of scopes) {
    const [, kind, rest] = /^onvif:\/\/www\.onvif\.org\/([^/]+)\/(.+)$/i.exec(scope) ?? [];
    const value = decodeScope(rest ?? '');
    if (kind === undefined || value === '') continue;
    const name = kind.toLowerCase();
    found.set(name, [...(found.get(name) ?? []), value]);
  }
  const first = (...kinds: readonly string[]) => kinds.map((kind) => found.get(kind)?.[0]).find((value) => value);
  const name = first('name');
  const hardware = first('hardware', 'model');
  const vendor = first('manufacturer', 'mfr', 'brand') ?? vendorIn(name) ?? vendorIn(hardware);
  const location = found
    .get('location')
    ?.map(placeOf)
    .filter((place) => place !== '')
    .join(', ')
    .slice(0, cap);
  const mac = macOf(first('mac', 'macaddr'));
  return {
    ...(vendor !== undefined && { vendor }),
    ...(name !== undefined && { name }),
    ...(hardware !== undefined && { hardware }),
    ...(location !== undefined && location !== '' && { location }),
    ...(mac !== undefined && { mac }),
  };
}

/** `city/Berlin` and `country/china` say what they are; a place that somebody typed stands alone. */
const placeOf = (value: string): string => value.replace(/^(?:country|city|town|building|floor|room|site)\//i, '');

/**
 * Percent-encoding as devices write it: UTF-8, sometimes Latin-1, sometimes broken, which stays as it is. A `+` between
 * two characters is a blank of a web form; one at the end belongs to a model.
 */
export function decodeScope(text: string): string {
  const decoded = text
    .replaceAll(/(?<=[^+])\+(?=[^+])/g, ' ')
    .replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, (run) => bytesToText(Buffer.from(run.replaceAll('%', ''), 'hex')));
  return cleanWords(decoded, cap);
}

function bytesToText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

/** Vendors that put their name into the scope `name` or `hardware`, and how it is found there. */
const vendors: readonly (readonly [string, RegExp])[] = [
  ['Ajax', /^ajax\b/i],
  ['Amcrest', /^amcrest\b|^IP[2-9]M-/i],
  ['Avigilon', /^avigilon\b/i],
  ['Axis', /^axis\b/i],
  ['Bosch', /^bosch\b/i],
  ['Dahua', /^dahua\b|^(?:DH-)?IPC-H/i],
  ['Foscam', /^foscam\b/i],
  ['Hanwha', /^(?:hanwha|samsung|wisenet)\b/i],
  ['Hikvision', /^hikvision\b|^(?:i?DS)-[27]/i],
  ['Mobotix', /^mobotix\b/i],
  ['Pelco', /^pelco\b/i],
  ['Reolink', /^reolink\b|^RLC-|^RLN/i],
  ['TP-Link', /^(?:tp-?link|tapo|vigi)\b/i],
  ['Trendnet', /^trendnet\b|^TV-IP/i],
  ['Uniview', /^(?:uniview|unv)\b/i],
  ['Vivotek', /^vivotek\b/i],
];

const vendorIn = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : vendors.find(([, pattern]) => pattern.test(text))?.[0];

function macOf(text: string | undefined): string | undefined {
  const hex = text?.replaceAll(/[^0-9a-f]/gi, '').toLowerCase();
  return hex?.length === 12 ? hex.replaceAll(/(..)(?=.)/g, '$1:') : undefined;
}
