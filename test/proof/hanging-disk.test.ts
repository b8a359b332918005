import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually, member } from '#sandbox/demo/processes.ts';
import { hangDisk, hasStrace } from '../harness/hanging-disk.ts';
import { type Site, startSite } from '../harness/site.ts';

/** A disk whose syncs do not return. systemd waits 30 s for a stop (systemd/siteward.service). */
let site: Site | undefined;
let hang: ChildProcess | undefined;
afterEach(async () => {
  hang?.kill('SIGKILL');
  hang = undefined;
  await site?.close();
  site = undefined;
});

describe.skipIf(!hasStrace)('a disk that hangs (needs strace)', () => {
  it('is no obstacle to a stop, which says what was given up and ends with a failure', {
    timeout: 90_000,
  }, async () => {
    const house = await startSite({
      broker: 'embedded',
      yaml: () => `
partitions: [{ id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s }]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: tamper_24h, name: Tamper, key: tamper, partition: p1 } }
`,
    });
    site = house;
    await house.line.cut();
    hang = await hangDisk(house.daemon.pid);
    await house.lan.publish('zigbee2mqtt/tamper', JSON.stringify({ contact: false }));
    await house.lan.shows('zone/1/state', 'ON', 10_000);
    process.kill(house.daemon.pid, 'SIGTERM');
    const { signal } = await eventually('the end', () => endOf(house.daemon.pid), { timeoutMs: 25_000 });
    expect(signal).toBe(9);
    expect(said(house, 'events in memory only are lost with this stop').map((line) => JSON.parse(line))).toMatchObject([
      { alarm: 1 },
    ]);
    expect(said(house, 'cannot be left on disk').map((line) => JSON.parse(line))).toMatchObject([
      { losses: [{ lane: 'alarm', count: 1 }] },
    ]);
    expect(said(house, 'the disk does not answer')).toHaveLength(1);
  });
});

const said = (of: Site, text: string): string[] =>
  of.daemon.lines().filter((line) => member(line, 'msg')?.includes(text) === true);

/**
 * The signal that ended the process, once it has ended. It may not be gone then: strace lets no thread go before the call it
 * delays is over.
 */
function endOf(pid: number): { signal: number } | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? { signal: Number(fields[49]) & 0x7f } : undefined;
}
