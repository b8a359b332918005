import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { siteward } from '../cli/run-cli.ts';
import type { Accepted } from '../harness/cloud.ts';
import { askSocket } from '../harness/control.ts';
import { camera, code, type Site, startSite } from '../harness/site.ts';
import { withFile } from '../site/store/helpers.ts';
import { eachIdIsOneEvent } from './checks.ts';
import { outboxIsEmpty } from './outbox.ts';

/** A box dies with events on it that the cloud never got; another one goes on from a backup. */

const passphrase = 'four words of a passphrase';
const owner = { id: 'olga', password: 'a long walk along the river' };

let site: Site;
let folder = '';
let file = '';
beforeAll(async () => {
  site = await startSite({
    cameras: ['yard'],
    yaml: ({ cameras, folder: at }) => {
      mkdirSync(join(at, 'secrets'), { mode: 0o700 });
      writeFileSync(join(at, 'secrets', 'camera-gate'), 'a password of a gate\n', { mode: 0o600 });
      return `partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s }, { id: p2, name: Flat } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1, cameras: [yard] }
      "2": { type: panic_silent, name: Button, key: button, partition: p1 }
cameras:
${camera('yard', cameras.yard, 'partition: p1')}
  - { id: gate, url: "http://127.0.0.1:9/", username: x, password: { file: ${at}/secrets/camera-gate } }
media: { snapshots: 1 }
supervision: { cloud: { report_after: 1h }, cameras: { report_after: 1h } }
`;
    },
  });
  folder = site.folder;
  file = join(folder, 'passphrase');
  writeFileSync(file, `${passphrase}\n`, { mode: 0o600 });
}, 60_000);
afterAll(() => site?.close());

const contact = (closed: boolean) => site.lan.publish('zigbee2mqtt/window', JSON.stringify({ contact: closed }));
const disarm = () => site.lan.ask('disarm', { partition: 'p1', code });
const disarmFlat = () => site.lan.ask('disarm', { partition: 'p2', code });
const arm = () => site.lan.ask('arm', { partition: 'p1', mode: 'away', force: true, code });

interface Status {
  readonly partitions: readonly { readonly id: string; readonly state: string }[];
  readonly outbox: { readonly waiting: Readonly<Record<string, number>>; readonly media_waiting: number };
}
const status = async () => (await site.api('/api/v1/status')) as Status;
const states = async () => Object.fromEntries((await status()).partitions.map(({ id, state }) => [id, state]));

/** The window is broken while the shop is armed; the alarm is over, and the shop is armed anew. */
async function burglary(): Promise<void> {
  const before = site.lan.events.length;
  await contact(false);
  await eventually('the alarm', () =>
    site.lan.events.slice(before).some(({ event }) => event.class === 'alarm') ? true : undefined,
  );
  await contact(true);
  await disarm();
  await arm();
}

const run = (...args: string[]) =>
  siteward([...args, '--passphrase-file', file, '--config', site.config, '--socket', site.socket], {
    HARNESS_CODE: code,
  });

/** Ids of what waits, in the order of each partition. */
const waitingIn = (dir: string) =>
  withFile(join(dir, 'site.db'), (db) =>
    db
      .prepare<[], { eid: string; okey: string; silent: 0 | 1 }>(
        'SELECT eid, ev.okey AS okey, ev.silent AS silent FROM pend JOIN ev USING (seq) ORDER BY seq',
      )
      .all(),
  );

const epochIn = (dir: string) =>
  Number(/"epoch":(\d+)/.exec(readFileSync(join(dir, 'epoch.json'), 'utf8'))?.[1] ?? Number.NaN);

const accepted = async (ids: readonly string[]): Promise<readonly Accepted[]> =>
  (await site.cloud.events()).filter(({ event_id: id }) => ids.includes(id));

describe('a box swap', () => {
  it('loses no event, gives no number twice and disarms nothing', { timeout: 120_000 }, async () => {
    const state = join(folder, 'state');
    const claimed = (await site.api('/api/v1/access/claim-code')) as { claim_code: string };
    expect(
      await askSocket(site.socket, 'POST', '/api/v1/access/claim', {
        ...{ ...owner, code: claimed.claim_code, name: 'Olga', role: 'owner' },
      }),
    ).toMatchObject({ status: 200 });
    await contact(true);
    await arm();
    await outboxIsEmpty(site, { timeoutMs: 30_000 });
    await site.line.cut();
    await burglary();
    // A silent call waits as well, and stands in no count (safety 4).
    await site.lan.publish('zigbee2mqtt/button', JSON.stringify({ contact: true }));
    await site.lan.publish('zigbee2mqtt/button', JSON.stringify({ contact: false }));
    await burglary();
    await eventually('a picture that waits', async () =>
      (await status()).outbox.media_waiting > 0 &&
      readdirSync(join(state, 'spool'), { recursive: true }).some((name) => String(name).endsWith('.jpg'))
        ? true
        : undefined,
    );

    const out = join(folder, 'box.age');
    const made = await run('backup', out);
    expect({ code: made.code, err: made.code === 0 ? '' : made.err }).toEqual({ code: 0, err: '' });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
    const shown = await run('backup', '--show', out, '--json');
    const manifest = JSON.parse(shown.out) as { waiting: Record<string, number>; epoch: number };
    expect(manifest).toMatchObject({
      site: { external_id: 'proof' },
      running: true,
      partitions: { p1: 'armed_away', p2: 'disarmed' },
    });
    // What lies in `site.db`.
    const { activity: _, ...lanes } = manifest.waiting;
    const shownWaiting = Object.values(lanes).reduce((sum, count) => sum + count, 0);
    expect(shownWaiting).toBeGreaterThan(0);
    for (const text of [made.err, shown.out]) {
      expect(text).not.toContain(passphrase);
      expect(text).not.toContain('a password of a gate');
    }
    const audit = async () =>
      withFile(join(state, 'site.db'), (db) =>
        db
          .prepare<[], { record: string }>('SELECT record FROM audit ORDER BY n')
          .all()
          .map(({ record }) => record),
      );

    // What comes now is on the old box alone, which is switched off.
    await burglary();
    expect((await run('restore', out)).err).toContain('not disarmed');
    await site.daemon.stop();
    expect((await audit()).some((record) => record.includes('"action":"backup"'))).toBe(true);
    const old = { state: `${state}-a`, waiting: waitingIn(state), epoch: epochIn(state) };
    renameSync(state, old.state);
    const key = join(folder, 'event-key.pem');
    const was = new Map(
      [site.config, key, join(folder, 'secrets', 'camera-gate')].map((path) => [path, readFileSync(path, 'utf8')]),
    );
    for (const path of was.keys()) rmSync(path);

    const restored = await run('restore', out);
    expect({ code: restored.code, err: restored.code === 0 ? '' : restored.err }).toEqual({ code: 0, err: '' });
    for (const [path, text] of was) expect(readFileSync(path, 'utf8')).toBe(text);
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect(epochIn(state)).toBe(old.epoch + 1);
    const waiting = waitingIn(state);
    expect(waiting.filter(({ silent }) => silent === 0)).toHaveLength(shownWaiting);
    expect(waiting.filter(({ silent }) => silent === 1)).toHaveLength(1);
    expect(old.waiting.length).toBeGreaterThan(waiting.length);
    expect(old.waiting.slice(0, waiting.length)).toEqual(waiting);
    await site.daemon.restart();
    expect(existsSync(join(state, 'restore.json'))).toBe(false);
    expect(await states()).toEqual({ p1: 'armed_away', p2: 'unknown' });
    expect(await disarmFlat()).toMatchObject({ outcome: 'done', state: 'disarmed' });
    const people = (await site.api('/api/v1/access/people')) as { items: { id: string }[] };
    expect(people.items.map(({ id }) => id)).toEqual([owner.id]);

    await site.line.restore();
    await outboxIsEmpty(site, { timeoutMs: 60_000 });
    const ids = waiting.map(({ eid }) => eid);
    const arrived = await accepted(ids);
    expect(new Set(arrived.map(({ event_id: id }) => id))).toEqual(new Set(ids));
    expect(arrived.every(({ try_count: count }) => count === 1)).toBe(true);
    const shop = waiting.filter(({ okey }) => okey === 'p1').map(({ eid }) => eid);
    expect(shop.length).toBeGreaterThan(1);
    expect(arrived.map(({ event_id: id }) => id).filter((id) => shop.includes(id))).toEqual(shop);
    expect((await site.cloud.uploads()).some(({ event_id: id }) => ids.includes(id))).toBe(true);

    expect(arrived.filter(({ body }) => body.payload.kind === 'panic_silent')).toHaveLength(1);
    await burglary();
    await outboxIsEmpty(site, { timeoutMs: 60_000 });
    const epochs = (await site.cloud.events()).map(({ body }) => Number(body.payload.data.epoch));
    expect(Math.max(...epochs)).toBe(old.epoch + 1);

    // Somebody switches the old box on again after all.
    await site.daemon.stop();
    expect((await audit()).some((record) => record.includes('"action":"restore"'))).toBe(true);
    renameSync(state, `${state}-b`);
    renameSync(old.state, state);
    await site.daemon.restart();
    await outboxIsEmpty(site, { timeoutMs: 60_000 });
    const record = await site.cloud.events();
    expect(new Set(record.map(({ event_id: id }) => id)).size).toBe(record.length);
    eachIdIsOneEvent([], record);
    expect((await accepted(old.waiting.map(({ eid }) => eid))).length).toBe(old.waiting.length);

    // Nobody is there to put a backup of a stopped box on record: the next start does.
    await site.daemon.stop();
    for (const name of ['one.age', 'two.age']) expect((await run('backup', join(folder, name))).code).toBe(0);
    for (let start = 0; start < 2; start += 1) {
      await site.daemon.restart();
      await site.daemon.stop();
    }
    const told = (await audit()).filter((one) => one.includes('while siteward was stopped'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('"after":"2 while siteward was stopped, the last at ');
  });
});
