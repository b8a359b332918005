import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { commission, installed, newBox } from './box.ts';
import type { Machine } from './machine.ts';
import { versions } from './versions.ts';

interface Found {
  readonly write: Readonly<Record<string, string>>;
  readonly calls: Readonly<Record<string, string>>;
  readonly runsFrom: Readonly<Record<string, string>>;
  readonly devices: readonly string[];
  readonly [name: string]: unknown;
}

let box: Machine;
let found: Found;
beforeAll(async () => {
  box = await newBox();
  await installed(box, versions.now);
  await commission(box);
  await box.sh(
    'systemctl stop siteward; mkdir -p /home/anna; echo secret > /home/anna/letter; echo secret > /root/letter; chmod 644 /home/anna/letter',
  );
  await box.write('/usr/share/probe.mjs', readFileSync(join(import.meta.dirname, 'probe.mjs'), 'utf8'));
  // The unit as it is, with the probe in the place of the daemon.
  await box.sh(`mkdir /etc/systemd/system/probe.service.d
    cp /etc/systemd/system/siteward.service.d/key.conf /etc/systemd/system/probe.service.d/
    sed -e 's|^ExecStart=\\(.*\\) /usr/lib/siteward/app/cli.js .*|ExecStart=\\1 /usr/share/probe.mjs|' -e 's/^Type=notify/Type=oneshot/' -e '/^Restart=/d' \
      -e '/^WatchdogS/d' -e '/^ExecReload=/d' /usr/lib/systemd/system/siteward.service > /etc/systemd/system/probe.service
    systemctl daemon-reload`);
  // A sound server of somebody else, as docs/audio.md lets siteward in.
  await box.sh(
    'systemd-run --quiet --unit=sound --property=User=pulse --property=RuntimeDirectory=sound --setenv=HOME=/run/sound --setenv=XDG_RUNTIME_DIR=/run/sound pulseaudio -n --exit-idle-time=-1 -L module-null-sink -L "module-native-protocol-tcp listen=127.0.0.1 auth-ip-acl=127.0.0.1"',
  );
  await vi.waitUntil(async () => (await box.sh('ss -Htln')).includes('127.0.0.1:4713'), {
    timeout: 30_000,
    interval: 200,
  });
  const { code } = await box.run('systemctl', 'start', 'probe');
  const said = await box.sh('journalctl -u probe -o cat --no-pager');
  const line = said.split('\n').find((one) => one.startsWith('probe '));
  if (code !== 0 || line === undefined) throw new Error(`the probe did not end well: ${said}`);
  found = JSON.parse(line.slice('probe '.length)) as Found;
});
afterAll(() => box.remove());

test('it writes its state, its configuration, its runtime folder and a /tmp of its own, and nothing else', () => {
  const mine = ['/etc/siteward/probe', '/var/lib/siteward/probe', '/run/siteward/probe', '/tmp/probe'];
  const written = Object.entries(found.write).flatMap(([path, said]) => (said === 'yes' ? [path] : []));
  expect(written.sort()).toEqual(mine.sort());
});

test('it sees no home, no secrets of others, no source of its own key, no other process', () => {
  expect(found.readHome).not.toContain('secret');
  expect(found.seeHome).not.toContain('anna');
  expect(found.readRoot).not.toContain('secret');
  expect(found.readShadow).toBe('EACCES');
  expect(found.readKey).toBe('EACCES');
  expect(found.credential).toBe('-----BEGIN');
  expect(found.processes).toBeLessThanOrEqual(2);
});

test('it loads no modules, mounts nothing, sets no clock, enters no name space', () => {
  expect([...new Set(Object.values(found.calls))]).toEqual(['EPERM']);
});

test('what it may write it may not run', () => {
  expect(found.runsFrom).toEqual({ state: 'EACCES', config: 'EACCES', tmp: 'EACCES' });
});

test('pictures and sound work in it: ffmpeg, ALSA, a sound server on loopback', () => {
  expect(found).toMatchObject({ ffmpeg: '', cards: '', sound: '' });
});

test('what it needs is there: interfaces, multicast, children, the boot id, WebAssembly', () => {
  expect(found).toMatchObject({ interfaces: 'lo', child: 'done', bootId: 37, webAssembly: 'object', multicast: 'yes' });
});
