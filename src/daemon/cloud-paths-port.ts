import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import { defaultDialect, messageOnWire } from '#cloud/contract/index.ts';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import type { BypassAnswer, CloudPathsPort, PartitionAnswer, PartitionPicture } from '#lan/http/index.ts';
import { type DispatchRequest, detailOf } from '#lan/mqtt/index.ts';
import type { Clock } from '#lib/clock.ts';
import {
  type Asker,
  type AudioPort,
  alarming,
  armedAs,
  type Command,
  type CommandResult,
  isVisibleZone,
  type PartitionPlan,
  type PartitionState,
  type SiteView,
} from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';
import { takePicture } from './cameras-port.ts';
import type { Dispatch } from './dispatch.ts';
import { type House, running, viewOf } from './house.ts';
import { giveChecked, giveLocally } from './local-command.ts';
import { siteActivity } from './site-activity.ts';
import { takenPictures } from './taken-pictures.ts';

/** Each is a command: of whoever gives more without a code within a minute the core takes none any more (C8). */
const uncodedZones = 5;
/** Each holds a connection to the service. */
const dispatchesAtOnce = 4;

/** The site as the cloud's own paths show it, with whichever parts run. */
export function cloudPathsPort(options: {
  readonly house: House;
  readonly settings: () => Settings;
  readonly audio: Pick<AudioPort, 'messages' | 'play'>;
  /** As the configuration says now. */
  readonly dispatcher: () => Dispatch | undefined;
  readonly clock: Clock;
  readonly note: Note;
  readonly metrics: Registry;
}): CloudPathsPort {
  const { house, settings, audio, clock, note } = options;
  const pictures = takenPictures(options);
  let dispatches = 0;
  /** By its own id, or by that of the service. */
  function planOf(id: string): PartitionPlan | undefined {
    const { partitions } = viewOf(house).plan;
    const byCloud = settings().partitions.find(({ cloud_id: cloudId }) => cloudId === id)?.id;
    return partitions.find((one) => one.id === id) ?? partitions.find((one) => one.id === byCloud);
  }

  function mustPlan(id: string): PartitionPlan {
    const plan = planOf(id);
    if (plan === undefined) throw new SitewardError('stopped', 'the partition was taken out meanwhile');
    return plan;
  }

  function cameraOf(id: string): string | undefined {
    const { cameras } = viewOf(house).plan;
    const known = settings();
    const views = [...known.cameras, ...known.nvrs.flatMap(({ channels }) => channels)];
    const byCloud = views.find(({ cloud_device_id: cloudId }) => cloudId === id)?.id;
    return (cameras.find((one) => one.id === id) ?? cameras.find((one) => one.id === byCloud))?.id;
  }

  /** Speakers by their own ids, for ids of the service as well. */
  function speakersOf(targets: readonly string[]): readonly (readonly [speaker: string, asked: string])[] {
    const { speakers } = settings();
    return [...new Set(targets)].map((asked, place) => {
      const found = speakers.find(({ id }) => id === asked) ?? speakers.find(({ cloud_device_id: id }) => id === asked);
      if (found?.enabled === true) return [found.id, asked] as const;
      const why = found === undefined ? 'is a device this site does not have' : 'is a speaker that is not used';
      throw new SitewardError('audio_invalid', `target_devices[${place}]: ${why}`, {
        facts: { field: 'target_devices' },
      });
    });
  }

  const commandOf = (verb: Command['verb'], more: Partial<Command>) => ({
    ...{ id: randomUUID(), verb, partition: 'all' as const, issuedAt: clock.wall() },
    ...more,
  });

  return {
    referencePath: () => (settings().cloud?.dialect ?? defaultDialect()).ref_path,
    isSite: (id) => [settings().site.id, settings().site.external_id].includes(id),
    isReference: (reference) => settings().site.account_reference_id === reference,
    isPartition: (id) => planOf(id) !== undefined,
    isCamera: (id) => cameraOf(id) !== undefined,

    /** Those that can be heard without the service. */
    messages: () =>
      audio
        .messages()
        .filter(({ source }) => source !== 'cloud')
        .map((message) => messageOnWire(message, settings().site.language)),

    async play({ message, targets, ...wish }, by, signal) {
      const chosen = targets === undefined ? undefined : new Map(speakersOf(targets));
      const speakers = chosen && { target_devices: [...chosen.keys()] };
      const asked = { audio_message_id: message, ...wish, ...speakers };
      // Each is heard, and has a playback of its own (S-177).
      const played = await audio.play(asked, by.source === 'cli' ? 'local' : by, signal, { anew: true });
      const idOf = (speaker: string): string =>
        chosen?.get(speaker) ?? settings().speakers.find(({ id }) => id === speaker)?.cloud_device_id ?? speaker;
      const { playback_id, audio_message_id, status, started_at, volume, repeat, devices } = played;
      return {
        ...{ playback_id, audio_message_id, status, started_at, volume, repeat },
        devices: devices.map((device) => ({
          device_id: idOf(device.device_id),
          name: device.name,
          status: device.status,
        })),
      };
    },

    partition: (id) => pictureOf(viewOf(house), mustPlan(id)),

    async command({ verb, partition, code }, by, signal) {
      const asked = commandOf(verb, {
        partition: mustPlan(partition).id,
        ...(verb === 'arm' && { mode: 'away' }),
      });
      const { result } = await giveLocally(house, asked, { code, by, signal });
      return answerOf(viewOf(house), result);
    },

    bypass: ({ partition, zones, code }, by, signal) =>
      bypass(mustPlan(partition).id, [...zones], { code, by, signal }),

    async snapshot(camera, by, signal) {
      const jpeg = await takePicture({ house, wall: clock.wall, note }, cameraOf(camera) ?? camera, { signal, by });
      return { jpeg, id: pictures.keep(jpeg) };
    },
    picture: pictures.find,

    async dispatch({ reason, responder = 'guard' }, by, signal) {
      const ask = options.dispatcher();
      if (ask === undefined) return { kind: 'not_configured' };
      if (dispatches >= dispatchesAtOnce)
        throw new SitewardError('queue_full', 'other requests for help are on their way; call the monitoring station');
      dispatches += 1;
      const request: DispatchRequest = { id: randomUUID(), kind: responder, client: by.client, note: reason };
      return ask(request, signal, by).finally(() => {
        dispatches -= 1;
      });
    },

    activity: (query) => siteActivity(running(house, 'store'), query),
  };

  /** One after the other, until one is refused. */
  async function bypass(
    partition: PartitionPlan['id'],
    asked: readonly string[],
    { code, by, signal }: { readonly code: string | undefined; readonly by: Asker; readonly signal: AbortSignal },
  ): Promise<BypassAnswer> {
    // A zone of silent hold-up is none to whoever asks (safety 4).
    const known = new Set(
      viewOf(house)
        .plan.zones.filter((zone) => isVisibleZone(zone) && zone.partitions.includes(partition))
        .map(({ number }) => number),
    );
    const place = asked.findIndex((zone) => !known.has(zone));
    if (place >= 0) return { kind: 'unknown_zone', place };
    const zones = [...new Set(asked)];
    if (code === undefined && zones.length > uncodedZones) return { kind: 'too_many', most: uncodedZones };
    const check = await running(house, 'codes').check(code);
    for (const [index, zone] of zones.entries()) {
      // Under duress one call for help goes out, not one for each zone.
      const next = index > 0 && check.code === 'duress' ? ({ ...check, code: 'ok' } as const) : check;
      const result = await giveChecked(house, commandOf('bypass', { zone }), { check: next, by, signal });
      const answer = answerOf(viewOf(house), result);
      if (answer.error !== undefined) return { kind: 'given', answer, left: zones.slice(index) };
    }
    return { kind: 'given', answer: { outcome: 'done' }, left: [] };
  }
}

/** Exported for its test. */
export function pictureOf(view: SiteView, plan: PartitionPlan): PartitionPicture {
  const state = view.partitions.find(({ id }) => id === plan.id);
  const { ready, bypassed } = detailOf(view, plan);
  const isOurs = plan.authority !== 'external' && view.plan.securityType !== 4;
  return {
    status: state && wireStatus(state, plan),
    ready: ready && isOurs && state !== undefined && !alarming(state.state),
    bypassed_zones: bypassed ?? [],
  };
}

/**
 * The contract has two words. An exit delay is `armed`: somebody has armed, it arms unless that is taken back, and an app that read
 * `disarmed` would arm again or tell its user that nobody has. An entry delay and an alarm are `armed`, as nobody has disarmed yet. What is
 * unknown or stale is neither, and never `disarmed` (safety 2); so is an alarm of a panel that does not say in which mode it runs, while
 * siteward's own engine knows that a fire runs in what is disarmed.
 */
function wireStatus(state: PartitionState, { authority }: PartitionPlan): PartitionPicture['status'] {
  if (state.state === 'triggered' && state.mode === null && authority !== 'engine') return undefined;
  const as = armedAs(state);
  if (as === 'unknown') return undefined;
  return as === 'disarmed' ? 'disarmed' : 'armed';
}

/** Zones by name; one of silent hold-up is not named (safety 4). */
function answerOf({ plan }: SiteView, { outcome, error }: CommandResult): PartitionAnswer {
  if (error === undefined) return { outcome };
  const { zones, ...why } = error;
  const named = plan.zones.filter((zone) => isVisibleZone(zone) && zones?.includes(zone.number) === true);
  return {
    outcome,
    error: { ...why, ...(zones !== undefined && { zones: named.map(({ number, name }) => ({ number, name })) }) },
  };
}
