import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  back,
  commission,
  config,
  eventIds,
  events,
  installed,
  journal,
  newBox,
  property,
  startCloud,
  tell,
} from './box.ts';
import type { Machine } from './machine.ts';
import { versions } from './versions.ts';

/** One box for all of them, as one box lives through all of it. */
let box: Machine;
beforeAll(async () => {
  box = await newBox();
  await installed(box, versions.now);
  await commission(box);
});
afterAll(() => box.remove());

const ids = () => eventIds(box);

/** A fire at a detector that was quiet is an event more. */
async function alarm(): Promise<void> {
  const before = (await ids()).length;
  await tell(box, 'smoke_1', { smoke: false, battery: 97 });
  await tell(box, 'smoke_1', { smoke: true, battery: 97 });
  await vi.waitUntil(async () => (await ids()).length > before, { timeout: 30_000, interval: 200 });
}

const status = () => box.sh('siteward status');

describe('the service without any network', () => {
  test('is ready and makes an alarm, which waits for the cloud', async () => {
    expect(await box.sh('ls /sys/class/net')).toBe('lo');
    await alarm();
    expect(await status()).toMatch(/outbox: \d+ waiting/);
    expect(await box.sh('systemctl list-dependencies --after siteward')).not.toMatch(/network-online|time-sync/);
  });

  test('is rated 1.3 by the systemd it runs on', async () => {
    expect(await box.sh('systemd-analyze security siteward | tail -n 1')).toContain('1.3');
  });

  test('tells systemd what is wrong, by the daemon itself and no other process', async () => {
    await vi.waitUntil(async () => (await property(box, 'StatusText')).includes('delivery'), {
      timeout: 60_000,
      interval: 500,
    });
    expect(await property(box, 'NotifyAccess')).toBe('main');
    expect(
      await box.sh('cat /proc/$(systemctl show siteward --property=MainPID --value)/cmdline | tr "\\0" " "'),
    ).toMatch(/^\/usr\/lib\/siteward\/bin\/node /);
  });
});

describe('comes back with all it knew', () => {
  test.each([
    ['kill -9', 'SIGKILL'],
    ['a crash', 'SIGSEGV'],
    ['an end without being asked', 'SIGTERM'],
  ])('after %s', async (_, signal) => {
    await alarm();
    const [known, before] = [await ids(), await property(box, 'MainPID')];
    await box.sh(`kill -${signal.slice(3)} ${before}`);
    await back(box, before);
    expect(await ids()).toEqual(expect.arrayContaining(known));
    await alarm();
  });

  test('when it hangs: its watchdog ends it', async () => {
    await box.sh('mkdir -p /run/systemd/system/siteward.service.d');
    await box.write('/run/systemd/system/siteward.service.d/watchdog.conf', '[Service]\nWatchdogSec=6s\n');
    await box.sh('systemctl daemon-reload; systemctl restart siteward');
    const before = await property(box, 'MainPID');
    // Node's inspector, opened by this signal, has it run for ever.
    await box.sh(`kill -USR1 ${before}`);
    const hang = `
      const [{ webSocketDebuggerUrl: url }] = await (await fetch('http://127.0.0.1:9229/json')).json();
      const socket = new WebSocket(url);
      socket.onopen = () => socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: 'for (;;);' } }));
      setTimeout(() => process.exit(0), 1000);`;
    await vi.waitUntil(
      async () => (await box.pipe(hang, '/usr/lib/siteward/bin/node', '--input-type=module', '-')).code === 0,
      {
        timeout: 30_000,
        interval: 200,
      },
    );
    await back(box, before);
    expect(await journal(box)).toMatch(/Watchdog timeout/i);
    await box.sh('rm -r /run/systemd/system/siteward.service.d; systemctl daemon-reload; systemctl restart siteward');
    await alarm();
  });

  test('after many failures in a row: it is never given up', async () => {
    await box.sh('mkdir -p /run/systemd/system/siteward.service.d');
    await box.write(
      '/run/systemd/system/siteward.service.d/fail.conf',
      '[Service]\nRestartSec=100ms\nExecStartPre=/bin/false\n',
    );
    await box.sh('systemctl daemon-reload; systemctl restart siteward || :');
    await vi.waitUntil(async () => Number(await property(box, 'NRestarts')) > 12, { timeout: 60_000, interval: 200 });
    await box.sh('rm -r /run/systemd/system/siteward.service.d; systemctl daemon-reload');
    await back(box);
  });

  test('after a restart of the machine, armed as it was', async () => {
    await tell(box, 'smoke_1', { smoke: false, battery: 97 });
    await tell(box, 'smoke_2', { smoke: false, battery: 97 });
    await tell(box, 'window', { contact: true, battery: 97 });
    await box.sh('siteward arm --no-exit-delay');
    const known = await ids();
    await box.reboot();
    await back(box);
    expect(await ids()).toEqual(expect.arrayContaining(known));
    expect(await status()).toMatch(/p1 +Shop +(armed|triggered)/);
    await alarm();
  });

  test('after the power was cut', async () => {
    await alarm();
    const known = await ids();
    await box.cut();
    await box.boot();
    await back(box);
    expect(await ids()).toEqual(expect.arrayContaining(known));
    expect(await status()).toMatch(/p1 +Shop +(armed|triggered)/);
    await alarm();
  });
});

describe('what is wrong with what it is given', () => {
  test('a key that is missing or of no use stops neither the start nor an alarm, and is told', async () => {
    const key = '/etc/siteward/secrets/event-key';
    for (const harm of [`mv ${key} /root/key`, `echo no key > ${key}`, `rm ${key}; mkdir ${key}`]) {
      await box.sh(harm);
      await box.run('systemctl', 'restart', 'siteward');
      await back(box);
      await alarm();
      expect(await status(), harm).toMatch(/delivery +(degraded|down)/);
      await box.sh(`rm -rf ${key}`);
    }
    await box.sh(`mv /root/key ${key}; systemctl restart siteward`);
    await back(box);
  });

  test('a configuration with errors changes nothing at a reload, and the last good one counts at a start', async () => {
    const text = await box.sh(`cat ${config}`);
    await box.write(config, text.replace('type: fire', 'type: fyre'));
    await box.run('systemctl', 'reload', 'siteward');
    expect(await status()).toContain('last reload refused: /etc/siteward/siteward.yaml:13:');
    await alarm();
    await box.sh('systemctl restart siteward');
    await back(box);
    expect(await status()).toMatch(/last good/);
    await alarm();
    await box.write(config, `${text}\n`);
    await box.sh('systemctl reload siteward');
    expect(await status()).not.toMatch(/refused|last good/);
  });
});

test('all that waited reaches the cloud, each event once', async () => {
  await startCloud(box);
  await box.sh('systemctl reload siteward');
  await vi.waitUntil(async () => !/outbox: [1-9]\d* waiting/.test(await status()), { timeout: 120_000, interval: 500 });
  const accepted = (await box.sh('journalctl -u cloud -o cat --no-pager')).match(/event \S+ \S+, accepted/g) ?? [];
  const sent = (await events(box)).filter(({ delivery }) => delivery === 'delivered');
  expect(sent.length).toBeGreaterThan(10);
  expect(accepted.length).toBe(sent.length);
  expect(new Set(accepted).size).toBe(sent.length);
});
