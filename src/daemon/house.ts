import type { Logger } from 'pino';
import type { Delivery } from '#cloud/delivery/index.ts';
import type { AudioCatalogue, Mirror } from '#cloud/sync/index.ts';
import type { AnswerSender } from '#cloud/verification/index.ts';
import type { Settings } from '#config/index.ts';
import type { Audio } from '#devices/audio/index.ts';
import type { Media, Streams } from '#devices/media/index.ts';
import type { Cameras } from '#devices/onvif/index.ts';
import type { Panels, RawWatch, Receiver } from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';
import type { Access } from '#lan/access/index.ts';
import type { Live } from '#lan/http/index.ts';
import type { Broker, LanMqtt } from '#lan/mqtt/index.ts';
import type { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';
import type { Controller } from '#site/controller.ts';
import type { LossReport } from '#site/loss-report.ts';
import type { Signal, SiteView } from '#site/model/index.ts';
import type { Store } from '#site/store/index.ts';
import type { Users } from '#site/users/index.ts';
import type { Verifications } from '#site/verification/index.ts';
import type { CloudArming } from './arming-sync.ts';
import type { CloudDevices } from './cloud-devices.ts';
import type { OutboxDay } from './outbox-day.ts';

/** The parts that run now. A part reaches another only through here, so that a reload can swap it. */
export interface House {
  store?: Store | undefined;
  controller?: Controller | undefined;
  codes?: Users | undefined;
  access?: Access | undefined;
  live?: Live | undefined;
  losses?: LossReport | undefined;
  verifications?: Verifications | undefined;
  answers?: AnswerSender | undefined;
  media?: Media | undefined;
  delivery?: Delivery | undefined;
  arming?: CloudArming | undefined;
  devices?: CloudDevices | undefined;
  catalogue?: AudioCatalogue | undefined;
  mirror?: Mirror | undefined;
  broker?: Broker | undefined;
  lan?: LanMqtt | undefined;
  panels?: Panels | undefined;
  rawWatch?: RawWatch | undefined;
  receiver?: Receiver | undefined;
  cameras?: Cameras | undefined;
  streams?: Streams | undefined;
  audio?: Audio | undefined;
  /** When each camera last gave a picture that everybody may know of; wall clock, milliseconds. */
  readonly lastPictures?: BoundedMap<string, number>;
  /** Of the process: it outlives every part. */
  outboxDay?: OutboxDay;
  cloudUp?: boolean | undefined;
  /** Calls for help that wait for the next controller. */
  heldCalls?: number;
}

/** What most parts are made of, beside their settings. */
export interface Surroundings {
  readonly house: House;
  readonly clock: Clock;
  readonly quality: ClockQualityWatch;
  /** Those in force. */
  readonly settings: () => Settings;
  /** By the name of the part. */
  readonly log: (part: string) => Logger;
}

/** How a part is missed. */
const names = {
  store: 'the store is',
  controller: 'the controller is',
  codes: 'the codes are',
  access: 'access control is',
  live: 'the live streams are',
  verifications: 'the verifications are',
  media: 'the media part is',
  cameras: 'the cameras are',
  streams: 'the streams are',
  audio: 'the speakers are',
} as const;

/** The part that runs now. Throws `stopped`, as at a start, a stop and a reload; `store_unavailable` for the store. */
export function running<K extends keyof typeof names>(house: Pick<House, K>, name: K): NonNullable<House[K]> {
  const part = house[name];
  if (part !== undefined) return part as NonNullable<House[K]>;
  const code = name === 'store' ? 'store_unavailable' : 'stopped';
  throw new SitewardError(code, `${names[name]} not running; try again in a moment`);
}

export const viewOf = (house: House): SiteView => running(house, 'controller').view();

/** Tells the core what was found, through whichever controller runs then. Rejects while none does, and throws nothing at once. */
export const tellCore = (house: House) => async (signals: readonly Signal[]) =>
  running(house, 'controller').signals(signals);

/** Whether the wall clock can be gone by. */
export const knowsTime = (quality: ClockQualityWatch) => (): boolean => quality.current() !== 'doubtful';
