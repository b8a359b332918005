import type { StatusDocument, ZoneEntry } from '#lan/http/index.ts';
import type { Words } from './text.ts';

export type Tone = 'good' | 'note' | 'bad' | 'plain';

/** One thing that somebody should know, and what to do about it. */
export interface Finding {
  readonly key: string;
  readonly tone: Tone;
  readonly text: string;
  /** Why, as the bridge says it. */
  readonly why?: string;
  readonly remedy?: string;
  /** Screen on which it is looked into. */
  readonly at?: string;
}

type Zones = readonly Pick<ZoneEntry, 'number' | 'name' | 'partitions' | 'bypassed'>[];

/** What is wrong, the worst first, each cause once. `zones`: of the site. Pure. */
export function findingsOf(status: StatusDocument, words: Words, zones: Zones = []): Finding[] {
  const found = [
    ...alarms(status, words),
    ...protection(status, words),
    ...devices(status, words),
    ...unwatched(status, zones, words),
    ...troubles(status, words),
    ...cloud(status, words),
    ...hints(status, words),
  ];
  return [...found.filter(({ tone }) => tone === 'bad'), ...found.filter(({ tone }) => tone !== 'bad')];
}

function alarms({ partitions }: StatusDocument, { t, word }: Words): Finding[] {
  return partitions.flatMap(({ id, name, alarm, alarms: running }) =>
    (running ?? (alarm === null ? [] : [alarm])).map((one, nth) => ({
      key: `alarm ${id} ${nth}`,
      tone: 'bad' as const,
      text: t('now.alarm', { partition: name, kind: word('event', one.kind) }),
      remedy: t('now.alarmRemedy'),
      at: 'partitions',
    })),
  );
}

/** Until when the walk test of a partition lasts, in milliseconds of the bridge's clock; it may end before. */
export const testEnds = ({ clock }: StatusDocument, leftS: number): number => Date.parse(clock.now) + leftS * 1000;

/** Nobody may take a site for watched of which something is not (safety 1). */
function unwatched(status: StatusDocument, zones: Zones, { t, hour }: Words): Finding[] {
  return status.partitions.flatMap(({ id, name, test, memory, alarm }) => {
    const left = zones.filter(({ partitions, bypassed }) => bypassed && partitions.includes(id));
    const found: Finding[] = [];
    if (test !== undefined)
      found.push({
        ...{ key: `test ${id}`, tone: 'note', at: 'walk', remedy: t('now.testRemedy') },
        text: t('now.test', { partition: name, time: hour(testEnds(status, test.left_s)) }),
      });
    if (left.length > 0)
      found.push({
        ...{ key: `left out ${id}`, tone: 'note', at: 'partitions', remedy: t('now.leftOutRemedy') },
        text: t('now.leftOut', { partition: name, zones: left.map((zone) => zone.name).join(', ') }),
      });
    if (alarm === null && memory.length > 0)
      found.push({
        ...{ key: `memory ${id}`, tone: 'note', at: 'events', remedy: t('now.memoryRemedy') },
        text: t('now.memory', {
          partition: name,
          zones: memory.map((zone) => status.zone_names[zone] ?? zone).join(', '),
        }),
      });
    return found;
  });
}

/** A part whose fault is that of a device or of the cloud, which is named with it. */
function isNamed(part: string, { cameras, panels, speakers = [], links }: StatusDocument): boolean {
  const isDown = (all: readonly { up: boolean | null }[]) => all.some(({ up }) => up === false);
  if (part === 'cameras' || part === 'streams') return isDown(cameras);
  if (part === 'panels' || part === 'receiver') return isDown(panels);
  if (part === 'audio') return isDown(speakers);
  return part === 'delivery' && isDown(links.filter(({ kind }) => kind === 'cloud'));
}

function protection(status: StatusDocument, { t }: Words): Finding[] {
  const { ready, parts, config, clock } = status;
  const found: Finding[] = [];
  if (!ready) found.push({ key: 'ready', tone: 'bad', text: t('now.notReady'), remedy: t('now.notReadyRemedy') });
  for (const { name, state, reason } of parts)
    if (state !== 'ok' && !(state === 'degraded' && isNamed(name, status)))
      found.push({
        key: `part ${name}`,
        tone: state === 'down' ? 'bad' : 'note',
        text: t(state === 'down' ? 'now.partDown' : 'now.partDegraded', { name }),
        ...(reason !== undefined && { why: reason }),
        remedy: t('now.partRemedy'),
      });
  if (config.last_good)
    found.push({
      ...{ key: 'config', tone: 'bad', text: t('now.lastGood'), remedy: t('now.lastGoodRemedy') },
      ...(config.error !== undefined && { why: config.error }),
    });
  if (clock.quality === 'doubtful')
    found.push({ key: 'clock', tone: 'note', text: t('now.clock'), remedy: t('now.clockRemedy') });
  return found;
}

function devices({ cameras, panels, speakers = [] }: StatusDocument, { t, word }: Words): Finding[] {
  return [...panels, ...cameras, ...speakers]
    .filter(({ up }) => up === false)
    .map(({ kind, id, reason }) => ({
      key: `${kind} ${id}`,
      tone: 'bad',
      text: t('now.deviceDown', { kind: word('kind', kind), id }),
      ...(reason !== undefined && { why: reason }),
      remedy: word('deviceRemedy', kind),
      at: 'devices',
    }));
}

/** A device, or the cloud, that is named already because it does not answer. */
function isOfLink(kind: string, device: string, { cameras, panels, speakers = [], links }: StatusDocument): boolean {
  const isDown = links.some((link) => link.kind === 'cloud' && link.up === false);
  if (kind === 'comm_fail') return isDown;
  if (kind !== 'device_offline' && kind !== 'panel_offline') return false;
  return [...panels, ...cameras, ...speakers].some((one) => one.up === false && `${one.kind} ${one.id}` === device);
}

const troubles = (status: StatusDocument, { t, word, time }: Words): Finding[] =>
  status.troubles
    .filter(({ kind, device, zone }) => zone !== undefined || !isOfLink(kind, device, status))
    .map(({ kind, device, partition, zone, since }) => ({
      key: `trouble ${kind} ${device} ${partition ?? ''} ${zone ?? ''}`,
      tone: 'note',
      text: t('now.trouble', {
        kind: word('event', kind),
        device: zone === undefined ? device : (status.zone_names[zone] ?? zone),
      }),
      why: t('now.since', { time: time(since) }),
      remedy: word('remedy', kind),
    }));

function cloud({ links, outbox, clock, parts }: StatusDocument, { t, time }: Words): Finding[] {
  const link = links.find(({ kind }) => kind === 'cloud');
  const found: Finding[] = [];
  if (link?.up === false) {
    const reason = link.reason ?? parts.find(({ name }) => name === 'delivery')?.reason;
    const count = waitingIn(outbox);
    const why = [...(reason === undefined ? [] : [reason]), ...(count > 0 ? [t('now.waiting', { count })] : [])];
    found.push({
      ...{ key: 'cloud', tone: 'note', text: t('now.cloudDown'), remedy: t('now.cloudRemedy') },
      ...(why.length > 0 && { why: why.join('. ') }),
    });
  }
  if (outbox === null)
    return [...found, { key: 'outbox', tone: 'bad', text: t('now.noCount'), remedy: t('now.noCountRemedy') }];
  if (outbox.parked > 0)
    found.push({
      ...{ key: 'parked', tone: 'bad', text: t('now.parked', { count: outbox.parked }), at: 'outbox' },
      remedy: t('now.parkedRemedy'),
    });
  const waiting = waitingIn(outbox);
  const isOld = outbox.oldest !== null && Date.parse(clock.now) - Date.parse(outbox.oldest) > 60_000;
  if (waiting > 0 && isOld && link?.up !== false && !hasNoCloud(link))
    found.push({
      ...{ key: 'waiting', tone: 'note', text: t('now.waiting', { count: waiting }), at: 'outbox' },
      ...(outbox.oldest !== null && { why: t('now.since', { time: time(outbox.oldest) }) }),
    });
  return found;
}

/** Events of all lanes that wait for the cloud; none where they cannot be counted. */
export const waitingIn = (outbox: StatusDocument['outbox'] | undefined): number =>
  Object.values(outbox?.waiting ?? {}).reduce((sum, count) => sum + count, 0);

/** Of a site that works without a cloud: its events are kept, and wait for nothing. */
export const hasNoCloud = (link: StatusDocument['links'][number] | undefined): boolean =>
  link?.up === null && link.reason !== undefined;

const hints = ({ hints: open }: StatusDocument, _words: Words): Finding[] =>
  open.map(({ device, about, text }) => ({ key: `hint ${device} ${about}`, tone: 'note', text: `${device}: ${text}` }));
