import { SitewardError } from '#errors.ts';
import type {
  ArmingWord,
  Changes,
  Command,
  CommandResult,
  PanicCall,
  PartitionState,
  SiteEvent,
  SitePlan,
  SiteView,
  ZonePlan,
  ZoneState,
} from '#site/model/index.ts';
import { armedWord } from '#site/model/index.ts';
import { type FakeAudio, fakeAudio } from './audio.fake.ts';
import type { AuditLine } from './audit-feed.ts';
import type { SitePort } from './site-port.ts';

/** A site of two partitions that obeys at once. Its code is 48270391, its duress code 48270392. */
export interface FakeSite extends SitePort {
  readonly submitted: Command[];
  readonly called: PanicCall[];
  /** What each camera gives. */
  pictures: Record<string, Uint8Array | Error>;
  /** What becomes of calls for help instead of `done`. */
  callFailure: CommandResult['error'];
  /** Texts given to `checkCode`. */
  readonly checked: (string | undefined)[];
  readonly history: SiteEvent[];
  /** What `submit` answers instead of obeying. */
  refusal: CommandResult['error'];
  /** Partitions a command for all of them does not reach. */
  undone: NonNullable<CommandResult['undone']>;
  /** Called with each change, as the controller calls `publishState`. */
  onChange: (view: SiteView, changes: Changes) => void;
  setZone(number: string, change: Partial<ZoneState>): void;
  setPartition(id: string, state: ArmingWord): void;
  setLink(kind: 'panel' | 'camera', id: string, up: boolean): void;
  setTrouble(active: boolean): void;
  setPlan(change: Partial<SitePlan>): void;
  cloud: 'online' | 'offline';
  readonly sound: FakeAudio;
  /** The audit log. */
  readonly audit: AuditLine[];
  /** Panels that were asked to be shown. */
  readonly watched: (readonly [panel: string, minutes: number, client: string])[];
  /** How often it was read. */
  auditReads: number;
  /** Verbs whose retained command was refused. */
  readonly retained: string[];
}

const noChanges: Changes = { partitions: [], zones: [], troubles: false, links: false };
const at = Date.UTC(2026, 10, 27, 20, 0, 0);

export function fakeSite(options: { readonly zones?: number } = {}): FakeSite {
  const { zones = 3 } = options;
  let view = initialView(zones);

  function update(change: Partial<SiteView>, changes: Partial<Changes>): void {
    view = { ...view, ...change };
    site.onChange(view, { ...noChanges, ...changes });
  }

  function obey(command: Command, reply: (result: CommandResult) => void): void {
    const base = { commandId: command.id, at, partition: command.partition };
    const error = command.code === 'bad' ? ({ code: 'BAD_CODE' } as const) : site.refusal;
    if (error !== undefined) {
      reply({ ...base, outcome: 'refused', error, final: true });
      return;
    }
    reply({ ...base, outcome: 'accepted', final: false });
    const state = command.verb === 'arm' ? armedWord[command.mode ?? 'away'] : 'disarmed';
    for (const { id } of view.partitions) {
      if (command.partition === 'all' || command.partition === id) site.setPartition(id, state);
    }
    const seq = Math.max(...view.partitions.map((partition) => partition.seq));
    const [first] = site.undone;
    if (first === undefined) reply({ ...base, outcome: 'done', state, seq, final: true });
    else reply({ ...base, outcome: 'failed', error: { code: first.code }, undone: site.undone, final: true });
  }

  const sound = fakeAudio();
  const site: FakeSite = {
    sound,
    audio: sound.port,
    submitted: [],
    called: [],
    pictures: {},
    callFailure: undefined,
    checked: [],
    history: [],
    retained: [],
    audit: [],
    watched: [],
    auditReads: 0,
    refusal: undefined,
    undone: [],
    cloud: 'online',
    onChange: () => undefined,
    view: () => view,
    submit(command, reply) {
      site.submitted.push(command);
      obey(command, reply);
    },
    panic(call, reply) {
      site.called.push(call);
      const error = site.callFailure;
      const outcome = error === undefined ? ('done' as const) : ('failed' as const);
      reply({ commandId: call.id, outcome, ...(error !== undefined && { error }), at, final: true });
    },
    async snapshot(camera) {
      const picture = site.pictures[camera];
      if (picture === undefined) throw new SitewardError('camera_unknown', 'no such camera');
      if (picture instanceof Error) throw picture;
      return picture;
    },
    async checkCode(code) {
      site.checked.push(code);
      if (code === undefined) return { code: 'none' };
      if (code === '48270391') return { code: 'ok', actor: 'user 3' };
      return code === '48270392' ? { code: 'duress', actor: 'user 3' } : { code: 'bad' };
    },
    events: async (limit) => site.history.slice(0, limit),
    outbox: async () => ({ depth: 2, oldestS: 5, dropped: 0 }),
    cloudLink: () => site.cloud,
    watchPanel(panel, minutes, client) {
      site.watched.push([panel, minutes, client]);
      return panel === 'main';
    },
    async auditLines(after, limit) {
      site.auditReads += 1;
      if (after === undefined) return { lines: [], place: site.audit.length };
      const lines = site.audit.slice(after, after + limit).map((line, index) => ({ place: after + index + 1, line }));
      return { lines, place: after + lines.length };
    },
    retainedRefused: (verb) => void site.retained.push(verb),
    verifications: {
      list: () => [],
      ask: async () => ({ outcome: 'refused', code: 'NOT_CONFIGURED' }),
      answer: async (_, reply) => reply({ outcome: 'refused', error: { code: 'UNKNOWN_TARGET' }, at, final: true }),
    },
    setZone(number, change) {
      update(
        { zones: view.zones.map((zone) => (zone.number === number ? { ...zone, ...change } : zone)) },
        { zones: [number] },
      );
    },
    setPartition(id, state) {
      const mode = (Object.entries(armedWord).find(([, word]) => word === state)?.[0] ??
        null) as PartitionState['mode'];
      const partitions = view.partitions.map((partition) =>
        partition.id === id ? { ...partition, state, mode, seq: partition.seq + 1, source: 'lan' as const } : partition,
      );
      update({ partitions }, { partitions: [id] });
    },
    setLink(kind, id, up) {
      const others = view.links.filter((link) => link.source.kind !== kind || link.source.id !== id);
      update({ links: [...others, { source: { kind, id }, up }] }, { links: true });
    },
    setTrouble(active) {
      const trouble = { kind: 'ac_loss', source: { kind: 'panel', id: 'main' }, since: at } as const;
      update({ troubles: active ? [trouble] : [] }, { troubles: true });
    },
    setPlan: (change) => update({ plan: { ...view.plan, ...change } }, {}),
  };
  return site;
}

function initialView(count: number): SiteView {
  const numbers = Array.from({ length: count }, (_, index) => String(index + 1));
  const zones = numbers.map((number) => zonePlan(number, 'perimeter'));
  return {
    plan: planOf([...zones, zonePlan('99', 'panic_silent')]),
    partitions: [partitionState('p1'), partitionState('p2')],
    zones: [...numbers, '99'].map(zoneState),
    troubles: [],
    links: [{ source: { kind: 'panel', id: 'main' }, up: true }],
    epoch: 1,
    seq: 7,
    clock: 'synced',
    at,
    ready: {},
    delays: {},
  };
}

const noRules = {
  exitDelayMs: 0,
  entryDelayMs: 0,
  abortDelayMs: 0,
  cancelWindowMs: 300_000,
  exitRestart: false,
  autoStay: false,
} as const;

function planOf(zones: readonly ZonePlan[]): SitePlan {
  return {
    siteId: '4711',
    securityType: 1,
    partitions: [
      { ...noRules, id: 'p1', name: 'House', authority: 'panel', panel: 'main' },
      { ...noRules, id: 'p2', name: 'Yard', authority: 'engine' },
    ],
    zones,
    cameras: [{ id: 'yard', name: 'Yard', partitions: ['p2'], pictures: 'alarm' }],
    media: { snapshots: 3, intervalMs: 1000, maxPerEvent: 12 },
    disarmNeedsCode: true,
    confirmMs: 10_000,
    signalRestores: false,
    swingerTrips: 2,
    crossZones: [],
  };
}

const zonePlan = (number: string, type: ZonePlan['type']): ZonePlan => ({
  number,
  name: `Zone ${number}`,
  type,
  partitions: ['p1'],
  source: { kind: 'panel', id: 'main' },
  cameras: [],
  detections: [],
});

const zoneState = (number: string): ZoneState => ({
  number,
  open: false,
  alarm: false,
  tamper: false,
  bypassed: false,
  lowBattery: false,
  online: true,
  at,
});

const partitionState = (id: string): PartitionState => ({
  id,
  state: 'disarmed',
  mode: null,
  seq: 4,
  at,
  source: 'panel',
  stale: false,
  memory: [],
});
