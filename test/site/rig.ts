import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { type Controller, createController } from '#site/controller.ts';
import type {
  CaptureJob,
  Changes,
  Command,
  CommandResult,
  PanelCommand,
  PartitionState,
  SiteEvent,
  SitePlan,
  SiteView,
} from '#site/model/index.ts';
import { type Commit, type OutboxRow, openStore, type Store } from '#site/store/index.ts';

const noRules = {
  exitDelayMs: 0,
  entryDelayMs: 0,
  abortDelayMs: 0,
  cancelWindowMs: 300_000,
  exitRestart: false,
  autoStay: false,
} as const;

export const plan: SitePlan = {
  siteId: '4711',
  securityType: 3,
  partitions: [
    { id: 'p1', name: 'Shop', authority: 'engine', ...noRules, entryDelayMs: 60_000 },
    { id: 'p2', name: 'Warehouse', authority: 'panel', panel: 'main', ...noRules },
  ],
  zones: [
    {
      number: '1',
      name: 'Window',
      type: 'perimeter',
      partitions: ['p1'],
      source: { kind: 'panel', id: 's' },
      cameras: ['yard'],
      detections: [],
    },
    {
      number: '9',
      name: 'Hold-up',
      type: 'panic_silent',
      partitions: ['p1'],
      source: { kind: 'panel', id: 's' },
      cameras: [],
      detections: [],
    },
  ],
  cameras: [{ id: 'yard', name: 'Yard', partitions: ['p1'], pictures: 'alarm' }],
  media: { snapshots: 1, intervalMs: 1000, maxPerEvent: 4 },
  disarmNeedsCode: true,
  confirmMs: 10_000,
  signalRestores: false,
  swingerTrips: 0,
  crossZones: [],
};

/** The real store with a hand on its commits: they can be held, or refused as a dying disk does. */
export interface Rig {
  readonly controller: Controller;
  readonly store: Store;
  readonly metrics: Registry;
  readonly dir: string;
  readonly shown: { readonly view: SiteView; readonly changes: Changes }[];
  readonly events: SiteEvent[];
  readonly direct: OutboxRow[];
  readonly captures: CaptureJob[];
  readonly panelCommands: PanelCommand[];
  readonly commits: Commit[];
  /** Calls to wake delivery, each with the number of commits tried so far. */
  readonly wakes: readonly number[];
  /** Partitions whose sound was to end, and how many commits the store had been given by then. */
  readonly hushed: readonly { readonly partition: string; readonly commits: number }[];
  /** Events the speakers were told of, each with its partition and how many commits the store had been given by then. */
  readonly decided: readonly {
    readonly event: SiteEvent;
    readonly partition: PartitionState | undefined;
    readonly commits: number;
  }[];
  /** All that the speakers were told, in its order. */
  readonly sound: readonly string[];
  /** While set, a commit waits for it before it reaches the disk. */
  hold: ((commit: Commit) => Promise<void>) | undefined;
  /** While true, every commit fails. */
  refuse: boolean;
  open(zone: string, open: boolean): Promise<void>;
  command(command: Partial<Command> & Pick<Command, 'verb'>): Promise<CommandResult>;
  state(partition?: string): string | undefined;
  /** As at SIGTERM; the folder stays. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

export async function startRig(options: { dir?: string; plan?: SitePlan; clock?: Clock } = {}): Promise<Rig> {
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'siteward-controller-'));
  const clock = options.clock ?? systemClock();
  const log = pino({ level: 'silent' });
  const metrics = new Registry();
  const real = openStore({ dir, clock, log, metrics: new Registry() });
  const shown: Rig['shown'] = [];
  const events: SiteEvent[] = [];
  const direct: OutboxRow[] = [];
  const captures: CaptureJob[] = [];
  const panelCommands: PanelCommand[] = [];
  const commits: Commit[] = [];
  const wakes: number[] = [];
  const hushed: { partition: string; commits: number }[] = [];
  const decided: Rig['decided'][number][] = [];
  const sound: string[] = [];
  const store = new Proxy(real, {
    get(target, name) {
      if (name !== 'commit') {
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return async (commit: Commit) => {
        commits.push(commit);
        if (rig.refuse) throw new SitewardError('store_failed', 'the disk does not answer');
        await rig.hold?.(commit);
        await target.commit(commit);
      };
    },
  });
  await store.start(new AbortController().signal);
  const controller = createController({
    plan: options.plan ?? plan,
    bridgeId: '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11',
    store,
    ports: {
      publish: {
        state: (view, changes) => void shown.push({ view, changes }),
        event: (event) => void events.push(event),
      },
      panels: { send: (command) => void panelCommands.push(command) },
      capture: { capture: (job) => void captures.push(job) },
      sound: {
        hush(partition) {
          hushed.push({ partition, commits: commits.length });
          sound.push(`hush ${partition}`);
        },
        decided(event, partition) {
          decided.push({ event, partition, commits: commits.length });
          sound.push(`${event.kind} ${event.status}`);
        },
      },
      delivery: { wake: () => void wakes.push(commits.length), direct: (rows) => void direct.push(...rows) },
      encode: (event) => JSON.stringify({ event_id: event.event_id }),
    },
    clock,
    quality: () => 'synced',
    log,
    metrics,
  });
  let stopped = false;
  const rig: Rig = {
    controller,
    store,
    metrics,
    dir,
    shown,
    events,
    direct,
    captures,
    panelCommands,
    commits,
    wakes,
    hushed,
    decided,
    sound,
    hold: undefined,
    refuse: false,
    open: (zone, open) =>
      controller.signals([{ kind: 'zone', source: { kind: 'panel', id: 's' }, zone, open, replay: false }]),
    command: (command) =>
      new Promise((resolve) => {
        const full: Command = {
          id: randomUUID(),
          partition: 'p1',
          issuedAt: clock.wall(),
          source: 'lan',
          client: 'keypad',
          code: command.verb === 'disarm' ? 'ok' : 'none',
          actor: 'anna',
          bodyHash: randomUUID(),
          ...(command.verb === 'arm' && { mode: 'away' }),
          ...command,
        };
        controller.submit(full, (result) => {
          if (result.final) resolve(result);
        });
      }),
    state: (partition = 'p1') => controller.view().partitions.find(({ id }) => id === partition)?.state,
    async stop() {
      if (stopped) return;
      stopped = true;
      await controller.stop();
      await store.stop();
    },
    async remove() {
      await rig.stop();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
  await controller.start(new AbortController().signal);
  return rig;
}
