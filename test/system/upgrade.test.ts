import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { commission, config, eventIds, events, install, installed, newBox, property, startCloud, tell } from './box.ts';
import type { Machine } from './machine.ts';
import { versions } from './versions.ts';

let box: Machine;
beforeEach(async () => {
  box = await newBox();
  await installed(box, versions.old);
  await commission(box);
});
afterEach(() => box.remove());

const ids = () => eventIds(box);
const code = '73914628';

/** Sets the version of a database file, as one of a siteward that is not written yet. */
const setSchema = (version: number) =>
  box.sh(`systemctl stop siteward; /usr/lib/siteward/bin/node -e '
    const Sqlite = require("/usr/lib/siteward/app/node_modules/better-sqlite3");
    const db = new Sqlite("/var/lib/siteward/site.db");
    db.pragma("user_version = ${version}");
    db.close()' && chown siteward: /var/lib/siteward/site.db*`);

const addUser = () =>
  box.pipe(`${code}\n`, 'siteward', 'user', 'add', 'anna', '--name', 'Anna', '--role', 'owner', '--code-stdin');

/** Done by Anna with her code: whoever gives one command after another has changed her mind, and the last one holds. */
async function byAnna(...verb: readonly string[]): Promise<void> {
  const { code: ended, err } = await box.pipe(`${code}\n`, 'siteward', ...verb, '--code-stdin');
  expect(ended, err).toBe(0);
}

/** As a technician types it. */
const upgrade = () => box.run('dpkg', '-i', `/packages/siteward_${versions.now}_amd64.deb`);

async function refused(why: RegExp): Promise<void> {
  const pid = await property(box, 'MainPID');
  const { code: ended, err } = await upgrade();
  expect(ended).not.toBe(0);
  expect(err).toMatch(why);
  expect(err).toContain('sudo SITEWARD_UPGRADE_ANYWAY=1 dpkg -i');
  expect(err).toContain('siteward: not upgraded; siteward runs on.');
  expect(await property(box, 'MainPID')).toBe(pid);
  expect(await box.sh('siteward --version')).toBe(versions.old);
  const { out } = await box.run('dpkg-query', '-W', '-f', `\${Status} \${Version}`, 'siteward');
  expect(out).toBe(`install ok installed ${versions.old}`);
}

describe('an upgrade', () => {
  test('waits while the site is armed or in alarm, with the reason, and the version before runs on; disarmed it goes through', async () => {
    await addUser();
    await tell(box, 'smoke_1', { smoke: false, battery: 97 });
    await tell(box, 'smoke_2', { smoke: false, battery: 97 });
    await tell(box, 'window', { contact: true, battery: 97 });
    await box.sh('siteward arm --no-exit-delay');
    const pid = await property(box, 'MainPID');
    await refused(/partition Shop \(p1\) is armed away/);
    expect(await box.sh('siteward status')).toMatch(/p1 +Shop +armed/);
    await tell(box, 'window', { contact: false, battery: 97 });
    await vi.waitUntil(async () => (await box.sh('siteward status')).includes('IN ALARM'), { timeout: 30_000 });
    await refused(/partition Shop \(p1\) is in alarm/);
    await byAnna('disarm');
    const { code: ended, err } = await upgrade();
    expect(ended, err).toBe(0);
    expect(await box.sh('siteward --version')).toBe(versions.now);
    expect(await property(box, 'MainPID')).not.toBe(pid);
    expect(await box.sh('siteward status')).toMatch(/p1 +Shop +disarmed/);
  });

  test('waits while people leave, come in, or a fire burns at a site that is not armed', async () => {
    await addUser();
    await box.sh(`sed -i 's/name: Shop }/name: Shop, exit_delay: 255s, entry_delay: 240s }/' ${config}
      echo '      "4": { type: entry_exit_1, name: Door, key: door, partition: p1 }' >> ${config}; siteward reload`);
    for (const detector of ['smoke_1', 'smoke_2']) await tell(box, detector, { smoke: false, battery: 97 });
    for (const detector of ['window', 'door']) await tell(box, detector, { contact: true, battery: 97 });
    await byAnna('arm', '--ask-code');
    await refused(/partition Shop \(p1\) is arming/);
    await byAnna('disarm');
    await byAnna('arm', '--no-exit-delay', '--ask-code');
    await tell(box, 'door', { contact: false, battery: 97 });
    await vi.waitUntil(async () => /p1 +Shop +pending/.test(await box.sh('siteward status')), { timeout: 30_000 });
    await refused(/partition Shop \(p1\) is in its entry delay/);
    await byAnna('disarm');
    await tell(box, 'smoke_1', { smoke: true, battery: 97 });
    await vi.waitUntil(async () => (await box.sh('siteward status')).includes('IN ALARM: fire'), { timeout: 30_000 });
    await refused(/partition Shop \(p1\) is in alarm/);
  });

  test('keeps configuration, arming and what waits; each event reaches the cloud once', async () => {
    await tell(box, 'window', { contact: true, battery: 97 });
    await box.sh('siteward arm --no-exit-delay');
    await tell(box, 'smoke_1', { smoke: true, battery: 97 });
    await tell(box, 'smoke_2', { smoke: true, battery: 97 });
    const before = await ids();
    expect(before.length).toBeGreaterThanOrEqual(3);
    const text = await box.sh(`cat ${config}`);
    await installed(box, versions.now);
    expect(await box.sh('siteward --version')).toBe(versions.now);
    expect(await property(box, 'ActiveState')).toBe('active');
    expect(await box.sh(`cat ${config}`)).toBe(text);
    expect(await ids()).toEqual(expect.arrayContaining(before));
    expect(await box.sh('siteward status')).toMatch(/p1 +Shop +(armed|triggered)/);
    expect(await box.sh(`stat -c "%U %a" /var/backups/siteward/${versions.old}`)).toBe('root 700');
    await box.sh(`test -s /var/backups/siteward/${versions.old}/site.db`);
    await startCloud(box);
    await box.sh('systemctl reload siteward');
    await vi.waitUntil(async () => (await events(box)).every(({ delivery }) => delivery !== 'waiting'), {
      timeout: 60_000,
      interval: 500,
    });
    const accepted = (await box.sh('journalctl -u cloud -o cat --no-pager')).match(/event \S+ \S+, accepted/g) ?? [];
    expect(new Set(accepted).size).toBe(accepted.length);
    const sent = (await events(box)).filter(({ delivery }) => delivery === 'delivered');
    expect(accepted.length).toBe(sent.length);
  });

  test('back to the older version needs only its package; two sets of databases are kept', async () => {
    await tell(box, 'smoke_1', { smoke: true, battery: 97 });
    const before = await ids();
    await installed(box, versions.now);
    const { code: ended, err } = await install(box, versions.old);
    expect(ended, err).toBe(0);
    expect(err).toContain(`going back from ${versions.now} to ${versions.old}`);
    expect(await box.sh('siteward --version')).toBe(versions.old);
    expect(await ids()).toEqual(expect.arrayContaining(before));
    await box.sh('mkdir /var/backups/siteward/0.0.1; touch -d "2020-01-01" /var/backups/siteward/0.0.1');
    await installed(box, versions.now);
    expect((await box.sh('ls /var/backups/siteward')).split('\n').sort()).toEqual([versions.old, versions.now]);
  });

  test('where the newer one has changed the database, the older one says so and takes over what waits; its own can be put back', async () => {
    await tell(box, 'smoke_1', { smoke: true, battery: 97 });
    const before = await ids();
    await installed(box, versions.now);
    await tell(box, 'smoke_2', { smoke: true, battery: 97 });
    const since = await ids();
    await setSchema(99);
    const said = await installed(box, versions.old);
    expect(said).toContain(`use-backup ${versions.old}`);
    expect(await box.sh('siteward status')).toContain('was written by a newer siteward');
    await vi.waitUntil(async () => (await ids()).length >= since.length, { timeout: 60_000, interval: 500 });
    expect(await ids()).toEqual(expect.arrayContaining(since));
    // What was set aside knew of the smoke; the detector tells it again.
    await tell(box, 'smoke_2', { smoke: true, battery: 97 });
    const refused = await box.run('/usr/lib/siteward/bin/use-backup', versions.old);
    expect(refused.code).toBe(65);
    await box.sh(`SITEWARD_UPGRADE_ANYWAY=1 /usr/lib/siteward/bin/use-backup ${versions.old}`);
    expect(await property(box, 'ActiveState')).toBe('active');
    expect(await box.sh('siteward status')).not.toContain('was written by a newer siteward');
    expect(await ids()).toEqual(expect.arrayContaining(before));
    expect(await box.sh('ls -d /var/lib/siteward/replaced-*')).toMatch(/replaced-\d/);
    expect(await box.sh('find /var/lib/siteward ! -user siteward')).toBe('');
    // Links as siteward could lay them, for each second of the next minutes.
    await box.sh(`install -d /root/elsewhere; now=$(date +%s); for i in $(seq 0 150); do
      ln -s /root/elsewhere /var/lib/siteward/replaced-$(date -u -d @$((now + i)) +%Y%m%dT%H%M%SZ); done`);
    const linked = await box.run('env', 'SITEWARD_UPGRADE_ANYWAY=1', '/usr/lib/siteward/bin/use-backup', versions.old);
    expect(linked.code).toBe(1);
    expect(await box.sh('stat -c %U /root/elsewhere; ls /root/elsewhere')).toBe('root');
    expect(await property(box, 'ActiveState')).toBe('active');
    expect(await ids()).toEqual(expect.arrayContaining(before));
    const wrong = await box.run('/usr/lib/siteward/bin/use-backup', '9.9.9');
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain(versions.old);
  });

  test('to one that does not start fails, and says how to go back', async () => {
    await box.write('/etc/systemd/system/siteward.service.d/broken.conf', '[Service]\nExecStartPre=/bin/false\n');
    const { code: ended, err } = await install(box, versions.now);
    expect(ended).not.toBe(0);
    expect(err).toContain(`${versions.now} is installed, but does not start`);
    expect(err).toContain(`dpkg -i siteward_${versions.old}_amd64.deb`);
    await box.sh('rm /etc/systemd/system/siteward.service.d/broken.conf; systemctl daemon-reload; dpkg --configure -a');
    expect(await property(box, 'ActiveState')).toBe('active');
  });

  test('keeps the databases of another state folder too, and puts them back there', async () => {
    await box.sh('systemctl stop siteward; install -d -o siteward -g siteward -m 0700 /srv/siteward');
    await box.write(
      '/etc/systemd/system/siteward.service.d/state.conf',
      '[Service]\nReadWritePaths=/srv/siteward\nNoExecPaths=/srv/siteward\n',
    );
    await box.sh(
      `echo 'store: { dir: /srv/siteward }' >> ${config}; systemctl daemon-reload; systemctl start siteward`,
    );
    await tell(box, 'smoke_1', { smoke: true, battery: 97 });
    const before = await ids();
    expect(before.length).toBeGreaterThan(0);
    await installed(box, versions.now);
    await box.sh(`SITEWARD_UPGRADE_ANYWAY=1 /usr/lib/siteward/bin/use-backup ${versions.old}`);
    expect(await property(box, 'ActiveState')).toBe('active');
    expect(await ids()).toEqual(expect.arrayContaining(before));
    expect(await box.sh('ls -d /srv/siteward/replaced-*')).toMatch(/replaced-\d/);
    // Where the configuration was taken away nothing says where its last good copy lies. None is left of before.
    await box.sh(`rm -rf /var/lib/siteward/*; mv ${config} /root/away.yaml`);
    const pid = await property(box, 'MainPID');
    const waits = await upgrade();
    expect(waits.code).not.toBe(0);
    expect(waits.err).toContain(`${config} is gone`);
    expect(await property(box, 'MainPID')).toBe(pid);
    const forced = await install(box, versions.now);
    expect(forced.code).not.toBe(0);
    expect(forced.err).toContain('the configuration of the first day does not take its place');
    expect((await box.run('test', '-e', config)).code).not.toBe(0);
    await box.sh(`mv /root/away.yaml ${config}; dpkg --configure -a`);
    expect(await property(box, 'ActiveState')).toBe('active');
    expect(await ids()).toEqual(expect.arrayContaining(before));
  });

  test('without enough room the older one runs on', async () => {
    await box.sh('mkdir -p /var/backups/siteward; mount -t tmpfs -o size=4m tmpfs /var/backups/siteward');
    const { code: ended, err } = await install(box, versions.now);
    expect(ended).not.toBe(0);
    expect(err).toMatch(/there is no room: \/var\/backups\/siteward needs/);
    expect(await box.sh('siteward --version')).toBe(versions.old);
    expect(await property(box, 'ActiveState')).toBe('active');
  });
});
