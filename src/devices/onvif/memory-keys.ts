import type { DeviceId } from '#site/model/index.ts';

/** One value that is remembered of a device. */
interface Remembered {
  /** One of each camera and recorder, of each recorder, or of each channel. */
  readonly per: 'device' | 'recorder' | 'channel';
  /** It counts for the address it was learned at, and is forgotten with it. */
  readonly placed: boolean;
  /** The file that writes it. */
  readonly by: string;
}

/** All that is remembered of cameras and recorders. What does not stand here is not kept (`placeMemory`). */
export const remembered = {
  address: { per: 'device', placed: false, by: 'place-memory.ts' },
  pin: { per: 'device', placed: true, by: 'certificate-pin.ts' },
  'pin-stream': { per: 'device', placed: true, by: 'certificate-pin.ts' },
  subscription: { per: 'device', placed: true, by: 'session-memory.ts' },
  learned: { per: 'device', placed: true, by: 'session-memory.ts' },
  login: { per: 'device', placed: true, by: 'device.ts' },
  proof: { per: 'device', placed: true, by: 'clear-login.ts' },
  // One that moved must still be seen to have changed the order of its channels.
  roster: { per: 'recorder', placed: false, by: 'channel-book.ts' },
  channel: { per: 'channel', placed: false, by: 'channel-book.ts' },
} as const satisfies Record<string, Remembered>;

type What = keyof typeof remembered;

const all = Object.entries(remembered) as readonly (readonly [What, Remembered])[];

export const keyOf = (what: Exclude<What, 'channel'>, device: DeviceId): string => `onvif/${what}/${device}`;
export const channelKey = (recorder: DeviceId, channel: DeviceId): string => `onvif/channel/${recorder}/${channel}`;

/** Of a device, or `recorder/channel`. */
export const ownerOf = (key: string): string => key.split('/').slice(2).join('/');

/** Whether it is a key of this device or of a channel of it. */
export function belongsTo(device: DeviceId, key: string): boolean {
  const [room, what = '', owner, channel, ...more] = key.split('/');
  if (room !== 'onvif' || owner !== device || more.length > 0 || !Object.hasOwn(remembered, what)) return false;
  return (what === 'channel') === (channel !== undefined);
}

/** What is forgotten of a device when its address changes. */
export const placedKeys = (device: DeviceId): readonly string[] =>
  all.flatMap(([what, { placed }]) => (placed ? [`onvif/${what}/${device}`] : []));
