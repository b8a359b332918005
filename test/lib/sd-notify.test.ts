import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createNotifier, watchdogIntervalMs } from '#lib/sd-notify.ts';

const has = (tool: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`]);
    return true;
  } catch {
    return false;
  }
};
/** Debian packages systemd and perl-base; with CI=true they must be there. */
const missing = !process.env.CI && !(has('systemd-notify') && has('perl'));
/**
 * Stands in for systemd: prints each datagram as a line. Its plain recv drops the descriptor that the tool passes
 * along and waits for; socat keeps it, and the tool then waits for its whole five seconds.
 */
const receiverScript = `
  $| = 1;
  my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
  while (defined $socket->recv(my $text, 4096)) { print "$text\\n" }
`;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-notify-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe.skipIf(missing)('through the systemd-notify tool (needs systemd-notify and perl)', () => {
  let receiver: ChildProcess;
  let received = '';
  let socket: string;

  beforeEach(async () => {
    received = '';
    socket = join(dir, 'notify');
    receiver = spawn('perl', ['-MIO::Socket::UNIX', '-e', receiverScript, socket], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    receiver.stdout?.on('data', (bytes) => {
      received += bytes;
    });
    await vi.waitUntil(() => existsSync(socket), { timeout: 10_000 });
  });
  afterEach(async () => {
    receiver.kill('SIGKILL');
    await once(receiver, 'exit');
  });

  test('READY, STATUS and STOPPING arrive in the order of the calls', async () => {
    const failed = vi.fn();
    const notifier = createNotifier({ variables: { ...process.env, NOTIFY_SOCKET: socket }, failed });
    notifier.ready();
    notifier.status('armed away,\n2 events wait');
    notifier.stopping();
    await notifier.flush();
    await vi.waitUntil(() => received.includes('STOPPING=1'), { timeout: 10_000 });
    expect(failed).not.toHaveBeenCalled();
    expect(received).toMatch(/READY=1[\s\S]*STATUS=armed away, 2 events wait[\s\S]*STOPPING=1/);
    expect(received).toContain(`MAINPID=${process.pid}`);
  });

  test('of many waiting messages of one kind only the newest leaves', async () => {
    const notifier = createNotifier({ variables: { ...process.env, NOTIFY_SOCKET: socket } });
    for (let turn = 1; turn <= 50; turn += 1) notifier.status(`turn ${turn}.`);
    await notifier.flush();
    await vi.waitUntil(() => received.includes('turn 50.'), { timeout: 10_000 });
    expect(received.match(/STATUS=/g)).toHaveLength(2);
  });

  test('a reload says when it began', async () => {
    const notifier = createNotifier({ variables: { ...process.env, NOTIFY_SOCKET: socket } });
    notifier.reloading();
    await notifier.flush();
    await vi.waitUntil(() => /RELOADING=1\nMONOTONIC_USEC=\d+/.test(received), { timeout: 10_000 });
  });
});

test('a message that cannot be sent is reported, and the next one is tried', async () => {
  const failed = vi.fn();
  const notifier = createNotifier({ variables: { NOTIFY_SOCKET: join(dir, 'nobody'), PATH: dir }, failed });
  notifier.ready();
  notifier.watchdog();
  await notifier.flush();
  expect(failed).toHaveBeenCalledTimes(2);
});

test('a socket passed by systemd is written to directly', async () => {
  const fd = openSync(join(dir, 'passed'), 'w+');
  try {
    const names = [...Array(fd - 3).fill('other'), 'notify'];
    const notifier = createNotifier({
      variables: {
        NOTIFY_SOCKET: '/run/systemd/notify',
        LISTEN_PID: String(process.pid),
        LISTEN_FDS: String(names.length),
        LISTEN_FDNAMES: names.join(':'),
      },
    });
    notifier.ready();
    await notifier.flush();
    expect(readFileSync(join(dir, 'passed'), 'utf8')).toBe('READY=1');
  } finally {
    closeSync(fd);
  }
});

test('nothing is sent without NOTIFY_SOCKET', async () => {
  const failed = vi.fn();
  const notifier = createNotifier({ variables: { PATH: dir }, failed });
  notifier.ready();
  await notifier.flush();
  expect(failed).not.toHaveBeenCalled();
});

test.each([
  ['a third of what systemd allows', { WATCHDOG_USEC: '10000000' }, 3333],
  ['the same when the watchdog names this process', { WATCHDOG_USEC: '10000000', WATCHDOG_PID: '42' }, 3333],
  ['undefined for another process', { WATCHDOG_USEC: '10000000', WATCHDOG_PID: '43' }, undefined],
  ['undefined without a watchdog', {}, undefined],
  ['undefined for nonsense', { WATCHDOG_USEC: 'soon' }, undefined],
])('the watchdog interval is %s', (_name, variables, expected) => {
  expect(watchdogIntervalMs(variables, 42)).toBe(expected);
});
