import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';

const start = join(import.meta.dirname, '../../tools/package/files/start');

/** Stands in for systemd: prints each datagram as a line. */
const receiver = `
  $| = 1;
  my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
  while (defined $socket->recv(my $text, 4096)) { print "$text\\n" }
`;

/** What the daemon does with what it is handed. */
const client = `
  const { LISTEN_PID: pid, LISTEN_FDS: count, LISTEN_FDNAMES: names = '' } = process.env;
  const index = names.split(':').indexOf('notify');
  if (index >= 0 && index < Number(count)) require('node:fs').writeSync(3 + index, 'READY=1 of ' + (pid === String(process.pid)));
  console.log(process.argv.slice(1).join());
`;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-start-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const run = (socket: string | undefined) =>
  execFileSync(start, [process.execPath, '-e', client, 'one', 'two words'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...(socket !== undefined && { NOTIFY_SOCKET: socket }) },
  });

test('what it starts has the notify socket, its own process id and its arguments', async () => {
  const socket = join(dir, 'notify');
  const systemd = spawn('perl', ['-MIO::Socket::UNIX', '-e', receiver, socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    systemd.kill('SIGKILL');
    await once(systemd, 'exit');
  });
  let received = '';
  systemd.stdout.on('data', (bytes) => {
    received += bytes;
  });
  await vi.waitUntil(() => existsSync(socket), { timeout: 10_000 });
  expect(run(socket)).toBe('one,two words\n');
  await vi.waitUntil(() => received === 'READY=1 of true\n', { timeout: 10_000 });
});

test('without a socket that answers it starts it all the same', () => {
  expect(run(undefined)).toBe('one,two words\n');
  expect(run(join(dir, 'none'))).toBe('one,two words\n');
});

test('a program that is not there is named', () => {
  expect(() => execFileSync(start, [join(dir, 'none')], { stdio: 'pipe' })).toThrow(
    /none cannot be started: No such file/,
  );
});
