import { decide, type Effect, type Input, initialState, type SiteState } from '#site/core/index.ts';
import type {
  CameraPlan,
  Command,
  CommandResult,
  DetectionClass,
  EventDraft,
  PartitionPlan,
  Signal,
  SitePlan,
  Stamp,
  ZonePlan,
  ZoneType,
} from '#site/model/index.ts';

export const boot = 'boot-1';
export const stamp = (ms: number, more: Partial<Stamp> = {}): Stamp => ({
  mono: 1_000_000 + ms,
  wall: 1_800_000_000_000 + ms,
  boot,
  clock: 'synced',
  ...more,
});

export const zone = (number: string, type: ZoneType, more: Partial<ZonePlan> = {}): ZonePlan => ({
  number,
  name: `Zone ${number}`,
  type,
  partitions: ['p1'],
  source: { kind: 'panel', id: 'main' },
  cameras: [],
  detections: [],
  ...more,
});

export const camera = (id: string, more: Partial<CameraPlan> = {}): CameraPlan => ({
  id,
  name: id,
  partitions: ['p1'],
  pictures: 'alarm',
  ...more,
});

export const partition = (id: string, more: Partial<PartitionPlan> = {}): PartitionPlan => ({
  id,
  name: id,
  authority: 'engine',
  exitDelayMs: 60_000,
  entryDelayMs: 30_000,
  abortDelayMs: 0,
  cancelWindowMs: 300_000,
  exitRestart: false,
  autoStay: false,
  ...more,
});

/** A house with the engine as its authority: door, window, hall camera, and one zone of each kind that always watches. */
export const house = (more: Partial<SitePlan> = {}): SitePlan => ({
  siteId: 'hq',
  securityType: 3,
  partitions: [partition('p1')],
  zones: [
    zone('1', 'entry_exit_1', { cameras: ['yard'] }),
    zone('2', 'perimeter'),
    zone('3', 'interior_follower'),
    zone('4', 'day_trouble'),
    zone('10', 'fire'),
    zone('11', 'panic_audible'),
    zone('12', 'panic_silent'),
    zone('13', '24h_burglary'),
    zone('21', 'interior_follower', { source: { kind: 'camera', id: 'hall' } }),
  ],
  cameras: [camera('yard'), camera('hall', { zone: '21' })],
  media: { snapshots: 3, intervalMs: 2000, maxPerEvent: 6 },
  disarmNeedsCode: true,
  confirmMs: 10_000,
  signalRestores: false,
  swingerTrips: 0,
  crossZones: [],
  ...more,
});

/** The same house beside a panel that owns its partition. */
export const panelHouse = (more: Partial<SitePlan> = {}): SitePlan =>
  house({ securityType: 1, partitions: [partition('p1', { authority: 'panel', panel: 'main' })], ...more });

export interface World {
  readonly plan: SitePlan;
  state: SiteState;
  /** Milliseconds since the story began. */
  ms: number;
  clock: Stamp['clock'];
  /** Effects of the last input. */
  last: readonly Effect[];
  rules: readonly string[];
  readonly log: Effect[];
  send(input: Record<string, unknown> & { kind: Input['kind'] }): readonly Effect[];
  signal(signal: Signal): readonly Effect[];
  open(number: string, open?: boolean, more?: Partial<Signal>): readonly Effect[];
  sees(id: string, detection: DetectionClass, more?: Partial<Signal>): readonly Effect[];
  command(command: Partial<Command>): CommandResult;
  arm(more?: Partial<Command>): CommandResult;
  disarm(more?: Partial<Command>): CommandResult;
  /** Lets time pass and fires every timer that is due, in order. */
  pass(ms: number): readonly Effect[];
  word(id?: string): string | undefined;
  /** The answer that is kept of a command (C2). */
  kept(id: string): SiteState['commands'][number] | undefined;
  events(effects?: readonly Effect[]): readonly EventDraft[];
  kinds(effects?: readonly Effect[]): readonly string[];
}

export function world(plan: SitePlan = house(), options: { storeLost?: boolean; quiet?: boolean } = {}): World {
  let commands = 0;
  const self: World = {
    plan,
    state: initialState(plan, stamp(0), { storeLost: options.storeLost ?? false }),
    ms: 0,
    clock: 'synced',
    last: [],
    rules: [],
    log: [],
    send(input) {
      const at = stamp(self.ms, { clock: self.clock });
      const decision = decide(plan, self.state, { at, ...input } as Input);
      self.state = decision.state;
      self.last = decision.effects;
      self.rules = decision.rules;
      self.log.push(...decision.effects);
      return decision.effects;
    },
    signal: (signal) => self.send({ kind: 'signal', signal }),
    open: (number, open = true, more = {}) =>
      self.signal({
        kind: 'zone',
        source: { kind: 'panel', id: 'main' },
        zone: number,
        open,
        replay: false,
        ...more,
      } as Signal),
    sees: (id, detection, more = {}) =>
      self.signal({
        kind: 'detection',
        source: { kind: 'camera', id },
        detection,
        active: true,
        pulse: false,
        replay: false,
        topic: `tns1:${detection}`,
        ...more,
      } as Signal),
    command(more) {
      commands += 1;
      const base: Command = {
        id: `00000000-0000-4000-8000-${String(commands).padStart(12, '0')}`,
        verb: 'arm',
        partition: 'p1',
        issuedAt: stamp(self.ms).wall,
        source: 'lan',
        client: 'keypad',
        actor: 'anna',
        code: 'ok',
        bodyHash: `hash-${commands}`,
      };
      const effects = self.send({ kind: 'command', command: { ...base, ...more } });
      const reply = effects.findLast((effect) => effect.kind === 'reply');
      if (reply?.kind !== 'reply') throw new Error('a command was not answered');
      return reply.result;
    },
    arm: (more = {}) => self.command({ verb: 'arm', mode: 'away', ...more }),
    disarm: (more = {}) => self.command({ verb: 'disarm', ...more }),
    pass(ms) {
      const effects: Effect[] = [];
      const end = self.ms + ms;
      for (;;) {
        const due = Object.values(self.state.timers)
          .map((timer) => ({ id: timer.id, ms: timer.due.mono - stamp(0).mono }))
          .filter((timer) => timer.ms <= end)
          .sort((a, b) => a.ms - b.ms)[0];
        if (due === undefined) break;
        self.ms = Math.max(self.ms, due.ms);
        effects.push(...self.send({ kind: 'timer.fired', timer: due.id }));
      }
      self.ms = end;
      return effects;
    },
    word: (id = 'p1') => self.state.partitions[id]?.state,
    kept: (id) => self.state.commands.find((one) => one.id === id),
    events: (effects = self.last) => effects.flatMap((effect) => (effect.kind === 'event' ? [effect.event] : [])),
    kinds: (effects = self.last) => self.events(effects).map((event) => `${event.class}:${event.kind}:${event.status}`),
  };
  if (options.quiet !== false) quiet(self);
  return self;
}

/** Every device is there and every zone is closed. */
export function quiet(self: World): void {
  self.signal({ kind: 'link', source: { kind: 'panel', id: 'main' }, layer: 'bridge', up: true });
  for (const { id } of self.plan.cameras) {
    self.signal({ kind: 'link', source: { kind: 'camera', id }, layer: 'device', up: true });
  }
  for (const { number, source } of self.plan.zones) if (source.kind === 'panel') self.open(number, false);
  self.log.length = 0;
}

/** A quiet house, armed away, well after its exit delay. */
export function armed(plan: SitePlan = house(), mode: Command['mode'] & string = 'away'): World {
  const self = world(plan);
  self.arm({ mode });
  self.pass(10 * 60_000);
  self.log.length = 0;
  return self;
}

export const says = (state: string, more: Partial<Signal> = {}): Signal =>
  ({
    kind: 'partition',
    source: { kind: 'panel', id: 'main' },
    partition: 'p1',
    state,
    replay: false,
    ...more,
  }) as Signal;

export const link = (up: boolean, source: Signal['source'] = { kind: 'panel', id: 'main' }): Signal => ({
  kind: 'link',
  source,
  layer: source.kind === 'panel' ? 'bridge' : 'device',
  up,
});
