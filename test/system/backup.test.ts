import { afterEach, describe, expect, test, vi } from 'vitest';
import { authorise, commission, eventIds, events, installed, newBox, property, startCloud, tell } from './box.ts';
import type { Machine } from './machine.ts';
import { versions } from './versions.ts';

const passphrase = 'correct horse battery staple';
const file = '/home/tech/shop.age';

let boxes: Machine[] = [];
afterEach(async () => {
  for (const box of boxes) await box.remove();
  boxes = [];
});

/** A box with siteward and a technician, who is root by sudo alone. */
async function box(): Promise<Machine> {
  const one = await newBox();
  boxes.push(one);
  await installed(one, versions.now);
  await one.sh('useradd --create-home tech; echo "tech ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/tech');
  return one;
}

/** As the technician types it; the passphrase comes by standard input. */
const tech = (one: Machine, ...command: readonly string[]) =>
  one.pipe(`${passphrase}\n`, 'runuser', '-u', 'tech', '--', ...command);

async function done(one: Machine, ...command: readonly string[]): Promise<string> {
  const { code, out, err } = await tech(one, ...command);
  expect(code, `${command.join(' ')}: ${out}${err}`).toBe(0);
  return err;
}

/** What waits for the cloud on an armed site, whose backup is made then. */
async function backedUp(one: Machine): Promise<readonly string[]> {
  await commission(one);
  for (const detector of ['smoke_1', 'smoke_2']) await tell(one, detector, { smoke: false, battery: 97 });
  await tell(one, 'window', { contact: true, battery: 97 });
  await one.sh('siteward arm --no-exit-delay');
  await tell(one, 'smoke_1', { smoke: true, battery: 97 });
  await tell(one, 'smoke_1', { smoke: false, battery: 97 });
  await vi.waitUntil(async () => (await eventIds(one)).length >= 3, { timeout: 30_000 });
  const said = await done(one, 'sudo', 'siteward', 'backup', '--passphrase-file', '-', file);
  expect(said).toContain('credential event-key of systemd');
  // The databases were kept still for it, and it is on record.
  expect(said).not.toContain('stopped');
  expect(await one.sh(`stat -c "%U %a" ${file}`)).toBe('root 600');
  return eventIds(one);
}

/** Each of these is taken by the cloud once, under the id it had on the box that made it. */
async function arrive(one: Machine, ids: readonly string[]): Promise<void> {
  await startCloud(one);
  await one.sh('systemctl reload siteward');
  await vi.waitUntil(
    async () => {
      const found = await events(one);
      return found.length >= ids.length && found.every(({ delivery }) => delivery !== 'waiting');
    },
    { timeout: 60_000, interval: 500 },
  );
  expect(await eventIds(one)).toEqual(expect.arrayContaining([...ids]));
  const lines = await one.sh('journalctl -u cloud -o cat --no-pager');
  const accepted = lines.match(/event \S+ \S+, accepted/g) ?? [];
  expect(new Set(accepted).size).toBe(accepted.length);
  for (const id of ids) expect(accepted.filter((line) => line.includes(id))).toHaveLength(1);
  expect(lines).not.toContain('repeat');
}

describe('a backup by a technician', () => {
  test('is refused without root, with what to do', async () => {
    const one = await box();
    const { code, err } = await tech(one, 'siteward', 'backup', '--passphrase-file', '-', file);
    expect(code).not.toBe(0);
    expect(err).toMatch(/root|sudo|permission|may not/i);
    expect((await one.run('test', '-e', file)).code).not.toBe(0);
  });

  test('brings all back after a purge', async () => {
    const one = await box();
    const ids = await backedUp(one);
    const key = await one.sh('cat /etc/siteward/secrets/event-key');
    await one.sh('dpkg --purge siteward; test ! -e /var/lib/siteward');
    await installed(one, versions.now);
    const early = await tech(one, 'sudo', 'siteward', 'restore', '--passphrase-file', '-', file);
    expect(early.code).not.toBe(0);
    expect(early.err).toContain('systemctl stop siteward');
    await done(one, 'sudo', 'systemctl', 'stop', 'siteward');
    const other = await tech(one, 'sudo', 'siteward', 'restore', '--passphrase-file', '-', file);
    expect(other.err).toContain('--replace first-day');
    await done(one, 'sudo', 'siteward', 'restore', '--passphrase-file', '-', '--replace', 'first-day', file);
    // The key lay beside the configuration; only the drop-in is systemd's.
    expect(await one.sh('cat /etc/siteward/secrets/event-key')).toBe(key);
    await authorise(one);
    await done(one, 'sudo', 'systemctl', 'start', 'siteward');
    expect(await property(one, 'ActiveState')).toBe('active');
    expect(await one.sh('siteward status')).toMatch(/p1 +Shop +armed/);
    await arrive(one, ids);
  });

  test('goes on another box, where what waited arrives once', async () => {
    const [from, to] = [await box(), await box()];
    const ids = await backedUp(from);
    const bytes = await from.sh(`base64 ${file}`);
    await from.cut();
    await to.pipe(bytes, 'sh', '-c', `base64 -d > ${file}`);
    await done(to, 'sudo', 'systemctl', 'stop', 'siteward');
    await done(to, 'sudo', 'siteward', 'restore', '--passphrase-file', '-', '--replace', 'first-day', file);
    await authorise(to);
    await done(to, 'sudo', 'systemctl', 'start', 'siteward');
    expect(await to.sh('siteward status')).toMatch(/p1 +Shop +armed/);
    // The daemon owns what root has put in place.
    expect(await to.sh('find /var/lib/siteward ! -user siteward')).toBe('');
    await tell(to, 'smoke_2', { smoke: true, battery: 97 });
    await vi.waitUntil(async () => (await eventIds(to)).length > ids.length, { timeout: 30_000 });
    await arrive(to, ids);
  });
});
