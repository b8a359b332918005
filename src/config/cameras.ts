import type { DeviceId } from '#site/model/index.ts';
import type { Settings } from './schema.ts';

type Channel = Settings['nvrs'][number]['channels'][number];
type Input = NonNullable<Settings['cameras'][number]['inputs']>[string];

/** A camera, or a channel of a recorder: to the rest of the site they are the same. */
export type View = Pick<Channel, Exclude<keyof Channel, 'source' | 'position'>> & {
  /** The recorder whose channel this is. */
  readonly nvr?: DeviceId;
};

/** All of them, in the order of the file: cameras first. */
export function views({ cameras, nvrs }: Pick<Settings, 'cameras' | 'nvrs'>): readonly View[] {
  return [...cameras, ...nvrs.flatMap(({ id, channels }) => channels.map((channel) => ({ ...channel, nvr: id })))];
}

/** A contact wired to a camera or recorder. */
export interface InputZone extends Omit<Input, 'normally'> {
  readonly token: string;
  readonly source: { readonly kind: 'camera' | 'nvr'; readonly id: DeviceId };
}

export function inputZones({ cameras, nvrs }: Pick<Settings, 'cameras' | 'nvrs'>): readonly InputZone[] {
  const of =
    (kind: 'camera' | 'nvr') =>
    (device: { readonly id: DeviceId; readonly inputs?: Readonly<Record<string, Input>> }) =>
      Object.entries(device.inputs ?? {}).map(([token, input]) => ({
        ...input,
        token,
        source: { kind, id: device.id },
      }));
  return [...cameras.flatMap(of('camera')), ...nvrs.flatMap(of('nvr'))];
}
