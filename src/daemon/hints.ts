import type { LinkTrouble } from '#cloud/delivery/index.ts';
import { lostText, type StandingShown } from '#cloud/sync/index.ts';
import type { CameraStatus } from '#devices/onvif/index.ts';
import type { PanelHint } from '#devices/panels/index.ts';
import type { OutboxDocument, StatusDocument } from '#lan/http/index.ts';
import { forGood, zoneTable } from '#site/core/index.ts';
import {
  dangerTypes,
  isoTime,
  openShown,
  type SiteView,
  type VerificationDocument,
  type ZoneType,
} from '#site/model/index.ts';
import type { StorageLevel, StorageState } from '#site/store/index.ts';

/** What to do about each state of the disk; nothing is said of a good one. */
const diskAdvice: Readonly<Record<StorageLevel, string | undefined>> = {
  ok: undefined,
  soft: 'the disk is getting full: delivered events are kept for a shorter time. Make room or take a larger disk',
  hard: 'the disk is nearly full: the history is deleted and activity that waits gives way to new. Make room now',
  full: 'the disk is full: each new alarm needs something else to be deleted. Make room now',
  readonly: 'the file system is read-only: events are sent from memory and are lost with the power. Check the disk',
  failing: 'the disk fails: events are sent from memory and are lost with the power. Replace the disk or card',
};

/** What to do about each reason why the cloud gets no events. */
const linkAdvice: Readonly<Record<LinkTrouble, string>> = {
  unreachable: 'Check the line, cloud.base_url and cloud.auth_url. siteward tries again by itself.',
  intercepted: 'Something answers in place of the cloud, such as a captive portal or a proxy: take it away.',
  busy: 'The cloud is busy or asks for a pause: nothing to do, siteward tries again by itself.',
  clock: 'Set the clock of this machine ("timedatectl"); if it is right, the certificate of the cloud has expired.',
  unauthorized: 'Correct the credentials, as the reason says, then "systemctl reload siteward".',
  forbidden:
    'Check cloud.base_url and that the operator lets this client send events, then "systemctl reload siteward".',
};

/** For `siteward status`. */
export function storageHints(storage: StorageState | undefined, now: number): StatusDocument['hints'] {
  const text = storage === undefined ? undefined : diskAdvice[storage.level];
  if (storage === undefined || text === undefined) return [];
  const { level, freeBytes, totalBytes } = storage;
  const values = freeBytes === undefined ? [] : [`${freeBytes} of ${totalBytes ?? 0} bytes free`];
  return [{ device: 'bridge siteward', about: `storage ${level}`, text, values, count: 1, last: isoTime(now) }];
}

/**
 * What panels were heard to say and is not understood, and zones that said nothing in this run. Of a detector of danger that had told how it
 * stands before there is nothing to find out: to make it speak is a real alarm.
 */
export function panelHints(
  hints: readonly PanelHint[],
  view: Pick<SiteView, 'plan' | 'zones'> | undefined,
): StatusDocument['hints'] {
  const heard = new Set(
    view?.plan.zones.flatMap(({ number, type }) => {
      const state = view.zones.find((one) => one.number === number);
      return dangerTypes.has(type) && openShown(type, state) !== null ? [number] : [];
    }),
  );
  return hints
    .filter(({ kind, about }) => kind !== 'not_heard' || !heard.has(about))
    .map(({ panel, about, text, values, count, lastAt }) => ({
      device: `panel ${panel}`,
      about,
      text,
      values: [...values],
      count,
      last: isoTime(lastAt),
    }));
}

/** Its panel is there, and yet nobody knows whether the last word is still true: retained or queued ones were calmer, or none came. */
export function doubtHints(
  view: Pick<SiteView, 'plan' | 'partitions' | 'zones' | 'doubted' | 'links' | 'at'> | undefined,
): StatusDocument['hints'] {
  if (view === undefined) return [];
  const isUp = (panel: string | undefined) =>
    view.links.some(({ source, up }) => source.kind === 'panel' && source.id === panel && up === true);
  const hint = (panel: string | undefined, about: string, text: string, values: readonly string[]) => ({
    ...{ device: `panel ${panel}`, about, text, values: [...values], count: 1, last: isoTime(view.at) },
  });
  const partitions = view.plan.partitions.flatMap(({ id, panel, authority }) => {
    const state = view.partitions.find((one) => one.id === id);
    if (authority === 'engine' || state?.stale !== true || !isUp(panel)) return [];
    return [hint(panel, `partition ${id}`, partitionDoubt, [state.state])];
  });
  const engine = new Set(view.plan.partitions.flatMap(({ id, authority }) => (authority === 'engine' ? [id] : [])));
  const zones = view.plan.zones.flatMap(({ number, source, type, partitions: zonePartitions }) => {
    const state = view.zones.find((one) => one.number === number);
    if (state === undefined || view.doubted?.includes(number) !== true || !isUp(source.id)) return [];
    const held = (['open', 'alarm', 'tamper'] as const).filter((level) => state[level] === true);
    const isOfPanel = !zonePartitions.some((id) => engine.has(id));
    return [hint(source.id, `zone ${number}`, zoneDoubt(held, { type, isOfPanel }), held)];
  });
  return [...partitions, ...zones];
}

const partitionDoubt =
  'its panel has said nothing live since siteward or the broker was away, and what was retained is no proof; alarms go up flagged. Arm or disarm at the panel once';
/** What ends each level that holds: of an alarm that is for its panel to judge, the word of the partition. */
function zoneDoubt(held: readonly string[], { type, isOfPanel }: { type: ZoneType; isOfPanel: boolean }): string {
  const { group } = zoneTable[type];
  const isForGood = forGood(group);
  const isAlarm = held.includes('alarm');
  const advice = [
    held.includes('open') || (isAlarm && !isForGood && !isOfPanel) ? ['Open and close it, or walk past it, once.'] : [],
    isAlarm && isForGood ? ['Its alarm ends by its own word alone: reset it at the panel, or test it once.'] : [],
    isAlarm && !isForGood && isOfPanel ? ['Its alarm ends with the partition: arm or disarm at the panel once.'] : [],
    held.includes('tamper') ? ['Take its lid off and put it on again once.'] : [],
  ];
  return [
    'it was told to be calm by a retained or queued word only, which is no proof; it stands as it was known.',
    ...advice.flat(),
  ].join(' ');
}

/**
 * What the technician should see to at cameras and recorders, and the topics nobody knows; not those of a device with a
 * silent button, which may come by one of them (safety 4).
 */
export function cameraHints(
  cameras: readonly Pick<CameraStatus, 'kind' | 'id' | 'unknownTopics' | 'warnings' | 'hints'>[],
  now: number,
  isSilent: (id: string) => boolean,
): StatusDocument['hints'] {
  return cameras.flatMap(({ kind, id, unknownTopics, warnings, hints = [] }) => {
    const device = `${kind} ${id}`;
    const said = { device, values: [], count: 1, last: isoTime(now) };
    return [
      ...warnings.map(({ code, text }) => ({ ...said, about: code, text })),
      ...hints.map((text) => ({ ...said, about: kind === 'nvr' ? 'channels' : 'camera', text })),
      ...(isSilent(id) ? [] : unknownTopics).map(({ topic, count, items, lastAt, line }) => ({
        device,
        about: topic,
        text: `an event topic siteward does not know, kept as "other"; if you know what it means, put this line, with its class, under "topics:" of the ${kind}`,
        values: [line, items],
        count,
        last: isoTime(lastAt),
      })),
    ];
  });
}

/** Somebody has to answer: said on the first page a person looks at. */
export function verificationHints(documents: readonly VerificationDocument[]): StatusDocument['hints'] {
  const open = documents.filter(({ state }) => state === 'open');
  const [newest] = open;
  if (newest === undefined) return [];
  const text = 'the service asks whether an alarm is real; "siteward verification list --open" shows what to answer';
  const values = open.slice(0, 3).map(({ verification_id: id }) => id);
  return [{ device: 'site', about: 'verification', text, values, count: open.length, last: newest.asked_at }];
}

/** The site is deleted in the cloud, or the access to it withdrawn. */
export function standingHints(standing: StandingShown | undefined, now: number): StatusDocument['hints'] {
  if (standing?.state !== 'deleted' && standing?.state !== 'withdrawn') return [];
  const { state, since = now } = standing;
  const said = { device: 'site', about: `cloud site ${state}`, text: lostText[state] };
  return [{ ...said, values: [`since ${isoTime(since)}`], count: 1, last: isoTime(now) }];
}

/** For `siteward outbox show`: one line for each thing that is wrong, worst first. */
export function outboxHints({ lanes, media, store, disk, link, sending }: Omit<OutboxDocument, 'hints'>): string[] {
  const total = (of: 'parked' | 'lost') => lanes.reduce((sum, lane) => sum + lane[of], 0);
  const advice = disk.level === undefined ? undefined : diskAdvice[disk.level];
  const hints: readonly (string | false)[] = [
    (lanes.length === 0 || store.state === 'down') &&
      `The store does not work: check the disk ("df -h ${disk.dir}", "journalctl -u siteward").`,
    sending.memory_only > 0 &&
      `${sending.memory_only} events are only in memory and are lost with the power: make room on the disk, or replace it.`,
    advice !== undefined && `${disk.dir}: ${advice}. What gives way meanwhile: docs/outbox.md.`,
    link.state === 'down' && linkAdvice[link.trouble ?? 'unreachable'],
    total('parked') > 0 &&
      `${total('parked')} refused: "siteward outbox parked" lists them, "siteward outbox parked SEQ" says why.`,
    total('lost') > 0 && `${total('lost')} were given up: "siteward outbox gaps" says when and why.`,
    media.failed > 0 && `${media.failed} pictures failed: "siteward events" says why for each.`,
  ];
  return hints.filter((hint) => hint !== false);
}
