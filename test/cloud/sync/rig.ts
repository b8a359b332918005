import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { createCloudClient } from '#cloud/client/index.ts';
import type { ArmingState } from '#cloud/contract/index.ts';
import {
  type ArmingSync,
  createArmingSync,
  createSiteSettings,
  createSiteStanding,
  type SiteSettings,
  type SiteStanding,
} from '#cloud/sync/index.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import { type SandboxCloud, seedSchema, startCloud } from '#sandbox/cloud/index.ts';
import { type Controller, createController } from '#site/controller.ts';
import type {
  AuditEntry,
  ClockQuality,
  Command,
  CommandResult,
  PartitionPlan,
  SiteEvent,
  SitePlan,
  SiteView,
} from '#site/model/index.ts';
import { openStore, type Store } from '#site/store/index.ts';
import { type Line, lineTo, quiet, until } from '../support.ts';

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;

const secret = 'sync-partner-secret';
const idSpace = '3a0e2f5c-8f57-4c0e-9b0a-2d6b2f1f6a11';

export const part = (id: string, name: string, more: Partial<PartitionPlan> = {}): PartitionPlan => ({
  ...{ id, name, authority: 'engine', exitDelayMs: 0, entryDelayMs: 0, abortDelayMs: 0, cancelWindowMs: 0 },
  ...{ exitRestart: false, autoStay: false },
  ...more,
});

export const shop = (more: Partial<SitePlan> = {}): SitePlan => ({
  siteId: '1',
  securityType: 3,
  partitions: [part('p1', 'Shop')],
  zones: [],
  cameras: [],
  media: { snapshots: 1, intervalMs: 1000, maxPerEvent: 4 },
  disarmNeedsCode: true,
  confirmMs: 10_000,
  signalRestores: false,
  swingerTrips: 0,
  crossZones: [],
  ...more,
});

/**
 * A site with its real store and controller, the sandbox cloud behind real sockets on a line that can be cut, and the
 * sync between them. Only the clock is the test's: hours pass as fast as the requests are answered.
 */
export interface SyncRig {
  readonly cloud: SandboxCloud;
  readonly line: Line;
  readonly clock: ManualClock;
  readonly events: SiteEvent[];
  readonly dir: string;
  controller: Controller;
  store: Store;
  sync: ArmingSync;
  settings: SiteSettings;
  standing: SiteStanding;
  quality: ClockQuality;
  readonly paths: { readonly status: string; readonly settings: string; readonly site: string };
  state(partition?: string): string | undefined;
  /** The cloud's own word, read beside the line. */
  held(): Promise<string>;
  /** The operator writes it on the cloud's page. */
  press(status: ArmingState): Promise<void>;
  setType(type: number): Promise<void>;
  person(verb: 'arm' | 'disarm', more?: Partial<Command>): Promise<CommandResult>;
  pass(ms: number): Promise<void>;
  /** What the bridge wrote, or tried to write, in order. */
  readonly puts: string[];
  conflicts(): readonly SiteEvent[];
  audit(kind?: string): Promise<readonly AuditEntry[]>;
  /** Ends the process as a power cut would: nothing is stopped, the state on disk is what there is. */
  crash(options?: { plan?: SitePlan; newBoot?: boolean }): Promise<void>;
  close(): Promise<void>;
}

export async function startSyncRig(
  options: { plan?: SitePlan; speaks?: boolean; type?: number; everyMs?: number; calmMs?: number } = {},
): Promise<SyncRig> {
  const clock = manualClock(Date.UTC(2026, 10, 2, 21));
  const dir = mkdtempSync(join(tmpdir(), 'siteward-sync-'));
  const cloud = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    clients: [{ clientId: 'partner-1', clientSecret: secret }],
    clock,
    tokenLifeS: 3600,
    dealers: seedSchema.parse({
      dealers: [
        {
          dealer_id: 1,
          external_dealer_id: 'd1',
          sites: [
            {
              ...{ site_id: 1, external_site_id: 'hq', name: 'Shop', is_activated: 1, linked: true },
              ...{ timezone: 'Europe/Berlin' },
              security_type: options.type ?? 3,
            },
          ],
        },
      ],
    }).dealers,
  });
  const line = await lineTo(cloud.url);
  const client = (url: string) =>
    createCloudClient({
      ...{ baseUrl: url, authUrl: cloud.url, clientId: 'none', keys: { current: { pem: new Secret('') } } },
      partner: { clientId: 'partner-1', secret: new Secret(secret) },
      ...{ clock, log: quiet, random: () => 0.5 },
    });
  const bridge = client(line.url);
  const operator = client(cloud.url);
  const place = { dealerId: '1', siteId: '1' };
  const { signal } = new AbortController();
  const events: SiteEvent[] = [];
  const timers = new Set<{ at: number; run: () => void }>();
  let life = 0;
  let busy = 0;
  let commands = 0;

  /** Counts what is under way, so that the clock stands still until it has ended. */
  async function counted<T>(work: Promise<T>): Promise<T> {
    busy += 1;
    try {
      return await work;
    } finally {
      // What follows from it begins before the count falls.
      setImmediate(() => {
        busy -= 1;
      });
    }
  }

  async function begin(plan: SitePlan): Promise<void> {
    life += 1;
    const mine = life;
    const alive = () => mine === life;
    const store = openStore({ dir, clock, log: quiet, metrics: new Registry() });
    await store.start(signal);
    rig.store = store;
    rig.controller = createController({
      ...{ plan, store, clock, log: quiet, bridgeId: idSpace, metrics: new Registry() },
      quality: () => rig.quality,
      ports: {
        publish: {
          state: (view: SiteView) => void (alive() && rig.sync?.siteChanged(view)),
          event: (event) => void events.push(event),
        },
        panels: { send: () => undefined },
        capture: { capture: () => undefined },
        sound: { hush: () => undefined, decided: () => undefined },
        delivery: { wake: () => undefined, direct: () => undefined },
        encode: (event) => JSON.stringify({ event_id: event.event_id }),
      },
    });
    await rig.controller.start(signal);
    const { api, manage } = bridge;
    const site = {
      view: () => rig.controller.view(),
      submit(command: Command, reply: (result: CommandResult) => void) {
        void counted(
          new Promise<void>((resolve) =>
            rig.controller.submit(command, (result) => {
              if (alive()) reply(result);
              if (result.final) resolve();
            }),
          ),
        );
      },
      tell: (news: Parameters<Controller['tell']>[0]) => counted(rig.controller.tell(news)),
      signals: (signals: Parameters<Controller['signals']>[0]) => counted(rig.controller.signals(signals)),
    };
    const kept = store.memory('cloud-arming');
    const memory = {
      get: (key: string) => counted(kept.get(key)),
      set: (key: string, value: string) => counted(kept.set(key, value)),
      delete: (key: string) => counted(kept.delete(key)),
    };
    rig.standing = createSiteStanding({
      manage: { getSite: (input) => counted(manage.getSite(input)) },
      ...{ place, site, memory, clock, log: quiet, metrics: new Registry(), confirmMs: 5, calmMs: options.calmMs ?? 0 },
      onChanged(isOpen) {
        if (!alive()) return;
        rig.sync.standingChanged(isOpen);
        rig.settings.retryNow();
      },
    });
    await rig.standing.load();
    rig.sync = createArmingSync({
      api: {
        getArmingStatus: (input) => counted(api.getArmingStatus(input)),
        updateArmingStatus(input) {
          rig.puts.push(JSON.parse(input.encoded ?? '{}').status);
          return counted(api.updateArmingStatus(input));
        },
      },
      ...{ place, form: 'status', idSpace, site, memory, clock, log: quiet },
      speaks: options.speaks ?? true,
      standing: rig.standing,
      metrics: new Registry(),
      random: () => 0.5,
      timer(ms, run) {
        const timer = { at: clock.monotonic() + ms, run: () => void (alive() && run()) };
        timers.add(timer);
        return () => void timers.delete(timer);
      },
    });
    rig.settings = createSiteSettings({
      ...{ manage, standing: rig.standing, place, site, memory, log: quiet },
      everyMs: options.everyMs ?? 3_600_000,
      lostEveryMs: 20,
    });
    await rig.sync.start(signal);
    await rig.settings.start(signal);
    await idle();
  }

  const idle = () => until('the requests end', () => busy === 0);

  const rig: SyncRig = {
    ...{ cloud, line, clock, events, dir, puts: [], quality: 'synced' },
    // Filled in by `begin`, before anybody can use them.
    ...({} as Pick<SyncRig, 'controller' | 'store' | 'sync' | 'settings' | 'standing'>),
    paths: {
      status: '/partner/v1/dealers/1/sites/1/arming-status',
      settings: '/partner/v1/dealers/1/sites/1/arming-settings',
      site: '/partner/v1/dealers/1/sites/1',
    },
    state: (partition = 'p1') => rig.controller.view().partitions.find(({ id }) => id === partition)?.state,
    async held() {
      const { value } = await operator.manage.getArmingStatus({ params: place, signal });
      return value.status ?? 'unknown';
    },
    async press(status) {
      await operator.manage.updateArmingStatus({ params: place, body: { status }, signal });
    },
    async setType(type) {
      await operator.manage.updateArmingSettings({ params: place, body: { security_type: type }, signal });
    },
    person(verb, more = {}) {
      commands += 1;
      const id = `00000000-0000-4000-8000-${String(commands).padStart(12, '0')}`;
      const about = { id, verb, partition: 'p1', issuedAt: clock.wall(), source: 'lan', client: 'keypad' } as const;
      return new Promise((resolve) =>
        rig.controller.submit({ ...about, actor: 'anna', code: 'ok', bodyHash: id, ...more }, (result) => {
          if (result.final) resolve(result);
        }),
      );
    },
    async pass(ms) {
      const end = clock.monotonic() + ms;
      for (;;) {
        await idle();
        const next = [...timers].reduce<{ at: number; run: () => void } | undefined>(
          (first, one) => (first === undefined || one.at < first.at ? one : first),
          undefined,
        );
        if (next === undefined || next.at > end) break;
        clock.advance(Math.max(0, next.at - clock.monotonic()));
        timers.delete(next);
        next.run();
      }
      clock.advance(end - clock.monotonic());
    },
    conflicts: () => events.filter(({ kind }) => kind === 'arming_conflict'),
    async audit(kind) {
      const found = await rig.store.audit({ limit: 200 });
      return found.filter((entry) => kind === undefined || entry.kind === kind);
    },
    async crash({ plan = options.plan ?? shop(), newBoot = false } = {}) {
      const old = {
        sync: rig.sync,
        controller: rig.controller,
        store: rig.store,
        settings: rig.settings,
        standing: rig.standing,
      };
      life += 1;
      timers.clear();
      // The files are closed as they are: the sync writes nothing when it ends.
      old.standing.stop();
      await old.settings.stop();
      await old.sync.stop();
      await old.store.stop();
      // It has nothing to write to any more, and would wait for that.
      void old.controller.stop();
      if (newBoot) clock.bootId = `00000000-0000-4000-8000-00000000000${life}`;
      await begin(plan);
    },
    async close() {
      life += 1;
      rig.standing.stop();
      await rig.settings.stop();
      await rig.sync.stop();
      await rig.controller.stop();
      await rig.store.stop();
      await Promise.all([bridge.close(), operator.close()]);
      await line.close();
      await cloud.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await begin(options.plan ?? shop());
  return rig;
}
